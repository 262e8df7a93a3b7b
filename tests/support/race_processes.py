"""The race of `race.py` between processes that are killed (``kill -9``) while they judge.

The clocks of processes on one machine agree (``CLOCK_MONOTONIC``).
"""

import asyncio
import pickle
import random
import socket
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import suppress
from multiprocessing.process import BaseProcess
from typing import Self

import forked
from cluster_stress import Run, Storm, judge
from race import Calls, Pace, Race, beside, meet_all, opened

from scrapy_neardup.verdict import Page

_SIZE = 4
"""Bytes of the number in front of a message, which says how long it is."""


class Channel:
    """Values to and from another process; those of one turn of the event loop go together."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader, self._writer = reader, writer
        self._said: list[object] = []

    @classmethod
    async def over(cls, link: socket.socket) -> Self:
        return cls(*await asyncio.open_connection(sock=link))

    def say(self, value: object) -> None:
        if not self._said:
            asyncio.get_running_loop().call_soon(self._flush)
        self._said.append(value)

    def _flush(self) -> None:
        if self._said:
            message, self._said = pickle.dumps(self._said), []
            self._writer.write(len(message).to_bytes(_SIZE) + message)

    async def heard(self) -> AsyncIterator:
        with suppress(asyncio.IncompleteReadError, ConnectionError):
            while True:
                size = int.from_bytes(await self._reader.readexactly(_SIZE))
                for value in pickle.loads(await self._reader.readexactly(size)):
                    yield value

    def end(self) -> None:
        """Say that nothing more will be said."""
        self._writer.write_eof()

    async def close(self) -> None:
        """Close both directions, after what was said."""
        self._flush()
        self._writer.close()
        with suppress(ConnectionError):
            await self._writer.wait_closed()


class Crawler:
    """A process that judges pages; a new one takes the place of one that was killed."""

    def __init__(self, uri: str, storm: Storm, calls: Calls) -> None:
        self._job, self._calls = (uri, storm), calls
        self._asked: dict[int, tuple[Run, asyncio.Future[None]]] = {}
        self._process: BaseProcess | None = None
        self._killed = False
        self._channel: Channel | None = None
        self._life: asyncio.Task[None] | None = None
        self._closing = False

    async def start(self) -> None:
        """Start a process, and another one whenever it ends."""
        link, theirs = socket.socketpair()
        with theirs:
            process = forked.context().Process(target=crawl_over, args=(theirs,))
            process.start()
        channel = await Channel.over(link)
        # From here to the end nothing is waited for: a page is asked of one process or the next.
        lost, self._asked = self._asked, {}
        self._process, self._killed, self._channel = process, False, channel
        self._channel.say(self._job)
        self._life = asyncio.create_task(self._listen(channel))
        for _, done in lost.values():
            done.set_result(None)

    async def meet(self, run: Run) -> None:
        done = asyncio.get_running_loop().create_future()
        self._asked[run.page.id] = run, done
        self._channel.say((run.crawler, run.page))
        await done

    def kill(self) -> None:
        self._killed = True
        self._process.kill()

    async def close(self) -> None:
        self._closing = True
        self._channel.end()
        await self._life

    async def _listen(self, channel: Channel) -> None:
        ended = False
        async for page_id, seen, calls in channel.heard():
            self._add(calls)
            if page_id is None:  # that was all
                ended = True
                break
            run, done = self._asked.pop(page_id)
            vars(run).update(seen)
            done.set_result(None)
        await channel.close()
        self._process.join()
        if not ended and not self._killed:
            self._calls.raised["a crawler that wasn't killed ended"] += 1
        if not self._closing:
            await self.start()

    def _add(self, calls: Calls) -> None:
        self._calls.errors += calls.errors
        self._calls.longest = max(self._calls.longest, calls.longest)
        self._calls.raised += calls.raised


async def race_of_processes(
    uri: str, storm: Storm, trouble: Callable[[], Awaitable[None]], every: int, kill_every: int
) -> Race:
    """Let processes meet the pages of a storm, while they are killed, each in its turn.

    Trouble is made once in `every` pages, on average, and one of them killed in `kill_every`.
    """
    calls, chance, killed = Calls(), random.Random(storm.seed), 0
    paces = pace, deaths = Pace(every, storm.seed), Pace(kill_every, storm.seed)

    async def kill() -> None:
        nonlocal killed
        crawlers[killed % len(crawlers)].kill()
        killed += 1

    async def meet(run: Run) -> None:
        run.crawler = chance.randrange(len(crawlers))
        await crawlers[run.crawler].meet(run)
        for each in paces:
            each.step()

    crawlers = [Crawler(uri, storm, calls) for _ in range(storm.crawlers)]
    for crawler in crawlers:
        await crawler.start()
    async with beside(deaths.repeat(kill)), beside(pace.repeat(trouble)):
        runs = await meet_all(storm, meet)
    for crawler in crawlers:
        await crawler.close()
    return Race(judge(storm, runs), calls, killed)


def crawl_over(link: socket.socket) -> None:
    asyncio.run(crawl(link))


async def crawl(link: socket.socket) -> None:
    channel = await Channel.over(link)
    asked = channel.heard()

    async def meet(crawler: int, page: Page) -> None:
        run, calls = Run(page, 0.0, crawler), Calls()
        await calls.meet(store, run, storm.matching)
        seen = {name: value for name, value in vars(run).items() if name != "page"}
        channel.say((page.id, seen, calls))

    uri, storm = await anext(asked)
    store, life = opened(uri, storm), Calls()
    await life.made_at_last(store.open)
    tasks: set[asyncio.Task[None]] = set()
    async for crawler, page in asked:
        task = asyncio.create_task(meet(crawler, page))
        tasks.add(task)
        task.add_done_callback(tasks.discard)
    await asyncio.gather(*tasks)
    await life.made(store.close())
    channel.say((None, {}, life))
    await channel.close()
