"""The race of `race.py` between processes that are killed (``kill -9``) while they judge.

As a program it is one crawler: lines of pickled pages in, a line of what happened to each out.
The clocks of processes on one machine agree (``CLOCK_MONOTONIC``).
"""

from __future__ import annotations

import asyncio
import pickle
import random
import sys
from collections.abc import Awaitable, Callable
from contextlib import suppress

from cluster_stress import Run, Storm, judge
from race import Calls, Pace, Race, beside, meet_all, opened

from scrapy_neardup.verdict import Page

_MAX_LINE = 1 << 20


class Crawler:
    """A process that judges pages; a new one takes the place of one that was killed."""

    def __init__(self, uri: str, storm: Storm, calls: Calls) -> None:
        self._job, self._calls = (uri, storm), calls
        self._asked: dict[int, tuple[Run, asyncio.Future[None]]] = {}
        self._process: asyncio.subprocess.Process | None = None
        self._life: asyncio.Task[None] | None = None
        self._closing = False

    async def start(self) -> None:
        """Start a process, and another one whenever it ends."""
        self._process = await asyncio.create_subprocess_exec(
            sys.executable, __file__, limit=_MAX_LINE,
            stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE,
        )  # fmt: skip
        self._say(self._job)
        self._life = asyncio.create_task(self._listen(self._process))

    async def meet(self, run: Run) -> None:
        """Let the process judge a page; of one that is killed meanwhile nothing is known."""
        done = asyncio.get_running_loop().create_future()
        self._asked[run.page.id] = run, done
        self._say(run.page)
        await done

    def kill(self) -> None:
        """Kill the process."""
        with suppress(ProcessLookupError):  # it is dead already
            self._process.kill()

    async def close(self) -> None:
        """Let the process end by itself."""
        self._closing = True
        self._process.stdin.close()
        await self._life

    def _say(self, value: object) -> None:
        self._process.stdin.write(pickle.dumps(value).hex().encode() + b"\n")

    async def _listen(self, process: asyncio.subprocess.Process) -> None:
        while line := await process.stdout.readline():
            if not line.endswith(b"\n"):  # it was killed while it wrote
                break
            page_id, seen, calls = pickle.loads(bytes.fromhex(line.decode()))
            run, done = self._asked.pop(page_id)
            vars(run).update(seen)
            self._add(calls)
            done.set_result(None)
        await process.wait()
        if not self._closing:
            lost, self._asked = self._asked, {}
            await self.start()
            for _, done in lost.values():
                done.set_result(None)

    def _add(self, calls: Calls) -> None:
        self._calls.errors += calls.errors
        self._calls.longest = max(self._calls.longest, calls.longest)
        self._calls.raised += calls.raised


async def race_of_processes(
    uri: str, storm: Storm, trouble: Callable[[], Awaitable[None]], every: int, kill_every: int
) -> Race:
    """Let processes meet the pages of a storm, while they are killed, each in its turn.

    Parameters
    ----------
    trouble
        What is done once in `every` pages, on average.
    kill_every
        Pages between two kills, on average.
    """
    calls, chance, killed = Calls(), random.Random(storm.seed), 0
    paces = pace, deaths = Pace(every, storm.seed), Pace(kill_every, storm.seed)
    crawlers = [Crawler(uri, storm, calls) for _ in range(storm.crawlers)]
    for crawler in crawlers:
        await crawler.start()

    async def kill() -> None:
        nonlocal killed
        crawlers[killed % len(crawlers)].kill()
        killed += 1

    async def meet(run: Run) -> None:
        await chance.choice(crawlers).meet(run)
        for each in paces:
            each.step()

    async with beside(deaths.repeat(kill)), beside(pace.repeat(trouble)):
        runs = await meet_all(storm, meet)
    for crawler in crawlers:
        await crawler.close()
    return Race(judge(storm, runs), calls, killed)


async def crawl() -> None:
    """Judge the pages that are asked for, until there are none."""

    async def read() -> object:
        line = await asyncio.to_thread(sys.stdin.readline)
        return pickle.loads(bytes.fromhex(line)) if line else None

    async def meet(page: Page) -> None:
        run, calls = Run(page, 0.0), Calls()
        await calls.meet(store, run)
        seen = {name: value for name, value in vars(run).items() if name != "page"}
        sys.stdout.write(pickle.dumps((page.id, seen, calls)).hex() + "\n")
        sys.stdout.flush()

    uri, storm = await read()
    store, store_is_open = opened(uri, storm), False
    while not store_is_open:
        opening = Calls()
        await opening.made(store.open())
        if opening.errors:
            await asyncio.sleep(0.1)
        store_is_open = not opening.errors
    tasks: set[asyncio.Task[None]] = set()
    while (page := await read()) is not None:
        task = asyncio.create_task(meet(page))
        tasks.add(task)
        task.add_done_callback(tasks.discard)
    await asyncio.gather(*tasks)
    await store.close()


if __name__ == "__main__":
    asyncio.run(crawl())
