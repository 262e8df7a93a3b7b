"""Token hashes to features: word shingles.

A feature is a 64-bit number; its words can't be recovered.

The hash of the shingle t1 ... tw is ``mix(s)`` with ``s = 0; for t: s = step(s) + t`` and
``step(s) = s * k ^ (s * k) >> 32`` (mod 2**64); `mix` is that of the token hash. It depends
on the order of the tokens, and no step of it is linear, so repeated tokens don't cancel.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from scrapy_neardup._speed import has_twin
from scrapy_neardup.errors import ConfigurationError
from scrapy_neardup.fingerprints.hashing import PUBLIC, constant

_BLOCK = 1 << 14
"""Number of shingles hashed at once, which fit a core's cache."""

_STEP, _32 = constant(0xD6E8FEB86659FD93), constant(32)


def first_of_each(ordered: NDArray[np.integer]) -> NDArray[np.bool_]:
    """Return for each of some sorted values whether it is the first of equal values."""
    first = np.ones(len(ordered), np.bool_)
    np.not_equal(ordered[1:], ordered[:-1], out=first[1:])
    return first


def distinct(hashes: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Return the distinct values of hashes, ascending; O(n log n)."""
    ordered = np.sort(hashes)  # `np.unique` takes ten times as long
    found: NDArray[np.uint64] = ordered[first_of_each(ordered)]
    return found


def shingle_hashes(tokens: NDArray[np.uint64], size: int) -> NDArray[np.uint64]:
    """Hash every run of `size` tokens, in their order; shape (tokens - size + 1,).

    A text with fewer tokens has one shingle, of all its tokens.
    """
    if size < 1:
        raise ConfigurationError(f"NEARDUP_SHINGLE_SIZE must be 1 or more, not {size}")
    size = min(size, len(tokens))
    if size == 0:
        return np.empty(0, np.uint64)
    return hashes_of(np.ascontiguousarray(tokens), size)


_EXAMPLE = np.arange(50, dtype=np.uint64) ** np.uint64(13)


@has_twin("features", _EXAMPLE, 4)
def hashes_of(tokens: NDArray[np.uint64], size: int) -> NDArray[np.uint64]:
    """Hash every run of `size` tokens, from 1 to the number of tokens."""
    hashes: NDArray[np.uint64] = tokens[: len(tokens) - size + 1].copy()
    for start in range(0, len(hashes), _BLOCK):
        block = hashes[start : start + _BLOCK]
        for place in range(1, size):
            block *= _STEP
            block ^= block >> _32
            block += tokens[start + place : start + place + len(block)]
        PUBLIC.mix(block)
    return hashes


def shingles_at(
    tokens: NDArray[np.uint64], starts: NDArray[np.int64], size: int
) -> NDArray[np.uint64]:
    """Return the shingles of `size` tokens that begin at some places; see `shingle_hashes`."""
    hashes: NDArray[np.uint64] = tokens.take(starts)
    for place in range(1, size):
        hashes *= _STEP
        hashes ^= hashes >> _32
        hashes += tokens.take(starts + place)
    return PUBLIC.mix(hashes)
