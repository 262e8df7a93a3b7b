"""Compiled and pure make the same digests, whatever the length."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from twins import both

from scrapy_neardup import _speed

pytestmark = pytest.mark.skipif(_speed.load("digests") is None, reason="pure Python")


@given(st.text(st.characters(), max_size=300), st.integers(1, 8))
def test_texts(text, size):
    both("digests.hash_of", text, size)


@pytest.mark.parametrize("length", [0, 1, 127, 128, 129, 255, 256, 257, 5000])
def test_whole_blocks(length):
    both("digests.hash_of", "a" * length, 4)


@given(st.integers(0, 1 << 32), st.integers(1, 9), st.integers(1, 70))
def test_groups(seed, features, size):
    drawn = np.random.default_rng(seed).integers(0, 1 << 64, features * size, np.uint64)
    both("digests.group_digests", drawn, size)


def test_surrogates_are_hashed():
    both("digests.hash_of", "\ud800 a", 8)
