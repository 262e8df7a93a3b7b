"""Titles of a site: segments in many titles of a folder belong to the site, not to a page.

Canonical addresses of a site aren't believed if pages with different titles name one page; for
example, all products of a shop may name the home page.
"""

from __future__ import annotations

from typing import Any, Final

from scrapy_neardup.bounded import BoundedDict
from scrapy_neardup.judge.evidence import Evidence
from scrapy_neardup.judge.knowledge import MAX_FOLDERS, NOTHING, Excluded, Folders, SiteRule
from scrapy_neardup.judge.shingling import Text

SHARE: Final = 0.3
"""Minimum share of a folder's titles with a segment that belongs to the folder."""
MIN_TITLES: Final = 4
"""Minimum number of titles of a folder with such a segment; all of so few have it, but one."""

_MAX_CANONICALS: Final = 64
"""Maximum number of canonical pages with a remembered first title; those used last stay."""
_NO_FOLDER: Final = -1
_MAX_SEGMENTS: Final = 512
"""Maximum number of segments counted in a folder; those used last stay."""
_ENTRY_BYTES: Final = 128


class _Titles:
    """The titles of one folder."""

    def __init__(self) -> None:
        self.pages = 0
        self.segments: BoundedDict[int, int] = BoundedDict(_MAX_SEGMENTS)

    def add(self, segments: dict[int, int], pages: int = 1) -> None:
        self.pages += pages
        for segment, titles in segments.items():
            self.segments[segment] = self.segments.get(segment, 0) + titles
            self.segments.move_to_end(segment)


class Titles(SiteRule):
    """The segments of titles that belong to a site or a folder."""

    name = "titles"
    sentence = "what many titles share isn't what tells its pages apart"

    def __init__(self, folders: Folders) -> None:
        super().__init__(folders)
        self._own: BoundedDict[int, _Titles] = BoundedDict(MAX_FOLDERS)
        self._others: dict[int, _Titles] = {}
        self._is_known = False
        self._canonicals: BoundedDict[int, int] = BoundedDict(_MAX_CANONICALS)
        """Path of a canonical page -> the title of the first page that named it."""
        self._disbelieves = False

    def learn(self, evidence: Evidence, text: Text | None) -> bool:  # noqa: ARG002
        """Learn from a kept page; return whether something new is known."""
        for folder in self.folders.chain(evidence.host, evidence.folder):
            self._own.used(folder, _Titles).add(dict.fromkeys(evidence.segments, 1))
        if evidence.has_canonical and not self._disbelieves:
            first = self._canonicals.used(evidence.path, lambda: evidence.title)
            self._disbelieves = first != evidence.title
        if self._is_known:
            return False
        self._is_known = bool(self.exclude(evidence).segments)
        return self._is_known

    def exclude(self, evidence: Evidence) -> Excluded:
        """Return the parts of a page that don't count."""
        found = set()
        for folder in self.folders.chain(evidence.host, evidence.folder):
            known = [each[folder] for each in (self._own, self._others) if folder in each]
            pages = sum([each.pages for each in known])
            if pages >= MIN_TITLES:
                least = max(SHARE * pages, MIN_TITLES - 1)
                for segment in evidence.segments:
                    titles = 0
                    for each in known:
                        titles += each.segments.get(segment, 0)
                    if titles >= least:
                        found.add(segment)
        if not (found or self._disbelieves):
            return NOTHING
        return Excluded(segments=frozenset(found), by=(self.name,), canonicals=self._disbelieves)

    def dump(self, *, complete: bool) -> list[Any]:
        """Return the titles by folder; for other crawlers those of the host.

        A last entry that isn't a folder says that canonical addresses aren't believed.
        """
        return [
            [folder, each.pages, list(each.segments.items())]
            for folder, each in self._own.items()
            if complete or self.folders.chain(folder, folder) == (folder,)
        ] + [[_NO_FOLDER, 0, []]] * self._disbelieves

    def restore(self, dump: list[Any]) -> None:
        """Continue from a `dump`."""
        self._disbelieves = _NO_FOLDER in {int(folder) for folder, *_ in dump}
        for folder, pages, segments in dump[: len(dump) - self._disbelieves]:
            self._own.used(int(folder), _Titles).add(_counts(segments), int(pages))

    def add_others(self, dumps: list[list[Any]]) -> None:
        """Replace the dumps of other crawlers by newer ones."""
        others: dict[int, _Titles] = {}
        for dump in dumps:
            if dump and dump[-1][0] == _NO_FOLDER:
                self._disbelieves = True
            for folder, pages, segments in dump[:1]:
                others.setdefault(int(folder), _Titles()).add(_counts(segments), int(pages))
        self._others = others

    @property
    def nbytes(self) -> int:
        """Memory in bytes, rounded up."""
        held = [*self._own.values(), *self._others.values()]
        return _ENTRY_BYTES * sum([1 + len(each.segments) for each in held])


def _counts(segments: list[Any]) -> dict[int, int]:
    return {int(segment): int(count) for segment, count in segments[:_MAX_SEGMENTS]}
