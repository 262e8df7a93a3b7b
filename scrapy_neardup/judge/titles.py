"""Titles of a site: segments in many titles of a folder belong to the site, not to a page.

Canonical addresses of a site aren't believed if pages with different titles name one page; for
example, all products of a shop may name the home page.
"""

from __future__ import annotations

from typing import Any, Final, Self

from scrapy_neardup.bounded import BoundedDict
from scrapy_neardup.judge.evidence import Evidence
from scrapy_neardup.judge.knowledge import ENTRY_BYTES, NOTHING, Excluded, Folders, SiteRule
from scrapy_neardup.judge.shingling import Text

SHARE: Final = 0.3
"""Minimum share of a folder's titles with a segment that belongs to the folder."""
MIN_TITLES: Final = 4
"""Minimum number of titles of a folder for such a segment. Of so few, all but one must have it."""

_MAX_CANONICALS: Final = 64
"""Maximum number of canonical pages with a remembered first title; those used last stay."""
_MAX_SEGMENTS: Final = 512
"""Maximum number of segments counted in a folder; those used last stay."""


class _Titles:
    """The titles of one folder."""

    def __init__(self) -> None:
        self.pages = 0
        self.segments: BoundedDict[int, int] = BoundedDict(_MAX_SEGMENTS)
        self.disbelieves = False
        """Whether canonical addresses of the host aren't believed."""

    def dump(self, *, complete: bool) -> list[Any]:  # noqa: ARG002
        return [self.pages, list(self.segments.items()), self.disbelieves]

    @classmethod
    def load(cls, dump: list[Any]) -> Self:
        titles, (pages, segments, disbelieves) = cls(), dump
        titles.pages, titles.disbelieves = int(pages), bool(disbelieves)
        titles.segments.update({int(each): int(count) for each, count in segments})
        return titles

    @property
    def nbytes(self) -> int:
        return ENTRY_BYTES * len(self.segments)


class Titles(SiteRule[_Titles]):
    """The segments of titles that belong to a site or a folder."""

    name = "titles"
    sentence = "parts that many of its titles share don't distinguish its pages"
    shown = _Titles
    host_alone = True

    def __init__(self, folders: Folders) -> None:
        super().__init__(folders)
        self._is_known = False
        self._canonicals: BoundedDict[int, int] = BoundedDict(_MAX_CANONICALS)
        """Path of a canonical page -> the title of the first page that named it."""

    def learn(self, evidence: Evidence, text: Text) -> bool:  # noqa: ARG002
        """Learn from a kept page; return whether something new is known."""
        for folder in self.folders.chain(evidence.host, evidence.folder):
            titles = self.used(folder)
            titles.pages += 1
            for segment in evidence.segments:
                titles.segments[segment] = titles.segments.get(segment, 0) + 1
                titles.segments.move_to_end(segment)
        if evidence.has_canonical:
            first = self._canonicals.used(evidence.path, lambda: evidence.title)
            self.used(evidence.host).disbelieves |= first != evidence.title
        if self._is_known:
            return False
        self._is_known = bool(self.exclude(evidence).segments)
        return self._is_known

    def exclude(self, evidence: Evidence) -> Excluded:
        """Return the parts of a page that don't count."""
        found, disbelieves = set(), False
        for folder in self.folders.chain(evidence.host, evidence.folder):
            known = self.of(folder)
            disbelieves |= any(each.disbelieves for each in known)
            pages = sum([each.pages for each in known])
            if pages >= MIN_TITLES:
                least = max(SHARE * pages, MIN_TITLES - 1)
                for segment in evidence.segments:
                    if sum([each.segments.get(segment, 0) for each in known]) >= least:
                        found.add(segment)
        if not (found or disbelieves):
            return NOTHING
        return Excluded(segments=frozenset(found), by=(self.name,), canonicals=disbelieves)
