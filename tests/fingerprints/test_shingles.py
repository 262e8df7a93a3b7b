"""The order of shingles; their hashes and weights are compared in test_reference.py."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from resembling_sets import uniform

from scrapy_neardup.fingerprints import features
from scrapy_neardup.fingerprints.shingles import ascending, distinct

HASHES = st.lists(st.integers(0, 2**64 - 1) | st.integers(0, 9) | st.integers(2**48, 2**48 + 9))


@given(HASHES)
def test_ascending_and_distinct(hashes):
    given_, before = np.array(hashes, np.uint64), np.array(hashes, np.uint64)
    assert ascending(given_).tolist() == sorted(hashes)
    assert distinct(given_).tolist() == sorted(set(hashes))
    assert np.array_equal(given_, before)


@pytest.mark.parametrize("count", [1000, 30_000, 300_000])
def test_many_are_ascending(count):
    hashes = uniform(np.random.default_rng(count), count)
    assert np.array_equal(ascending(hashes), np.sort(hashes))


@pytest.mark.parametrize("weights", ["set", "tf"])
def test_features_ascend(weights):
    tokens = uniform(np.random.default_rng(1), 3).repeat(40)
    found, _ = features(np.random.default_rng(2).permutation(tokens), weights=weights)
    assert (found[1:] > found[:-1]).all()
