"""DOM paths of a site whose text changes with each response: clocks, counters, adverts, tokens.

That a path changes is only seen where one page is met again, alike except for what stands at some
paths. Which page is met again is for its address to say, or two products that share all but a line
would be one: the same path and parameters, except for those that name a session or a campaign.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any, Final

from scrapy_neardup.bounded import BoundedDict
from scrapy_neardup.decision.context import NOTHING, Excluded
from scrapy_neardup.decision.evidence import Evidence
from scrapy_neardup.decision.sketch import Overlap
from scrapy_neardup.site.siterule import Folders, SiteRule

ALIKE: Final = 0.9
"""Minimum resemblance of two responses with one page, except for what stands where it changed."""
SHOWN: Final = 3
"""Minimum number of pairs of responses with one page in which the text at a DOM path must have
changed; they must also be a quarter of the pairs that have it."""

_MAX_PATHS: Final = 64
"""Maximum number of DOM paths that are counted, those used last."""
_MAX_COUNT: Final = 32
"""Number of pairs after which the counts of a path are halved."""
_ENTRY_BYTES: Final = 256


class ChangingPaths(SiteRule):
    """Which DOM paths change on one host."""

    name = "changing"
    sentence = "the text at a DOM path of its pages changes with each response"

    def __init__(self, folders: Folders) -> None:
        super().__init__(folders)
        # DOM path -> pairs of responses in which its text was another, and the same.
        self._seen: BoundedDict[int, list[float]] = BoundedDict(_MAX_PATHS)
        self._others: list[dict[int, tuple[float, float]]] = []
        self._known: frozenset[int] = frozenset()

    def learn_response(self, ours: Evidence, theirs: Evidence, found: Overlap) -> bool:
        """Learn from two responses with one page; return whether something new is known."""
        paths = ours.paths.keys() | theirs.paths.keys()
        changed = {
            path
            for path in paths
            if (a := ours.paths.get(path)) is None
            or (b := theirs.paths.get(path)) is None
            or a.rows != b.rows
        }
        if not _are_alike_but_at(changed, ours, theirs, found):
            return False
        for path in (ours.paths.keys() & theirs.paths.keys()) | changed:
            seen = self._seen.used(path, lambda: [0.0, 0.0])
            seen[path not in changed] += 1
            if sum(seen) >= _MAX_COUNT:
                seen[:] = seen[0] / 2, seen[1] / 2
        before = self._known
        self._count()
        return bool(self._known - before)

    def exclude(self, evidence: Evidence) -> Excluded:
        """Return the parts of a page that don't count."""
        found = self._known.intersection(evidence.paths)
        return Excluded(paths=found, by=(self.name,)) if found else NOTHING

    def dump(self, *, complete: bool) -> list[Any]:  # noqa: ARG002
        """Return the observations made here."""
        return [[path, *seen] for path, seen in self._seen.items()]

    def restore(self, dump: list[Any]) -> None:
        """Continue from a `dump`."""
        for path, seen in _checked(dump).items():
            self._seen[path] = [*seen]
        self._count()

    def add_others(self, dumps: list[list[Any]]) -> None:
        """Take over the dumps of other crawlers, in place of those before."""
        self._others = list(map(_checked, dumps))
        self._count()

    @property
    def nbytes(self) -> int:
        """Bytes that are held, rounded up."""
        return _ENTRY_BYTES * (len(self._seen) + sum(map(len, self._others)))

    def _count(self) -> None:
        total: dict[int, tuple[float, float]] = {}
        counted: list[Mapping[int, Sequence[float]]] = [self._seen, *self._others]
        for seen in counted:
            for path, (other, same) in seen.items():
                before = total.get(path, (0.0, 0.0))
                total[path] = before[0] + other, before[1] + same
        self._known = frozenset(
            [path for path, (other, same) in total.items() if other >= SHOWN and 3 * other >= same]
        )


def _are_alike_but_at(
    paths: Collection[int], ours: Evidence, theirs: Evidence, found: Overlap
) -> bool:
    if ours.rows_without(paths) == theirs.rows_without(paths):
        return True
    own, other = (
        sum([at.shingles for path, at in each.paths.items() if path in paths])
        for each in (ours, theirs)
    )
    rest = Overlap(found.common, max(0, found.ours - own), max(0, found.theirs - other))
    return rest.resemblance >= ALIKE


def _checked(dump: list[Any]) -> dict[int, tuple[float, float]]:
    return {int(path): (float(other), float(same)) for path, other, same in dump[:_MAX_PATHS]}
