"""Rules: what they join, and what tells a pair apart."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scrapy_neardup.dust.urlparts import Parts
from scrapy_neardup.dust.urlrule import (
    CASE,
    EMPTY,
    KINDS,
    PARAMETER,
    PATH_PARAMETER,
    SCHEME,
    SEGMENT,
    SLASH,
    VALUE,
    WWW,
    Rule,
    difference,
)

HOST = "http://example.com"

PAIRS = [
    ("/a", "/a?sid=1", [Rule(PARAMETER, "sid")]),
    ("/a?sid=1", "/a?sid=2", [Rule(PARAMETER, "sid")]),
    ("/a?x=1&sid=1", "/a?sid=2&x=1", [Rule(PARAMETER, "sid")]),
    ("/a?x=1", "/a?y=1", [Rule(PARAMETER, "x"), Rule(PARAMETER, "y")]),
    ("/a/b", "/a/b/", [Rule(SLASH)]),
    ("/a/", "/a/index.html", [Rule(SEGMENT, "index.html", "", -1)]),
    ("/print/a/b", "/a/b", [Rule(SEGMENT, "print", None, 0)]),
    ("/print/a/", "/module/a/", [Rule(SEGMENT, "module", "print", 0)]),
    ("/docs/en_GB/x", "/docs/en/x", [Rule(SEGMENT, "en_GB", "en", 1)]),
    ("/a/b/c/d/print", "/a/b/c/d", [Rule(SEGMENT, "print", None, -1)]),
    ("/Ab/C", "/ab/c", [Rule(CASE)]),
    ("/a;jsessionid=1/b", "/a;jsessionid=2/b", [Rule(PATH_PARAMETER, "jsessionid")]),
    ("/a;jsessionid=1", "/a", [Rule(PATH_PARAMETER, "jsessionid")]),
    ("/a/b", "/c/d", []),
    ("/a", "/a/b/c", []),
]


@pytest.mark.parametrize(("one", "other", "rules"), PAIRS)
def test_a_pair_is_joined_by_its_difference(one, other, rules):
    one, other = Parts.of(HOST + one), Parts.of(HOST + other)
    assert list(difference(one, other)) == rules
    assert set(difference(other, one)) == set(rules)
    if rules:
        for rule in rules:
            one, other = rule.apply(one), rule.apply(other)
        assert one == other


def test_hosts_are_joined_with_their_www_and_with_https_alone():
    one = Parts.of("http://www.example.com/a")
    assert set(difference(one, Parts.of("https://example.com/a"))) == {Rule(WWW), Rule(SCHEME)}
    assert not difference(one, Parts.of("http://other.example.com/a"))


SEGMENTS = st.lists(st.sampled_from(["a", "b", "print", "B", "c;s=1", "c;s=2"]), max_size=4)
QUERIES = st.lists(st.sampled_from(["x=1", "x=2", "y=1", "sid=3"]), max_size=3)
ADDRESSES = st.builds(
    lambda www, path, slash, query: Parts.of(
        f"http://{www}example.com/{'/'.join(path)}{slash}?{'&'.join(query)}"
    ),
    st.sampled_from(["", "www."]),
    SEGMENTS,
    st.sampled_from(["", "/"]),
    QUERIES,
)


CHANGES = [
    lambda parts: parts._replace(www="" if parts.www else "www."),
    lambda parts: parts._replace(segments=("print", *parts.segments)),
    lambda parts: parts._replace(segments=(*parts.segments, "")),
    lambda parts: parts._replace(segments=("b;s=9", *parts.segments[1:])),
    lambda parts: parts._replace(segments=tuple(map(str.upper, parts.segments))),
    lambda parts: parts._replace(query=tuple(sorted((*parts.query, "sid=4")))),
    lambda parts: parts._replace(query=parts.query[1:]),
]


@given(ADDRESSES, st.lists(st.sampled_from(CHANGES), max_size=2))
def test_any_pair_is_joined_by_its_difference_and_by_nothing_less(one, changes):
    other = one
    for change in changes:
        other = change(other)
    rules = difference(one, other)
    for rule in rules:
        assert rule.apply(one) != one or rule.apply(other) != other
    a, b = one, other
    for rule in rules:
        a, b = rule.apply(a), rule.apply(b)
    assert a == b or not rules


@given(ADDRESSES, ADDRESSES)
def test_a_rule_that_was_applied_changes_nothing_more(one, other):
    for rule in difference(one, other):
        applied = rule.apply(one)
        assert rule.apply(applied) == applied


@given(ADDRESSES, ADDRESSES)
def test_a_counterpart_is_joined_with_its_address(one, other):
    for rule in (*difference(one, other), Rule(VALUE, "page=1")):
        canonical = rule.apply(one)
        if (counterpart := rule.counterpart(canonical)) is not None:
            assert rule.apply(counterpart) == rule.apply(canonical)


def test_every_kind_says_what_it_is():
    said = {str(Rule(kind, "what", "by")) for kind in KINDS}
    said |= {str(Rule(SEGMENT, "index.html", "")), str(Rule(SEGMENT, "print", None))}
    assert len(said) == len(KINDS) + 2
    assert str(Rule(EMPTY, "/calendar/N/N/")) == "/calendar/N/N/ never says anything new"


@pytest.mark.parametrize(
    ("easier", "harder"), [("PHPSESSID", "sort"), ("utm_source", "ref"), ("sort", "lang")]
)
def test_what_a_name_says_counts(easier, harder):
    one, other = Rule(PARAMETER, easier), Rule(PARAMETER, harder)
    assert one.needed < other.needed
    assert one.checks <= other.checks
