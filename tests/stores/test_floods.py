"""Many equal pages at once: a login wall, a soft 404. They cost as much as they are many."""

import asyncio
from collections import Counter
from contextlib import AsyncExitStack
from dataclasses import replace

import pytest
from matching_pages import own_evidence
from redis_servers import shared_cluster
from store_registry import on, page

from scrapy_neardup.stores import Matching, Store, open_store
from scrapy_neardup.stores.redis.cluster.rivals import WIDTH, Turns
from scrapy_neardup.verdict import Decision, Page, Verdict

MATCHING = Matching(features=4, text_bits=256, named_bits=64)
FINGERPRINT = 0x0123456789ABCDEF


def equal(number: int) -> Page:
    evidence = own_evidence(1, MATCHING)
    return page(number, FINGERPRINT, features=(1, 2, 3, 4), evidence=evidence)


async def flooded(stores: list[Store], count: int, made=equal) -> list[Verdict]:
    """Let that many pages arrive at all stores at once."""
    async with AsyncExitStack() as stack:
        for store in stores:
            await stack.enter_async_context(store)
        calls = (stores[n % len(stores)].check_and_add(made(n)) for n in range(count))
        return await asyncio.gather(*calls)


def check(verdicts: list[Verdict]) -> None:
    """One was kept, and the others were dropped for it, each counted once."""
    [kept] = [verdict for verdict in verdicts if verdict.decision is Decision.NEW]
    dropped = [verdict for verdict in verdicts if verdict is not kept]
    assert {verdict.decision for verdict in dropped} <= {Decision.DUPLICATE}
    assert {verdict.match.page_id for verdict in dropped} <= {kept.page_id}
    assert sorted(verdict.match.count for verdict in dropped) == list(range(1, len(verdicts)))


def judged() -> int:
    stats = [node.client().info("commandstats") for node in shared_cluster().masters]
    return sum(each.get("cmdstat_evalsha", {"calls": 0})["calls"] for each in stats)


async def test_two_thousand_equal_pages_at_once(place):
    check(await flooded([open_store(place.uri, matching=MATCHING)], 2000))


async def cost(place, count: int, crawlers: int = 1, made=equal) -> int:
    """Return how many calls a flood of so many pages takes, in a namespace of its own."""
    options = {"matching": MATCHING, "namespace": f"{count}"}
    before = judged()
    check(await flooded([open_store(place.uri, **options) for _ in range(crawlers)], count, made))
    return judged() - before


@on("redis-cluster")
async def test_on_a_cluster_an_equal_page_costs_three_calls_beside_the_first(place):
    few, many = [await cost(place, count) for count in (100, 400)]
    # Whatever a lost turn or the background adds.
    assert many - few < 4 * 300


@on("redis-cluster")
async def test_crawlers_of_one_cluster_share_a_flood(place):
    # Each crawler's first page meets those of the others.
    assert await cost(place, 600, crawlers=12) < 600 * 4 + 12 * 200


def near(number: int) -> Page:
    """Return a page within k bits of all the others, and equal to none."""
    return replace(equal(number), fingerprint=FINGERPRINT ^ 1 << number)


@pytest.mark.parametrize("crawlers", [1, 4])
@on("redis-cluster")
async def test_on_a_cluster_near_pages_cost_no_more_the_more_they_are(crawlers, place):
    few, many = [await cost(place, count, crawlers, near) / count for count in (16, 60)]
    assert many < 1.5 * few


@on("redis-cluster")
async def test_an_entry_that_is_forgotten_in_a_flood_is_made_anew(place):
    async with open_store(place.uri, matching=MATCHING) as store:

        async def forgets(number: int) -> Decision:
            verdict = await store.check_and_add(equal(number))
            if verdict.decision is Decision.NEW and number < 60:
                await store.forget(number)
            return verdict.decision

        counts = Counter(await asyncio.gather(*map(forgets, range(1, 101))))
    assert counts[Decision.NEW] > 1
    assert counts.total() == counts[Decision.NEW] + counts[Decision.DUPLICATE] == 100


async def test_the_first_goes_alone_and_some_together_afterwards():
    turns, seen, under_way = Turns(lambda page, other: False), [], set()

    async def go(number: int) -> None:
        async with turns.of("key", None):
            under_way.add(number)
            seen.append(len(under_way))
            await asyncio.sleep(0.001)
            under_way.remove(number)

    others = [asyncio.create_task(go(number)) for number in range(50)]
    await asyncio.sleep(0)
    others[20].cancel()  # who gives up keeps nobody waiting
    await asyncio.gather(*others, return_exceptions=True)
    assert not turns._turns
    assert seen[:2] == [1, 1]
    assert max(seen) == WIDTH
    assert len(seen) == 49
