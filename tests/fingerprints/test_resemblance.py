"""Resemblance and containment: exact, and from Broder's M_s and V_m."""

from collections import Counter
from math import sqrt

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from resembling_sets import HASH_SETS, fixed, resembling, uniform

from scrapy_neardup import joins
from scrapy_neardup.errors import ConfigurationError
from scrapy_neardup.fingerprints import features, token_hashes
from scrapy_neardup.fingerprints.resemblance import (
    bottom_containment,
    bottom_resemblance,
    bottom_sketch,
    containment,
    containment_of,
    mod_sketch,
    number_occurrences,
    resemblance,
)

SOME = st.sets(st.integers(0, 30)).map(lambda found: np.array(sorted(found), np.uint64))
"""Sets that have something in common."""


@given(SOME, SOME)
def test_measures_are_those_of_sets(a, b):
    ours, theirs = a.tolist(), b.tolist()
    assert resemblance(a, b[::-1]) == joins.resemblance(ours, theirs) == resemblance(b, a)
    assert containment(a[::-1], b) == joins.containment(ours, theirs)
    assert resemblance(a, a) == containment(a, a) == (len(a) > 0)


@given(SOME, SOME, st.integers(1, 40))
def test_the_sample_is_of_the_union(a, b, size):
    sample = set(sorted({*a.tolist(), *b.tolist()})[:size])
    expected = len(sample & {*a.tolist()} & {*b.tolist()}) / len(sample) if sample else 0
    sketches = [bottom_sketch(each[::-1], size) for each in (a, b)]
    assert bottom_resemblance(*sketches, size) == expected
    assert bottom_resemblance(*sketches[::-1], size) == expected
    # Larger sketches hold the smaller ones.
    assert bottom_resemblance(bottom_sketch(a, size + 3), b, size) == expected
    assert bottom_resemblance(sketches[0], sketches[0], size) == (len(a) > 0)
    assert 0 <= expected <= 1


@given(HASH_SETS, st.integers(1, 150), st.randoms(use_true_random=False))
def test_a_bottom_sketch_is_the_beginning_of_the_sorted_set(hashes, size, random):
    shuffled = hashes.tolist()
    random.shuffle(shuffled)
    found = bottom_sketch(np.array(shuffled, np.uint64), size)
    assert found.tolist() == hashes.tolist()[:size]


def test_small_sets_are_compared_exactly():
    a, b = fixed(60)[:50], fixed(60)[10:]
    assert bottom_resemblance(bottom_sketch(a, 64), bottom_sketch(b, 64), 64) == 40 / 60


@pytest.mark.parametrize("wanted", [0.3, 0.8, 0.95])
def test_bottom_sketches_are_unbiased_with_the_error_stated(wanted):
    random = np.random.default_rng(1)
    errors = []
    for _ in range(400):
        a, b, truth = resembling(random, 500, wanted)
        estimate = bottom_resemblance(bottom_sketch(a, 64), bottom_sketch(b, 64), 64)
        errors.append(estimate - truth)
    union = len(np.union1d(a, b))
    bound = sqrt(truth * (1 - truth) / 64 * (union - 64) / (union - 1))
    assert abs(np.mean(errors)) <= 4 * bound / sqrt(400)
    assert np.std(errors) == pytest.approx(bound, rel=0.14)


@pytest.mark.parametrize("moduli", [(8, 8), (4, 16)])
def test_mod_sketches_are_unbiased_with_the_error_stated(moduli):
    random = np.random.default_rng(2)
    larger = max(moduli)
    resembled, contained = [], []
    for _ in range(400):
        hashes = uniform(random, 1200)
        sets = hashes[:1000], hashes[400:]  # 600 in common
        a, b = (mod_sketch(each, m) for each, m in zip(sets, moduli, strict=True))
        a, b = mod_sketch(a, larger), mod_sketch(b, larger)
        resembled.append(resemblance(a, b) - 600 / 1200)
        contained.append(containment(a, b) - 600 / 1000)
    for errors, bound in (
        (resembled, sqrt(0.5 * 0.5 / (1200 / larger))),
        (contained, sqrt(0.6 * 0.4 / (1000 / larger))),
    ):
        assert abs(np.mean(errors)) <= 4 * bound / sqrt(400)
        assert np.std(errors) == pytest.approx(bound, rel=0.16)


@given(SOME, SOME, st.integers(1, 40))
def test_containment_is_estimated_as_far_as_both_sketches_reach(a, b, size):
    sketches = [bottom_sketch(each[::-1], size) for each in (a, b)]
    reach = min([each[-1] for each in sketches if len(each) == size], default=31)
    expected = joins.containment(
        [value for value in a.tolist() if value <= reach],
        [value for value in b.tolist() if value <= reach],
    )
    assert bottom_containment(*sketches, size) == expected
    if size > 31:
        assert expected == containment(a, b)


@pytest.mark.parametrize("factor", [1, 4])
def test_estimated_containment_is_unbiased(factor):
    size, shared, bins = 1000, 900, 256
    random, errors = np.random.default_rng(1), []
    for _ in range(300):
        found = uniform(random, size + factor * size - shared)
        a, b = found[:size], found[size - shared :]
        sketches = [bottom_sketch(each, bins) for each in (a, b)]
        errors.append(bottom_containment(*sketches, bins) - 0.9)
    bound = sqrt(0.9 * 0.1 / (bins * size / len(b)))
    assert abs(np.mean(errors)) <= 4 * bound / sqrt(300)
    assert np.std(errors) <= 1.2 * bound


@given(SOME, SOME)
def test_containment_follows_from_resemblance_and_sizes(a, b):
    found = containment_of(resemblance(a, b), len(a), len(b))
    assert found == pytest.approx(containment(a, b), abs=1e-12)
    assert 0 <= found <= 1
    assert containment_of(-0.01, len(a), len(b)) == 0


@given(st.lists(st.integers(0, 6), max_size=30), st.lists(st.integers(0, 6), max_size=30))
def test_numbered_occurrences_are_multisets(ours, theirs):
    hashes = fixed(7)
    a, b = Counter(ours), Counter(theirs)
    sets = [
        number_occurrences(hashes[list(bag)], np.array([*bag.values()], np.float64))
        if bag
        else np.empty(0, np.uint64)
        for bag in (a, b)
    ]
    for found, bag in zip(sets, (a, b), strict=True):
        assert len(set(found.tolist())) == bag.total()
    largest = (a | b).total()
    assert resemblance(*sets) == ((a & b).total() / largest if largest else 0)
    assert containment(*sets) == ((a & b).total() / a.total() if a else 0)


def test_repeated_shingles_count_or_do_not():
    short, long = (
        token_hashes(text) for text in ("a rose is a rose", "a rose is a rose is a rose")
    )

    def shingles(tokens):
        return features(tokens, shingle_size=3, weights="tf")

    plain = [shingles(tokens)[0] for tokens in (short, long)]
    assert resemblance(*plain) == 3 / 3
    numbered = [number_occurrences(*shingles(tokens)) for tokens in (short, long)]
    assert resemblance(*numbered) == 3 / 6
    assert containment(*numbered) == 1
    # The first occurrence is the shingle itself, so both kinds of sets can be compared.
    assert containment(plain[1], numbered[1]) == 1


def test_numbers_stay_as_they_are():
    found = number_occurrences(fixed(2), np.array([3.0, 1.0]))
    assert [f"{value:016x}" for value in found] == [
        "6c576fac9b53df24", "2772a303fb625c36", "312ec3b8304c6e19", "826886b2829b167c",
    ]  # fmt: skip


@pytest.mark.parametrize(
    "call", [lambda: bottom_sketch(fixed(3), 0), lambda: bottom_resemblance(fixed(3), fixed(3), 0)]
)
def test_sizes_that_are_refused(call):
    with pytest.raises(ConfigurationError, match="1 or more, not 0"):
        call()
