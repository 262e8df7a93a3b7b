"""A race of crawlers for near-duplicates on any store that they share, and a count of what it did.

Every page that is judged new is confirmed, and nothing is forgotten or replaced: what was kept
once stays, so `cluster_stress.judge` can tell what is wrong. A call that fails leaves open
whether it was executed. Crawlers are stores of this process, or processes that are killed
(``kill -9``) while they judge; the clocks of one machine's processes agree (``CLOCK_MONOTONIC``).
"""

import asyncio
import random
from collections import Counter
from collections.abc import Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from functools import partial
from multiprocessing.connection import Connection

import forked
from cluster_pages import K, Pages, decide_as
from cluster_stress import Findings, Run, Storm, judge

from scrapy_neardup.errors import StoreError
from scrapy_neardup.stores import Matching, Store, open_store
from scrapy_neardup.verdict import Page


@dataclass
class Calls:
    longest: float = 0.0
    """Seconds of the longest call."""
    errors: int = 0
    """Calls that failed as stores may fail."""
    raised: Counter[str] = field(default_factory=Counter)
    """Anything else that was raised."""

    async def made(self, call: Awaitable):
        """Return what a call returns; None if it fails."""
        clock = asyncio.get_running_loop().time
        start = clock()
        try:
            return await call
        except StoreError:
            self.errors += 1
        except Exception as error:  # noqa: BLE001, that is what is looked for
            self.raised[repr(error)[:100]] += 1
        finally:
            self.longest = max(self.longest, clock() - start)

    async def meet(self, store: Store, run: Run, matching: Matching) -> None:
        clock = asyncio.get_running_loop().time
        run.start = clock()
        decide = decide_as(run.crawler, run.page, matching)
        verdict = await self.made(store.check_and_add(run.page, decide))
        if verdict is None:
            return
        run.end, run.outcome = clock(), str(verdict.decision)
        run.match = verdict.match.page_id if verdict.match else None
        confirm = partial(store.confirm, run.page.id)
        if run.outcome == "new" and not await self.made_at_last(confirm):
            run.ended_from = run.end  # it may lapse

    async def made_at_last(self, call: Callable[[], Awaitable]) -> bool:
        for _ in range(100):
            errors = self.errors
            await self.made(call())
            if self.errors == errors:
                return True
            await asyncio.sleep(0.1)
        return False

    def add(self, others: "Calls") -> None:
        self.errors += others.errors
        self.longest = max(self.longest, others.longest)
        self.raised += others.raised


class Pace:
    """Measures time by pages that were met, whatever else the machine does meanwhile."""

    def __init__(self, every: int, seed: int) -> None:
        self._every, self._chance = every, random.Random(seed)
        self._met = 0
        self._moved = asyncio.Event()

    def step(self) -> None:
        self._met += 1
        self._moved.set()

    async def pause(self) -> None:
        end = self._met + self._chance.randrange(1, 2 * self._every)
        while self._met < end:
            self._moved.clear()
            await self._moved.wait()

    async def repeat(self, trouble: Callable[[], Awaitable[None]]) -> None:
        """Make trouble again and again, without end."""
        while True:
            await self.pause()
            await trouble()


@dataclass
class Race:
    findings: Findings
    calls: Calls
    killed: int = 0
    """Crawlers that were killed."""


def opened(uri: str, storm: Storm) -> Store:
    options = {"max_distance": K, "matching": storm.matching, "schema": {"scope": storm.scope}}
    return open_store(uri, namespace=f"race-{storm.seed}", **options)


async def race(uri: str, storm: Storm, trouble, every: int) -> Race:
    stores = [opened(uri, storm) for _ in range(storm.crawlers)]
    for store in stores:
        await store.open()
    chance, calls, pace = random.Random(storm.seed), Calls(), Pace(every, storm.seed)

    async def meet(run: Run) -> None:
        run.crawler = chance.randrange(len(stores))
        await calls.meet(stores[run.crawler], run, storm.matching)
        pace.step()

    async with beside(pace.repeat(lambda: trouble(stores))):
        runs = await meet_all(storm, meet)
    for store in stores:
        await store.close()
    return Race(judge(storm, runs), calls)


async def meet_all(storm: Storm, meet: Callable[[Run], Awaitable[None]]) -> list[Run]:
    clock = asyncio.get_running_loop().time
    free = asyncio.Semaphore(storm.tasks)
    runs: list[Run] = []

    async def meet_group(pages: list[Page]) -> None:
        async with free:
            mine = [Run(page, clock()) for page in pages]
            runs.extend(mine)
            await asyncio.gather(*map(meet, mine))

    groups = Pages(storm.seed, storm.pages, storm.matching).groups()
    await asyncio.gather(*map(meet_group, groups))
    return runs


@asynccontextmanager
async def beside(work: Awaitable):
    """Do some work without end, for the length of an ``async with`` block."""
    task = asyncio.create_task(work)
    try:
        yield
    finally:
        task.cancel()
        [ended] = await asyncio.gather(task, return_exceptions=True)
        if not isinstance(ended, asyncio.CancelledError):
            raise ended


class Crawler:
    """A process that judges pages; a new one takes the place of one that was killed."""

    def __init__(self, uri: str, storm: Storm, calls: Calls) -> None:
        self._job, self._calls = (uri, storm), calls
        self._asked: dict[int, tuple[Run, asyncio.Future[None]]] = {}
        self._closed: asyncio.Future[None] | None = None
        self.start()

    def start(self) -> None:
        """Start a process, in place of one that ended; what that one was asked is over."""
        self._link, theirs = forked.context().Pipe()
        self._process = forked.context().Process(target=crawl_over, args=(theirs, *self._job))
        self._process.start()
        theirs.close()
        asyncio.get_running_loop().add_reader(self._link.fileno(), self._hear)
        lost, self._asked, self._killed = self._asked, {}, False
        for _, done in lost.values():
            done.set_result(None)

    async def meet(self, run: Run) -> None:
        done = asyncio.get_running_loop().create_future()
        self._asked[run.page.id] = run, done
        with suppress(OSError):  # it was killed
            self._link.send((run.crawler, run.page))
        await done

    def kill(self) -> None:
        self._killed = True
        self._process.kill()

    async def close(self) -> None:
        self._closed = asyncio.get_running_loop().create_future()
        with suppress(OSError):
            self._link.send(None)
        await self._closed

    def _hear(self) -> None:
        try:
            while self._link.poll():
                page_id, seen, calls = self._link.recv()
                self._calls.add(calls)
                if page_id is not None:
                    run, done = self._asked.pop(page_id)
                    vars(run).update(seen)
                    done.set_result(None)
        except (EOFError, OSError):
            self._end()

    def _end(self) -> None:
        asyncio.get_running_loop().remove_reader(self._link.fileno())
        self._link.close()
        self._process.join()
        if self._process.exitcode and not self._killed:
            self._calls.raised["a crawler that wasn't killed ended"] += 1
        if self._closed is None:
            self.start()
        else:
            self._closed.set_result(None)


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
    async with beside(deaths.repeat(kill)), beside(pace.repeat(trouble)):
        runs = await meet_all(storm, meet)
    for crawler in crawlers:
        await crawler.close()
    return Race(judge(storm, runs), calls, killed)


def crawl_over(link: Connection, uri: str, storm: Storm) -> None:
    asyncio.run(crawl(link, uri, storm))


async def crawl(link: Connection, uri: str, storm: Storm) -> None:
    """Meet the pages that the other end of the link sends, until it sends None."""

    async def meet(crawler: int, page: Page) -> None:
        run, calls = Run(page, 0.0, crawler), Calls()
        await calls.meet(store, run, storm.matching)
        seen = {name: value for name, value in vars(run).items() if name != "page"}
        link.send((page.id, seen, calls))

    store, life = opened(uri, storm), Calls()
    await life.made_at_last(store.open)
    async with asyncio.TaskGroup() as pages:
        while asked := await asyncio.to_thread(link.recv):
            pages.create_task(meet(*asked))
    await life.made(store.close())
    link.send((None, {}, life))
