"""Features and texts on every store: crowds, and what of a page a store is opened for."""

import random
from dataclasses import replace

import pytest
from deciders import Asking, by_evidence, everything, nothing
from matching_pages import (
    BY_BOTH,
    BY_FEATURES,
    CONFIRMED,
    FAR,
    NEAR_CONFIRMED,
    SIZES,
    ZEROS,
    like,
    own_evidence,
)
from store_registry import EVERYTHING, counts, keep, on_store, outcome, page

from scrapy_neardup.errors import StoreMismatchError
from scrapy_neardup.judge.evidence import Evidence
from scrapy_neardup.stores import open_store
from scrapy_neardup.stores.base import MAX_COMPARED
from scrapy_neardup.verdict import Decided, Decision, Page, Reason


@on_store(
    lambda page: lambda each: Decided(is_same=each.page_id == page.tokens, rule=""),
    matching=BY_FEATURES,
)
async def test_features_that_a_whole_site_shares_lead_nowhere_in_the_end(store):
    """Pages that have nothing but boilerplate in common are kept, and so is what is their own."""
    pages = [page(number, number << 20, features=(5, 6, 100 + number)) for number in range(1, 150)]
    for each in pages:
        assert await outcome(store, each) == (Decision.NEW, None)
    for each in pages[:10] + pages[-10:]:
        found = page(each.id + 10_000, 0, features=(0, 0, each.features[2]), tokens=each.id)
        assert await outcome(store, found) == (Decision.DUPLICATE, each.id)
    # Of two entries both features lead to the first ones.
    await store.confirm(1)
    other = page(9000, 0, features=(5, 6, 0), tokens=2)
    assert await outcome(store, other) == (Decision.DUPLICATE, 2)
    for number in (40, 149):  # 40 would be among the nearest
        other = page(9000 + number, 0, features=(5, 6, 0), tokens=number)
        assert await outcome(store, other) == (Decision.NEW, None)
    # To withdraw those that it doesn't lead to is no error, and makes room for nobody else's.
    for each in pages[1:]:
        assert await store.forget(each.id) in (0, 1, 2)
    assert (await store.stats()).pages == 3


@on_store(matching=BY_FEATURES)
async def test_features_that_many_scopes_share_lead_each_to_its_own(store):
    hosts = [f"{number}.example" for number in range(100)]
    for number, scope in enumerate(hosts):
        new = page(number, number << 20, scope=scope, features=(1, 2, 3))
        assert await outcome(store, new) == (Decision.NEW, None)
    for number, scope in enumerate(hosts):
        again = page(number + 1000, 0, scope=scope, features=(1, 0, 0))
        assert await outcome(store, again) == (Decision.DUPLICATE, number)


@on_store(by_evidence(NEAR_CONFIRMED), matching=NEAR_CONFIRMED)
async def test_a_page_among_many_that_are_near_and_not_alike_is_kept(store):
    rng = random.Random(1)
    for number in range(MAX_COMPARED + 20):
        digits = f"{rng.getrandbits(64):016x}"
        assert await outcome(store, page(number, 0, **like(digits))) == (Decision.NEW, None)
    assert (await store.stats()).overflowed == 0
    assert await outcome(store, page(number, 0, **like(digits))) == (Decision.SEEN, number)


@on_store(by_evidence(CONFIRMED), matching=CONFIRMED)
async def test_a_page_of_a_crowd_is_found_by_its_features_and_by_itself(store):
    def one(number: int, **more: object) -> Page:
        features = tuple(3 * number + place for place in (1, 2, 3))
        return page(number, 5, features=features, evidence=own_evidence(number, CONFIRMED), **more)

    crowd = [one(number) for number in range(MAX_COMPARED + 12)]
    for each in crowd:
        assert await outcome(store, each) == (Decision.NEW, None)
    last = crowd[-1]
    assert await outcome(store, last) == (Decision.SEEN, last.id)
    far = replace(last, id=500, fingerprint=EVERYTHING)
    assert await outcome(store, far) == (Decision.DUPLICATE, last.id)
    for each in crowd[:20]:
        assert await store.forget(each.id) == 0
    # There is room among the nearest now, and the page isn't there.
    hidden = replace(last, id=501, features=(1001, 1002, 1003))
    assert await outcome(store, hidden) == (Decision.NEW, None)
    for each in (*crowd[20:], hidden):
        await store.forget(each.id)
    assert await counts(store) == (0, 0, 0)


@on_store(by_evidence(CONFIRMED), matching=CONFIRMED)
async def test_the_nearest_of_a_crowd_is_found_by_its_features(store):
    """Although more others than are compared are near, and found by distance."""
    for number in range(MAX_COMPARED + 6):
        features, text = (number + 1, 1000, 2000), own_evidence(number, CONFIRMED)
        one = page(number, int(number < MAX_COMPARED + 5), features=features, evidence=text)
        assert await outcome(store, one) == (Decision.NEW, None)
    assert await outcome(store, replace(one, id=1000)) == (Decision.DUPLICATE, one.id)


async def test_a_crowd_is_one_when_the_store_is_opened_again(place):
    """Only the page itself finds it by distance, also if it would be among the nearest."""
    if not place.survives:
        pytest.skip("nothing survives there")
    listed, crowd = range(100, 101 + MAX_COMPARED), range(10)
    one = page(200, 0, **like(ZEROS))
    for numbers in (listed, crowd, [one.id]):
        async with open_store(place.uri, matching=NEAR_CONFIRMED) as opened:
            store = Asking(opened, nothing)
            await keep(store, *(replace(one, id=number) for number in numbers))
    assert [each.page_id for each in store.asked] == [*listed[:MAX_COMPARED]]


@on_store(nothing, matching=NEAR_CONFIRMED)
async def test_a_bounded_number_is_asked_about_and_the_page_itself_besides(store):
    near = [page(100 + number, 0, **like(f"{number:016x}")) for number in range(MAX_COMPARED)]
    far = page(1, 0b11, **like(ZEROS))
    for each in (*reversed(near), far):
        assert await outcome(store, each) == (Decision.NEW, None)
    nearest = [each.id for each in near]
    assert await outcome(store, page(2, 0, **like(ZEROS))) == (Decision.NEW, None)
    assert [each.page_id for each in store.asked] == nearest
    assert (await store.check_and_add(replace(far, fingerprint=1))).reason is Reason.CHANGED
    assert [each.page_id for each in store.asked] == [far.id, *nearest]


@on_store(by_evidence(CONFIRMED), matching=CONFIRMED)
async def test_many_exact_pages_of_one_digest_and_evidence_of_their_own_are_kept(store):
    def short(number: int, text: int) -> Page:
        return page(number, FAR[1], exact=True, evidence=own_evidence(text, CONFIRMED))

    for number in range(1, MAX_COMPARED + 10):
        assert await outcome(store, short(number, number)) == (Decision.NEW, None)
    assert await outcome(store, short(1000, 5)) == (Decision.DUPLICATE, 5)
    assert (await store.stats()).overflowed == 0


@on_store()
async def test_what_a_store_was_not_opened_for_counts_for_nothing(store):
    first = page(1, FAR[0], features=(1, 2, 3), **like(ZEROS))
    assert await outcome(store, first) == (Decision.NEW, None)
    other = page(2, FAR[0] ^ 1, features=(4, 5, 6), **like("1" * 16))
    verdict = await store.check_and_add(other)
    assert (verdict.match.page_id, verdict.match.resemblance) == (1, None)
    assert await outcome(store, replace(first, id=3, fingerprint=FAR[1])) == (Decision.NEW, None)
    assert await outcome(store, replace(first, fingerprint=FAR[2])) == (Decision.NEW, None)
    assert await store.forget(1) == 0
    assert await outcome(store, other) == (Decision.NEW, None)


async def test_features_evidence_and_notices_survive_where_entries_do(place):
    if not place.survives:
        pytest.skip("nothing survives there")
    plain = page(1, FAR[0], features=(1, 2, 3), **like("3" * 16))
    other = page(2, FAR[1], features=(4, 5, 6), **like(ZEROS))
    short = page(4, FAR[3], exact=True, evidence=Evidence(title=1).pack(SIZES))
    pages = (plain, other, short)
    async with open_store(place.uri, matching=CONFIRMED) as store:
        await keep(store, *pages)
        await store.exchange("a topic", "a", b"1")
        await store.exchange("a topic", "b", b"2")
    async with open_store(place.uri, matching=CONFIRMED) as store:
        asking = Asking(store, everything)
        assert sorted(await store.exchange("a topic", "a", b"3")) == [b"2", b"3"]
        for each in pages:
            assert await outcome(asking, replace(each, id=10)) == (Decision.DUPLICATE, each.id)
            assert [known.evidence for known in asking.asked] == [each.evidence]
        again = replace(other, id=12, fingerprint=FAR[4], features=(0, 5, 0))
        assert await outcome(asking, again) == (Decision.DUPLICATE, 2)
    for matching in (None, BY_BOTH, replace(CONFIRMED, named_bits=128)):
        with pytest.raises(StoreMismatchError):
            await open_store(place.uri, matching=matching).open()
