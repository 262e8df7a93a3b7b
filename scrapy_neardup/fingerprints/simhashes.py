"""Features to a fingerprint: Charikar's simhash.

A fingerprint is a Python int of 64 bits. Every feature votes on every bit with its weight, for
or against as its own hash has the bit set or not (Charikar 2002, section 3; Manku et al. 2007,
section 2).

*Ties stay clear*: a bit is set if and only if its sum is positive. Weights are rounded to
multiples of 2**-16 first and summed exactly, so that neither the order of the features nor
the machine's arithmetic ever decides a bit.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from scrapy_neardup._speed import has_twin
from scrapy_neardup.errors import ConfigurationError, NoFeaturesError
from scrapy_neardup.fingerprints.hashing import token_hashes
from scrapy_neardup.fingerprints.shingles import Weights, features

_BITS = 64
_WEIGHT_UNITS = 1 << 16
"""Units of a weight of 1: sums of whole units don't depend on their order."""
_EXACT = 1 << 53
"""Below it, sums of whole numbers are exact in float64."""

_ROWS = 255
"""Maximum number of bits that a byte can sum up."""
_COLUMNS = 64
"""Number of sums of `_ROWS` hashes each that are made in one pass."""
_BLOCK = 1 << 14
"""Number of weighted hashes in one pass."""
_PLACES = np.arange(8) * 256
_BYTE_BITS = (np.arange(256)[:, None] >> np.arange(8)) & 1


def simhash(
    text: str, *, shingle_size: int = 3, weights: Weights = "set", key: bytes | None = None
) -> int:
    """Return the 64-bit simhash of a text; about 0.1 ms for 1,000 tokens.

    See `features` for `shingle_size` and `weights`, `token_hashes` for `key`. Raises
    `NoFeaturesError` if the text has no token.

    >>> a = simhash("the quick brown fox jumps over the lazy dog")
    >>> b = simhash("The quick brown fox jumps over the lazy dog!")
    >>> hamming_distance(a, b)
    0
    """
    tokens = token_hashes(text, key=key)
    return simhash_features(*features(tokens, shingle_size=shingle_size, weights=weights))


def simhash_features(hashes: NDArray[np.uint64], weights: NDArray[np.float64] | None) -> int:
    """Return the 64-bit simhash of weighted features.

    `hashes` are uint64 of shape (n,), `weights` float64 of that shape, not negative, and rounded
    to multiples of 2**-16; None: all are 1. O(n), about 10 ns a feature without weights and 25
    with; memory is bounded. Raises `NoFeaturesError` if there is no feature, or none has a weight;
    `ConfigurationError` if there is not one weight a feature, one is negative, or they add up to
    2**37 or more.
    """
    if weights is None:
        if not len(hashes):
            raise NoFeaturesError("a text without tokens has no fingerprint")
        return majority(np.ascontiguousarray(hashes))
    if weights.shape != hashes.shape or (weights < 0).any():
        raise ConfigurationError(
            f"NEARDUP_WEIGHTS: {hashes.shape} features need as many weights, none negative,"
            f" not (shape {weights.shape}) {weights}"
        )
    units = np.rint(weights * _WEIGHT_UNITS)
    total = float(units.sum())
    if not total < _EXACT:
        raise ConfigurationError(
            f"NEARDUP_WEIGHTS add up to {weights.sum():.3g}: they must stay below 2**37"
        )
    if not total:
        raise NoFeaturesError("a text without tokens or weights has no fingerprint")
    return _set_bits(2 * _weigh(hashes, units) > total)


def hamming_distance(a: int, b: int) -> int:
    """Return the number of bits in which two fingerprints differ."""
    return (a ^ b).bit_count()


def _set_bits(bits: NDArray[np.bool_]) -> int:
    return int.from_bytes(np.packbits(bits, bitorder="little").tobytes(), "little")


@has_twin("features", np.arange(3000, dtype=np.uint64) ** np.uint64(13))
def majority(hashes: NDArray[np.uint64]) -> int:
    """Return the bits that are set in more than half of the hashes; shape (n,), contiguous."""
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
    return _set_bits(2 * ones > len(hashes))


def _weigh(hashes: NDArray[np.uint64], units: NDArray[np.float64]) -> NDArray[np.float64]:
    """Add up, for each of 64 bits, the units of the hashes in which it is set."""
    sums = np.zeros(8 * 256)
    for start in range(0, len(hashes), _BLOCK):
        octets = hashes[start : start + _BLOCK].astype("<u8").view(np.uint8).reshape(-1, 8)
        weights = np.repeat(units[start : start + _BLOCK], 8)
        sums += np.bincount((octets + _PLACES).ravel(), weights=weights, minlength=len(sums))
    return np.asarray(sums.reshape(8, 256) @ _BYTE_BITS, np.float64).ravel()
