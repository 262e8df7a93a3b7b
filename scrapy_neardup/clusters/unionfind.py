"""Union-find over pairs: which pages belong together, directly or through others."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable, Iterable
from itertools import count, islice
from typing import Any, TypeVar

import numpy as np
from numpy.typing import DTypeLike, NDArray

Integers = NDArray[np.int64]
Name = TypeVar("Name", bound=Hashable)

_BATCH = 1 << 16
"""Number of named pairs joined at once."""


class UnionFind:
    """Disjoint sets of the numbers below a count, joined by pairs, many at a time.

    Trees in one array, whose root is the smallest number of its set: the label of a cluster is its
    first member, whatever the order of the pairs.

    Parameters
    ----------
    count
        Number of numbers; `grow` adds more.
    dtype
        Of the array: one smaller than int64 takes less memory, and a little longer.

    Notes
    -----
    Finding halves the paths that it walks, which keeps them short for any rule of linking
    (Tarjan & van Leeuwen, "Worst-case analysis of set union algorithms", JACM 1984). As each root
    links to a smaller number, all roots of an array can link at once without closing a cycle.
    """

    def __init__(self, count: int = 0, dtype: DTypeLike = np.int64) -> None:
        self._parent = np.arange(count, dtype=dtype)

    def __len__(self) -> int:
        return len(self._parent)

    def grow(self, count: int) -> None:
        """Grow to `count` numbers, each new one in a set of its own."""
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
        """Return the label of every number: the smallest one of its set, int64."""
        return self.find_many(np.arange(len(self)))


def cluster(i: Integers, j: Integers, count: int) -> Integers:
    """Return for each of `count` numbers the smallest one of its connected component.

    `i` and `j` are the two ends of each pair; int64, of one shape.
    """
    sets = UnionFind(count)
    sets.union_many(i, j)
    return sets.labels()


def cluster_names(pairs: Iterable[tuple[Name, Name]]) -> tuple[list[Name], Integers]:
    """Return the names in `pairs`, in the order of their first appearance, and their labels.

    Pairs are read once; a number for each name is held.
    """
    numbers: defaultdict[Name, int] = defaultdict(count().__next__)
    clusters = UnionFind()
    rest = iter(pairs)
    while batch := [(numbers[a], numbers[b]) for a, b in islice(rest, _BATCH)]:
        clusters.grow(len(numbers))
        clusters.union_many(*np.array(batch, dtype=np.int64).T)
    return list(numbers), clusters.labels()


def forest(i: Integers, j: Integers) -> tuple[Integers, Integers]:
    """Return fewer pairs of the same connected components: each number with the smallest."""
    numbers, indexes = np.unique(np.concatenate((i, j)), return_inverse=True)
    labels = cluster(indexes[: len(i)], indexes[len(i) :], len(numbers))
    linked = np.flatnonzero(labels != np.arange(len(numbers)))
    return numbers[labels[linked]], numbers[linked]


def members(labels: Integers) -> list[Integers]:
    """Return the members, in order, of each cluster of two or more, ordered by label."""
    order = np.argsort(labels, kind="stable")
    starts = np.flatnonzero(np.diff(labels[order], prepend=-1))
    return [group for group in np.split(order, starts[1:]) if len(group) > 1]
