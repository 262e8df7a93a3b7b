"""Pages that share features: pairs and clusters, without comparing all.

Broder 2000, section 4: pages are near-duplicates if at least r of their k features are equal.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from scrapy_neardup.clusters.unionfind import UnionFind
from scrapy_neardup.errors import ConfigurationError
from scrapy_neardup.fingerprints.filtering import mega_shingles
from scrapy_neardup.tables.ranges import ranges

Hashes = NDArray[np.uint64]
Integers = NDArray[np.int64]


def feature_clusters(features: Hashes, shared: int) -> Integers:
    """Return the first page of each page's connected component by shared features.

    `features` has shape (n, k), uint64, a row a page (`Filter.features_of`); `shared`, r, is how
    many connected pages have in common. C(k, r) sorts of n digests.
    """
    sets = UnionFind(len(features))
    for digests in mega_shingles(features, shared):
        sets.union_many(*tied(digests, np.arange(len(digests))))
    return sets.labels()


def tied(digests: Hashes, pages: Integers) -> tuple[Integers, Integers]:
    """Return pairs that tie all pages of one digest to one of them; both have shape (n,)."""
    order = np.argsort(digests, kind="stable")
    digests, pages = digests[order], pages[order]
    repeats = np.zeros(len(order), np.bool_)
    np.equal(digests[1:], digests[:-1], out=repeats[1:])
    firsts = pages[~repeats][np.cumsum(~repeats) - 1]
    return firsts[repeats], pages[repeats]


def feature_pairs(
    features: Hashes, shared: int, *, max_pairs: int = 0
) -> tuple[Integers, Integers, Integers]:
    """Return all pairs of pages that share features, sorted: ``i < j``, and how many they share.

    As `feature_clusters`; C(k, r) sorts, also of the pairs. More of these than `max_pairs` are a
    `ConfigurationError`; 0: no limit.
    """
    found = np.empty(0, np.int64)
    for digests in mega_shingles(features, shared):
        order = np.argsort(digests, kind="stable")  # pages of one digest stay in their order
        after = np.arange(1, len(order) + 1)
        others = np.searchsorted(digests[order], digests[order], side="right") - after
        if max_pairs and others.sum() > max_pairs:
            raise _too_many(max_pairs)
        first, second = np.repeat(order, others), order[ranges(after, others)]
        found = np.union1d(found, first * len(features) + second)
        if max_pairs and len(found) > max_pairs:
            raise _too_many(max_pairs)
    i, j = np.divmod(found, max(1, len(features)))
    return i, j, np.count_nonzero(features[i] == features[j], axis=1)


def _too_many(most: int) -> ConfigurationError:
    return ConfigurationError(
        f"more than {most:,} pairs share features; cluster the pages, which takes no pairs"
        " (scrapy-neardup clusters --method features), or allow more with NEARDUP_MAX_PAIRS"
    )
