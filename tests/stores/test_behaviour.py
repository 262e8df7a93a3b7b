"""What every store does, line by line of the rule in `scrapy_neardup/stores/base.py`.

Which entries are candidates (rule 1) is told by ``test_candidates.py``.
"""

import asyncio
import random
from contextlib import AsyncExitStack
from dataclasses import replace

import pytest
from deciders import by_tokens
from full_buckets import check_full_buckets
from store_registry import EVERYTHING, SOMETHING, counts, on_store, outcome, page

from scrapy_neardup.stores import open_store
from scrapy_neardup.verdict import Decision, Match, Page, Reason, Verdict

# Rule 2: the same page again


@on_store()
async def test_the_same_page_is_seen_and_nothing_changes(store):
    await store.check_and_add(page(1, SOMETHING, url="https://a.example/"))
    again = page(1, SOMETHING ^ 0b111, url="https://a.example/?again")
    verdict = await store.check_and_add(again)
    assert (verdict.decision, verdict.reason) == (Decision.SEEN, Reason.SAME_PAGE)
    assert verdict.match == Match(page_id=1, distance=3, url="https://a.example/?again")
    assert verdict.explain() == "the same page as before (distance 3)"
    assert await counts(store) == (1, 1, 0)
    # Distances are to the first fingerprint, not to the last one seen.
    assert await outcome(store, page(2, SOMETHING ^ 0b111000)) == (Decision.DUPLICATE, 1)
    assert await outcome(store, page(3, SOMETHING ^ 0b111111)) == (Decision.NEW, None)


@on_store()
async def test_seen_comes_before_a_nearer_page(store):
    await store.check_and_add(page(1, 0b0000))
    await store.check_and_add(page(2, 0b1111))
    assert await outcome(store, page(1, 0b0111)) == (Decision.SEEN, 1)


@on_store()
async def test_an_exact_page_is_seen_where_it_is_equal(store):
    await store.check_and_add(page(1, SOMETHING, exact=True))
    assert await outcome(store, page(1, SOMETHING, exact=True)) == (Decision.SEEN, 1)
    verdict = await store.check_and_add(page(1, SOMETHING ^ 1, exact=True))
    assert (verdict.decision, verdict.reason) == (Decision.NEW, Reason.CHANGED)


# Rule 3: duplicates


@on_store()
async def test_a_duplicate_names_its_match(store):
    await store.check_and_add(page(1, SOMETHING, url="https://a.example/ü"))
    other = page(2, SOMETHING ^ 0b11, url="https://b.example/", tokens=77)
    expected = Verdict(
        decision=Decision.DUPLICATE,
        reason=Reason.NEAR,
        page_id=2,
        match=Match(page_id=1, distance=2, url="https://a.example/ü"),
        fingerprint=SOMETHING ^ 0b11,
        tokens=77,
    )
    assert await store.check_and_add(other) == expected
    await store.confirm(1)
    assert await store.check_and_add(other) == expected


@on_store()
async def test_the_nearest_wins_and_then_the_smallest_page_id(store):
    await store.check_and_add(page(9, 0))
    await store.check_and_add(page(5, 0b111111))
    await store.check_and_add(page(7, 0b111111 << 6))
    assert await outcome(store, page(20, 0b000011)) == (Decision.DUPLICATE, 9)
    assert await outcome(store, page(21, 0b000111)) == (Decision.DUPLICATE, 5)
    assert await outcome(store, page(22, 0b000111 << 6)) == (Decision.DUPLICATE, 7)


@on_store(by_tokens)
async def test_of_two_entries_with_one_fingerprint_the_smallest_page_id_wins(store):
    await store.check_and_add(page(9, SOMETHING))
    assert await outcome(store, page(5, SOMETHING, tokens=1)) == (Decision.NEW, None)
    assert await outcome(store, page(20, SOMETHING)) == (Decision.DUPLICATE, 5)


@on_store()
async def test_identical_pages_cost_one_entry_and_a_count(store):
    await store.check_and_add(page(0, SOMETHING))
    await store.confirm(0)
    for number in range(1, 200):
        assert await outcome(store, page(number, SOMETHING)) == (Decision.DUPLICATE, 0)
    assert await counts(store) == (1, 0, 199)


@on_store()
async def test_a_duplicate_withdraws_its_own_old_entry(store):
    await store.check_and_add(page(1, 0))
    await store.check_and_add(page(2, EVERYTHING))
    await store.check_and_add(page(3, EVERYTHING))
    assert await outcome(store, page(2, 0b1)) == (Decision.DUPLICATE, 1)
    # What had been dropped against the withdrawn entry is no longer counted.
    assert await counts(store) == (1, 1, 1)
    assert await outcome(store, page(4, EVERYTHING)) == (Decision.NEW, None)
    assert await store.forget(2) == 0


# Rule 4: new pages


@on_store()
async def test_an_unknown_page_is_new(store):
    verdict = await store.check_and_add(page(1, SOMETHING, tokens=99))
    assert verdict == Verdict(
        decision=Decision.NEW, reason=Reason.UNMATCHED, page_id=1, fingerprint=SOMETHING, tokens=99
    )
    stats = await store.stats()
    assert (stats.pages, stats.pending, stats.dropped, stats.overflowed) == (1, 1, 0, 0)


@on_store()
async def test_a_changed_page_replaces_its_entry(store):
    await store.check_and_add(page(1, 0))
    await store.confirm(1)
    await store.check_and_add(page(2, 0))
    verdict = await store.check_and_add(page(1, EVERYTHING))
    assert (verdict.decision, verdict.reason) == (Decision.NEW, Reason.CHANGED)
    assert await counts(store) == (1, 1, 0)
    assert await outcome(store, page(3, EVERYTHING)) == (Decision.DUPLICATE, 1)
    assert await outcome(store, page(4, 0)) == (Decision.NEW, None)


@on_store(by_tokens)
async def test_an_entry_that_is_not_repeated_is_replaced_at_any_distance(store):
    original = page(1, SOMETHING)
    for number, change in enumerate(({"tokens": 2}, {"exact": True}, {"scope": "a.example"}), 2):
        await store.check_and_add(original)
        verdict = await store.check_and_add(replace(original, **change))
        assert (verdict.decision, verdict.reason) == (Decision.NEW, Reason.CHANGED)
        assert (await store.stats()).pages == 1
        again = replace(original, id=number, tokens=change.get("tokens", 0))
        assert await outcome(store, again) == (Decision.NEW, None)
        await store.forget(1)
        await store.forget(number)


# Rule 5: full buckets


async def test_a_page_whose_buckets_are_full_is_kept_and_not_remembered(place):
    if place.bucket_cap is None:
        pytest.skip("its buckets don't fill up in a test")
    async with open_store(place.uri, expected_pages=1000) as store:
        await check_full_buckets(store, place.bucket_cap)


# Pending, kept, gone


@on_store()
async def test_forget_withdraws_a_pending_entry_and_tells_what_it_cost(store):
    await store.check_and_add(page(1, SOMETHING))
    for number in range(2, 5):
        assert await outcome(store, page(number, SOMETHING)) == (Decision.DUPLICATE, 1)
    assert await store.forget(1) == 3
    assert await counts(store) == (0, 0, 0)
    assert await store.forget(1) == 0
    verdict = await store.check_and_add(page(5, SOMETHING))
    assert (verdict.decision, verdict.reason) == (Decision.NEW, Reason.UNMATCHED)


@on_store()
async def test_what_is_confirmed_is_final(store):
    await store.check_and_add(page(1, SOMETHING))
    await store.check_and_add(page(2, SOMETHING))
    await store.confirm(1)
    await store.confirm(1)
    assert await store.forget(1) == 0
    assert await outcome(store, page(3, SOMETHING)) == (Decision.DUPLICATE, 1)
    assert await counts(store) == (1, 0, 2)


@on_store()
async def test_unknown_ids_change_nothing(store):
    await store.check_and_add(page(1, SOMETHING))
    await store.confirm(2)
    assert await store.forget(2) == 0
    stats = await store.stats()
    assert (stats.pages, stats.pending) == (1, 1)


@on_store()
async def test_a_forgotten_replacement_leaves_nothing(store):
    await store.check_and_add(page(1, 0))
    await store.confirm(1)
    await store.check_and_add(page(1, EVERYTHING))
    assert await store.forget(1) == 0
    assert (await store.stats()).pages == 0
    assert await outcome(store, page(2, 0)) == (Decision.NEW, None)
    assert await outcome(store, page(3, EVERYTHING)) == (Decision.NEW, None)


@on_store()
async def test_a_replacement_is_pending_until_it_is_confirmed_itself(store):
    await store.check_and_add(page(1, 0))
    await store.confirm(1)
    await store.check_and_add(page(1, EVERYTHING))
    assert (await store.stats()).pending == 1
    await store.confirm(1)
    assert (await store.stats()).pending == 0
    assert await store.forget(1) == 0
    assert await outcome(store, page(2, EVERYTHING)) == (Decision.DUPLICATE, 1)


@on_store()
async def test_of_two_fetches_of_a_page_the_first_that_is_confirmed_keeps_the_later(store):
    """They have one id and two contents: see `Store.confirm`."""
    await store.check_and_add(page(1, 0))
    verdict = await store.check_and_add(page(1, EVERYTHING))
    assert (verdict.decision, verdict.reason) == (Decision.NEW, Reason.CHANGED)
    await store.confirm(1)  # the first callback has ended
    assert (await store.stats()).pending == 0
    assert await store.forget(1) == 0  # the second one has failed
    assert await outcome(store, page(2, EVERYTHING)) == (Decision.DUPLICATE, 1)
    assert await outcome(store, page(3, 0)) == (Decision.NEW, None)


@on_store()
async def test_of_two_fetches_of_a_page_the_first_that_fails_withdraws_the_later(store):
    await store.check_and_add(page(1, 0))
    await store.check_and_add(page(1, EVERYTHING))
    assert await outcome(store, page(2, EVERYTHING)) == (Decision.DUPLICATE, 1)
    assert await store.forget(1) == 1
    await store.confirm(1)
    assert (await store.stats()).pages == 0
    assert await outcome(store, page(2, EVERYTHING)) == (Decision.NEW, None)


async def test_of_pages_that_arrive_together_one_of_each_group_is_kept(place):
    rng = random.Random(11)
    centres = [rng.getrandbits(64) for _ in range(40)]
    arrivals = [
        page(40 * copy + group, centre ^ (1 << rng.randrange(64)))
        for group, centre in enumerate(centres)
        for copy in range(10)
    ]
    rng.shuffle(arrivals)
    async with AsyncExitStack() as stack:
        clients = [
            await stack.enter_async_context(open_store(place.uri))
            for _ in range(3 if place.shared else 1)
        ]

        async def arrive(arrival: Page) -> Decision:
            await asyncio.sleep(rng.random() / 100)
            store = rng.choice(clients)
            verdict = await store.check_and_add(arrival)
            await asyncio.sleep(rng.random() / 100)
            if verdict.decision is Decision.NEW:
                await store.confirm(arrival.id)
            return verdict.decision

        decisions = await asyncio.gather(*map(arrive, arrivals))
        kept = [
            arrival.id % 40
            for arrival, decision in zip(arrivals, decisions, strict=True)
            if decision is Decision.NEW
        ]
        assert sorted(kept) == list(range(40))
        assert decisions.count(Decision.DUPLICATE) == 360
        stats = await clients[0].stats()
        assert (stats.pages, stats.pending, stats.dropped) == (40, 0, 360)
