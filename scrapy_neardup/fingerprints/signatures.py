"""Other signatures of a page, each a set of hashes (survey of Manku et al. 2007, section 5.4).

Two pages are near-duplicates if the resemblance of their sets reaches the signature's threshold.
Each function takes the hashes of a text's units in order, uint64 of shape (n,), and returns
distinct hashes, ascending. docs/literature.md compares them with simhash and sketches.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import partial

import numpy as np
from numpy.typing import NDArray

from scrapy_neardup.errors import ConfigurationError
from scrapy_neardup.fingerprints.hashing import PUBLIC, digest
from scrapy_neardup.fingerprints.shingles import distinct
from scrapy_neardup.fingerprints.weights import WeightFunction, checked_weights
from scrapy_neardup.settings.arguments import whole_number

Hashes = NDArray[np.uint64]

MODULUS, WINDOW, BUCKETS, LEXICONS = 25, 8, 16, 11
"""Broder et al. 1997 keep one shingle in 25. Twelve lists must be equal, and one lexicon."""


@dataclass(frozen=True, slots=True)
class Signature:
    """A signature, and the rule that compares it.

    `of` makes the signature from hashes of shingles in the order of the text, and from their idf
    if `needs_idf`. By default a shingle has `shingle_size` units, and signatures of
    near-duplicates have at least the resemblance `threshold`.
    """

    of: Callable[..., Hashes]
    shingle_size: int
    threshold: Fraction
    needs_idf: bool = False


class WeightTable:
    """The weights of shingles, such as idf: a function for `Weights`.

    `hashes` of shingles, uint64, have these `weights`, float64, both of shape (n,); every other
    shingle, which is rarer than those in the table, has the weight `other` (None: the largest of
    the table, or 1). Raises `ConfigurationError` if one is negative or not finite.
    """

    def __init__(
        self, hashes: Hashes, weights: NDArray[np.float64], other: float | None = None
    ) -> None:
        if not (np.isfinite(weights).all() and (weights >= 0).all()):
            raise ConfigurationError("weights must be finite numbers, and none negative")
        self._hashes, first = np.unique(hashes, return_index=True)
        self._weights = weights[first] / (other or weights.max(initial=0) or 1.0)

    def __call__(self, hashes: Hashes, counts: object = None) -> NDArray[np.float64]:  # noqa: ARG002
        """Return shingles' weights, shape (m,), relative to that of other shingles. O(m log n)."""
        if not len(self._hashes):
            return np.ones(len(hashes))
        places = np.minimum(np.searchsorted(self._hashes, hashes), len(self._hashes) - 1)
        return np.where(self._hashes[places] == hashes, self._weights[places], 1.0)

    @classmethod
    def idf(cls, documents: Sequence[Hashes]) -> WeightTable:
        """Return log(N / df) for N sets of shingles, divided by log N. O(n log n)."""
        count = max(len(documents), 2)
        together = np.concatenate([np.empty(0, np.uint64), *documents])
        hashes, df = np.unique(together, return_counts=True)
        return cls(hashes, np.log(count / df), float(np.log(count)))


def mod_sketch(shingles: Hashes, modulus: int) -> Hashes:
    """Return Broder's V_m: the n / `modulus` shingles that are 0 modulo `modulus`, sorted.

    For the sketches A and B of two documents, |A & B| / |A | B| is an unbiased estimate of their
    resemblance, and |A & B| / |A| of the containment of the first in the second. If their moduli
    differ, apply ``mod_sketch(sketch, larger)`` to one first. `shingles` are distinct and uniform,
    uint64 of shape (n,). Raises `ConfigurationError` if `modulus` isn't a whole number from 1;
    Broder et al. ("Syntactic clustering of the Web", 1997) took 25. O(n + m * log(m)) for m kept
    shingles. Broder, "On the resemblance and containment of documents", 1997, section 3.
    """
    divisor = np.uint64(whole_number("the modulus", modulus, least=1))
    return np.sort(shingles[shingles % divisor == 0])


def mod_p(shingles: Hashes, modulus: int = MODULUS) -> Hashes:
    """Return V_m: one shingle in `modulus`, see `mod_sketch`."""
    return mod_sketch(distinct(shingles), modulus)


def winnow(shingles: Hashes, window: int = WINDOW) -> Hashes:
    """Return the least of every `window` consecutive shingles.

    Two documents that share a run of `window` shingles share one of these. On average 2 /
    (`window` + 1) of all are kept. O(n * window). Schleimer, Wilkerson & Aiken, "Winnowing: local
    algorithms for document fingerprinting", SIGMOD 2003, section 3.
    """
    window = whole_number("the window", window, least=1)
    if not len(shingles):
        return shingles
    windows = np.lib.stride_tricks.sliding_window_view(shingles, min(window, len(shingles)))
    return distinct(windows.min(axis=1))


def buckets(shingles: Hashes, count: int = BUCKETS) -> Hashes:
    """Return a checksum of each of `count` lists into which a document's words are dealt.

    A word's hash chooses its list; the checksum is that of the list's words in the order of the
    text. A list without words has none. O(n log n). Pugh & Henzinger, "Detecting duplicate and
    near-duplicate files", US patent 6,658,423, 2003.
    """
    lists = shingles % np.uint64(whole_number("buckets", count, least=1))
    return np.array(
        sorted(
            digest(str(each), shingles[lists == each].astype("<u8").tobytes())
            for each in np.unique(lists).tolist()
        ),
        np.uint64,
    )


def i_match(
    shingles: Hashes,
    idf: WeightFunction,
    lexicons: int = 1,
    *,
    low: float = 0.2,
    high: float = 0.8,
) -> Hashes:
    """Return the I-Match signatures of a document by a lexicon and by random parts of it.

    A signature is the digest of the document's words that are in the lexicon: those whose
    normalised idf is from `low` to `high`, neither in all documents nor in this one alone. Each
    further lexicon is a random 70 % of the first, so a word that differs changes only some
    signatures. A lexicon with none of the words has no signature. O(n log n + n
    * lexicons). Chowdhury, Frieder, Grossman & McCabe, "Collection statistics for fast duplicate
    document detection", ACM TOIS 20(2), 2002, section 3; Kołcz, Chowdhury & Alspector, "Improved
    robustness of signature-based near-replica detection via lexicon randomization", KDD 2004,
    section 3.
    """
    found = distinct(shingles)
    weights = checked_weights(idf(found, np.ones(len(found), np.int64)), len(found))
    found = found[(low <= weights) & (weights <= high)]
    draws = (PUBLIC.mix(found + np.uint64(each) * PUBLIC.seed) for each in range(lexicons))
    parts = [found[draw < 0.7 * 2.0**64] if each else found for each, draw in enumerate(draws)]
    signed = {digest(str(each), part.tobytes()) for each, part in enumerate(parts) if len(part)}
    return np.array(sorted(signed), np.uint64)


SIGNATURES = {
    "mod-p": Signature(mod_p, 4, Fraction(9, 10)),
    "winnowing": Signature(winnow, 4, Fraction(9, 10)),
    "buckets": Signature(buckets, 1, Fraction(12, 2 * BUCKETS - 12)),
    "i-match": Signature(i_match, 1, Fraction(1), needs_idf=True),
    "lexicons": Signature(
        partial(i_match, lexicons=LEXICONS), 1, Fraction(1, 2 * LEXICONS - 1), needs_idf=True
    ),
}
"""Name -> signature; Broder's and Charikar's are in `broder` and `charikar`."""
