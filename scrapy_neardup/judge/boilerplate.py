"""Boilerplate: shingles that half of the pages of a host or of a folder share.

Kept pages count. So do pages that were dropped for being alike; otherwise a template that was
once taken for content would stay content. A page at the path of the page that it repeats doesn't
count.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from scrapy_neardup.bounded import BoundedDict
from scrapy_neardup.judge.counts import MAX_SHINGLES, Counts
from scrapy_neardup.judge.evidence import Evidence
from scrapy_neardup.judge.knowledge import (
    MAX_FOLDERS,
    NOTHING,
    Excluded,
    Folders,
    SharedShingles,
    SiteRule,
)
from scrapy_neardup.judge.shingling import Text

MAX_STATE: Final = 8 << 20
"""Maximum size in bytes of the counts of a site that a crawl leaves for its next run."""


class _Folder(SharedShingles):
    """The boilerplate of one folder."""

    def __init__(self) -> None:
        super().__init__()
        self.counts = Counts()
        self._others: list[Counts] = []

    def learn(self, shingles: NDArray[np.uint64]) -> bool:
        """Count a kept page; return whether the folder has its first boilerplate now."""
        had_none = not len(self.shingles)
        if not self.counts.add(shingles):
            return False
        self._find()
        return had_none and len(self.shingles) > 0

    def restore(self, counts: Counts) -> None:
        """Continue from what was counted before."""
        self.counts = counts
        self._find()

    def add_others(self, others: list[Counts]) -> None:
        """Take over the counts of other crawlers."""
        self._others = others
        self._find()

    def _find(self) -> None:
        counts = self.counts.merged(self._others) if self._others else self.counts
        self.set(counts.boilerplate())

    @property
    def nbytes(self) -> int:
        """Memory in bytes, rounded up."""
        return super().nbytes + sum([each.nbytes for each in (self.counts, *self._others)])


class Boilerplate(SiteRule):
    """The boilerplate of a site, and of each folder with pages."""

    name = "boilerplate"
    sentence = "text that half of its pages share is boilerplate"

    def __init__(self, folders: Folders) -> None:
        super().__init__(folders)
        self._shared: BoundedDict[int, _Folder] = BoundedDict(MAX_FOLDERS)

    def learn(self, evidence: Evidence, text: Text | None) -> bool:
        """Learn from a kept page; return whether something new is known."""
        if text is None:
            return False
        shingles = text.shingles
        if len(shingles) > MAX_SHINGLES:  # a fair sample, as hashes are; nothing holds the rest
            shingles = shingles[:MAX_SHINGLES].copy()
        found = [
            self._shared.used(each, _Folder).learn(shingles)
            for each in {evidence.host, evidence.folder}
        ]
        return any(found)

    def exclude(self, evidence: Evidence) -> Excluded:
        """Return the parts of a page that don't count."""
        known = [self._shared.get(folder) for folder in (evidence.host, evidence.folder)]
        shared = tuple(dict.fromkeys([each for each in known if each and len(each.shingles)]))
        return Excluded(shared=shared, by=(self.name,)) if shared else NOTHING

    def dump(self, *, complete: bool) -> list[Any]:
        """Return the counts by folder, those used last; for other crawlers those of the host."""
        found, left = [], MAX_STATE
        for folder, shared in reversed(self._shared.items()):
            if complete or self.folders.chain(folder, folder) == (folder,):
                left -= shared.counts.nbytes
                if left < 0:
                    break
                found.append([folder, shared.counts.dump(complete=complete)])
        return found[::-1]

    def restore(self, dump: list[Any]) -> None:
        """Continue from a `dump`."""
        for folder, counts in dump:
            self._shared.used(int(folder), _Folder).restore(Counts.load(counts))

    def add_others(self, dumps: list[list[Any]]) -> None:
        """Replace the dumps of other crawlers by newer ones."""
        found: dict[int, list[Counts]] = {}
        for dump in dumps:
            for folder, counts in dump[:1]:
                found.setdefault(int(folder), []).append(Counts.load(counts))
        for folder, counts in found.items():
            self._shared.used(folder, _Folder).add_others(counts)

    @property
    def nbytes(self) -> int:
        """Memory in bytes, rounded up."""
        return sum([shared.nbytes for shared in self._shared.values()])

    def shrink(self, most: int) -> None:
        """Forget the folders used longest ago until `nbytes` is at most `most`. O(folders)."""
        left = self.nbytes
        while left > most and len(self._shared) > 1:
            _, shared = self._shared.popitem(last=False)
            left -= shared.nbytes
