"""Other signatures of the literature, for comparison: small and exact.

Rule of this room: nothing here decides about a page; ``benchmarks/survey.py`` holds these
methods against simhash on the same pages. All of them start from the 64-bit
hashes of tokens or shingles (`token_hashes`, `features`) and return sets of numbers: two
documents are compared by what their sets share.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from scrapy_neardup.errors import ConfigurationError
from scrapy_neardup.fingerprints.hashing import PUBLIC, digest
from scrapy_neardup.settings.arguments import whole_number
from scrapy_neardup.text.tokens import normalize

_SENTENCE = re.compile(r"(?<=[.!?])\s+|\n+")


def modulus_for(length: int, size: int = 64) -> int:
    """Return Broder's modulus for a document of this number of shingles: a power of 4.

    The smallest 4^i that leaves at most `size` of them on average. Sketches of moduli
    4^i and 4^j, i < j, are compared at 4^j, as the multiples of 4^j are among those of
    4^i: ``mod_sketch(sketch, 4**j)``.

    Raises
    ------
    ConfigurationError
        `size` is not positive.

    Notes
    -----
    Broder 1997, section 3: the size of a sketch then hardly depends on the document's.
    """
    size = whole_number("the size of a sketch", size, least=1)
    return int(4 ** max(0, math.ceil(math.log(max(length, 1) / size, 4))))


def winnow(hashes: NDArray[np.uint64], window: int) -> NDArray[np.uint64]:
    """Return the fingerprints that winnowing selects from a sequence of k-gram hashes.

    Of every `window` consecutive hashes the smallest is selected. So two documents that
    share a run of `window` + k - 1 tokens share a fingerprint, and 2 / (`window` + 1) of
    the hashes are selected on average.

    Parameters
    ----------
    hashes
        Shape (n,), uint64, in the order of the text.
    window
        Hashes a window, 1 or more. A shorter text is one window.

    Returns
    -------
    ndarray of uint64, sorted, distinct

    Raises
    ------
    ConfigurationError
        `window` is not positive.

    Notes
    -----
    O(n * window). Schleimer, Wilkerson & Aiken, "Winnowing: local algorithms for
    document fingerprinting", SIGMOD 2003, section 3.
    """
    if window < 1:
        raise ConfigurationError(f"the window must be 1 or more, not {window}")
    if len(hashes) == 0:
        return np.empty(0, np.uint64)
    windows = np.lib.stride_tricks.sliding_window_view(hashes, min(window, len(hashes)))
    return np.unique(windows.min(axis=1))


def i_match(
    tokens: NDArray[np.uint64],
    frequencies: Mapping[int, int],
    documents: int,
    *,
    low: float = 0.2,
    high: float = 0.8,
) -> int | None:
    """Return the one I-Match signature of a document, or None if no token is left.

    The signature covers the set of its tokens whose normalised idf lies between `low` and
    `high`: neither what every document says nor what only this one does. Two documents
    are duplicates if their signatures are equal.

    Parameters
    ----------
    tokens
        Shape (n,), uint64.
    frequencies
        Token -> number of documents of the collection that have it.
    documents
        Size of the collection, 2 or more.
    low, high
        Bounds of the normalised idf, 0 <= `low` <= `high` <= 1.

    Raises
    ------
    ConfigurationError
        `documents` or the bounds are out of range.

    Notes
    -----
    O(n log n). Chowdhury, Frieder, Grossman & McCabe, "Collection statistics for fast
    duplicate document detection", ACM TOIS 20(2), 2002, section 3; idf = log(N / df) is
    divided by its maximum, log N.
    """
    return _signature(_lexicon(tokens, frequencies, documents, low, high), 0)


def i_match_many(
    tokens: NDArray[np.uint64],
    frequencies: Mapping[int, int],
    documents: int,
    *,
    lexicons: int = 10,
    kept: float = 0.7,
    low: float = 0.2,
    high: float = 0.8,
) -> NDArray[np.uint64]:
    """Return the I-Match signatures of a document by the lexicon and by random parts of it.

    A word that differs changes the signature by the whole lexicon and by the parts that have
    it; two documents are duplicates if they share one of them, so that one of the parts
    that don't have it is enough.

    Parameters
    ----------
    tokens, frequencies, documents, low, high
        As for `i_match`.
    lexicons
        Random parts.
    kept
        The share of the lexicon that each of them keeps, above 0, up to 1.

    Returns
    -------
    ndarray of uint64, sorted, distinct
        Up to ``lexicons + 1``; a part without any token of the document has no signature.

    Raises
    ------
    ConfigurationError
        An argument is out of range.

    Notes
    -----
    O(n log n + n * lexicons). Kołcz, Chowdhury & Alspector, "Improved robustness of
    signature-based near-replica detection via lexicon randomization", KDD 2004, section 3.
    """
    whole = _lexicon(tokens, frequencies, documents, low, high)
    if not 0 < kept <= 1:
        raise ConfigurationError(f"a part of the lexicon keeps 0 to 1 of it, not {kept}")
    count = whole_number("lexicons", lexicons, least=0)
    signatures = [_signature(whole, 0)]
    for number in range(1, count + 1):
        drawn = PUBLIC.mix(whole + np.uint64(number) * PUBLIC.seed) / 2.0**64
        signatures.append(_signature(whole[drawn < kept], number))
    return np.unique(np.array([each for each in signatures if each is not None], np.uint64))


def _lexicon(
    tokens: NDArray[np.uint64],
    frequencies: Mapping[int, int],
    documents: int,
    low: float,
    high: float,
) -> NDArray[np.uint64]:
    """Return the distinct tokens whose normalised idf lies between two bounds."""
    if not 0 <= low <= high <= 1:
        raise ConfigurationError(f"idf is kept from 0 <= low <= high <= 1, not {low} to {high}")
    top = math.log(whole_number("documents", documents, least=2))
    kept = [
        token
        for token in np.unique(tokens).tolist()
        if low <= math.log(documents / max(1, frequencies.get(token, 1))) / top <= high
    ]
    return np.array(kept, np.uint64)


def _signature(lexicon: NDArray[np.uint64], number: int) -> int | None:
    """Return the digest of a document's part of a lexicon; lexicon 0 is the whole one."""
    if not len(lexicon):
        return None
    tokens = lexicon.astype("<u8").tobytes()
    return digest(tokens, str(number)) if number else digest(tokens)


def without_common(
    sketch: NDArray[np.uint64], frequencies: Mapping[int, int], most: int
) -> NDArray[np.uint64]:
    """Return a sketch without the shingles that more than `most` documents have.

    They are templates and licences, and make pages alike that have nothing else in common;
    Broder, Glassman, Manasse & Zweig, "Syntactic clustering of the Web", 1997, section 4, leave
    out those of more than 1,000 documents.

    Parameters
    ----------
    sketch
        Shape (n,), uint64.
    frequencies
        Shingle -> number of documents that have it.
    """
    rare = [frequencies.get(shingle, 0) <= most for shingle in sketch.tolist()]
    found: NDArray[np.uint64] = sketch[np.array(rare, np.bool_)]
    return found


def sentences(text: str) -> NDArray[np.uint64]:
    """Return one hash a sentence of a text, the unit that COPS registers.

    A sentence ends at ``.``, ``!`` or ``?`` before a space, and with a line. Two documents
    are alike by the share of sentences that they have in common.

    Returns
    -------
    ndarray of uint64, sorted, distinct
        Of the tokens of each; punctuation and case don't count.

    Notes
    -----
    O(n). Brin, Davis & Garcia-Molina, "Copy detection mechanisms for digital documents",
    SIGMOD 1995, section 3.
    """
    found = {
        digest(*words) for part in _SENTENCE.split(text) if (words := normalize(part).split())
    }
    return np.array(sorted(found), np.uint64)


def bucket_checksums(tokens: NDArray[np.uint64], buckets: int) -> NDArray[np.uint64]:
    """Return one checksum for each list of words that a document is dealt into.

    A word's hash chooses its list; the checksum of a list covers its words in the order
    of the text. A change of one word changes one checksum: two documents are
    near-duplicates if they share at least one, or so many.

    Parameters
    ----------
    tokens
        Shape (n,), uint64, in the order of the text.
    buckets
        Lists, 1 or more.

    Returns
    -------
    ndarray of uint64, shape (buckets,)
        By list; 0 for an empty one, which says nothing.

    Raises
    ------
    ConfigurationError
        `buckets` is not positive.

    Notes
    -----
    O(n). Pugh & Henzinger, "Detecting duplicate and near-duplicate files", US patent
    6,658,423, 2003.
    """
    if buckets < 1:
        raise ConfigurationError(f"there must be 1 list or more, not {buckets}")
    lists = tokens % np.uint64(buckets)
    checksums = np.zeros(buckets, np.uint64)
    step = np.uint64(0x9E3779B97F4A7C15)
    for number in range(buckets):
        words = tokens[lists == number]
        # A polynomial in an odd number: the place of a word counts.
        powers = np.multiply.accumulate(np.full(len(words), step))
        checksums[number] = (words * powers).sum(dtype=np.uint64) | np.uint64(len(words) > 0)
    return checksums
