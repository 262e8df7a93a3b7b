"""What every store does, line by line of the rule in `scrapy_neardup/stores/base.py`."""

from __future__ import annotations

import asyncio
import random
from contextlib import AsyncExitStack
from dataclasses import replace

import pytest
from hypothesis import HealthCheck, settings
from hypothesis.stateful import run_state_machine_as_test
from store_machine import StoreMachine
from store_model import ModelStore
from store_registry import FEW_EXAMPLES, PLACES, Place, on_store, page

from scrapy_neardup.errors import ConfigurationError
from scrapy_neardup.stores import SCHEMES, Store, StoreOptions, StoreStats, open_store
from scrapy_neardup.stores.records import partition
from scrapy_neardup.verdict import Decision, Match, Page, Reason, Verdict

EVERYTHING = (1 << 64) - 1
SOMETHING = 0x0123456789ABCDEF


def fresh_places() -> list[object]:
    return [pytest.param(PLACES[name], id=name) for name in sorted(PLACES)]


def check_refusal(place: Place, k: int) -> None:
    """A distance that a store can't search is refused before any page, by name and limit."""
    message = f"NEARDUP_MAX_DISTANCE is {k}: .* takes {place.most_distance} bits at most"
    with pytest.raises(ConfigurationError, match=message):
        open_store(place.uri, max_distance=k)


async def outcome(store: Store, page: Page) -> tuple[Decision, int | None]:
    """Judge a page; return the decision and the page id of the match."""
    verdict = await store.check_and_add(page)
    return verdict.decision, verdict.match and verdict.match.page_id


# Rule 1: candidates


@pytest.mark.parametrize("fresh", fresh_places())
@pytest.mark.parametrize("k", range(9))
def test_near_means_at_most_k_bits(k, fresh):
    async def scenario(uri: str) -> None:
        rng = random.Random(k)
        async with open_store(uri, max_distance=k, expected_pages=1000) as store:
            for number in range(20):
                fingerprint = rng.getrandbits(64)
                await store.check_and_add(page(1000 * number, fingerprint))
                for distance in range(12):
                    flipped = sum(1 << bit for bit in rng.sample(range(64), distance))
                    other = page(1000 * number + distance + 1, fingerprint ^ flipped)
                    verdict = await store.check_and_add(other)
                    if distance <= k:
                        assert verdict.decision is Decision.DUPLICATE
                        assert verdict.match == Match(page_id=1000 * number, distance=distance)
                    else:
                        assert verdict.decision is not Decision.SEEN
                        await store.forget(other.id)

    with fresh() as place:
        if k > place.most_distance:
            check_refusal(place, k)
        else:
            asyncio.run(scenario(place.uri))


@on_store()
async def test_scopes_never_meet(store):
    assert await outcome(store, page(1, SOMETHING, scope="a.example")) == (Decision.NEW, None)
    assert await outcome(store, page(2, SOMETHING, scope="b.example")) == (Decision.NEW, None)
    assert await outcome(store, page(3, SOMETHING)) == (Decision.NEW, None)
    assert await outcome(store, page(4, SOMETHING, scope="b.example")) == (Decision.DUPLICATE, 2)


@on_store()
async def test_scopes_never_meet_where_their_keys_do(store):
    masks = {scope: partition(scope, exact=False).mask for scope in ("", "a.example", "b.example")}
    for number, (scope, mask) in enumerate(masks.items()):
        crafted = page(number, SOMETHING ^ mask, scope=scope)
        assert await outcome(store, crafted) == (Decision.NEW, None)
    for number, (scope, mask) in enumerate(masks.items()):
        crafted = page(number + 10, SOMETHING ^ mask ^ 0b101, scope=scope)
        assert await outcome(store, crafted) == (Decision.DUPLICATE, number)


@on_store()
async def test_exact_pages_match_equal_ones_only(store):
    await store.check_and_add(page(1, SOMETHING, exact=True))
    assert await outcome(store, page(2, SOMETHING ^ 1, exact=True)) == (Decision.NEW, None)
    verdict = await store.check_and_add(page(3, SOMETHING, exact=True))
    assert (verdict.decision, verdict.reason) == (Decision.DUPLICATE, Reason.EQUAL)
    assert verdict.match == Match(page_id=1, distance=0)


@on_store()
async def test_exact_and_other_pages_never_meet(store):
    for first, scope in ((0, ""), (10, "a.example")):
        masks = [partition(scope, exact=exact).mask for exact in (False, True)]
        crafted = SOMETHING ^ masks[0] ^ masks[1]
        await store.check_and_add(page(first, SOMETHING, scope=scope))
        for number, fingerprint in enumerate((SOMETHING, crafted), first + 1):
            other = page(number, fingerprint, scope=scope, exact=True)
            assert await outcome(store, other) == (Decision.NEW, None)
        other = page(first + 3, crafted, scope=scope)
        assert await outcome(store, other) == (Decision.NEW, None)


@on_store()
async def test_title_and_content_together_contradict(store):
    await store.check_and_add(page(1, SOMETHING, title=1, content=1))
    await store.confirm(1)
    assert await outcome(store, page(2, SOMETHING, title=2, content=1)) == (Decision.DUPLICATE, 1)
    assert await outcome(store, page(3, SOMETHING, title=1, content=2)) == (Decision.DUPLICATE, 1)
    # Equal keys side by side, each found by its own evidence.
    assert await outcome(store, page(4, SOMETHING, title=4, content=4)) == (Decision.NEW, None)
    assert await outcome(store, page(5, SOMETHING ^ 1, title=5, content=5)) == (Decision.NEW, None)
    assert await outcome(store, page(6, SOMETHING, title=4, content=0)) == (Decision.DUPLICATE, 4)
    assert await outcome(store, page(7, SOMETHING, title=0, content=5)) == (Decision.DUPLICATE, 5)
    # None on both sides is the same, not a contradiction; none against one is another.
    assert await outcome(store, page(8, SOMETHING)) == (Decision.NEW, None)
    assert await outcome(store, page(9, SOMETHING)) == (Decision.DUPLICATE, 8)
    # One of the twins goes, the others stay.
    assert await store.forget(4) == 1
    assert await outcome(store, page(10, SOMETHING, title=4, content=4)) == (Decision.NEW, None)
    assert await outcome(store, page(11, SOMETHING, title=1, content=1)) == (Decision.DUPLICATE, 1)


@on_store()
async def test_another_title_is_repeated_by_equal_text_only(store):
    await store.check_and_add(page(1, SOMETHING, title=1))
    assert await outcome(store, page(2, SOMETHING, title=2)) == (Decision.DUPLICATE, 1)
    assert await outcome(store, page(3, SOMETHING ^ 1, title=2)) == (Decision.NEW, None)
    # Not the nearest, but the nearest whose title allows it.
    assert await outcome(store, page(4, SOMETHING ^ 0b11, title=1)) == (Decision.DUPLICATE, 1)
    assert await outcome(store, page(5, SOMETHING ^ 0b110, title=2)) == (Decision.DUPLICATE, 3)
    # A page without a title repeats any, and any repeats it.
    assert await outcome(store, page(6, SOMETHING ^ 0b1001)) == (Decision.DUPLICATE, 3)
    await store.check_and_add(page(7, EVERYTHING))
    assert await outcome(store, page(8, EVERYTHING - 7, title=3)) == (Decision.DUPLICATE, 7)


@on_store()
async def test_every_digest_of_a_title_is_one(store):
    digests = (3, 2**16 - 1, 2 * 2**16, 3 * 2**16 + 2, 2**32 - 2)
    for number, title in enumerate(digests):
        new = page(number, SOMETHING ^ 1 << number, title=title)
        assert await outcome(store, new) == (Decision.NEW, None)


# Rule 2: the same page again


@on_store()
async def test_the_same_page_is_seen_and_nothing_changes(store):
    await store.check_and_add(page(1, SOMETHING, url="https://a.example/"))
    again = page(1, SOMETHING ^ 0b111, url="https://a.example/?again")
    verdict = await store.check_and_add(again)
    assert (verdict.decision, verdict.reason) == (Decision.SEEN, Reason.SAME_PAGE)
    assert verdict.match == Match(page_id=1, distance=3, url="https://a.example/?again")
    assert verdict.explain() == "the same page as before (distance 3)"
    stats = await store.stats()
    assert (stats.pages, stats.pending, stats.dropped) == (1, 1, 0)
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


@on_store()
async def test_of_two_entries_with_one_fingerprint_the_smallest_page_id_wins(store):
    await store.check_and_add(page(9, SOMETHING, title=1, content=1))
    await store.check_and_add(page(5, SOMETHING, title=2, content=2))
    between = page(20, SOMETHING, title=1, content=2)
    assert await outcome(store, between) == (Decision.DUPLICATE, 5)


@on_store()
async def test_identical_pages_cost_one_entry_and_a_count(store):
    await store.check_and_add(page(0, SOMETHING))
    await store.confirm(0)
    for number in range(1, 500):
        assert await outcome(store, page(number, SOMETHING)) == (Decision.DUPLICATE, 0)
    stats = await store.stats()
    assert (stats.pages, stats.pending, stats.dropped) == (1, 0, 499)


@on_store()
async def test_a_duplicate_withdraws_its_own_old_entry(store):
    await store.check_and_add(page(1, 0))
    await store.check_and_add(page(2, EVERYTHING))
    await store.check_and_add(page(3, EVERYTHING))
    assert await outcome(store, page(2, 0b1)) == (Decision.DUPLICATE, 1)
    stats = await store.stats()
    # What had been dropped against the withdrawn entry is no longer counted.
    assert (stats.pages, stats.pending, stats.dropped) == (1, 1, 1)
    assert await outcome(store, page(4, EVERYTHING)) == (Decision.NEW, None)
    assert await store.forget(2) == 0


# Rule 4: new pages


@on_store()
async def test_an_unknown_page_is_new(store):
    verdict = await store.check_and_add(page(1, SOMETHING, tokens=99))
    assert verdict == Verdict(
        decision=Decision.NEW,
        reason=Reason.UNMATCHED,
        page_id=1,
        fingerprint=SOMETHING,
        tokens=99,
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
    stats = await store.stats()
    assert (stats.pages, stats.pending, stats.dropped) == (1, 1, 0)
    assert await outcome(store, page(3, EVERYTHING)) == (Decision.DUPLICATE, 1)
    assert await outcome(store, page(4, 0)) == (Decision.NEW, None)


@on_store()
async def test_an_entry_that_is_no_candidate_is_replaced_at_any_distance(store):
    original = page(1, SOMETHING, title=1, content=1)
    for number, change in enumerate(
        ({"title": 2, "content": 2}, {"exact": True}, {"scope": "a.example"}), 2
    ):
        await store.check_and_add(original)
        verdict = await store.check_and_add(replace(original, **change))
        assert (verdict.decision, verdict.reason) == (Decision.NEW, Reason.CHANGED)
        assert (await store.stats()).pages == 1
        again = replace(original, id=number)
        assert await outcome(store, again) == (Decision.NEW, None)
        await store.forget(1)
        await store.forget(number)


@on_store()
async def test_a_page_of_another_title_and_text_has_changed(store):
    original = page(1, SOMETHING, title=1)
    await store.check_and_add(original)
    for title, flips in ((2, 0), (1, 0b111), (0, 0b111)):
        again = page(1, SOMETHING ^ flips, title=title)
        assert await outcome(store, again) == (Decision.SEEN, 1)
    verdict = await store.check_and_add(replace(original, title=2, fingerprint=SOMETHING ^ 1))
    assert (verdict.decision, verdict.reason) == (Decision.NEW, Reason.CHANGED)
    assert (await store.stats()).pages == 1
    assert await outcome(store, replace(original, id=2)) == (Decision.NEW, None)


# Rule 5: full buckets


@pytest.mark.parametrize("fresh", fresh_places())
def test_a_page_whose_buckets_are_full_is_kept_and_not_remembered(fresh):
    async def scenario(place: Place) -> None:
        rng = random.Random(5)
        kept = []
        async with open_store(place.uri, expected_pages=1000) as store:
            await store.check_and_add(page(0, SOMETHING))
            for number in range(1, 2 * place.bucket_cap):
                # The first half is the same: no design spreads these.
                candidate = page(number, rng.getrandbits(32))
                verdict = await store.check_and_add(candidate)
                if verdict.decision is Decision.UNJUDGED:
                    break
                if verdict.decision is Decision.NEW:
                    kept.append(candidate)
            assert verdict.reason is Reason.OVERFLOW
            assert len(kept) == place.bucket_cap
            before = await store.stats()
            assert (before.pages, before.overflowed) == (len(kept) + 1, 1)
            # It can't replace its own entry either, and that one stays.
            changed = page(0, candidate.fingerprint)
            assert (await store.check_and_add(changed)).reason is Reason.OVERFLOW
            assert await outcome(store, page(0, SOMETHING)) == (Decision.SEEN, 0)
            # What is stored is found, and what is forgotten makes room.
            again = page(number + 1, kept[0].fingerprint)
            assert await outcome(store, again) == (Decision.DUPLICATE, kept[0].id)
            assert (await store.stats()).overflowed == 2
            await store.forget(kept[0].id)
            assert await outcome(store, candidate) == (Decision.NEW, None)

    with fresh() as place:
        if place.bucket_cap is None:
            pytest.skip("its buckets don't fill up in a test")
        asyncio.run(scenario(place))


# Pending, kept, gone


@on_store()
async def test_forget_withdraws_a_pending_entry_and_tells_what_it_cost(store):
    await store.check_and_add(page(1, SOMETHING))
    for number in range(2, 5):
        assert await outcome(store, page(number, SOMETHING)) == (Decision.DUPLICATE, 1)
    assert await store.forget(1) == 3
    stats = await store.stats()
    assert (stats.pages, stats.pending, stats.dropped) == (0, 0, 0)
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
    stats = await store.stats()
    assert (stats.pages, stats.pending, stats.dropped) == (1, 0, 2)


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


# Whatever the values


@on_store(max_distance=6)
async def test_the_largest_and_the_smallest_values(store):
    wide = 2**32 - 1
    for number, fingerprint in ((0, 0), (EVERYTHING, EVERYTHING)):
        extreme = page(number, fingerprint, title=wide, content=wide, tokens=10**9)
        assert await outcome(store, extreme) == (Decision.NEW, None)
    same = page(1, 63, title=wide, content=wide)
    assert await outcome(store, same) == (Decision.DUPLICATE, 0)
    same = page(2, EVERYTHING - 63, title=wide, content=wide)
    assert await outcome(store, same) == (Decision.DUPLICATE, EVERYTHING)
    await store.confirm(EVERYTHING)
    await store.confirm(0)
    assert (await store.stats()).pending == 0


@on_store()
async def test_any_text_in_scope_and_url(store):
    scopes = ("", "ü.example", "\ud800", "a" * 5000, "a\x00b", "'; DROP TABLE page; --")
    for number, scope in enumerate(scopes):
        odd = page(number, SOMETHING, scope=scope, url=f"https://{scope}/")
        assert await outcome(store, odd) == (Decision.NEW, None)
        await store.confirm(number)
    for number, scope in enumerate(scopes):
        verdict = await store.check_and_add(page(number + 10, SOMETHING, scope=scope))
        assert verdict.match.page_id == number
        if "\ud800" not in scope:
            assert verdict.match.url == f"https://{scope}/"


@pytest.mark.parametrize("fresh", fresh_places())
def test_namespaces_never_meet(fresh):
    async def scenario(place: Place) -> None:
        for namespace in ("shop.example", "news.example", "shop.example2", "%", "名"):
            async with open_store(place.uri, namespace=namespace) as store:
                assert await outcome(store, page(1, SOMETHING)) == (Decision.NEW, None)
                await store.confirm(1)
        if place.survives:
            async with open_store(place.uri, namespace="news.example") as store:
                assert (await store.stats()).pages == 1
                assert await outcome(store, page(2, SOMETHING)) == (Decision.DUPLICATE, 1)

    with fresh() as place:
        asyncio.run(scenario(place))


@pytest.mark.parametrize("fresh", fresh_places())
def test_of_pages_that_arrive_together_one_of_each_group_is_kept(fresh):
    async def scenario(place: Place) -> None:
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

    with fresh() as place:
        asyncio.run(scenario(place))


# Against the model


@pytest.mark.parametrize("fresh", fresh_places())
@pytest.mark.parametrize("k", range(9))
def test_a_long_crawl_agrees_with_the_model(k, fresh):
    async def scenario(uri: str) -> None:
        rng = random.Random(k)
        model = ModelStore(k)
        centres = [rng.getrandbits(64) for _ in range(6)]
        async with open_store(uri, max_distance=k, expected_pages=1000) as store:
            for _ in range(400):
                flips = sum({1 << rng.randrange(64) for _ in range(rng.randrange(k + 4))})
                arrival = page(
                    rng.randrange(150),
                    rng.choice(centres) ^ flips if rng.random() < 0.8 else rng.getrandbits(64),
                    exact=rng.random() < 0.1,
                    scope=rng.choice(("", "", "a.example")),
                    title=rng.randrange(3),
                    content=rng.randrange(2),
                    url=rng.choice((None, "https://a.example/", "https://b.example/")),
                )
                assert await store.check_and_add(arrival) == model.check_and_add(arrival)
                known = rng.randrange(150)
                if rng.random() < 0.5:
                    await store.confirm(known)
                    model.confirm(known)
                elif rng.random() < 0.2:
                    assert await store.forget(known) == model.forget(known)
            stats = await store.stats()
            assert (stats.pages, stats.pending, stats.dropped) == model.counts()

    with fresh() as place:
        if k > place.most_distance:
            check_refusal(place, k)
        else:
            asyncio.run(scenario(place.uri))


@pytest.mark.parametrize("name", sorted(PLACES))
def test_every_sequence_of_calls_agrees_with_the_model(name):
    _play(name, FEW_EXAMPLES.get(name, 60))


@pytest.mark.stress
@pytest.mark.parametrize("name", sorted(PLACES))
def test_many_sequences_of_calls_agree_with_the_model(name):
    _play(name, examples=2000)


def _play(name: str, examples: int) -> None:
    machine = type("Machine", (StoreMachine,), {"place_name": name})
    run_state_machine_as_test(
        machine,
        settings=settings(
            max_examples=examples,
            stateful_step_count=30,
            deadline=None,
            suppress_health_check=list(HealthCheck),
        ),
    )


# Opening one


def test_others_can_add_a_store(monkeypatch):
    class ListStore(Store):
        """The model behind the interface."""

        def __init__(self, uri: str, options: StoreOptions) -> None:
            self.uri, self.model = uri, ModelStore(options.max_distance)

        async def open(self) -> None:
            self.model.entries.clear()

        async def close(self) -> None:
            self.model.entries.clear()

        async def check_and_add(self, page: Page) -> Verdict:
            return self.model.check_and_add(page)

        async def confirm(self, page_id: int) -> None:
            self.model.confirm(page_id)

        async def forget(self, page_id: int) -> int:
            return self.model.forget(page_id)

        async def stats(self) -> StoreStats:
            pages, pending, dropped = self.model.counts()
            return StoreStats(pages=pages, pending=pending, dropped=dropped, overflowed=0)

    async def scenario() -> None:
        async with open_store("list:whatever//?", max_distance=2) as store:
            assert store.uri == "list:whatever//?"
            assert await outcome(store, page(1, 0b000)) == (Decision.NEW, None)
            assert await outcome(store, page(2, 0b011)) == (Decision.DUPLICATE, 1)
            assert await outcome(store, page(3, 0b111)) == (Decision.NEW, None)
            await store.confirm(1)
            assert await store.forget(1) == 0
            assert (await store.stats()).pages == 2

    monkeypatch.setitem(SCHEMES, "list", ListStore)
    asyncio.run(scenario())
