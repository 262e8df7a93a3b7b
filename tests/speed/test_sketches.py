"""Compiled and pure make the same sketches of many documents, which are those of each alone."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from twins import both

from scrapy_neardup.fingerprints import one_permutation_sketch
from scrapy_neardup.fingerprints.batch import NO_MINIMUM, minima_of_each, shingles_of_each
from scrapy_neardup.fingerprints.shingles import shingle_hashes

seeds = st.integers(0, 1 << 32)
lengths = st.lists(st.one_of(st.integers(0, 9), st.integers(0, 700)), max_size=6)
masks = st.sampled_from([(1 << 64) - 1, 7 << 61, 0xFF])


def documents(seed, counts, mask=(1 << 64) - 1):
    drawn = np.random.default_rng(seed).integers(0, 1 << 64, sum(counts), np.uint64)
    return drawn & np.uint64(mask), np.array(counts, np.int64)


@given(seeds, lengths, st.sampled_from([1, 4, 1 << 40]))
def test_shingles(seed, counts, size):
    tokens, counts = documents(seed, counts)
    hashes, numbers = both("features.shingles_of_each", tokens, counts, size)
    assert len(hashes) == numbers.sum()


@given(seeds, lengths, masks, st.sampled_from([16, 128, 1024]))
def test_minima_under_one_permutation(seed, counts, mask, bins):
    both("features.minima_of_each", *documents(seed, counts, mask), bins)


@given(seeds, st.integers(1, 700), masks, st.sampled_from([1, 31, 32, 84]))
def test_minima_under_many_permutations(seed, size, mask, count):
    (factors, _), (summands, _) = documents(seed, [count]), documents(seed + 1, [count])
    both("features.least_under", documents(seed, [size], mask)[0], factors, summands)


@given(seeds, lengths)
def test_a_document_among_others_is_as_one_alone(seed, counts):
    tokens, counts = documents(seed, counts)
    hashes, numbers = shingles_of_each(tokens, counts, 3)
    found = minima_of_each(hashes, numbers, 64)
    parts = np.split(tokens, np.cumsum(counts)[:-1]) if len(counts) else []
    for number, part in enumerate(parts):
        if not len(part):
            assert (found[number] == NO_MINIMUM).all()
            continue
        own = np.unique(shingle_hashes(part, 3))
        assert found[number].tolist() == one_permutation_sketch(own, 64).tolist()


def test_a_shingle_that_comes_twice_counts_once():
    hashes, _ = documents(1, [50])
    twice = np.tile(hashes, 2)
    once = minima_of_each(hashes, np.array([50]), 32)
    assert np.array_equal(minima_of_each(twice, np.array([100]), 32), once)
