"""Background tasks: periodic ones, and those that no verdict waits for."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Awaitable, Callable
from typing import Any

from scrapy_neardup.errors import StoreError

MAX_END = 10.0
"""Maximum seconds that tasks may go on after `Background.close`: twice the time of a reply."""


class Background:
    """Tasks that run until they are done, periodic ones until `close`.

    No task is cancelled: redis-py may lose a cancellation that coincides with its own timeout.
    """

    def __init__(self) -> None:
        self._is_over = asyncio.Event()
        self._loops: list[asyncio.Task[None]] = []
        self._jobs: set[asyncio.Task[None]] = set()

    def start(self, step: Callable[[], Awaitable[None]], pause: float) -> None:
        """Run `step` after every pause of this many seconds."""
        self._loops.append(asyncio.create_task(self._repeat(step, pause)))

    def soon(self, job: Awaitable[Any]) -> None:
        """Run a task once; a `StoreError` ends it silently."""
        task = asyncio.create_task(_tried(job))
        self._jobs.add(task)
        task.add_done_callback(self._jobs.discard)

    async def close(self) -> None:
        """Stop periodic tasks; steps and tasks under way may take another `MAX_END` seconds."""
        self._is_over.set()
        if tasks := {*self._loops, *self._jobs}:
            await asyncio.wait(tasks, timeout=MAX_END)

    async def _repeat(self, step: Callable[[], Awaitable[None]], pause: float) -> None:
        while not self._is_over.is_set():
            try:
                await asyncio.wait_for(self._is_over.wait(), pause)
            except TimeoutError:
                await _tried(step())


async def _tried(work: Awaitable[Any]) -> None:
    # If the server is away or refuses, nothing is reported here; calls for pages report it.
    with contextlib.suppress(StoreError):
        await work
