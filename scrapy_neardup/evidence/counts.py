"""The number of pages of a group that hold each shingle: lossy counting.

Rule of this module: memory is bounded whatever is counted (Manku & Motwani, "Approximate
frequency counts over data streams", VLDB 2002, section 4.2). Every few pages rare shingles are let
go, so that a group holds a few thousand of them however large the site is. All counts are halved
from time to time, so that a site may change its design.
"""

from __future__ import annotations

from base64 import b64decode, b64encode
from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from scrapy_neardup._speed import has_twin
from scrapy_neardup.fingerprints.shingles import ascending

SHARE = 0.25
"""Minimum share of a group's kept pages that furniture is on."""

MIN_PAGES = 4
"""Minimum number of pages of a group before a shingle can be furniture; it must be on all but one
of that many."""

MAX_SHINGLES = 8192
"""Maximum number of shingles counted in a group: the most frequent ones."""

_RARE = SHARE / 4
"""Share of a group's pages below which a shingle is no longer counted."""

_BATCH = 8
"""Number of pages that are counted in one pass."""
_HALVED = 64
"""Number of pages after which counts are halved, so that the furniture of a section is learnt
while the crawl is in it."""

_NOTHING = np.empty(0, np.uint64)
_COUNTED = np.dtype([("shingle", "<u8"), ("count", "<f4")])

Counted = tuple[NDArray[np.uint64], NDArray[np.float32]]
"""Distinct shingles, ascending, and the number of pages that hold each, of the same shape."""


@has_twin(
    "furniture",
    np.arange(0, 60, 3, dtype=np.uint64),
    np.arange(20, dtype=np.float32) % 3,
    [np.arange(0, 60, 2, dtype=np.uint64), np.arange(10, 90, 4, dtype=np.uint64)],
    2,
    1.0,
    10,
)
def counted(  # noqa: PLR0917  (as the compiled twin takes them)
    shingles: NDArray[np.uint64],
    counts: NDArray[np.float32],
    pages: list[NDArray[np.uint64]],
    fewest: int,
    least: float,
    most: int,
) -> Counted:
    """Return shingles and counts with those of a batch of pages added.

    Parameters
    ----------
    shingles, counts
        What was counted before.
    pages
        Of each its distinct shingles, ascending.
    fewest
        Number of pages of the batch, 1 or 2, that a shingle must be on to be counted for the first
        time.
    least
        Count below which a shingle is let go.
    most
        Number of shingles that are kept, those of the largest counts; of equal ones the first.

    Notes
    -----
    O(n log n) for n shingles in all.
    """
    ordered = ascending(np.concatenate(pages))
    edges = np.ones(len(ordered) + 1, np.bool_)
    np.not_equal(ordered[1:], ordered[:-1], out=edges[1:-1])
    starts = np.flatnonzero(edges)
    found, times = ordered.take(starts[:-1]), np.diff(starts)
    places = np.searchsorted(shingles, found)
    is_known = np.zeros(len(found), np.bool_)
    if len(shingles):
        is_known = shingles.take(places, mode="clip") == found
    counts = counts.copy()
    counts[places[is_known]] += times[is_known]
    is_new = ~is_known & (times >= fewest)
    total = np.concatenate([counts, times[is_new]]).astype(np.float32)
    every = np.concatenate([shingles, found[is_new]])
    order = np.argsort(every, kind="stable")  # merges what is in order already
    every, total = every.take(order), total.take(order)
    kept = total >= least
    every, total = every[kept], total[kept]
    if len(total) > most:
        rank = np.sort(total)[-most]
        kept = total > rank
        ties = np.flatnonzero(total == rank)
        kept[ties[: most - np.count_nonzero(kept)]] = True
        every, total = every[kept], total[kept]
    return every, total


class Counts:
    """The number of pages of one group that hold each shingle.

    Attributes
    ----------
    pages : float
        How many were counted; halved along with the counts.
    shingles : ndarray of uint64, shape (n,)
        Ascending.
    counts : ndarray of float32, shape (n,)
        Number of pages that hold each, but for those that are waiting to be counted.
    """

    def __init__(self) -> None:
        self.pages = 0.0
        self.shingles = np.empty(0, np.uint64)
        self.counts = np.empty(0, np.float32)
        self._waiting: list[NDArray[np.uint64]] = []

    def add(self, shingles: NDArray[np.uint64]) -> bool:
        """Count a page with these distinct shingles, ascending.

        O(1), and every few pages O(n log n) in the shingles known: then what is furniture
        changes. Before there are `MIN_PAGES` nothing is.

        Returns
        -------
        bool
            Whether it does.
        """
        self.pages += 1
        self._waiting.append(shingles)
        if self.pages < MIN_PAGES or (self.pages > _BATCH and len(self._waiting) < _BATCH):
            return False
        self._count()
        return True

    def furniture(self) -> NDArray[np.uint64]:
        """Return the shingles on a quarter of the pages that were counted, ascending."""
        pages = self.pages - len(self._waiting)
        if pages < MIN_PAGES:
            return _NOTHING
        found = self.counts >= max(SHARE * pages, MIN_PAGES - 1)
        return self.shingles[found]

    def merged(self, others: Iterable[Counts]) -> Counts:
        """Return the counts of this and `others` together."""
        total = Counts()
        self._count_first()
        parts = [self, *others]
        total.pages = sum(part.pages for part in parts)
        total.sum(
            np.concatenate([part.shingles for part in parts]),
            np.concatenate([part.counts for part in parts]),
        )
        return total

    def dump(self) -> bytes:
        """Return the counts for others to load: 12 bytes a shingle of several pages."""
        self._count_first()
        often = self.counts > 1
        counted = np.empty(np.count_nonzero(often), _COUNTED)
        counted["shingle"], counted["count"] = self.shingles[often], self.counts[often]
        return np.float32(self.pages).tobytes() + counted.tobytes()

    @classmethod
    def load(cls, dumped: bytes) -> Counts:
        """Return what `dump` wrote; empty counts for anything else."""
        counts = cls()
        if len(dumped) % _COUNTED.itemsize == 4:  # of the number of pages
            counts.pages = float(np.frombuffer(dumped[:4], "<f4")[0])
            counted = np.frombuffer(dumped[4:], _COUNTED)
            counts.sum(counted["shingle"].astype(np.uint64), counted["count"])
        return counts

    def state(self) -> dict[str, Any]:
        """Return all that is known, to go on from; see `restored`."""
        return {"pages": self.pages, "arrays": [_written(array) for array in self._arrays]}

    @classmethod
    def restored(cls, state: dict[str, Any]) -> Counts:
        """Return counts that go on from a `state`.

        Raises
        ------
        ValueError, KeyError, TypeError
            It is no such state.
        """
        counts = cls()
        counts.pages = float(state["pages"])
        shingles, times, *waiting = state["arrays"]
        counts.shingles = _read(shingles, "<u8").astype(np.uint64)
        counts.counts = _read(times, "<f4").astype(np.float32)
        counts._waiting = [_read(each, "<u8").astype(np.uint64) for each in waiting]
        if len(counts.shingles) != len(counts.counts):
            raise ValueError("as many counts as shingles are needed")
        return counts

    @property
    def nbytes(self) -> int:
        """Bytes of the arrays."""
        return sum(array.nbytes for array in self._arrays)

    @property
    def _arrays(self) -> list[NDArray[Any]]:
        return [self.shingles, self.counts, *self._waiting]

    def _count_first(self) -> None:
        """Count the first pages now: so far nothing of them is let go, together or not."""
        if self._waiting and self.pages < MIN_PAGES:
            self._count()

    def _count(self) -> None:
        least = _RARE * self.pages if self.pages >= _BATCH else 0.0
        # Furniture is soon on two pages of one batch.
        fewest = 2 if self.pages > _BATCH else 1
        self.shingles, self.counts = counted(
            self.shingles, self.counts, self._waiting, fewest, least, MAX_SHINGLES
        )
        self._waiting.clear()
        if self.pages >= _HALVED:
            self.pages /= 2
            self.counts /= 2

    def sum(self, shingles: NDArray[np.uint64], counts: NDArray[np.float32]) -> None:
        """Take over these counts, added up by shingle."""
        self.shingles, places = np.unique(shingles, return_inverse=True)
        summed = np.bincount(places, counts, len(self.shingles))
        self.counts = summed.astype(np.float32)


def _written(array: NDArray[Any]) -> str:
    return b64encode(array.astype(array.dtype.newbyteorder("<")).tobytes()).decode()


def _read(text: str, kind: str) -> NDArray[Any]:
    return np.frombuffer(b64decode(text, validate=True), kind)
