"""Text that most pages of a site share: learnt while crawling, ignored when pages are compared.

Rule of this room: no fingerprint and no sketch depends on what is known here, so that
nothing learnt later makes two of them incomparable; it only says which bins of a page's
sketch say nothing (`scrapy_neardup.evidence.decision`).

A shingle is furniture of a group of pages (a host, or a directory of it) if it is on a
quarter of those that were kept (`scrapy_neardup.evidence.counts`).

Crawlers that share a store share it too: each posts what it has counted, and adds what the
others have.
"""

from __future__ import annotations

from base64 import b64decode, b64encode
from operator import is_not
from typing import Any

import numpy as np
from numpy.typing import NDArray

from scrapy_neardup.bounded import BoundedDict
from scrapy_neardup.evidence.counts import MAX_SHINGLES, Counts
from scrapy_neardup.fingerprints.minwise import one_permutation_sketch
from scrapy_neardup.fingerprints.shingles import distinct

_MAX_FOLDERS = 256
"""Maximum number of folders of a site that are remembered: those seen last."""

MAX_STATE = 8 << 20
"""Maximum bytes of the arrays of one site that a crawl leaves for its next run."""

_NOTHING = np.empty(0, np.uint64)
_NO_MINIMUM = np.uint64(2**64 - 1)


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
        if len(shingles) > MAX_SHINGLES:  # a fair sample, as hashes are; nothing holds the rest
            shingles = shingles[:MAX_SHINGLES].copy()
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
        return b64encode(self.site.dump()).decode()

    def add_others(self, dumps: list[str]) -> None:
        """Take over what others have counted, in place of what they had before."""
        self._others = [Counts.load(b64decode(value)) for value in dumps]
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
