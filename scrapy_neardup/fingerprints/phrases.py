"""Other features for simhash: words without stop words, and phrases in place of their words.

Token hashes go in and come out, so that whatever takes the tokens of a text takes these:
``simhash_features(*features(joined(tokens, phrases), shingle_size=1))``.

Manku, Jain & Das Sarma 2007, section 2: "tokenization, case folding, stop-word removal,
stemming, phrase detection". The plugin takes shingles, which need no knowledge of the
language or of the other pages; benchmarks/survey.py measures both.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from scrapy_neardup.fingerprints.hashing import token_hashes
from scrapy_neardup.fingerprints.shingles import shingle_hashes
from scrapy_neardup.settings.arguments import whole_number

Hashes = NDArray[np.uint64]


def without(tokens: Hashes, words: Iterable[str]) -> Hashes:
    """Return the tokens that are none of these words, in their order.

    Parameters
    ----------
    tokens
        Shape (n,), uint64, made without a key.
    words
        Stop words, one token each.
    """
    left: Hashes = tokens[~np.isin(tokens, token_hashes(" ".join(words)))]
    return left


def find_phrases(documents: Iterable[Hashes], *, least: int = 5, ratio: float = 10.0) -> Hashes:
    """Return the pairs of neighbouring tokens that are phrases.

    Parameters
    ----------
    documents
        The tokens of each text, uint64.
    least
        A phrase occurs more often than this.
    ratio
        By how much it occurs more often than its words would meet if each stood anywhere.

    Returns
    -------
    ndarray of uint64, sorted
        Their hashes, as `joined` makes them.

    Notes
    -----
    O(n log n) for n tokens in all, which are held in memory, some 60 bytes each. The score is
    that of Mikolov et al., "Distributed representations of words and phrases and their
    compositionality", NIPS 2013, section 4: (count(ab) - least) * n / (count(a) * count(b)).
    """
    least = whole_number("least", least, least=0)
    texts = [tokens for tokens in documents if len(tokens) > 1]
    if not texts:
        return np.empty(0, np.uint64)
    words, often = np.unique(np.concatenate(texts), return_counts=True)
    pairs = np.concatenate([shingle_hashes(tokens, 2) for tokens in texts])
    phrases, places, counts = np.unique(pairs, return_index=True, return_counts=True)
    first, second = (
        often[np.searchsorted(words, np.concatenate(part)[places])]
        for part in ([tokens[:-1] for tokens in texts], [tokens[1:] for tokens in texts])
    )
    scores = (counts - least) * float(often.sum()) / (first * second.astype(np.float64))
    found: Hashes = phrases[scores > ratio]
    return found


def joined(tokens: Hashes, phrases: Hashes) -> Hashes:
    """Return the tokens with each phrase in place of its two words, from left to right.

    Parameters
    ----------
    tokens
        Shape (n,), uint64.
    phrases
        From `find_phrases`.

    Returns
    -------
    ndarray of uint64, shape (n - phrases found,)
    """
    if len(tokens) < 2 or not len(phrases):
        return tokens
    hashes = shingle_hashes(tokens, 2)
    found, kept = tokens.copy(), np.ones(len(tokens), np.bool_)
    nearest = phrases.take(np.searchsorted(phrases, hashes), mode="clip")
    taken = -1
    for place in np.flatnonzero(nearest == hashes).tolist():
        if place > taken:
            found[place], kept[place + 1] = hashes[place], False
            taken = place + 1
    left: Hashes = found[kept]
    return left
