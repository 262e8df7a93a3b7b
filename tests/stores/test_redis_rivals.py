"""What follows from looking at others in a cluster: values in, decisions out."""

from dataclasses import replace

import pytest
from deciders import by_evidence
from matching_pages import like

from scrapy_neardup.stores import Matching
from scrapy_neardup.stores.base import MAX_COMPARED, MAX_UNDER_FEATURE
from scrapy_neardup.stores.redis.cluster.rivals import MAX_LOOKED_AT, Rivals
from scrapy_neardup.stores.redis.cluster.values import Attempt, AttemptEntry, Claims, ClusterPage
from scrapy_neardup.stores.redis.keyspace import Layout
from scrapy_neardup.verdict import Page

MATCHING = Matching(features=3, shared_features=2, text_bits=512, named_bits=64)
LAYOUT = Layout(3, 4, matching=MATCHING)
PAGE = Page(id=7, fingerprint=1 << 20, features=(1, 2, 3), **like("1234" * 4))
ALIKE, UNLIKE, OPPOSITE = like("1234" * 3 + "9999"), like("1234" * 2 + "9" * 8), like("9" * 16)


def attempt(key: int, number: int = 0) -> Attempt:
    return Attempt(key, number.to_bytes(4, "big"))


def rivals(page, *near, sharing=None, least=0.75) -> Rivals:
    mine = attempt(page.fingerprint, 2**32 - 1)
    claims = Claims(granted=True, full=False, near=set(near), sharing=sharing or {}, old=None)
    decide = by_evidence(MATCHING, least)(page)
    return Rivals(ClusterPage.of(page, LAYOUT, decide), mine, claims, MATCHING)


def entry(state: str, page: Page) -> AttemptEntry:
    """Return what a look at the entry of `page` shows."""
    arrived = ClusterPage.of(page, LAYOUT)
    features = b"".join(sorted(arrived.features))
    page_id = page.id.to_bytes(8, "big")
    return AttemptEntry(state.encode(), page_id, arrived.tag, features, page.evidence)


OTHER = attempt(1 << 20 ^ 1)
AFTER, BEFORE = attempt((1 << 20) + 2), attempt((1 << 20) - 2)


@pytest.mark.parametrize("state", ["kept", "pending"])
@pytest.mark.parametrize(
    ("changes", "in_the_way"),
    [
        ({}, True),
        (ALIKE, True),
        (UNLIKE, False),
        ({"evidence": b""}, False),
        ({"scope": "a.example"}, False),
    ],
)
def test_who_is_in_the_way(state, changes, in_the_way):
    met = rivals(PAGE, OTHER)
    looked = met.take({OTHER: entry(state, replace(PAGE, id=8, **changes))})
    assert bool(looked.match or looked.must_wait or met.wounded) is in_the_way
    assert bool(met.left()) is (in_the_way and state == "pending")


def test_whoever_asks_decides():
    other = entry("kept", replace(PAGE, id=9, **ALIKE))
    for least, in_the_way in ((0.75, True), (0.8, False)):
        met = rivals(PAGE, OTHER, least=least)
        assert bool(met.take({OTHER: other}).match) is in_the_way


def test_the_smaller_goes_first():
    met = rivals(PAGE, AFTER, BEFORE)
    pending = entry("pending", replace(PAGE, id=8))
    assert met.take({AFTER: pending}).must_wait is False
    assert met.wounded == {AFTER}
    assert met.take({BEFORE: pending}).must_wait is True
    assert met.wounded == {AFTER}
    # Its evidence isn't asked for again: it is a rival, whatever becomes of it.
    assert not met.needs_body(BEFORE)
    kept = entry("kept", replace(PAGE, id=8))._replace(features=b"", evidence=b"")
    match = met.take({BEFORE: kept}).match
    assert (match.attempt, match.decided.resemblance) == (BEFORE, 1.0)
    assert match.candidate.evidence == PAGE.evidence


def test_one_feature_in_common_is_looked_at_and_two_are_a_candidate():
    far = attempt(2**64 - 1)
    feature = min(ClusterPage.of(PAGE, LAYOUT).features)
    for features, in_the_way in (((1, 8, 9), False), ((1, 2, 9), True), ((2, 1, 9), False)):
        met = rivals(PAGE, sharing={feature: {far}})
        assert met.left() == [far]
        looked = met.take({far: entry("kept", replace(PAGE, id=8, features=features))})
        assert bool(looked.match) is in_the_way


def test_a_feature_of_so_many_kept_pages_is_boilerplate():
    one, two, three = ClusterPage.of(PAGE, LAYOUT).features
    others = [attempt(number << 32) for number in range(MAX_UNDER_FEATURE)]
    met = rivals(PAGE, sharing={one: set(others), two: set(others[1:]), three: set(others)})
    refused = entry("kept", replace(PAGE, id=8, **OPPOSITE))
    met.take(dict.fromkeys(others[1:], refused))
    assert met.boilerplate == frozenset()
    met.take({others[0]: refused})
    assert met.boilerplate == {one, three}


def test_of_a_crowd_the_nearest_are_compared():
    numbers = range(MAX_COMPARED + 1)
    others = [attempt(1 << 20, number) for number in numbers]
    entries = [entry("kept", replace(PAGE, id=100 + number, **OPPOSITE)) for number in numbers]
    met = rivals(PAGE, *others)
    assert met.take(dict(zip(others[1:], entries[1:], strict=True))).match is None
    assert not met.is_crowded
    entries[-1] = entries[-1]._replace(evidence=PAGE.evidence)
    met = rivals(PAGE, *others)
    assert met.take(dict(zip(others, entries, strict=True))).match is None
    assert met.is_crowded
    assert met.left() == []
    # The page itself comes first in any case.
    own = entries[-1]._replace(page_id=PAGE.id.to_bytes(8, "big"))
    met = rivals(PAGE, *others)
    assert met.take(dict(zip(others, [*entries[:-1], own], strict=True))).match.is_another is False


def test_so_many_are_looked_at_together():
    others = [attempt(1 << 20 ^ number % 4, number) for number in range(2 * MAX_LOOKED_AT)]
    met = rivals(PAGE, *others)
    first = met.left()
    assert len(first) == MAX_LOOKED_AT
    assert {each.key for each in first} == {1 << 20, 1 << 20 ^ 1, 1 << 20 ^ 2}
    met.take(dict.fromkeys(first, AttemptEntry(b"gone")))
    assert not set(first) & set(met.left())


def test_what_is_gone_is_taken_out_of_where_it_was_met():
    one, two, _ = ClusterPage.of(PAGE, LAYOUT).features
    met = rivals(PAGE, OTHER, sharing={one: {OTHER, AFTER}, two: {AFTER}})
    gone = {OTHER: AttemptEntry(b"gone"), AFTER: AttemptEntry(b"gone", features=b"01234567")}
    looked = met.take(gone)
    assert looked.gone == {OTHER: {one}, AFTER: {b"01234567"}}
