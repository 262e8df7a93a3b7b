"""Pages of one name in many folders: editions of one page, or a page of its own in each folder.

The editions of a page are mostly equal, or differ as all pages of their folders do, for example in
a version. But each ``/offices/*/contact.html`` has an address that other pages of its folder lack.
Such pages are records if two conditions hold for a DOM path of the pages of one name. First,
nearly each of at least `SHOWN` folders has its own text there, and pages of other names don't
differ in the same way. Second, the text there doesn't change by itself, as for other records
(`judge.records`).
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, Final, Self

from scrapy_neardup.bounded import BoundedDict
from scrapy_neardup.judge.changing import Changing
from scrapy_neardup.judge.evidence import TEXT, Evidence
from scrapy_neardup.judge.knowledge import ENTRY_BYTES, PageGroups

if TYPE_CHECKING:
    from scrapy_neardup.judge.analysis import AnalysedPage

SHOWN: Final = 5
"""Minimum number of folders whose pages of one name have been compared."""
OWN: Final = 0.9
"""Minimum share of these folders that have a text of their own."""

_MAX_NAMES: Final = 4096
"""Maximum number of names; those used last stay."""
_MAX_PAGES: Final = 64
_MAX_PATHS: Final = 16


class _Editions:
    """The pages of one name that were dropped as editions of other pages."""

    def __init__(self, own: Iterable[int] = ()) -> None:
        self.own = set(own)
        """DOM paths at which they are records."""
        self.members: BoundedDict[int, None] = BoundedDict(_MAX_PAGES)
        """Pages that differ from the kept page; those dropped last."""
        self.rows: dict[int, dict[int, int]] = {}
        """DOM path -> folder -> sum of the rows there."""

    def add(self, page_id: int, ours: Evidence, theirs: Evidence) -> None:
        if ours.rows != theirs.rows:
            self.members[page_id] = None
        for path in {*ours.paths, *theirs.paths}:
            if path & 1 == TEXT and (path in self.rows or len(self.rows) < _MAX_PATHS):
                at = self.rows.setdefault(path, {})
                for each in theirs, ours:
                    if each.folder in at or len(at) < _MAX_PAGES:
                        at[each.folder] = each.rows_at(path)

    def dump(self, *, complete: bool) -> list[Any]:
        rows = [[path, *at.items()] for path, at in self.rows.items()]
        return [[*self.own], [*self.members] if complete else [], rows if complete else []]

    @classmethod
    def load(cls, dump: list[Any]) -> Self:
        own, members, rows = dump
        editions = cls(map(int, own))
        editions.members.update(dict.fromkeys(map(int, members)))
        editions.rows = {int(path): {int(a): int(b) for a, b in each} for path, *each in rows}
        return editions

    @property
    def nbytes(self) -> int:
        entries = len(self.own) + len(self.members) + sum(map(len, self.rows.values()))
        return ENTRY_BYTES * entries


class Editions(PageGroups[_Editions]):
    """The pages that were dropped as editions, by the last part of their paths."""

    name = "editions"
    shown = _Editions
    most = _MAX_NAMES

    def __init__(self, changing: Changing) -> None:
        super().__init__()
        self._changing = changing
        self._stay = set[int]()
        """DOM paths whose text doesn't change by itself."""
        self._open: dict[int, Evidence] = {}
        """DOM paths whose text may change by itself -> the page that is requested again."""
        self.heard: tuple[int, ...] = ()
        """Dropped pages that are records, as another crawler has found."""

    def is_shared(self, group: int) -> bool:
        """Return whether the pages of a name are records; only the next run needs the others."""
        return bool(self.own[group].own)

    def learn_drop(self, page: AnalysedPage, theirs: Evidence) -> tuple[int, ...]:
        """Learn from a dropped page; return the pages that are records, as `Records` does."""
        ours = page.known
        editions = self.used(ours.name)
        editions.add(page.id, ours, theirs)
        found = set[int]()
        for path in editions.rows.keys() - editions.own:
            if self._are_own(ours.name, path):
                stays = self._changing.stays(ours, path)
                if stays or (stays is None and path in self._stay):
                    found.add(path)
                elif stays is None and self._changing.questions.add((self.name, path), page.id):
                    self._open[path] = ours
        return self._release(found)

    def settle(self) -> tuple[int, ...]:
        """Close the questions that a second response has answered; return pages as above."""
        found = set[int]()
        for path, page in [*self._open.items()]:
            if (stays := self._changing.stays(page, path)) is not None:
                del self._open[path]
                if stays:
                    found.add(path)
        return self._release(found)

    def add_others(self, dumps: list[Any]) -> int:
        """Replace what other crawlers know, and note the pages that are `heard` of thereby."""
        unreadable = super().add_others(dumps)
        for name in self.own.keys() & self.others.keys():
            known = self.own[name].own
            if found := self.places(name) - known:
                known |= found
                self.heard += self._released(name)
        return unreadable

    def places(self, name: int) -> set[int]:
        """Return the DOM paths at which pages of a name are records."""
        return set[int]().union(*[each.own for each in self.of(name)])

    def _release(self, paths: set[int]) -> tuple[int, ...]:
        """Note DOM paths whose text stays the same; return pages that are records there."""
        self._stay |= paths
        released: tuple[int, ...] = ()
        for name, editions in self.own.items() if paths else ():
            if found := {path for path in paths - editions.own if self._are_own(name, path)}:
                editions.own |= found
                released += self._released(name)
        return released

    def _released(self, name: int) -> tuple[int, ...]:
        members = self.own[name].members
        released = tuple(members)
        members.clear()
        return released

    def _are_own(self, name: int, path: int) -> bool:
        """Return whether pages have their own texts at a DOM path, not those of their folders.

        If all pages of a folder have one text there, such as a version, the sums of two pages
        differ by the same number in each folder. O(names), if the texts differ.
        """
        rows = self.own[name].rows.get(path, {})
        if not _differ([*rows.values()], SHOWN):
            return False
        for other, editions in self.own.items():
            theirs = editions.rows.get(path, {})
            common = rows.keys() & theirs.keys()
            steps = [(rows[each] - theirs[each]) % (1 << 32) for each in common]
            if other != name and len(common) > 1 and not _differ(steps):
                return False
        return True


def _differ(sums: list[int], least: int = 0) -> bool:
    return len(set(sums)) >= max(least, OWN * len(sums))
