"""Compiled and pure make the same digests, whatever the length."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import scrapy_neardup.analysis  # noqa: F401  (what chooses between twins)
from scrapy_neardup import _speed

pytestmark = pytest.mark.skipif(_speed.load("digests") is None, reason="pure Python")


def both(name, *arguments):
    """What the twins of a name make of these arguments, which has to be the same."""
    pure, compiled = _speed.TWINS[f"digests.{name}"]
    expected = pure(*arguments)
    assert _speed.same(compiled(*arguments), expected)
    return expected


@given(st.text(st.characters(), max_size=300), st.integers(1, 8))
def test_texts(text, size):
    both("hash_of", text, size)


@pytest.mark.parametrize("length", [0, 1, 127, 128, 129, 255, 256, 257, 5000])
def test_whole_blocks(length):
    both("hash_of", "a" * length, 4)


@given(st.integers(0, 1 << 32), st.integers(1, 9), st.integers(1, 70))
def test_groups(seed, features, size):
    drawn = np.random.default_rng(seed).integers(0, 1 << 64, features * size, np.uint64)
    both("group_digests", drawn, size)


def test_surrogates_are_hashed():
    both("hash_of", "\ud800 a", 8)
