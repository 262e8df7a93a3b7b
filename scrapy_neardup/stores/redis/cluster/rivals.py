"""The attempts in the way of a page that is to be added: of other crawlers, and of this one.

`Rivals` is pure, so that the decisions of the protocol (``docs/cluster.md``) can be read in one
place; `clusterstore.py` makes the calls. Pages of one crawler that are alike take `Turns`, so that
n of them cost O(n) calls, not O(n^2). The protocol doesn't depend on turns: it would find pages of
this crawler like those of others.
"""

from __future__ import annotations

import asyncio
from collections import Counter, defaultdict
from collections.abc import AsyncIterator, Callable, Hashable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from itertools import chain
from typing import Any

from scrapy_neardup.stores.base import MAX_UNDER_FEATURE
from scrapy_neardup.stores.redis.keyspace import PLACE, Layout
from scrapy_neardup.stores.redis.pages import ADDED, UNDECIDED, Arriving, Name, Repeats, cut
from scrapy_neardup.verdict import Decide, Page

WIDTH = 8
"""Number of equal pages that are judged at once after the first of them."""


class Rivals(Arriving):
    """The attempts that a page found in its buckets, and the decisions about them.

    Attempts that the page doesn't repeat, or that are gone, aren't in the way. `left` are the
    others, to be looked at. If one of them is added, the page repeats it. If one is undecided, the
    smaller name goes first: `wounded` are those with larger names than the page, to be ended.
    `listing` has the places that list an attempt, of those looked at. `is_full`: a bucket had
    no room for the page.
    """

    def __init__(self, page: Page, decide: Decide, layout: Layout, store_key: bytes) -> None:
        super().__init__(page, decide, layout, store_key)
        self.left: set[Name] = set()
        self.listing: dict[Name, dict[bytes, None]] = defaultdict(dict)
        self.wounded: list[Name] = []
        self.is_full = False
        self._added: set[Name] = set()

    def meet(self, name: Name, place: bytes) -> None:
        """Note that a place lists an attempt."""
        if name != self.name:
            self.listing[name][place] = None
            if name not in self._added:
                self.left.add(name)

    def take(self, seen: Mapping[Name, bytes]) -> Repeats | None:
        """Note the states of some attempts; return the added one that the page repeats."""
        self.wounded.clear()
        added = []
        for name, reply in seen.items():
            page_id, state, stored = name[:8], reply[:1], reply[1:]
            if state == UNDECIDED and page_id != self.page_id:
                met = self.met(page_id, stored)
                if met and self.decide(met.candidate).is_same:
                    self.left.add(name)
                    if self.name < name:
                        self.wounded.append(name)
                    continue
            self.left.discard(name)
            if state == ADDED:
                self._added.add(name)
                added.append((page_id, stored))
        return self.first_repeated(added)

    def needless(self) -> set[bytes]:
        """Return the places that needn't list the page.

        These are features that are boilerplate, because they list too many attempts; and tables,
        if the page `is_crowded`.
        """
        added = chain.from_iterable(self.listing[name] for name in self._added)
        counts = Counter(place for place in added if place.startswith(b"f"))
        found = {place for place, count in counts.items() if count >= MAX_UNDER_FEATURE}
        return found.union(cut(self.places, PLACE) if self.is_crowded else ())


@dataclass(slots=True)
class Turn:
    """The pages of one key: the first, which is judged alone, and the others, which wait.

    `found` is the entry that earlier pages found, which later ones try first; `judged` is set once
    the first page was judged, or gave up.
    """

    page: Any
    found: Any = None
    users: int = 0
    judged: asyncio.Event = field(default_factory=asyncio.Event)
    free: asyncio.Semaphore = field(default_factory=lambda: asyncio.Semaphore(WIDTH))


class Turns:
    """Which pages may be judged now.

    If two pages of different keys `are_near`, the later one waits until the earlier one, or a page
    equal to it, was judged.
    """

    def __init__(self, are_near: Callable[[Any, Any], object]) -> None:
        self._turns: dict[Hashable, Turn] = {}
        self._are_near = are_near

    @asynccontextmanager
    async def of(self, key: Hashable, page: object) -> AsyncIterator[Turn]:
        """Wait for a turn: of the pages with this key the first goes alone, then `WIDTH` at once.

        Costs O(keys whose first page is being judged).
        """
        turn = self._turns.get(key)
        if is_first := turn is None:
            others = (each for each in self._turns.values() if not each.judged.is_set())
            before = [each for each in others if self._are_near(page, each.page)]
            turn = self._turns[key] = Turn(page)
        else:
            before = [turn]
        turn.users += 1
        try:
            for other in before:
                await other.judged.wait()
            async with turn.free:
                yield turn
        finally:
            turn.users -= 1
            if is_first:
                turn.judged.set()
            if not turn.users:
                del self._turns[key]
