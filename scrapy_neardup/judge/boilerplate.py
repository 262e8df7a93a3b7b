"""Boilerplate: shingles that half of the pages of a host or of a folder share.

Kept pages count. So do pages that were dropped because they were alike; otherwise a template that
was once taken for content would stay content. A page at the same path as the page that it repeats
doesn't count.

Memory is bounded by lossy counting (Manku & Motwani, "Approximate frequency counts over data
streams", VLDB 2002, section 4.2): every few pages rare shingles are dropped, so a group holds a
few thousand of them for a site of any size. All counts are halved from time to time, so that a
site may change its design.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from scrapy_neardup._speed import has_twin
from scrapy_neardup.judge.evidence import Evidence
from scrapy_neardup.judge.knowledge import MIN_PAGES, NOTHING, Excluded, SiteRule
from scrapy_neardup.judge.shingling import Text
from scrapy_neardup.judge.sketch import SharedShingles

SHARE = 0.5
"""Minimum share of a group's pages that have a shingle, for the shingle to be boilerplate."""

MAX_SHINGLES = 8192
"""Maximum number of shingles counted in a group; the most frequent ones stay."""
MAX_SAMPLED = 8 * MAX_SHINGLES
"""Maximum number of shingles of one page that are counted."""

_RARE = SHARE / 8
"""Share of a group's pages below which a shingle is no longer counted."""

_BATCH = 8
"""Number of pages that are counted in one pass."""
_HALVED = 64
"""Number of pages after which counts are halved, so that what a new section shares is learnt."""

_MAX_PAGES = 1e9
"""Number of pages above which a dump is refused."""

_NOTHING = np.empty(0, np.uint64)

Counted = tuple[NDArray[np.uint64], NDArray[np.float32]]
"""Distinct shingles, ascending, and the number of pages with each, of the same shape."""


@has_twin(
    "counting",
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

    `pages` are the distinct shingles of each page, ascending. A new shingle is counted only if it
    is on at least `fewest` pages of the batch (1 or 2). Shingles with counts below `least` are
    dropped. Of the others, the `most` with the largest counts stay; among equal counts the first.
    O(n log n) for n shingles in all.
    """
    found, times = np.unique(np.concatenate(pages), return_counts=True)
    places, is_known = np.searchsorted(shingles, found), np.zeros(len(found), np.bool_)
    if len(shingles):
        is_known = shingles.take(places, mode="clip") == found
    counts = counts.copy()
    counts[places[is_known]] += times[is_known]
    is_new = ~is_known & (times >= fewest)
    total = np.concatenate([counts, times[is_new]]).astype(np.float32)
    every = np.concatenate([shingles, found[is_new]])
    order = np.argsort(every, kind="stable")  # merges sorted runs
    order = order[total.take(order) >= least]
    every, total = every.take(order), total.take(order)
    if len(total) > most:
        first = np.sort(np.argsort(-total, kind="stable")[:most])
        every, total = every[first], total[first]
    return every, total


class Counts:
    """The number of pages of one group that have each shingle."""

    def __init__(self) -> None:
        self.shared = SharedShingles()
        """The shingles that half of the pages share."""
        self.pages = 0.0
        """Number of pages counted, halved along with the counts."""
        self.shingles = np.empty(0, np.uint64)
        """The shingles, ascending, shape (n,)."""
        self.counts = np.empty(0, np.float32)
        """Number of pages with each shingle, not counting the pages of the current batch."""
        self._waiting: list[NDArray[np.uint64]] = []

    def add(self, shingles: NDArray[np.uint64]) -> bool:
        """Count a page with these distinct shingles, ascending.

        Return whether `boilerplate` may have changed. O(1), and every few pages O(n log n) for n
        known shingles.
        """
        self.pages += 1
        self._waiting.append(shingles)
        if self.pages < MIN_PAGES or (self.pages > _BATCH and len(self._waiting) < _BATCH):
            return False
        self._count()
        return True

    @property
    def counted(self) -> float:
        """Number of pages without those of the current batch."""
        return self.pages - len(self._waiting)

    def boilerplate(self) -> NDArray[np.uint64]:
        """Return the shingles on half of the counted pages, ascending."""
        if self.counted < MIN_PAGES:
            return _NOTHING
        return self.shingles[self.counts >= max(SHARE * self.counted, MIN_PAGES - 1)]

    def merged(self, others: Iterable[Counts]) -> Counts:
        """Return the counts of this and `others` together."""
        total = Counts()
        self._count_first()
        parts = [self, *others]
        total.pages = sum(part.counted for part in parts)
        total._sum(
            np.concatenate([part.shingles for part in parts]),
            np.concatenate([part.counts for part in parts]),
        )
        return total

    def dump(self, *, complete: bool) -> list[Any]:
        """Return all counts, for the next run, or only those that other crawlers need."""
        if complete:
            return [self.pages, *[each.tolist() for each in self._arrays]]
        self._count_first()
        kept = self.counts > 1
        return [self.counted, self.shingles[kept].tolist(), self.counts[kept].tolist()]

    @classmethod
    def load(cls, dump: list[Any]) -> Self:
        """Continue from a `dump`; raise ValueError, TypeError, OverflowError if it isn't one."""
        counts, (pages, shingles, times, *waiting) = cls(), dump
        counts.pages, of_each = float(pages), np.array(times, np.float32)
        counts._waiting = [np.unique(np.array(each, np.uint64)) for each in waiting]
        if not (
            0 <= counts.pages <= _MAX_PAGES
            and len(shingles) == len(of_each) <= MAX_SHINGLES
            and bool(np.all((of_each >= 0) & (of_each <= _MAX_PAGES)))
            and len(waiting) <= _BATCH
        ):
            raise ValueError("not counts of shingles")
        counts._sum(np.array(shingles, np.uint64), of_each)
        return counts

    @property
    def _arrays(self) -> list[NDArray[Any]]:
        return [self.shingles, self.counts, *self._waiting]

    @property
    def nbytes(self) -> int:
        """Memory in bytes."""
        return self.shared.nbytes + sum([each.nbytes for each in self._arrays])

    def _count_first(self) -> None:
        """Count the first pages at once, while none of their shingles can have been dropped."""
        if self._waiting and self.pages < MIN_PAGES:
            self._count()

    def _count(self) -> None:
        least = _RARE * self.pages if self.pages >= _BATCH else 0.0
        # Boilerplate is on two pages of a batch before long.
        fewest = 2 if self.pages > _BATCH else 1
        self.shingles, self.counts = counted(
            self.shingles, self.counts, self._waiting, fewest, least, MAX_SHINGLES
        )
        self._waiting.clear()
        if self.pages >= _HALVED:
            self.pages /= 2
            self.counts /= 2

    def _sum(self, shingles: NDArray[np.uint64], counts: NDArray[np.float32]) -> None:
        self.shingles, places = np.unique(shingles, return_inverse=True)
        self.counts = np.bincount(places, counts, len(self.shingles)).astype(np.float32)


class Boilerplate(SiteRule[Counts]):
    """The boilerplate of a site and of its folders; see `Folders.levels`."""

    name = "boilerplate"
    sentence = "text that half of its pages share is boilerplate"
    shown = Counts
    host_alone = True

    def learn(self, evidence: Evidence, text: Text) -> bool:
        """Learn from a kept page; return whether a folder has its first boilerplate now."""
        shingles, is_first = text.shingles, False
        if len(shingles) > MAX_SAMPLED:  # a fair sample, because shingles are hashes
            shingles = shingles[:MAX_SAMPLED].copy()
        for group in {evidence.host, *self.folders.levels(evidence.host, evidence.folder)}:
            folder = self.used(group)
            had_none = not len(folder.shared.shingles)
            if folder.add(shingles) or (folder.pages < MIN_PAGES and group in self.others):
                self.refresh([group])
                is_first |= had_none and len(folder.shared.shingles) > 0
        return is_first

    def exclude(self, evidence: Evidence) -> Excluded:
        """Return the parts of a page that don't count."""
        folders = evidence.host, *self.folders.levels(evidence.host, evidence.folder)
        known = [self.own.get(folder) for folder in folders]
        found = [each.shared for each in known if each and len(each.shared.shingles)]
        return Excluded(shared=(*dict.fromkeys(found),), by=(self.name,)) if found else NOTHING

    def refresh(self, groups: Iterable[int]) -> None:
        """Compute the boilerplate of some folders again."""
        for group in groups:
            if group not in self.own:
                self.own[group] = Counts()
            folder, others = self.own[group], self.others.get(group)
            counts = folder.merged(others) if others else folder
            folder.shared.set(counts.boilerplate())
