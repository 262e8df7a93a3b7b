"""Pages of one crawler that are alike take turns, so that n of them cost O(n) calls, not O(n^2).

Turns save work and decide nothing: pages of other crawlers are seen all the same. Nothing here
knows of stores.
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
    """The pages of one key: the first of them, which is judged alone, and others that wait.

    `found` is what earlier ones found, which later ones may try first; `judged` is set once the
    first one was judged, or gave up.
    """

    page: Any
    found: Any = None
    users: int = 0
    judged: asyncio.Event = field(default_factory=asyncio.Event)
    free: asyncio.Semaphore = field(default_factory=lambda: asyncio.Semaphore(WIDTH))


class Turns:
    """Who may be judged now.

    Of two pages of different keys that `are_near` the later one waits until the earlier one, or
    one equal to it, was judged.
    """

    def __init__(self, are_near: Callable[[Any, Any], object]) -> None:
        self._turns: dict[Hashable, Turn] = {}
        self._are_near = are_near

    @asynccontextmanager
    async def of(self, key: Hashable, page: object) -> AsyncIterator[Turn]:
        """Wait for a turn: of those with this key the first goes alone, then `WIDTH` at once.

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
