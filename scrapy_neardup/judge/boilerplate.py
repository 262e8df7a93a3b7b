"""Boilerplate: shingles that half of the pages of a host or of a folder share.

Kept pages count. So do pages that were dropped for being alike; otherwise a template that was
once taken for content would stay content. A page at the path of the page that it repeats doesn't
count.
"""

from __future__ import annotations

from collections.abc import Iterable

from scrapy_neardup.judge.counts import MAX_SHINGLES, Counts
from scrapy_neardup.judge.evidence import Evidence
from scrapy_neardup.judge.knowledge import NOTHING, Excluded, SiteRule
from scrapy_neardup.judge.shingling import Text
from scrapy_neardup.judge.sketch import SharedShingles


class _Folder(Counts):
    """The shingles of one folder's pages, and those that half of them share."""

    def __init__(self) -> None:
        super().__init__()
        self.shared = SharedShingles()

    @property
    def nbytes(self) -> int:
        return super().nbytes + self.shared.nbytes


class Boilerplate(SiteRule[_Folder]):
    """The boilerplate of a site, and of each folder with pages."""

    name = "boilerplate"
    sentence = "text that half of its pages share is boilerplate"
    shown = _Folder
    host_alone = True

    def learn(self, evidence: Evidence, text: Text | None) -> bool:
        """Learn from a kept page; return whether a folder has its first boilerplate now."""
        if text is None:
            return False
        shingles, is_first = text.shingles, False
        if len(shingles) > MAX_SHINGLES:  # a fair sample, as hashes are; nothing holds the rest
            shingles = shingles[:MAX_SHINGLES].copy()
        for group in {evidence.host, evidence.folder}:
            folder = self.used(group)
            had_none = not len(folder.shared.shingles)
            if folder.add(shingles):
                self.refresh([group])
                is_first |= had_none and len(folder.shared.shingles) > 0
        return is_first

    def exclude(self, evidence: Evidence) -> Excluded:
        """Return the parts of a page that don't count."""
        known = [self.own.get(folder) for folder in (evidence.host, evidence.folder)]
        found = [each.shared for each in known if each and len(each.shared.shingles)]
        return Excluded(shared=(*dict.fromkeys(found),), by=(self.name,)) if found else NOTHING

    def refresh(self, groups: Iterable[int]) -> None:
        """Find the boilerplate of some folders."""
        for group in groups:
            if group not in self.own:
                self.own[group] = _Folder()
            folder, others = self.own[group], self.others.get(group)
            counts = folder.merged(others) if others else folder
            folder.shared.set(counts.boilerplate())
