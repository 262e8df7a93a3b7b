"""Shingles and sketches of many documents at once.

One array holds the hashes of all documents, concatenated; another holds the number of hashes of
each. The results equal those of `shingles` and `minwise` for single documents, and the overhead of
a call is paid once.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from scrapy_neardup._speed import has_twin
from scrapy_neardup.fingerprints.hashing import Hashes
from scrapy_neardup.fingerprints.minwise import minima_of
from scrapy_neardup.fingerprints.shingles import shingle_hashes

Counts = NDArray[np.int64]

NO_MINIMUM = np.uint64(0xFFFFFFFFFFFFFFFF)
"""Minimum of a document without hashes."""

_TOKENS = np.arange(1, 60, dtype=np.uint64) ** np.uint64(13)
_COUNTS = np.array([40, 0, 2, 17], np.int64)


def _each(hashes: Hashes, counts: Counts) -> list[Hashes]:
    return np.split(hashes, np.cumsum(counts)[:-1]) if len(counts) else []


@has_twin("features", _TOKENS, _COUNTS, 4)
def shingles_of_each(tokens: Hashes, counts: Counts, size: int) -> tuple[Hashes, Counts]:
    """Hash every run of `size` tokens of each document; see `shingles.shingle_hashes`.

    `tokens` are contiguous uint64; `counts`, int64 of shape (documents,), are their numbers for
    each document. Returns all hashes in the order of the text, repeated ones too, and their number
    for each document. O(tokens * size).
    """
    found = [shingle_hashes(part, size) for part in _each(tokens, counts)]
    return (
        np.concatenate([tokens[:0], *found]),
        np.array([len(part) for part in found], np.int64),
    )


@has_twin("features", _TOKENS, _COUNTS, 32)
def minima_of_each(hashes: Hashes, counts: Counts, bins: int) -> Hashes:
    """Return each document's minimum of every bin; see `minwise.one_permutation_sketch`.

    `hashes` and `counts` are those of `shingles_of_each`; a repeated hash counts once.
    The minima are uint64 of shape (documents, bins), `NO_MINIMUM` for a document without hashes.
    O(shingles + documents * bins * log(bins)).
    """
    found = np.full((len(counts), bins), NO_MINIMUM)
    for least, part in zip(found, _each(hashes, counts), strict=True):
        if len(part):
            least[:] = minima_of(part, bins)
    return found
