"""Features to a fingerprint: Charikar's simhash.

A fingerprint is a Python int of 64 bits. Every feature votes on every bit with its weight: for
it if the feature's hash has the bit set, and against it otherwise (Charikar 2002, section 3;
Manku et al. 2007, section 2).

*Ties stay clear*: a bit is set if and only if its sum is positive.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from scrapy_neardup._speed import has_twin

_BITS = 64
_ROWS = 255
"""Maximum number of bits that a byte can count."""
_COLUMNS = 64
"""Number of sums, of `_ROWS` hashes each, in one pass."""


def hamming_distance(a: int, b: int) -> int:
    """Return the number of bits in which two fingerprints differ."""
    return (a ^ b).bit_count()


def set_bits(bits: NDArray[np.bool_]) -> int:
    """Return the number with these bits, the lowest first."""
    return int.from_bytes(np.packbits(bits, bitorder="little").tobytes(), "little")


@has_twin("features", np.arange(3000, dtype=np.uint64) ** np.uint64(13))
def majority(hashes: NDArray[np.uint64]) -> int:
    """Return the bits that more than half of the hashes have set; shape (n,), contiguous."""
    ones = np.zeros(_BITS, np.int64)
    for start in range(0, len(hashes), _ROWS * _COLUMNS):
        block = hashes[start : start + _ROWS * _COLUMNS]
        columns = -(-len(block) // _ROWS)
        rows = -(-len(block) // columns)
        padded = np.zeros(rows * columns, "<u8")
        padded[: len(block)] = block
        bits = np.unpackbits(padded.view(np.uint8), bitorder="little")
        # Bytes add up many at a time, and at most 255 of them don't overflow.
        sums = bits.reshape(rows, columns * _BITS).sum(axis=0, dtype=np.uint8)
        ones += sums.reshape(columns, _BITS).sum(axis=0, dtype=np.int64)
    return set_bits(2 * ones > len(hashes))
