"""Decisions: which documents are removed, and for which; two numbers for each document.

Documents are decided in the order of their rank. A document is removed if it resembles a kept
document with which it shares a bucket. If there are several, it is removed for the most similar
one, or among equally similar ones for the one that ranks first. So a removed document always
resembles the one that is kept for it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from scrapy_neardup.offline.files.sortedruns import Integers
from scrapy_neardup.offline.readers.files import content_of, exists, written

MAX_KEPT = 64
"""Maximum number of kept documents of a bucket with which others are compared."""

EQUAL = (1 << 16) - 1
"""Share of a document with the same text as the one kept for it."""
MOST = EQUAL - 1
"""Share for a resemblance of 1."""


class Removals(NamedTuple):
    """Documents, those kept for them, and the shares that say why; (n,) each."""

    documents: Integers
    kept: Integers
    shares: NDArray[np.uint16]

    @property
    def are_removed(self) -> NDArray[np.bool_]:
        """Mask of the documents that are removed."""
        return np.not_equal(self.kept, self.documents)

    def counts(self) -> dict[str, int]:
        """Return the numbers of documents that are ``kept``, or removed for each reason."""
        reasons = self.shares[self.are_removed]
        equal = int(np.count_nonzero(reasons == EQUAL))
        return {
            "kept": len(self.documents) - len(reasons),
            "equal": equal,
            "similar": len(reasons) - equal,
        }


def resemblance(own: NDArray[np.uint64], theirs: NDArray[np.uint64]) -> float:
    """Return the resemblance of two sets of shingles, each distinct and ascending."""
    shared = len(np.intersect1d(own, theirs, assume_unique=True))
    return shared / (len(own) + len(theirs) - shared)


def decide(
    buckets: NDArray[np.uint64],
    documents: Integers,
    order: Integers,
    shingles: Sequence[NDArray[np.uint64]],
    least: float,
) -> Removals:
    """Decide about the documents of whole components, from entries (bucket, document).

    `order` has the distinct documents by rank, and `shingles` theirs. Returns the documents whose
    resemblance to a kept one is `least` or more. O(entries * `MAX_KEPT`) comparisons.
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
            found = [resemblance(shingles[position], shingles[other]) for other in candidates]
            best = max(found)
            if best >= least:
                removed.append((position, candidates[found.index(best)], best))
                continue
        for bucket in mine:
            if len(kept[bucket]) < MAX_KEPT:
                kept[bucket].append(position)
    gone, standing, shares = zip(*removed, strict=True) if removed else ((), (), ())
    return Removals(
        order[np.array(gone, np.int64)],
        order[np.array(standing, np.int64)],
        np.rint(np.array(shares, np.float64) * MOST).astype(np.uint16),
    )


_STEP = 1 << 16
"""Number of documents that are settled at once."""
_FILE = "decisions"


def number_type(documents: int) -> np.dtype[np.unsignedinteger]:
    """Return the smallest type for the numbers of this many documents."""
    return np.dtype("<u4" if documents < 1 << 32 else "<u8")


def _entry_type(documents: int) -> np.dtype[np.void]:
    return np.dtype([("kept", number_type(documents)), ("share", "<u2")])


class Decisions:
    """The document that is kept for each document, at first itself; 6 (or 10) bytes each."""

    def __init__(self, documents: int) -> None:
        self._entries = np.empty(documents, _entry_type(documents))
        self.kept, self._shares = self._entries["kept"], self._entries["share"]
        self.kept[:] = np.arange(documents, dtype=self.kept.dtype)
        self._shares[:] = MOST

    def note(self, documents: Integers, kept: Integers, shares: NDArray[np.uint16] | int) -> None:
        """Note documents removed for others, which may be removed for equal ones later."""
        self.kept[documents] = kept
        self._shares[documents] = shares

    def are_kept(self, documents: Integers) -> NDArray[np.bool_]:
        """Return the mask of documents without a decision."""
        return ~Removals(documents, self.kept[documents], self._shares[documents]).are_removed

    def settle(self) -> None:
        """Replace the equal of a document, if it was removed, by the one that is kept for it."""
        for start in range(0, len(self.kept), _STEP):
            kept = self.kept[start : start + _STEP]
            through = self.kept[kept]
            moved = through != kept
            self._shares[start : start + _STEP][moved] = self._shares[kept[moved]]
            kept[:] = through

    def write(self, folder: str) -> None:
        """Write them to a file."""
        with written(f"{folder}/{_FILE}") as file:
            file.write(self._entries.data)


def are_written(folder: str) -> bool:
    """Return whether all decisions are written."""
    return exists(f"{folder}/{_FILE}")


def read_decisions(folder: str, documents: int, start: int, stop: int) -> Removals:
    """Return the decisions about documents `start` to `stop` of `documents` documents."""
    kind = _entry_type(documents)
    content = content_of(
        f"{folder}/{_FILE}", start * kind.itemsize, (stop - start) * kind.itemsize
    )
    entries = np.frombuffer(content, kind)
    return Removals(np.arange(start, stop), entries["kept"].astype(np.int64), entries["share"])
