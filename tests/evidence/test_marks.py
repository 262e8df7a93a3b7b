"""The furniture of one page: which bins it has, and would have, by definition."""

from functools import partial

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from made_evidence import plane
from resembling_sets import HASH_SETS

from scrapy_neardup.evidence.layout import bin_values
from scrapy_neardup.evidence.marks import Marks, common
from scrapy_neardup.fingerprints import one_permutation_sketch


def shingles(*values):
    return np.array(sorted(values), np.uint64)


def marked(text, furniture, bins):
    minima = one_permutation_sketch(text, bins)
    return Marks(text, minima, furniture, partial(one_permutation_sketch, furniture, bins), 29)


@given(st.sets(st.integers(0, 40)), st.sets(st.integers(0, 40)))
def test_what_is_in_both_sets(ours, theirs):
    assert common(shingles(*ours), shingles(*theirs)).tolist() == sorted(ours & theirs)


@given(HASH_SETS, HASH_SETS, st.integers(0, 2**32), st.sampled_from((16, 128, 512)))
def test_the_bins_of_furniture_are_those_that_change_without_it(text, others, seed, bins):
    random = np.random.default_rng(seed)
    furniture = np.union1d(text[random.random(len(text)) < random.choice([0, 0.1, 0.9])], others)
    rest = np.setdiff1d(text, furniture)
    minima, differs = one_permutation_sketch(text, bins), np.ones(bins, bool)
    if len(rest):
        differs = minima != one_permutation_sketch(rest, bins)
    marks = marked(text, furniture, bins)
    assert marks.plane() == plane(differs)
    assert marks.is_most() is (len(rest) < 29)


@given(HASH_SETS, HASH_SETS, st.integers(0, 2**32), st.sampled_from((64, 512)))
def test_the_bins_of_furniture_that_is_lacked_are_those_that_change_with_it(
    text, others, seed, bins
):
    shared = np.random.default_rng(seed).random(len(text)) < 0.2
    furniture = np.union1d(text[shared], others)
    found = marked(text, furniture, bins).lacked(2)
    whole = one_permutation_sketch(np.union1d(text, furniture), bins)
    changed = whole != one_permutation_sketch(text, bins)
    if 2 * np.isin(furniture, text).sum() >= len(furniture) or changed.sum() < 16:
        assert found is None
        return
    where, values = found
    assert where == plane(changed)
    for place, value in enumerate(values):
        assert value & where == plane((bin_values(whole) >> place & 1 > 0) & changed)


def test_without_furniture_nothing_is_marked():
    text = shingles(*range(1, 10**18, 10**16))
    marks = Marks(text, one_permutation_sketch(text, 128), np.empty(0, np.uint64), len, 29)
    assert marks.plane() == 0
    assert marks.lacked(2) is None
    assert not marks.is_most()
