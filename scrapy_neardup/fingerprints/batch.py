"""Shingles and sketches of many documents at once.

The hashes of all documents are concatenated in one array; a second array holds the number of
hashes of each. Results equal those of `shingles` and `minwise` for each document alone, but the
overhead of a call is paid once for all of them.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from scrapy_neardup._speed import has_twin
from scrapy_neardup.fingerprints.minwise import minima_of
from scrapy_neardup.fingerprints.shingles import shingle_hashes

Hashes = NDArray[np.uint64]
Counts = NDArray[np.int64]

NO_MINIMUM = np.uint64(0xFFFFFFFFFFFFFFFF)
"""Minimum of a document without any hash."""

_TOKENS = np.arange(1, 60, dtype=np.uint64) ** np.uint64(13)
_COUNTS = np.array([40, 0, 2, 17], np.int64)


def _each(hashes: Hashes, counts: Counts) -> list[Hashes]:
    return np.split(hashes, np.cumsum(counts)[:-1]) if len(counts) else []


@has_twin("features", _TOKENS, _COUNTS, 4)
def shingles_of_each(tokens: Hashes, counts: Counts, size: int) -> tuple[Hashes, Counts]:
    """Hash every run of `size` tokens of each document; see `shingles.shingle_hashes`.

    `tokens` are contiguous uint64, `counts` (int64, shape (documents,)) how many are each one's.
    Returned are the hashes in the order of the text, one that occurs twice twice, and how many are
    each document's. O(tokens * size).
    """
    found = [shingle_hashes(part, size) for part in _each(tokens, counts)]
    return (
        np.concatenate([tokens[:0], *found]),
        np.array([len(part) for part in found], np.int64),
    )


@has_twin("features", _TOKENS, _COUNTS, 32)
def minima_of_each(hashes: Hashes, counts: Counts, bins: int) -> Hashes:
    """Return each document's minimum of every bin; see `minwise.one_permutation_sketch`.

    `hashes` and `counts` as `shingles_of_each` returns them; a hash that comes twice counts once.
    The minima are uint64 of shape (documents, bins), `NO_MINIMUM` for a document without hashes.
    O(shingles + documents * bins * log(bins)).
    """
    found = np.full((len(counts), bins), NO_MINIMUM)
    for least, part in zip(found, _each(hashes, counts), strict=True):
        if len(part):
            least[:] = minima_of(part, bins)
    return found


BINS = 256
"""Bins of a sketch, a byte each."""


def byte_sketches(hashes: Hashes, counts: Counts) -> NDArray[np.uint8]:
    """Return the low byte of each of `minima_of_each`: uint8, shape (documents, `BINS`)."""
    return minima_of_each(hashes, counts, BINS).astype(np.uint8)


_BY_CHANCE = 1 / 256
"""Share of bins in which two sketches of bytes agree without a reason."""


def estimated(sketch: NDArray[np.uint8], others: NDArray[np.uint8]) -> NDArray[np.float64]:
    """Estimate how much a document of a sketch (`byte_sketches`) resembles those of `others`.

    Returns float64 of shape (n,) from 0 to 1, with a standard error of about sqrt(J * (1 - J) /
    bins) at resemblance J. O(n * bins). Li & Koenig, "b-bit minwise hashing", WWW 2010, has the
    correction for chance.
    """
    equal = np.count_nonzero(others == sketch, axis=1) / len(sketch)
    found: NDArray[np.float64] = np.maximum((equal - _BY_CHANCE) / (1 - _BY_CHANCE), 0.0)
    return found
