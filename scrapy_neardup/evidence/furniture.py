"""Text that most pages of a site share: learnt while crawling, ignored when pages are compared.

Rule of this room: no fingerprint and no sketch depends on what is known here, so that
nothing learnt later makes two of them incomparable; it only says which bins of a page's
sketch say nothing (`scrapy_neardup.evidence.decision`).

A shingle is furniture of a group of pages (a host, or a directory of it) if it is on a
quarter of those that were kept. That is counted by lossy counting (Manku & Motwani,
"Approximate frequency counts over data streams", VLDB 2002, section 4.2): every few pages
what is rare is let go, so that a group holds a few thousand shingles however large the site
is. All counts are halved from time to time, so that a site may change its design.

Crawlers that share a store share it too: each posts what it has counted, and adds what the
others have.
"""

from __future__ import annotations

from base64 import b64decode, b64encode
from collections.abc import Iterable
from operator import is_not
from typing import Any

import numpy as np
from numpy.typing import NDArray

from scrapy_neardup.bounded import BoundedDict
from scrapy_neardup.fingerprints.minwise import one_permutation_sketch
from scrapy_neardup.fingerprints.shingles import ascending, distinct

SHARE = 0.25
"""Minimum share of a group's kept pages that furniture is on."""

MIN_PAGES = 4
"""Minimum number of pages of a group before a shingle can be furniture; it must be on all but one
of that many."""

_RARE = SHARE / 4
"""Share of a group's pages below which a shingle is no longer counted."""

_BATCH = 8
_HALVED = 64
"""Number of pages after which counts are halved, so that the furniture of a section is learnt
while the crawl is in it."""

_MAX_SHINGLES = 8192
"""Maximum number of shingles counted in a group: the most frequent ones."""

_MAX_FOLDERS = 256
"""Maximum number of folders of a site that are remembered: those seen last."""

MAX_STATE = 8 << 20
"""Maximum bytes of the arrays of one site that a crawl leaves for its next run."""

_NOTHING = np.empty(0, np.uint64)
_NO_MINIMUM = np.uint64(2**64 - 1)

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
        """Return the shingles on a quarter of the pages that were counted, ascending."""
        pages = self.pages - len(self._waiting)
        if pages < MIN_PAGES:
            return _NOTHING
        found = self.counts >= max(SHARE * pages, MIN_PAGES - 1)
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
        if len(self.counts) > _MAX_SHINGLES:
            self._keep(_most_frequent(self.counts, _MAX_SHINGLES))
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


def _most_frequent(counts: NDArray[np.float32], most: int) -> NDArray[np.bool_]:
    """Return where the `most` largest counts are; of equal ones the first."""
    least = np.partition(counts, -most)[-most]
    kept: NDArray[np.bool_] = counts > least
    ties = (counts == least).nonzero()[0]
    kept[ties[: most - np.count_nonzero(kept)]] = True
    return kept


def _written(array: NDArray[Any]) -> str:
    return b64encode(array.astype(array.dtype.newbyteorder("<")).tobytes()).decode()


def _read(text: str, kind: str) -> NDArray[Any]:
    return np.frombuffer(b64decode(text, validate=True), kind)


class SiteFurniture:
    """The furniture of a site and of the folders in it."""

    def __init__(self) -> None:
        self._counts: BoundedDict[str, Counts] = BoundedDict(_MAX_FOLDERS)
        self._others: list[Counts] = []
        self._found: BoundedDict[str, NDArray[np.uint64]] = BoundedDict(_MAX_FOLDERS)
        # By folder: what was found for site and folder, and all of it.
        self._together: BoundedDict[str, tuple[list[NDArray[np.uint64]], NDArray[np.uint64]]] = (
            BoundedDict(_MAX_FOLDERS)
        )
        # By folder: what was found for it, and its sketch.
        self._sketches: BoundedDict[str, tuple[NDArray[np.uint64], NDArray[np.uint64]]] = (
            BoundedDict(_MAX_FOLDERS)
        )
        self.site = Counts()

    @property
    def pages(self) -> float:
        """Number of pages counted here, halved from time to time."""
        return self.site.pages

    def pages_of(self, folder: str) -> float:
        """Return the number of pages of a folder counted here, halved from time to time."""
        counts = self._counts.get(folder)
        return 0.0 if counts is None else counts.pages

    def of(self, folder: str) -> NDArray[np.uint64]:
        """Return the shingles that are furniture of the site or this folder, ascending."""
        found = [self._furniture("", self.site)]
        if (counts := self._counts.get(folder)) is not None:
            found.append(self._furniture(folder, counts))
        found = [shingles for shingles in found if len(shingles)]
        if len(found) < 2:
            return found[0] if found else _NOTHING
        # Most pages come when nothing was counted since the last one of their folder.
        before, together = self._together.get(folder, ([], _NOTHING))
        if len(before) != len(found) or any(map(is_not, before, found)):
            together = distinct(np.concatenate(found))
            self._together[folder] = found, together
        return together

    def sketch(self, folder: str, bins: int) -> NDArray[np.uint64]:
        """Return the minima of the furniture of the site and this folder, shape (bins,), uint64.

        Those of the site, and of the folder, are computed once until they change.
        """
        minima = np.full(bins, _NO_MINIMUM)
        for name in {"", folder}:
            found = self._found.get(name, _NOTHING)
            before, known = self._sketches.get(name, (_NOTHING, _NOTHING))
            if before is not found or (len(found) and len(known) != bins):
                known = one_permutation_sketch(found, bins) if len(found) else _NOTHING
                self._sketches[name] = found, known
            if len(known):
                np.minimum(minima, known, out=minima)
        return minima

    def learn(self, folder: str, shingles: NDArray[np.uint64]) -> None:
        """Count a kept page with these distinct shingles, ascending."""
        if len(shingles) > _MAX_SHINGLES:  # a fair sample, as hashes are; nothing holds the rest
            shingles = shingles[:_MAX_SHINGLES].copy()
        if self.site.add(shingles):
            self._found.pop("", None)
        if folder not in self._counts:
            self._counts[folder] = Counts()
        self._counts.move_to_end(folder)
        if self._counts[folder].add(shingles):
            self._found.pop(folder, None)

    @property
    def nbytes(self) -> int:
        """Bytes of the arrays and of the names of folders. O(folders)."""
        others = sum(counts.nbytes for counts in self._others)
        return self._bytes_of("") + others + sum(map(self._bytes_of, self._counts))

    def shrink(self, most: int) -> None:
        """Forget the folders seen longest ago until `nbytes` is `most` at most. O(folders)."""
        left = self.nbytes
        while left > most and self._counts:
            folder = next(iter(self._counts))
            left -= self._bytes_of(folder)
            for known in (self._counts, self._found, self._together, self._sketches):
                known.pop(folder, None)

    def _bytes_of(self, folder: str) -> int:
        counts = self._counts[folder] if folder else self.site
        arrays: tuple[NDArray[np.uint64], ...] = (
            self._found.get(folder, _NOTHING),
            self._together.get(folder, ([], _NOTHING))[1],
            *self._sketches.get(folder, ()),
        )
        return len(folder) + counts.nbytes + sum(array.nbytes for array in arrays)

    def dump(self) -> str:
        """Return what was counted here for the site; see `Counts.dump`."""
        return self.site.dump().hex()

    def add_others(self, dumps: list[str]) -> None:
        """Take over what others have counted, in place of what they had before."""
        self._others = [Counts.load(bytes.fromhex(value)) for value in dumps]
        self._found.pop("", None)

    def state(self) -> dict[str, Any]:
        """Return all that was counted here, to go on from: of `MAX_STATE` bytes at most.

        Where that isn't enough, the folders that were seen last are in it.
        """
        folders: list[tuple[str, dict[str, Any]]] = []
        left = MAX_STATE - self.site.nbytes
        for folder, counts in reversed(self._counts.items()):
            if (left := left - counts.nbytes) < 0:
                break
            folders.append((folder, counts.state()))
        return {"site": self.site.state(), "folders": folders[::-1]}

    def restore(self, state: dict[str, Any]) -> None:
        """Go on from a `state`; raise as `Counts.restored` does."""
        self.site = Counts.restored(state["site"])
        for folder, counts in state["folders"]:
            self._counts[folder] = Counts.restored(counts)

    def _furniture(self, folder: str, counts: Counts) -> NDArray[np.uint64]:
        if folder not in self._found:
            if not folder and self._others:
                counts = counts.merged(self._others)
            self._found[folder] = counts.furniture()
        return self._found[folder]
