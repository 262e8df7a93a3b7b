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
    """Return the connected components of pages that share features: the first page of each.

    Parameters
    ----------
    features
        Shape (n, k), uint64: a row for each page (`Filter.features_of`).
    shared
        r: minimum number of features that connected pages share; see `mega_shingles`.

    Notes
    -----
    C(k, r) sorts of n digests; linear in the number of pages that are alike.
    """
    sets = UnionFind(len(features))
    for digests in mega_shingles(features, shared):
        sets.union_many(*tied(digests, np.arange(len(digests))))
    return sets.labels()


def tied(digests: Hashes, pages: Integers) -> tuple[Integers, Integers]:
    """Return pairs that connect the pages of each digest with one of them.

    `digests` and `pages` are the list of (digest, page) in any order, shape (n,).
    """
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

    Parameters
    ----------
    features, shared
        See `feature_clusters`.
    max_pairs
        Maximum number of pairs, above which a `ConfigurationError` is raised; 0: no limit.

    Notes
    -----
    C(k, r) sorts of n digests, and of as many pairs as there are.
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
