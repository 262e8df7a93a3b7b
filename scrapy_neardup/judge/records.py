"""Records of a site: pages of one template that differ in the text at one place.

Examples are jobs, prices and quotes: the template around them is the same, and each has its own
line. A DOM path tells records apart on two conditions: of the pages of a folder that repeat one
page, at least `SHOWN` have texts there that no other page has; and two responses to one request
have shown that the text there doesn't change by itself. Then pages of the folder that differ there
are different pages, and those that were dropped before are requested again. No word or number has
a meaning here. Editions and mirrors, whose folders differ, aren't records. Nothing is a record
before a request was repeated.
"""

from __future__ import annotations

from typing import Any, Final

from scrapy_neardup.bounded import BoundedDict
from scrapy_neardup.judge.changing import Changing
from scrapy_neardup.judge.evidence import Evidence
from scrapy_neardup.judge.knowledge import MAX_FOLDERS, MEDIA, NOTHING, Excluded, Folders, SiteRule

SHOWN: Final = 5
"""Minimum number of pages whose texts at a DOM path differ, including the kept page."""
OWN: Final = 0.9
"""Minimum share of the pages with a DOM path that have their own text there."""

_MAX_GROUPS: Final = 256
"""Maximum number of kept pages whose repetitions are compared; those used last stay."""
_MAX_MEMBERS: Final = 64
"""Maximum number of pages of a group that are requested again; those dropped last."""
_ENTRY_BYTES: Final = 128

Rows = dict[int, dict[int, int]]
"""DOM path -> sum of the rows there -> number of pages."""


def places(ours: Evidence, theirs: Evidence) -> list[tuple[int, int, int]]:
    """Return the common places of two pages, DOM paths and `MEDIA`, with their texts."""
    paths = ours.paths.keys() & theirs.paths.keys() if ours.rows != theirs.rows else ()
    found = [(path, ours.paths[path].rows, theirs.paths[path].rows) for path in paths]
    return [*found, (MEDIA, ours.embedded, theirs.embedded)]


class _Group:
    """The pages that were dropped for one page of their folder."""

    def __init__(self, rows: Rows | None = None, members: dict[int, None] | None = None) -> None:
        self.rows: Rows = rows or {}
        self.members: BoundedDict[int, None] = BoundedDict(_MAX_MEMBERS)
        self.members.update(members or {})

    def add(self, page_id: int, ours: Evidence, theirs: Evidence) -> None:
        if page_id in self.members:
            return
        self.members[page_id] = None
        for path, own, other in places(ours, theirs):
            of_path = self.rows.setdefault(path, {other: 1})
            if own in of_path or len(of_path) <= _MAX_MEMBERS:
                of_path[own] = of_path.get(own, 0) + 1

    def own_paths(self) -> set[int]:
        """Return the DOM paths at which pages have their own texts."""
        return {
            path
            for path, found in self.rows.items()
            if len(found) >= max(SHOWN, OWN * sum(found.values()))
        }


class Records(SiteRule):
    """The DOM paths that tell the records of each folder apart."""

    name = "records"
    sentence = "the text at one place of its pages says which record each is"

    def __init__(self, folders: Folders, changing: Changing) -> None:
        super().__init__(folders)
        self._changing = changing
        self._groups: BoundedDict[int, _Group] = BoundedDict(_MAX_GROUPS)
        self._own: BoundedDict[int, frozenset[int]] = BoundedDict(MAX_FOLDERS)
        self._others: dict[int, frozenset[int]] = {}

    def learn_drop(
        self, page_id: int, ours: Evidence, kept_id: int, theirs: Evidence
    ) -> tuple[int, ...]:
        """Learn from a page that was dropped for a kept one.

        Return the ids of pages that were dropped although they are records, including this one:
        they must be requested again.
        """
        if ours.folder != theirs.folder:
            return ()
        group = self._groups.used(kept_id, _Group)
        group.add(page_id, ours, theirs)
        found = {path for path in group.own_paths() if self._changing.stays(ours, path)}
        if not found:
            return ()
        self._own[ours.folder] = self._own.get(ours.folder, frozenset()) | found
        del self._groups[kept_id]
        return tuple(group.members)

    def exclude(self, evidence: Evidence) -> Excluded:
        """Return the DOM paths that tell a page's record."""
        known = self._own.get(evidence.folder, frozenset())
        known |= self._others.get(evidence.folder, frozenset())
        found = known.intersection({*evidence.paths, MEDIA})
        return Excluded(records=found, by=(self.name,)) if found else NOTHING

    def dump(self, *, complete: bool) -> list[Any]:
        """Return the DOM paths by folder; for the next run the groups, too."""
        groups = [
            [
                kept,
                list(group.members),
                [[path, *each.items()] for path, each in group.rows.items()],
            ]
            for kept, group in self._groups.items()
        ]
        return [[[folder, *paths] for folder, paths in self._own.items()], groups * complete]

    def restore(self, dump: list[Any]) -> None:
        """Continue from a `dump`."""
        own, groups = dump
        self._own.update(_checked(own))
        for kept, members, rows in groups:
            counted = {int(path): {int(a): int(b) for a, b in each} for path, *each in rows}
            self._groups[int(kept)] = _Group(counted, dict.fromkeys(map(int, members)))

    def add_others(self, dumps: list[list[Any]]) -> None:
        """Replace the dumps of other crawlers by newer ones."""
        others: dict[int, frozenset[int]] = {}
        for own, *_ in dumps:
            for folder, paths in _checked(own).items():
                others[folder] = others.get(folder, frozenset()) | paths
        self._others = others

    @property
    def nbytes(self) -> int:
        """Memory in bytes, rounded up."""
        rows = sum([len(each) for group in self._groups.values() for each in group.rows.values()])
        held = rows + sum([len(group.members) for group in self._groups.values()])
        return _ENTRY_BYTES * (held + len(self._own) + len(self._others))


def _checked(dump: list[list[int]]) -> dict[int, frozenset[int]]:
    return {int(folder): frozenset(map(int, paths)) for folder, *paths in dump[:MAX_FOLDERS]}
