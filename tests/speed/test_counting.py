"""Compiled and pure count the shingles of a site alike."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from scrapy_neardup import _speed
from scrapy_neardup.judge.boilerplate import Counts, counted

pytestmark = pytest.mark.skipif(_speed.load("counting") is None, reason="pure Python")

values = st.integers(0, 40).map(lambda number: number * 0x0C00_0000_0100_0001 % 2**64)
hashes = st.sets(st.one_of(values, st.integers(0, 2**64 - 1)))


def ordered(shingles):
    return np.array(sorted(shingles), np.uint64)


@given(
    st.dictionaries(values, st.integers(1, 2**20), max_size=30),
    st.integers(0, 20),
    st.lists(hashes, min_size=1, max_size=8),
    st.tuples(st.sampled_from([1, 2]), st.sampled_from([0.0, 0.5, 1.25, 4.0]), st.integers(1, 40)),
)
def test_batches(known, halved, pages, limits):
    pure, compiled = _speed.TWINS["counting.counted"]
    shingles = ordered(known)
    counts = np.array([known[each] for each in shingles.tolist()], np.float32) / 2**halved
    before = counts.copy()
    expected = pure(shingles, counts, list(map(ordered, pages)), *limits)
    assert _speed.same(compiled(shingles, counts, list(map(ordered, pages)), *limits), expected)
    assert counts.tolist() == before.tolist()
    assert len(expected[0]) <= limits[-1]


def test_a_long_crawl(monkeypatch):
    drawn = np.random.default_rng(7)
    shared = drawn.integers(0, 1 << 64, 3000, np.uint64)
    ways = Counts(), Counts()
    for page in range(150):
        own = drawn.integers(0, 1 << 64, 1500, np.uint64)
        part = shared[drawn.random(3000) < (0.9 if page < 70 else 0.3)]
        shingles = np.unique(np.concatenate([own, part]))
        for counts, count in zip(ways, _speed.TWINS["counting.counted"], strict=True):
            monkeypatch.setattr("scrapy_neardup.judge.boilerplate.counted", count)
            counts.add(shingles)
        assert _speed.same(ways[0].shingles, ways[1].shingles)
        assert _speed.same(ways[0].counts, ways[1].counts)
    assert counted is _speed.TWINS["counting.counted"][1]
