"""A race of crawlers for near-duplicates on any store that they share, and a count of what it did.

Every page that is judged new is confirmed, and nothing is forgotten or replaced: what was kept
once stays, so `cluster_stress.judge` can tell what is wrong. A call that fails leaves open
whether it was executed.
"""

import asyncio
import random
from collections import Counter
from collections.abc import Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from functools import partial

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
    return open_store(
        uri, namespace=f"race-{storm.seed}", max_distance=K, matching=storm.matching,
        schema={"scope": storm.scope},
    )  # fmt: skip


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
