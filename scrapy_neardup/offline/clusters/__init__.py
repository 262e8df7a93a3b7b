"""Clusters of pages: connected components of pairs, pairs by shared features, and canonical pages.

A page is a number, its index in the order of the pages; the label of a cluster is its first page.
`scrapy_neardup.offline.jobs.joining` clusters collections larger than memory. Pages are
near-duplicates if at least r of their k features are equal (Broder 2000).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable, Iterable, Sequence
from itertools import count, islice
from typing import Any, TypeVar

import numpy as np
from numpy.typing import DTypeLike, NDArray

from scrapy_neardup.fingerprints.hashing import Hashes, Integers
from scrapy_neardup.fingerprints.shingles import first_of_each

Name = TypeVar("Name", bound=Hashable)

_BATCH = 1 << 16
"""Number of named pairs that are joined at once."""


class UnionFind:
    """Disjoint sets of the numbers below `count`, which pairs join, many at a time.

    One array holds trees; the root of a tree is the smallest number of its set, the first member
    of a cluster. A smaller `dtype` takes less memory. Finding halves the paths that it walks
    (Tarjan & van Leeuwen, "Worst-case analysis of set union algorithms", JACM 1984). Each root
    links to a smaller number, so all roots of an array can link at once without a cycle.
    """

    def __init__(self, count: int = 0, dtype: DTypeLike = np.int64) -> None:
        self._parent = np.arange(count, dtype=dtype)

    def __len__(self) -> int:
        return len(self._parent)

    def grow(self, count: int) -> None:
        """Grow to `count` numbers, each new one in its own set."""
        self._parent = np.append(
            self._parent, np.arange(len(self), count, dtype=self._parent.dtype)
        )

    def union_many(self, i: Integers, j: Integers) -> None:
        """Join the sets of ``i[k]`` and ``j[k]`` for every k; int64, of one shape."""
        while len(i):
            i, j = self.find_many(i), self.find_many(j)
            apart = i != j
            i, j = i[apart], j[apart]
            # A root links to the smallest of its neighbours, so one that is still a root
            # after two rounds has absorbed another: there are O(log n) rounds.
            np.minimum.at(self._parent, np.maximum(i, j), np.minimum(i, j))

    def find_many(self, numbers: Integers) -> Integers:
        """Return the smallest number of the set of each of `numbers`."""
        roots: NDArray[Any] = numbers
        while True:
            above = self._parent[roots]
            top = self._parent[above]
            if np.array_equal(above, top):
                found: Integers = above.astype(np.int64, copy=False)
                return found
            self._parent[roots] = top
            roots = top

    def labels(self) -> Integers:
        """Return the label of every number, the smallest one of its set, int64."""
        return self.find_many(np.arange(len(self)))


def cluster(i: Integers, j: Integers, count: int) -> Integers:
    """Label `count` numbers by the smallest of their component; pairs are int64."""
    sets = UnionFind(count)
    sets.union_many(i, j)
    return sets.labels()


def cluster_names(pairs: Iterable[tuple[Name, Name]]) -> tuple[list[Name], Integers]:
    """Return the names in `pairs` in the order of their first appearance, and their labels.

    `pairs` is read once.
    """
    numbers: defaultdict[Name, int] = defaultdict(count().__next__)
    clusters = UnionFind()
    rest = iter(pairs)
    while batch := [(numbers[a], numbers[b]) for a, b in islice(rest, _BATCH)]:
        clusters.grow(len(numbers))
        clusters.union_many(*np.array(batch, dtype=np.int64).T)
    return list(numbers), clusters.labels()


def members(labels: Integers) -> list[Integers]:
    """Return the members, in order, of each cluster of two or more, ordered by label."""
    order = np.argsort(labels, kind="stable")
    starts = np.flatnonzero(np.diff(labels[order], prepend=-1))
    return [group for group in np.split(order, starts[1:]) if len(group) > 1]


def tied(digests: Hashes, pages: Integers) -> tuple[Integers, Integers]:
    """Return pairs that connect all pages with one digest to one of them; shape (n,) each."""
    order = np.argsort(digests, kind="stable")
    digests, pages = digests[order], pages[order]
    is_first = first_of_each(digests)
    firsts = pages[is_first][np.cumsum(is_first) - 1]
    return firsts[~is_first], pages[~is_first]


def canonical(labels: Integers, cost: Sequence[int] | None = None) -> Integers:
    """Return for every page the canonical page of its cluster; int64, of the shape of `labels`.

    It is the page with the smallest `cost` (one a page), such as the length of its URL or the
    negative number of its words; a tie, and with None each, goes to the page seen first.
    """
    order = np.lexsort((np.zeros_like(labels) if cost is None else np.asarray(cost), labels))
    _, first, which = np.unique(labels[order], return_index=True, return_inverse=True)
    chosen = np.empty_like(labels)
    chosen[order] = order[first][which]
    return chosen
