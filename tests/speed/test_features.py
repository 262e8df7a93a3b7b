"""Compiled and pure give the same features."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from scrapy_neardup import _speed
from scrapy_neardup.fingerprints import charikar

compiled = _speed.load("features")
pytestmark = pytest.mark.skipif(compiled is None, reason="pure Python")

hashes = st.builds(
    lambda seed, size: np.random.default_rng(seed).integers(0, 1 << 64, size, np.uint64),
    st.integers(0, 1 << 32),
    st.integers(1, 600),
)


@given(hashes, st.integers(0, (1 << 64) - 1))
def test_majority(values, mask):
    values &= np.uint64(mask)
    assert compiled.majority(values) == charikar.majority(values)


def test_majority_of_more_than_a_block():
    values = np.random.default_rng(1).integers(0, 1 << 64, 40_001, np.uint64)
    assert compiled.majority(values) == charikar.majority(values)
