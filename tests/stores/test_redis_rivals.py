"""What follows from looking at others in a cluster: values in, decisions out."""

from dataclasses import replace

import pytest
from deciders import by_evidence
from matching_pages import like

from scrapy_neardup.fingerprints import PUBLIC_KEY
from scrapy_neardup.stores import Matching
from scrapy_neardup.stores.base import MAX_COMPARED, MAX_UNDER_FEATURE
from scrapy_neardup.stores.redis.cluster.rivals import Rivals
from scrapy_neardup.stores.redis.keyspace import PLACE, Layout
from scrapy_neardup.stores.redis.pages import ADDED, GONE, UNDECIDED, cut
from scrapy_neardup.verdict import Page

MATCHING = Matching(features=3, shared_features=2, text_bits=512, named_bits=64)
LAYOUT = Layout(3, 4, matching=MATCHING)
PAGE = Page(id=7, fingerprint=1 << 20, features=(1, 2, 3), **like("1234" * 4))
ALIKE, UNLIKE, OPPOSITE = like("1234" * 3 + "9999"), like("1234" * 2 + "9" * 8), like("9" * 16)
IN_TABLE, UNDER_FEATURES = b"t1345678", [b"f%d345678" % number for number in range(3)]


def rivals(page: Page, *others: bytes, least: float = 0.75) -> Rivals:
    met = Rivals(page, by_evidence(MATCHING, least)(page), LAYOUT, PUBLIC_KEY)
    for each in others:
        met.meet(each, IN_TABLE)
    return met


def seen(state: bytes, page: Page) -> tuple[bytes, bytes]:
    """Return the name of an attempt to add `page`, and what a look at it shows."""
    other = rivals(page)
    return other.name, state + other.record.stored


@pytest.mark.parametrize("state", [ADDED, UNDECIDED])
@pytest.mark.parametrize(("changes", "in_the_way"), [
    ({}, True), (ALIKE, True), (UNLIKE, False), ({"evidence": b""}, False),
    ({"scope": "a.example"}, False), ({"id": 7}, True),
])  # fmt: skip
def test_who_is_in_the_way(state, changes, in_the_way):
    name, reply = seen(state, replace(PAGE, **{"id": 8, **changes}))
    met = rivals(PAGE, name)
    repeats = met.take({name: reply})
    # Of a page that is fetched twice at once the later content is that of its entry.
    is_own = changes.get("id") == PAGE.id
    assert bool(repeats) is (in_the_way and state == ADDED)
    assert bool(met.left) is (in_the_way and state == UNDECIDED and not is_own)


def test_whoever_asks_decides():
    name, reply = seen(ADDED, replace(PAGE, id=9, **ALIKE))
    for least, in_the_way in ((0.75, True), (0.8, False)):
        assert bool(rivals(PAGE, name, least=least).take({name: reply})) is in_the_way


def test_the_smaller_goes_first():
    before, after = seen(UNDECIDED, replace(PAGE, id=6)), seen(UNDECIDED, replace(PAGE, id=8))
    met = rivals(PAGE, before[0], after[0])
    assert met.take(dict([before, after])) is None
    assert (met.wounded, met.left) == ([after[0]], {before[0], after[0]})
    assert met.take({after[0]: GONE}) is None
    assert (met.wounded, met.left) == ([], {before[0]})
    found, decided = met.take({before[0]: ADDED + before[1][1:]})
    assert (found.name, decided.resemblance) == (before[0], 1.0)


def test_one_feature_in_common_is_looked_at_and_two_are_a_candidate():
    for features, in_the_way in (((1, 8, 9), False), ((1, 2, 9), True), ((2, 1, 9), False)):
        name, reply = seen(ADDED, replace(PAGE, id=8, fingerprint=2**64 - 1, features=features))
        met = rivals(PAGE, name)
        assert met.left == {name}
        assert bool(met.take({name: reply})) is in_the_way


def test_a_feature_of_so_many_added_pages_is_boilerplate():
    others = [seen(ADDED, replace(PAGE, id=100 + n, **OPPOSITE)) for n in range(MAX_UNDER_FEATURE)]
    met = rivals(PAGE)
    for number, (name, _) in enumerate(others):
        for feature in (0, 1, 2) if number else (0, 2):
            met.meet(name, UNDER_FEATURES[feature])
    met.take(dict(others[1:]))
    assert met.needless() == set()
    met.take(dict(others[:1]))
    assert met.needless() == {UNDER_FEATURES[0], UNDER_FEATURES[2]}


def test_of_a_crowd_the_nearest_are_compared():
    others = dict(seen(ADDED, replace(PAGE, id=100 + n, **OPPOSITE)) for n in range(MAX_COMPARED))
    met = rivals(PAGE, *others)
    assert met.take(others) is None
    assert not met.is_crowded
    last = dict([seen(ADDED, replace(PAGE, id=1000))])
    met = rivals(PAGE, *others, *last)
    assert met.take(last | others) is None
    assert met.is_crowded
    assert (met.needless(), met.left) == ({*cut(met.places, PLACE)}, set())
    # The page itself comes first in any case.
    own = dict([seen(ADDED, PAGE)])
    met = rivals(PAGE, *others, *own)
    assert met.take(others | own)[0].name in own


def test_what_is_gone_is_known_where_it_was_met():
    name, _ = seen(GONE, replace(PAGE, id=8))
    met = rivals(PAGE, name)
    met.meet(name, UNDER_FEATURES[1])
    assert met.take({name: GONE}) is None
    assert met.left == set()
    assert [*met.listing[name]] == [IN_TABLE, UNDER_FEATURES[1]]
