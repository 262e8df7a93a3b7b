"""One-permutation sketches: the definition, fixed values, and the estimators' errors."""

from math import sqrt

import numpy as np
import pytest
import reference_simhash as reference
from hypothesis import given, settings
from hypothesis import strategies as st
from resembling_sets import HASH_SETS, fixed, resembling

from scrapy_neardup.errors import ConfigurationError, NoFeaturesError
from scrapy_neardup.fingerprints.hashing import PUBLIC, digest
from scrapy_neardup.fingerprints.minwise import one_permutation_sketch

BINS = st.sampled_from([16, 32, 64, 128, 256])


def throw_by_throw(shingles, bins):
    """The sketch by its definition: one throw after the other, one shingle after the other."""
    sketch = {}
    shift = 64 - (bins - 1).bit_length()
    for throw in range(2 * bins):
        hit = {}
        for shingle in shingles:
            value = shingle
            if throw:
                value = reference.mix((shingle + throw * 0x9E3779B97F4A7C15) % 2**64)
            place = value >> shift if throw < bins else throw - bins
            rank = value % 2**53
            hit[place] = min(rank, hit.get(place, rank))
        for place, rank in hit.items():
            sketch.setdefault(place, min(throw, bins) << 53 | rank)
    return [sketch[place] for place in range(bins)]


def estimate(a, b, bits):
    """The resemblance of two sets, from `bits` bits of each minimum (Li & König 2010)."""
    values = [PUBLIC.mix(each.copy()) for each in (a, b)]
    differing = (values[0] ^ values[1]) & np.uint64((1 << bits) - 1) != 0
    return 1 - differing.mean() / (1 - 2.0**-bits)


@given(HASH_SETS, BINS)
@settings(max_examples=25)
def test_a_sketch_is_what_was_thrown_first(shingles, bins):
    sketch = one_permutation_sketch(shingles, bins)
    assert sketch.tolist() == throw_by_throw(shingles.tolist(), bins)


@pytest.mark.parametrize("count", [1, 2, 5, 300, 1500])
def test_so_it_is_for_few_and_many_shingles(count):
    shingles = fixed(count)
    assert one_permutation_sketch(shingles, 128).tolist() == throw_by_throw(shingles.tolist(), 128)


@pytest.mark.parametrize(("count", "bins", "expected"), [
    (1, 16, 0x3AFA51110E4C3045),
    (40, 64, 0xE2BB14383DD8144B),
    (1000, 256, 0x1D0EDD218212C202),
    (5000, 1024, 0x50D9E556FF059D78),
])  # fmt: skip
def test_sketches_stay_as_they_are(count, bins, expected):
    assert digest(one_permutation_sketch(fixed(count), bins).astype("<u8").tobytes()) == expected


@pytest.mark.parametrize("size", [12, 100, 1000])
@pytest.mark.parametrize("wanted", [0, 0.5, 0.9])
def test_estimates_are_unbiased_with_the_error_stated(size, wanted):
    random = np.random.default_rng(6)
    pairs, bins = 400, 128
    errors = {bits: [] for bits in (1, 2, 4, 8, 64)}
    for _ in range(pairs):
        *sets, truth = resembling(random, size, wanted)
        a, b = (one_permutation_sketch(each, bins) for each in sets)
        errors[64].append((a == b).mean() - truth)
        for bits in (1, 2, 4, 8):
            errors[bits].append(estimate(a, b, bits) - truth)
    for bits, found in errors.items():
        accident = 2.0**-bits
        equal = truth + (1 - truth) * accident
        bound = sqrt(equal * (1 - equal) / bins) / (1 - accident)
        assert abs(np.mean(found)) <= 4 * bound / sqrt(pairs) + 1e-12
        # The root of the mean of 400 squares is itself within 4 * 3.5 % of the error.
        assert sqrt(np.mean(np.square(found))) <= 1.14 * bound + 1e-12


def test_small_sets_are_told_apart():
    # One shingle fills every bin, yet the values of two such sets agree by accident only.
    a, b = (one_permutation_sketch(each, 256) for each in np.split(fixed(2), 2))
    assert not np.any(a == b)
    assert abs(estimate(a, b, 1)) < 0.25


@pytest.mark.parametrize("bins", [0, 8, 100, 2048, -16])
def test_bins_that_are_refused(bins):
    with pytest.raises(ConfigurationError, match=f"power of two from 16 to 1024, not {bins}"):
        one_permutation_sketch(fixed(3), bins)


def test_the_empty_set_has_no_sketch():
    with pytest.raises(NoFeaturesError):
        one_permutation_sketch(np.empty(0, np.uint64), 64)
