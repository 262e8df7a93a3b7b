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
    CrawlDiff,
    PageText,
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
    comparison = CrawlDiff()
    found = {c["page"]: c for c in comparison.changes(crawl(old, **more), crawl(new, **more))}
    return comparison.counts, found


@given(CRAWLS, CRAWLS)
def test_changes_are_those_of_the_lines(old, new):
    counts, found = compared(old, new)
    assert counts.total() == len(old.keys() | new.keys())
    assert {url for url, c in found.items() if c["change"] == NEW} == new.keys() - old.keys()
    assert {url for url, c in found.items() if c["change"] == GONE} == old.keys() - new.keys()
    for url in old.keys() & new.keys():
        before, after = Counter(old[url]), Counter(new[url])
        if before == after:
            assert url not in found
            continue
        assert found[url]["change"] == CHANGED
        assert Counter(found[url]["added"]) == after - before
        assert Counter(found[url]["removed"]) == before - after
        different = (after - before).total() + (before - after).total()
        share = different / (before.total() + after.total())
        assert found[url]["share"] == pytest.approx(share, abs=1e-6)


def test_one_line_in_eight_thousand_words_shows():
    lines = [" ".join(f"word{n}x{m}" for m in range(10)) for n in range(800)]
    _, found = compared({"a": lines}, {"a": [*lines[:400], "another price", *lines[401:]]})
    assert (found["a"]["added"], found["a"]["removed"]) == (["another price"], [lines[400]])
    assert found["a"]["share"] == pytest.approx(2 / 1600, abs=1e-6)


def test_without_texts_fingerprints_are_compared():
    counts, found = compared({"a": ["x"], "b": ["y"]}, {"a": ["x"], "b": ["z"]}, texts=False)
    assert counts == {UNCHANGED: 1, CHANGED: 1}
    assert found["b"] == {"page": "b", "change": CHANGED}


def test_lines_are_those_that_are_not_empty():
    assert page_lines("a\n12:30 \n\n  b ") == ("a", "12:30", "b")
    assert page_lines("a\n12:30\n\nb", "00011f2e00020003", {"1f2e"}) == ("a", "b")
    assert page_lines("a\nb\nc", "0001", {"0001", "0002"}) == ("b", "c")
