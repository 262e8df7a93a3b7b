"""The background tasks of a Redis store: they renew leases and remove what has expired.

A loop ends because it is told to. It is cancelled as well, so that it
ends at once, but nothing depends on that: a client may lose a cancellation that coincides with
its own timeout.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Awaitable, Callable, Coroutine
from typing import Any

from scrapy_neardup.errors import StoreError

MAX_END = 10.0
"""Maximum seconds that a step may go on after `Background.close`: twice the time of a reply."""


class Background:
    """Steps that are taken again and again, each after a pause, until `close`; and odd jobs."""

    def __init__(self) -> None:
        self._over = asyncio.Event()
        self._loops: list[asyncio.Task[None]] = []
        self._jobs: set[asyncio.Task[None]] = set()

    def start(self, step: Callable[[], Awaitable[None]], pause: float) -> None:
        """Take this step after each pause, in seconds."""
        self._loops.append(asyncio.create_task(self._repeat(step, pause)))

    def soon(self, job: Coroutine[Any, Any, Any]) -> None:
        """Do this once, without waiting; while the server is away it is left undone."""
        task = asyncio.create_task(_tried(job))
        self._jobs.add(task)
        task.add_done_callback(self._jobs.discard)

    async def close(self) -> None:
        """Take no further step, and finish the current one, within `MAX_END` seconds."""
        self._over.set()
        for loop in self._loops:
            loop.cancel()
        if self._loops or self._jobs:
            await asyncio.wait({*self._loops, *self._jobs}, timeout=MAX_END)
        self._loops.clear()

    async def _repeat(self, step: Callable[[], Awaitable[None]], pause: float) -> None:
        while True:
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(pause):
                    await self._over.wait()
            if self._over.is_set():
                return
            await _tried(step())


async def _tried(work: Awaitable[Any]) -> None:
    # While the server is away, or refuses, there is nothing to do; pages report it.
    with contextlib.suppress(StoreError):
        await work
