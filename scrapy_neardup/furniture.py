"""What most pages of a site share: learnt while crawling, subtracted when pages are compared.

Rule of this room: no fingerprint and no sketch depends on what is known here, so that
nothing learnt later makes two of them incomparable; it only says which bins of a page's
sketch say nothing (`scrapy_neardup.stores.confirmation`).

A shingle is furniture of a group of pages (a host, or a directory of it) if it is on a
quarter of those that were kept. That is counted by lossy counting (Manku & Motwani,
"Approximate frequency counts over data streams", VLDB 2002, section 4.2): every few pages
what is rare is let go, so that a group holds a few thousand shingles however large the site
is. All counts are halved from time to time, so that a site may change its design.

Crawlers that share a store share it too: each posts what it has counted, and adds what the
others have.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable, Sequence
from operator import is_not

import numpy as np
from numpy.typing import NDArray

from scrapy_neardup.fingerprints.shingles import ascending, distinct

SHARE = 0.25
"""Of a group's kept pages, that furniture is on."""

FEWEST = 4
"""Pages of a group before any of it is furniture; and pages that furniture is on, less one."""

_RARE = SHARE / 4
"""What is on fewer of the pages isn't counted on."""

_BATCH = 8
_HALVED = 64
"""Pages after which counts are halved, so that the furniture of one section is learnt while a
crawl is in it."""

_MOST_SHINGLES = 8192
"""Of a group; the most frequent ones."""

_MOST_GROUPS = 4096
"""Groups that are remembered: those seen last."""

_NOTHING = np.empty(0, np.uint64)

_COUNTED = np.dtype([("shingle", "<u8"), ("count", "<f4")])


class Counts:
    """On how many pages of one group each shingle is.

    Attributes
    ----------
    pages : float
        How many were counted; halved along with the counts.
    shingles : ndarray of uint64, shape (n,)
        Ascending.
    counts : ndarray of float32, shape (n,)
        On how many pages each is, less those that are waiting to be counted.
    """

    def __init__(self) -> None:
        self.pages = 0.0
        self.shingles = np.empty(0, np.uint64)
        self.counts = np.empty(0, np.float32)
        self._waiting: list[NDArray[np.uint64]] = []

    def add(self, shingles: NDArray[np.uint64]) -> bool:
        """Count a page with these distinct shingles, ascending.

        O(1), and every few pages O(n log n) in the shingles known: then what is furniture
        changes.

        Returns
        -------
        bool
            Whether it does.
        """
        self.pages += 1
        self._waiting.append(shingles)
        is_batch = len(self._waiting) == (_BATCH if self.pages > _BATCH else 1)
        if is_batch:
            self._count()
        return is_batch

    def furniture(self) -> NDArray[np.uint64]:
        """Return the shingles on a quarter of the pages or more, ascending."""
        if self.pages < FEWEST:
            return _NOTHING
        found = self.counts >= max(SHARE * self.pages, FEWEST - 1)
        return self.shingles[found]

    def merged(self, others: Iterable[Counts]) -> Counts:
        """Return the counts of this and `others` together."""
        total = Counts()
        parts = [self, *others]
        total.pages = sum(part.pages for part in parts)
        total.sum(
            np.concatenate([part.shingles for part in parts]),
            np.concatenate([part.counts for part in parts]),
        )
        return total

    def dump(self) -> bytes:
        """Return the counts for others to load: 12 bytes a shingle of several pages."""
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

    def _count(self) -> None:
        pages = len(self._waiting)
        found = ascending(np.concatenate(self._waiting))
        self._waiting.clear()
        known = np.searchsorted(found, self.shingles)
        times = np.searchsorted(found, self.shingles, "right") - known
        self.counts += times
        # What is on one page of a batch alone is let go: furniture is on two of one soon.
        edges = np.ones(len(found) + 1, np.bool_)
        np.not_equal(found[1:], found[:-1], out=edges[1:-1])
        new = edges[:-1] & ~edges[1:] if pages > 1 else edges[:-1]
        new[known[times > 0]] = False
        first = new.nonzero()[0]
        if len(first):
            added = found[first]
            places = np.searchsorted(self.shingles, added)
            times = np.searchsorted(found, added, "right") - first
            self.shingles = np.insert(self.shingles, places, added)
            self.counts = np.insert(self.counts, places, times)
        if self.pages >= _BATCH:
            self._keep(self.counts >= _RARE * self.pages)
        if len(self.counts) > _MOST_SHINGLES:
            least = np.partition(self.counts, -_MOST_SHINGLES)[-_MOST_SHINGLES]
            self._keep(self.counts >= least)
        if self.pages >= _HALVED:
            self.pages /= 2
            self.counts /= 2

    def sum(self, shingles: NDArray[np.uint64], counts: NDArray[np.float32]) -> None:
        """Take over these counts, added up by shingle."""
        self.shingles, places = np.unique(shingles, return_inverse=True)
        summed = np.bincount(places, counts, len(self.shingles))
        self.counts = summed.astype(np.float32)

    def _keep(self, kept: NDArray[np.bool_]) -> None:
        self.shingles, self.counts = self.shingles[kept], self.counts[kept]


class Furniture:
    """The furniture of every group of pages that a crawl meets."""

    def __init__(self) -> None:
        self._counts: OrderedDict[str, Counts] = OrderedDict()
        self._others: dict[str, list[Counts]] = {}
        self._found: dict[str, NDArray[np.uint64]] = {}
        # By the last of some groups: what was found for each, and all of it.
        self._together: dict[str, tuple[list[NDArray[np.uint64]], NDArray[np.uint64]]] = {}

    def of(self, groups: Sequence[str]) -> NDArray[np.uint64]:
        """Return the shingles that are furniture of any of these groups, ascending."""
        found = [self._furniture(group) for group in groups]
        found = [shingles for shingles in found if len(shingles)]
        if len(found) < 2:
            return found[0] if found else _NOTHING
        # Most pages come when nothing was counted since the last one of their directory.
        before, together = self._together.get(groups[-1], ([], _NOTHING))
        if len(before) != len(found) or any(map(is_not, before, found)):
            together = distinct(np.concatenate(found))
            self._together[groups[-1]] = found, together
        return together

    def learn(self, groups: Sequence[str], shingles: NDArray[np.uint64]) -> None:
        """Count a kept page with these distinct shingles, ascending, for each of its groups."""
        for group in groups:
            if group in self._counts:
                self._counts.move_to_end(group)
            else:
                self._counts[group] = Counts()
                if len(self._counts) > _MOST_GROUPS:
                    gone, _ = self._counts.popitem(last=False)
                    self._others.pop(gone, None)
                    self._found.pop(gone, None)
                    self._together.pop(gone, None)
            if self._counts[group].add(shingles):
                self._found.pop(group, None)

    def dump(self, group: str) -> bytes:
        """Return what was counted here for a group; see `Counts.dump`."""
        return self._counts[group].dump()

    def add_others(self, group: str, dumped: Iterable[bytes]) -> None:
        """Take over what others have counted for a group, in place of what they had before."""
        if group in self._counts:
            self._others[group] = [Counts.load(value) for value in dumped]
            self._found.pop(group, None)

    def pages(self, group: str) -> float:
        """Return how many pages were counted here for a group."""
        return self._counts[group].pages if group in self._counts else 0.0

    def _furniture(self, group: str) -> NDArray[np.uint64]:
        if group not in self._found:
            counts = self._counts.get(group)
            if counts is None:
                return _NOTHING
            if others := self._others.get(group):
                counts = counts.merged(others)
            self._found[group] = counts.furniture()
        return self._found[group]
