"""Pages of one crawler that are alike take turns, so that n of them cost O(n) calls.

Without turns they would look at each other, in O(n^2) calls.

It knows nothing of stores. Turns save work and decide nothing: pages of other
crawlers are seen all the same.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Hashable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

WIDTH = 8
"""Number of equal pages that are judged at once when the first of them has been."""


@dataclass(slots=True)
class Turn:
    """The pages of one key: one that is being judged, and others that wait.

    `page` is the first of them, `found` what earlier ones found, which later ones may try first;
    `judged` is set once one of them was judged, or all have given up.
    """

    page: Any
    found: Any = None
    users: int = 0
    judged: asyncio.Event = field(default_factory=asyncio.Event)
    free: asyncio.Semaphore = field(default_factory=lambda: asyncio.Semaphore(1))

    def widen(self) -> None:
        """Let `WIDTH` pages go at once."""
        if not self.judged.is_set():
            self.judged.set()
            for _ in range(WIDTH - 1):
                self.free.release()


class Turns:
    """Who may be judged now.

    Of two pages of different keys that `are_near` the later one waits until the earlier one, or
    one equal to it, was judged.
    """

    def __init__(self, are_near: Callable[[Any, Any], bool]) -> None:
        self._turns: dict[Hashable, Turn] = {}
        self._are_near = are_near

    @asynccontextmanager
    async def of(self, key: Hashable, page: object) -> AsyncIterator[Turn]:
        """Wait for a turn: of those with this key the first goes alone, then `WIDTH` at once.

        Costs O(keys whose first page is being judged).
        """
        near = []
        if (turn := self._turns.get(key)) is None:
            near = [
                other.judged
                for other in self._turns.values()
                if not other.judged.is_set() and self._are_near(page, other.page)
            ]
            turn = self._turns[key] = Turn(page)
        turn.users += 1
        try:
            async with turn.free:
                for judged in near:
                    await judged.wait()
                yield turn
                turn.widen()
        finally:
            turn.users -= 1
            if not turn.users:
                turn.judged.set()
                del self._turns[key]
