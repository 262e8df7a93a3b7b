"""Thresholds are exact, as fractions and doubles say; the suffix filter's bound is one."""

from fractions import Fraction
from math import nextafter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from scrapy_neardup.offline.joins import containment, resemblance
from scrapy_neardup.offline.joins.measures import cosine, jaccard, overlap
from scrapy_neardup.offline.joins.reference import symmetric_difference_bound

thresholds = st.one_of(
    st.floats(0, 1, exclude_min=True, allow_subnormal=False),
    st.fractions(0, 1, max_denominator=1000).filter(bool).map(float),
)
sizes = st.integers(1, 3000)


def arrays(*values):
    return [np.array([value], dtype=np.int64) for value in values]


@given(thresholds, sizes, sizes)
def test_jaccard_requires_what_doubles_say(threshold, x, y):
    measure = jaccard(threshold)
    x, y = max(x, y), min(x, y)
    required = measure.required(x, y)
    assert required == measure.required(*arrays(x, y))[0]
    if required <= y:
        assert required / (x + y - required) >= threshold
    if required > 1:
        lower = min(required - 1, y)
        assert lower / (x + y - lower) < threshold
    smallest = measure.smallest_partner(x)
    assert smallest / x >= threshold
    assert (smallest - 1) / x < threshold


@given(st.fractions(0, 1, max_denominator=100).filter(bool), sizes, sizes)
def test_cosine_requires_what_fractions_say(threshold, x, y):
    measure = cosine(float(threshold))
    x, y = max(x, y), min(x, y)
    required = measure.required(x, y)
    assert required == measure.required(*arrays(x, y))[0]
    assert required**2 >= threshold**2 * x * y
    assert (required - 1) ** 2 < threshold**2 * x * y
    smallest = measure.smallest_partner(x)
    assert smallest >= threshold**2 * x > smallest - 1


@pytest.mark.parametrize("factory", [jaccard, cosine])
def test_ties_and_their_neighbours(factory):
    # Half of ten tokens: 0.5 is met, the next double above is not.
    assert factory(0.8).required(5, 5) == (5 if factory is jaccard else 4)
    assert factory(1).required(7, 7) == 7
    met, missed = factory(0.5), factory(nextafter(0.5, 1))
    x, y = (10, 5) if factory is jaccard else (10, 10)
    assert met.required(x, y) == 5
    assert missed.required(x, y) == 6
    # Ratios whose double is a little too small or too large.
    for ratio in (Fraction(1, 3), Fraction(2, 3), Fraction(5, 6), Fraction(9, 11)):
        smallest = (ratio if factory is jaccard else ratio**2) * 66**2
        assert factory(float(ratio)).smallest_partner(66**2) == smallest
        assert factory(float(ratio)).required(66, 66) == factory(ratio).required(66, 66)


@given(st.sampled_from([jaccard, cosine]), thresholds, sizes)
def test_prefixes_follow_from_the_least_overlap_of_any_partner(factory, threshold, x):
    measure = factory(threshold)
    partners = range(measure.smallest_partner(x), x + 1)
    assert measure.probing_prefix(x) == x - min(measure.required(x, y) for y in partners) + 1
    assert measure.indexing_prefix(x) == x - measure.required(x, x) + 1


def test_sets_too_small_for_an_overlap_have_no_prefix():
    measure = overlap(5)
    assert [measure.probing_prefix(size) for size in (3, 4, 5, 6)] == [0, 0, 1, 2]
    assert measure.required(*arrays(9, 9)).tolist() == [5]


def test_resemblance_and_containment():
    assert resemblance("abcd", "bcde") == 0.6
    assert resemblance([1, 1, 2], [2, 1]) == 1
    assert resemblance([], []) == 0
    assert containment({"a", "b"}, {"b", "c", "d"}) == 0.5
    assert containment([], [1]) == 0


token_lists = st.sets(st.integers(0, 30), max_size=20).map(sorted)


@given(token_lists, token_lists, st.integers(0, 25), st.integers(0, 6))
def test_the_bound_rules_out_no_pair_within_it(x, y, most, max_depth):
    difference = len(set(x) ^ set(y))
    bound = symmetric_difference_bound(x, y, most, max_depth)
    if difference <= most:
        assert bound <= difference
    assert abs(len(x) - len(y)) <= max(bound, most + 1)


def test_deep_enough_it_is_the_difference():
    x, y = list(range(0, 40, 2)), list(range(0, 40, 3))
    difference = len(set(x) ^ set(y))
    assert symmetric_difference_bound(x, y, 100, 10) == difference
    assert symmetric_difference_bound(x, y, difference - 1, 10) >= difference


def test_a_window_over_the_edge_rules_out_nothing():
    # The middle token of y lies behind all of x: found by clamping the window to x, "not in
    # the window" would lose the pair.
    assert symmetric_difference_bound([1, 2], [1, 2, 3, 4, 5], 3, 2) <= 3
    assert symmetric_difference_bound([4, 5], [1, 2, 3, 4, 5], 3, 2) <= 3
    assert symmetric_difference_bound([1, 2, 3, 4, 5], [9], 6, 2) <= 6
