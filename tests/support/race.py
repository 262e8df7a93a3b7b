"""A race of crawlers for near-duplicates on any store that they share, and a count of what it did.

Every page that is judged new is confirmed, and nothing is forgotten or replaced: what was kept
once stays, so `cluster_stress.judge` can tell what is wrong. A call that fails leaves open
whether it was executed.
"""

from __future__ import annotations

import asyncio
import random
from collections import Counter
from dataclasses import dataclass, field

from cluster_pages import K, Pages
from cluster_stress import Findings, Run, Storm, judge

from scrapy_neardup.errors import StoreError
from scrapy_neardup.stores import Store, open_store


@dataclass
class Race:
    """What happened."""

    findings: Findings
    longest: float
    """Seconds of the longest call."""
    errors: int
    """Calls that failed as stores may fail."""
    raised: Counter[str] = field(default_factory=Counter)
    """Anything else that was raised."""


async def race(uri: str, storm: Storm, trouble=None) -> Race:  # noqa: C901, one story
    """Let crawlers meet the pages of a storm, while ``trouble(stores)`` goes on beside them."""
    options = {"namespace": f"race-{storm.seed}", "max_distance": K, "matching": storm.matching}
    stores = [open_store(uri, **options) for _ in range(storm.crawlers)]
    for store in stores:
        await store.open()
    chance, clock = random.Random(storm.seed), asyncio.get_running_loop().time
    runs: list[Run] = []
    done = Race(Findings(), 0.0, 0)
    free = asyncio.Semaphore(storm.tasks)

    async def called(call):
        start = clock()
        try:
            return await call
        except StoreError:
            done.errors += 1
        except Exception as error:  # noqa: BLE001, that is what is looked for
            done.raised[repr(error)[:100]] += 1
        finally:
            done.longest = max(done.longest, clock() - start)

    async def meet(page) -> None:
        store = chance.choice(stores)
        run = Run(page, clock())
        runs.append(run)
        verdict = await called(store.check_and_add(page))
        if verdict is None:
            return
        run.end, run.outcome = clock(), str(verdict.decision)
        run.match = verdict.match.page_id if verdict.match else None
        if run.outcome == "new":
            await confirm(store, run)

    async def confirm(store: Store, run: Run) -> None:
        for _ in range(100):
            errors = done.errors
            await called(store.confirm(run.page.id))
            if done.errors == errors:
                return
            await asyncio.sleep(0.1)
        run.ended_from = run.end  # it may lapse

    async def meet_group(pages) -> None:
        async with free:
            await asyncio.gather(*map(meet, pages))

    beside = asyncio.create_task(trouble(stores)) if trouble else None
    groups = Pages(storm.seed, storm.pages, storm.matching).groups()
    await asyncio.gather(*map(meet_group, groups))
    if beside is not None:
        beside.cancel()
        await asyncio.gather(beside, return_exceptions=True)
    for store in stores:
        await store.close()
    done.findings = judge(storm, runs)
    return done
