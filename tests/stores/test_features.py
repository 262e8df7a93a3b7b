"""Candidates by min-wise features, on every store, and what of a page a store is opened for."""

from dataclasses import replace

import pytest
from deciders import Asking, by_tokens, everything
from matching_pages import BY_BOTH, BY_FEATURES, BY_TWO, CONFIRMED, FAR, SIZES, ZEROS, like
from store_registry import on_store, outcome, page

from scrapy_neardup.decision.evidence import Evidence
from scrapy_neardup.errors import StoreMismatchError
from scrapy_neardup.stores import open_store
from scrapy_neardup.verdict import Decided, Decision, Reason


@on_store(matching=BY_FEATURES)
async def test_by_features_alone(store):
    assert await outcome(store, page(1, FAR[0], features=(1, 2, 3))) == (Decision.NEW, None)
    verdict = await store.check_and_add(page(2, FAR[1], features=(9, 2, 8)))
    assert (verdict.decision, verdict.reason) == (Decision.DUPLICATE, Reason.NEAR)
    assert (verdict.match.page_id, verdict.match.distance) == (1, 8)
    assert verdict.match.resemblance is None
    # An equal fingerprint is nothing to them, and a feature in another place is another one.
    assert await outcome(store, page(3, FAR[0], features=(2, 3, 1))) == (Decision.NEW, None)
    # The nearest of those that share one.
    assert await outcome(store, page(4, 1, features=(1, 3, 5))) == (Decision.DUPLICATE, 1)
    assert await outcome(store, page(5, FAR[0], features=())) == (Decision.NEW, None)
    assert await outcome(store, page(6, FAR[0], features=())) == (Decision.NEW, None)


@on_store(matching=BY_BOTH)
async def test_by_either(store):
    await store.check_and_add(page(1, FAR[0], features=(1, 2, 3)))
    assert await outcome(store, page(2, 0b111, features=(4, 5, 6))) == (Decision.DUPLICATE, 1)
    assert await outcome(store, page(3, FAR[1], features=(4, 5, 3))) == (Decision.DUPLICATE, 1)
    assert await outcome(store, page(4, FAR[2], features=(4, 5, 6))) == (Decision.NEW, None)
    # Near one and sharing a feature with another: the nearest, whatever found it.
    assert await outcome(store, page(5, 0b11, features=(4, 0, 0))) == (Decision.DUPLICATE, 1)
    assert await outcome(store, page(6, FAR[2] ^ 1, features=(1, 0, 0))) == (Decision.DUPLICATE, 4)


@on_store(matching=BY_TWO)
async def test_as_many_features_as_asked_for(store):
    await store.check_and_add(page(1, FAR[0], features=(1, 2, 3)))
    assert await outcome(store, page(2, FAR[1], features=(1, 9, 9))) == (Decision.NEW, None)
    # Two entries that share one each aren't one that shares two.
    assert await outcome(store, page(3, FAR[2], features=(7, 2, 9))) == (Decision.NEW, None)
    assert await outcome(store, page(4, FAR[3], features=(1, 7, 3))) == (Decision.DUPLICATE, 1)


@on_store(by_tokens, matching=BY_FEATURES)
async def test_of_entries_under_one_feature_the_one_that_is_repeated_is_found(store):
    features = (1, 2, 3)
    await store.check_and_add(page(1, FAR[0], features=features))
    other = page(2, FAR[0], tokens=2, features=features)
    assert await outcome(store, other) == (Decision.NEW, None)
    for number in (1, 2):
        repeated = page(3, FAR[0], tokens=number, features=features)
        assert await outcome(store, repeated) == (Decision.DUPLICATE, number)
    changed = page(1, FAR[0], tokens=3, features=features)
    assert (await store.check_and_add(changed)).reason is Reason.CHANGED


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
    other = page(9001, 0, features=(5, 6, 0), tokens=149)
    assert await outcome(store, other) == (Decision.NEW, None)
    # To withdraw those that it doesn't lead to is no error, and makes room for nobody else's.
    for each in pages[1:]:
        assert await store.forget(each.id) in (0, 1, 2)
    assert (await store.stats()).pages == 2


@on_store(matching=BY_FEATURES)
async def test_features_that_many_scopes_share_lead_each_to_its_own(store):
    for number in range(100):
        new = page(number, number << 20, scope=f"{number}.example", features=(1, 2, 3))
        assert await outcome(store, new) == (Decision.NEW, None)
    for number in range(100):
        again = page(number + 1000, 0, scope=f"{number}.example", features=(1, 0, 0))
        assert await outcome(store, again) == (Decision.DUPLICATE, number)


# What it was opened for


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
        for each in pages:
            assert await outcome(store, each) == (Decision.NEW, None)
            await store.confirm(each.id)
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
