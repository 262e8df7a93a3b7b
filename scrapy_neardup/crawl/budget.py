"""Which near-duplicates are delivered all the same, as the first of their group.

Rule of this module: places in a group are given out by the store, which counts the pages
that repeat an entry (`Match.count`), so that all crawlers that share it share the budget and a
crawl that is resumed goes on with it. What is remembered here only keeps a page that comes
again (a retry, a revisit) from taking a second place.
"""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from scrapy_neardup.verdict import Match

REMEMBERED_MEMBERS = 65_536
"""Delivered pages that are known when they come again. Whole groups are forgotten, the oldest
first."""


@dataclass(slots=True)
class _Group:
    """The near-duplicates of one entry that were delivered."""

    members: set[int] = field(default_factory=set)
    again: int = 0
    """How often one of them came again: the store counted it each time."""


class GroupBudget:
    """The first pages of each group.

    Parameters
    ----------
    pages
        How many pages of a group are delivered: the one that is stored and `pages` - 1 that
        repeat it.
    """

    def __init__(self, pages: int) -> None:
        self._repeats = pages - 1
        self._groups: OrderedDict[int, _Group] = OrderedDict()
        self._remembered = 0

    def admits(self, page_id: int, match: Match) -> bool:
        """Whether the page is delivered that was found to repeat `match`. O(1).

        Where the store doesn't count (`Match.count` is 0) no place is given out.
        """
        if not self._repeats or not match.count:
            return False
        if match.count == 1:  # another entry of the same page may have had a group
            self._forget(match.page_id)
        group = self._groups.get(match.page_id) or _Group()
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
