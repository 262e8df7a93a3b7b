"""The check of a filter (`broder.Filter`), and the digests of features that pages share."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations
from math import comb

import numpy as np

from scrapy_neardup.errors import ConfigurationError
from scrapy_neardup.fingerprints.broder import Filter, Hashes
from scrapy_neardup.fingerprints.hashing import PUBLIC
from scrapy_neardup.settings.arguments import whole_number
from scrapy_neardup.settings.catalogue import OPTIONS

MAX_COMBINATIONS = 5_000
"""Maximum number of choices of r of k features; each costs a sort of all pages."""


def checked_filter(numbers: tuple[int, int, int] | str) -> Filter:
    """Return the filter of k, s and r, or of ``"6,14,2"``; see ``NEARDUP_FEATURES``."""
    return Filter(*OPTIONS["features"].read(numbers))


def mega_shingles(features: Hashes, shared: int) -> Iterator[Hashes]:
    """Yield a digest of each page, uint64 of shape (n,), for every choice of `shared` features.

    Two pages share at least r of their k features if and only if one of these digests is equal,
    apart from collisions of 64 bits. So shared features needn't be counted, and the time is linear
    for any number of similar pages. `features` are uint64 of shape (n, k). Digests of different
    choices are equal only by accident. Raises `ConfigurationError` if r isn't from 1 to k, or
    there are more than `MAX_COMBINATIONS` choices. Broder 2000 counts shared features;
    Fetterly, Manasse & Najork, "On the evolution of clusters of near-duplicate web pages", 2003,
    section 2, look up every pair of six features as a mega-shingle.
    """
    count = features.shape[1]
    shared = whole_number("the number of shared features", shared, least=1, most=count)
    if comb(count, shared) > MAX_COMBINATIONS:
        raise ConfigurationError(
            f"there are {comb(count, shared):,} ways to share {shared} of {count} features, and"
            f" {MAX_COMBINATIONS:,} at most can be looked up: take fewer features"
        )
    for number, chosen in enumerate(combinations(range(count), shared), 1):
        digests = PUBLIC.mix(np.full(len(features), number, np.uint64) * PUBLIC.seed)
        for place in chosen:
            digests = PUBLIC.mix(digests ^ features[:, place])
        yield digests
