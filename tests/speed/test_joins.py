"""Compiled and pure joins find the same pairs, hits and candidates."""

from fractions import Fraction
from functools import partial

import numpy as np
import pytest
from collections_of_sets import planted
from hypothesis import given
from hypothesis import strategies as st

from scrapy_neardup import _speed
from scrapy_neardup.offline.joins import encode, self_join, setjoin
from scrapy_neardup.offline.joins.measures import MEASURES
from scrapy_neardup.offline.joins.tokensets import ranges

compiled = _speed.load("joins")
pytestmark = pytest.mark.skipif(compiled is None, reason="pure Python")

shares = st.fractions(0, 1, max_denominator=1 << 26).filter(bool)
ratios = shares | st.sampled_from([Fraction(each) for each in ("1/2", "2/3", "4/5", "9/10", "1")])
measures = (
    st.tuples(st.sampled_from(["jaccard", "cosine", "containment"]), ratios)
    | st.tuples(st.just("overlap"), st.integers(1, 12) | st.just(1 << 60))
    | st.tuples(st.just("hamming"), st.integers(0, 12) | st.just(1 << 60))
)
collections = st.lists(st.frozensets(st.integers(0, 15), max_size=10), max_size=30) | st.builds(
    planted, st.integers(1, 80), seed=st.integers(0, 99)
)


def both_ways(sets, measure, boundary=None):
    """What each of the two finds: pairs and values, and counts."""
    name, threshold = measure
    join = partial(self_join, sets, threshold, measure=name, boundary=boundary)
    found = [join()]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(setjoin, "_compiled", None)
        found.append(join())
    return found


@given(collections, measures, st.none() | st.integers(0, 40))
def test_any_measure_and_sides(sets, measure, boundary):
    assert MEASURES[measure[0]](measure[1]).rule is not None
    fast, pure = both_ways(encode(sets), measure, boundary)
    for ours, theirs in zip(fast.columns, pure.columns, strict=True):
        assert ours.dtype == theirs.dtype
        assert ours.tolist() == theirs.tolist()
    assert fast.stats == pure.stats


def test_more_pairs_than_there_is_room_for_at_first():
    sets = encode([range(start % 97, start % 97 + 5) for start in range(2000)])
    fast, pure = both_ways(sets, ("jaccard", 1))
    assert len(fast) > 10_000
    assert all(map(np.array_equal, fast.columns, pure.columns))


@given(st.lists(st.tuples(st.integers(0, 20), st.integers(0, 9)), max_size=20))
def test_gathered(rows):
    tokens = np.arange(30, dtype=np.int32) * 3
    starts = np.array([start for start, _ in rows], np.int64)
    counts = np.array([count for _, count in rows], np.int64)
    result = compiled.gathered(tokens, starts, counts)
    assert result.dtype == np.int32
    assert result.tolist() == tokens[ranges(starts, counts)].tolist()


def test_a_threshold_whose_numbers_are_too_large_is_joined_in_pure_python():
    threshold = 0.1 + 2**-40
    assert MEASURES["cosine"](threshold).rule is None
    fast, pure = both_ways(encode([{1, 2}, {1, 2, 3}, {4}]), ("cosine", threshold))
    assert fast.i.tolist() == pure.i.tolist() == [0]
