"""Which documents are removed, and for which.

Documents are decided in the order of their rank. One is removed if it resembles a kept document
with which it shares a bucket; of several the one that it resembles most, then the one that
ranks first. So a removed document always resembles the one that is kept for it: there are no
chains, in which A resembles B, and B C, but A not C.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from scrapy_neardup.dedupe.sketchfiles import SketchFiles
from scrapy_neardup.fingerprints.batch import estimated

Integers = NDArray[np.int64]

MAX_KEPT = 64
"""Maximum number of kept documents of a bucket that others are compared with."""


class Removed(NamedTuple):
    """Documents to be removed: their numbers, those of the documents kept for them, resemblances.

    All have shape (n,).
    """

    documents: Integers
    kept: Integers
    resemblances: NDArray[np.float64]


class Comparison(Protocol):
    """Compares documents, given by their positions in the order of rank."""

    def resemblances(self, document: int, others: Integers) -> NDArray[np.float64]:
        """Return the resemblances of a document and some others."""


class BySketch:
    """Estimates from sketches, shape (documents, bins), uint8."""

    def __init__(self, bins: NDArray[np.uint8]) -> None:
        self._bins = bins

    def resemblances(self, document: int, others: Integers) -> NDArray[np.float64]:
        """See `Comparison`, and `estimated` for the standard error."""
        return estimated(self._bins[document], self._bins[others])


class ByShingles:
    """Exact resemblances of sets of shingles, each distinct and ascending."""

    def __init__(self, sets: Sequence[NDArray[np.uint64]]) -> None:
        self._sets = sets

    def resemblances(self, document: int, others: Integers) -> NDArray[np.float64]:
        """See `Comparison`."""
        own = self._sets[document]
        found = np.empty(len(others))
        for position, other in enumerate(others.tolist()):
            theirs = self._sets[other]
            shared = len(np.intersect1d(own, theirs, assume_unique=True))
            found[position] = shared / (len(own) + len(theirs) - shared)
        return found


def ordered(documents: Integers, files: SketchFiles) -> Integers:
    """Return documents in the order of their rank."""
    return documents[np.lexsort((documents, files.heads(documents)["rank"]))]


def decide(
    buckets: NDArray[np.uint64],
    documents: Integers,
    order: Integers,
    comparison: Comparison,
    least: float,
) -> Removed:
    """Decide about the documents of whole components.

    Parameters
    ----------
    buckets, documents
        Shape (entries,): which document is in which bucket; no entry twice.
    order
        The documents in the order of their rank; int64, distinct.
    comparison
        Compares them by their positions in that order.
    least
        Minimum resemblance; 0: all that share a bucket are duplicates.

    Notes
    -----
    O(entries * `MAX_KEPT`).
    """
    sorter = np.argsort(order)
    positions = sorter[np.searchsorted(order, documents, sorter=sorter)]
    _, numbers = np.unique(buckets, return_inverse=True)
    by_position = np.argsort(positions, kind="stable")
    edges = np.searchsorted(positions[by_position], np.arange(len(order) + 1)).tolist()
    own = numbers[by_position].tolist()
    kept: list[list[int]] = [[] for _ in range(int(numbers.max(initial=-1)) + 1)]
    removed: list[tuple[int, int, float]] = []
    for position in range(len(order)):
        mine = own[edges[position] : edges[position + 1]]
        candidates = sorted({other for bucket in mine for other in kept[bucket]})
        if candidates:
            found = comparison.resemblances(position, np.array(candidates))
            best = int(found.argmax())
            if found[best] >= least:
                removed.append((position, candidates[best], float(found[best])))
                continue
        for bucket in mine:
            if len(kept[bucket]) < MAX_KEPT:
                kept[bucket].append(position)
    gone, standing, shares = zip(*removed, strict=True) if removed else ((), (), ())
    return Removed(
        order[np.array(gone, np.int64)],
        order[np.array(standing, np.int64)],
        np.array(shares, np.float64),
    )
