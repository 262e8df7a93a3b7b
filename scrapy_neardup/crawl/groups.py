"""The first pages of each group of near-duplicates (``NEARDUP_GROUP_BUDGET``)."""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from scrapy_neardup.verdict import Match

REMEMBERED_MEMBERS = 65_536
"""Maximum number of delivered pages that are remembered, to be recognised when they come again.
Whole groups are forgotten, the oldest first."""


@dataclass(slots=True)
class _Delivered:
    """The near-duplicates of one entry that were delivered."""

    members: set[int] = field(default_factory=set)
    again: int = 0
    """Number of repetitions of these pages, which the store counted."""


class GroupBudget:
    """The first pages of each group, which are delivered.

    The store counts the pages that repeat an entry (`Match.count`). So all crawlers of the store
    share the budget, and a resumed crawl continues it. This class only remembers delivered pages,
    so that a page that comes again (a retry, a revisit) isn't counted twice.

    Parameters
    ----------
    pages
        Number of pages of a group that are delivered: the stored one, and those that repeat it.
    """

    def __init__(self, pages: int) -> None:
        self._repeats = pages - 1
        self._groups: OrderedDict[int, _Delivered] = OrderedDict()
        self._remembered = 0

    def admits(self, page_id: int, match: Match) -> bool:
        """Whether a page that repeats `match` is delivered. O(1).

        No such page is delivered if the store doesn't count (`Match.count` is 0).
        """
        if not match.count:
            return False
        if match.count == 1:  # an earlier entry of the same page may have had a group
            self._forget(match.page_id)
        group = self._groups.get(match.page_id) or _Delivered()
        if page_id in group.members:
            group.again += 1
            return True
        if match.count - group.again > self._repeats:
            return False
        group.members.add(page_id)
        self._groups[match.page_id] = group
        self._remembered += 1
        while self._remembered > REMEMBERED_MEMBERS:
            self._forget(next(iter(self._groups)))
        return True

    def _forget(self, entry: int) -> None:
        if (group := self._groups.pop(entry, None)) is not None:
            self._remembered -= len(group.members)
