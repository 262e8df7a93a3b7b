"""What has changed between two crawls, line by line."""

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scrapy_neardup.report.crawldiff import (
    CHANGED,
    GONE,
    NEW,
    UNCHANGED,
    PageText,
    changes,
    page_lines,
)

LINES = st.lists(st.sampled_from(["one", "two", "three", "four"]), max_size=6)
CRAWLS = st.dictionaries(st.sampled_from("abcd"), LINES, max_size=4)


def crawl(pages, *, texts=True):
    return [
        PageText(url, str(hash(tuple(lines))), tuple(lines) if texts else None)
        for url, lines in pages.items()
    ]


def compared(old, new, **more):
    found = [*changes(crawl(old, **more), crawl(new, **more))]
    return Counter(c.kind for c in found), {c.page: c for c in found}


@given(CRAWLS, CRAWLS)
def test_changes_are_those_of_the_lines(old, new):
    counts, found = compared(old, new)
    assert counts.total() == len(old.keys() | new.keys())
    assert {url for url, c in found.items() if c.kind == NEW} == new.keys() - old.keys()
    assert {url for url, c in found.items() if c.kind == GONE} == old.keys() - new.keys()
    for url in old.keys() & new.keys():
        before, after = Counter(old[url]), Counter(new[url])
        if before == after:
            assert found[url].kind == UNCHANGED
            continue
        assert found[url].kind == CHANGED
        assert Counter(found[url].lines["added"]) == after - before
        assert Counter(found[url].lines["removed"]) == before - after
        different = (after - before).total() + (before - after).total()
        share = different / (before.total() + after.total())
        assert found[url].lines["share"] == pytest.approx(share, abs=1e-6)


def test_without_texts_fingerprints_are_compared():
    counts, found = compared({"a": ["x"], "b": ["y"]}, {"a": ["x"], "b": ["z"]}, texts=False)
    assert counts == {UNCHANGED: 1, CHANGED: 1}
    assert found["b"] == ("b", CHANGED, {}, True)


def test_lines_are_those_that_are_not_empty():
    assert page_lines("a\n12:30 \n\n  b ") == ("a", "12:30", "b")
    assert page_lines("a\n12:30\n\nb", "00011f2e00020003", {"1f2e"}) == ("a", "b")
    assert page_lines("a\nb\nc", "0001", {"0001", "0002"}) == ("b", "c")
