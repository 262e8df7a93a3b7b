"""Equal pages of one crawler take turns, so that a flood of them costs little more than one.

Rule of this room: it knows nothing of stores. Turns save work and decide nothing: equal pages of
other crawlers are met as ever.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Hashable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Generic, TypeVar

WIDTH = 8
"""Equal pages that are judged at once when the first of them has been."""

T = TypeVar("T")


@dataclass(slots=True)
class Turn(Generic[T]):
    """Those of one key: one that is being judged, and others that wait.

    Attributes
    ----------
    found
        What those before found, and those after may try first.
    """

    found: T | None = None
    users: int = 0
    is_narrow: bool = True
    free: asyncio.Semaphore = field(default_factory=lambda: asyncio.Semaphore(1))

    def widen(self) -> None:
        """Let more than one go at once."""
        if self.is_narrow:
            self.is_narrow = False
            for _ in range(WIDTH - 1):
                self.free.release()


class Turns(Generic[T]):
    """Who may be judged now."""

    def __init__(self) -> None:
        self._turns: dict[Hashable, Turn[T]] = {}

    @asynccontextmanager
    async def of(self, key: Hashable) -> AsyncIterator[Turn[T]]:
        """Wait for a turn among those with this key: the first alone, then `WIDTH` at once."""
        turn = self._turns.setdefault(key, Turn())
        turn.users += 1
        try:
            async with turn.free:
                yield turn
                turn.widen()
        finally:
            turn.users -= 1
            if not turn.users:
                del self._turns[key]
