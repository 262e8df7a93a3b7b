"""Claims go from one crawler to another, and any bytes may come instead."""

import json
import zlib

import pytest
from claimed_site import SID, ClaimedSite, at
from hypothesis import given
from hypothesis import strategies as st

from scrapy_neardup.claims.claim import MAX_EXAMPLE, MAX_NAMES, NEEDED, Claim
from scrapy_neardup.claims.claimbook import MAX_CLAIMS, MAX_DUMP, ClaimBook, Key, loaded
from scrapy_neardup.claims.host import Host
from scrapy_neardup.claims.part import MAX_WHAT, PARAMETER, SEGMENT, Part


def test_two_crawlers_learn_from_each_other():
    one, other = ClaimedSite(), ClaimedSite()
    one.confirm("{}?sid={}")
    other.page("/p/9")
    assert {begins for *_, begins in other.hears_of(one)} == {True}
    assert not other.hears_of(one)
    assert other.finds("/p/9?sid=1") == [SID]
    one.page("/p/1?sid=2", "something else")
    found = other.host.add_others([one.host.claims.dump()])
    contradiction = at("/p/1?sid=2").url, at("/p/1").url
    assert {(each.begins, each.pair) for each in found} == {(False, contradiction)}
    assert other.finds("/p/9?sid=1") is None
    assert not one.hears_of(other)


def test_what_a_crawler_has_heard_is_not_counted_twice():
    one, other = ClaimedSite(), ClaimedSite()
    one.confirm("{}?sid={}", NEEDED - 1)
    for _ in range(3):
        assert not other.hears_of(one)
        assert not one.hears_of(other)
    assert other.claim("/p/N", SID).streak == NEEDED - 1


def test_the_fullest_book_can_be_read():
    book, url = ClaimBook(), "x" * MAX_EXAMPLE
    for number in range(MAX_CLAIMS):
        claim = book.about(Key("/" + "x" * MAX_WHAT, Part(PARAMETER, f"{number:x>{MAX_WHAT}}")))
        claim.support((url, url))
        claim.counter = (url, url)
        claim.values = ((1 << 27) - 1,) * (MAX_NAMES * NEEDED)
    assert dict(loaded(book.dump())) == book


@given(st.binary(max_size=200))
def test_any_bytes_are_a_dump_of_nothing(dump):
    host = Host()
    assert not host.add_others([dump, zlib.compress(dump)])
    assert not host.claims.in_force


JUNK = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=11),
    max_leaves=20,
)


@given(st.lists(JUNK, max_size=4))
def test_any_json_is_a_dump_of_nothing_that_could_not_be(lines):
    host = Host()
    host.add_others([zlib.compress(json.dumps(lines).encode())])
    assert not host.claims.in_force
    host.learn(at("/a?b=1"), 1, is_new=True)


def line(*, place="/p/N", kind=SEGMENT, place_in_path=0, claim=Claim().dump()):  # noqa: B008
    return [place, kind, "x", "y", place_in_path, claim]


HOSTILE = {
    "deep": b"[" * 100_000,
    "long": b" " * (MAX_DUMP + 1) + b"[]",
    "kind": json.dumps([line(kind="nothing")]).encode(),
    "place": json.dumps([line(place="x" * 1_000)]).encode(),
    "claim": json.dumps([line(claim=[])]).encode(),
    "number": json.dumps([line(claim=[True, -1, *[0] * 7, None, None])]).encode(),
    "half": json.dumps([line(), None]).encode(),
    "object": json.dumps({"a": 1}).encode(),
}


@pytest.mark.parametrize("dump", HOSTILE.values(), ids=HOSTILE)
def test_a_hostile_dump_is_skipped(dump):
    host, packed = Host(), zlib.compress(dump)
    assert loaded(packed) == []
    host.add_others([packed])
    assert not host.claims


def test_a_dump_with_strange_places_finds_nothing():
    claim = Claim()
    for _ in range(NEEDED):
        claim.support(("a", "b"))
    lines = [line(place_in_path=place, claim=claim.dump()) for place in (10**9, -(10**9), 31, -32)]
    host = Host()
    assert len(host.add_others([zlib.compress(json.dumps(lines).encode())])) == len(lines)
    assert host.find(at("/x")) is None
