"""Background tasks: periodic ones, and those that no verdict waits for."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from typing import Any

from scrapy_neardup.errors import StoreError

logger = logging.getLogger(__name__)

MAX_END = 10.0
"""Maximum seconds that tasks may go on after `Background.close`: twice the time of a reply."""


class Background:
    """Tasks that run until they are done, periodic ones until `close`, whatever a step raises.

    No task is cancelled: redis-py may lose a cancellation that coincides with its own timeout.
    """

    def __init__(self) -> None:
        self._is_over = asyncio.Event()
        self._loops: list[asyncio.Task[None]] = []
        self._jobs: set[asyncio.Task[None]] = set()
        self._has_warned = False

    def start(self, step: Callable[[], Awaitable[None]], pause: float) -> None:
        """Run `step` after every pause of this many seconds."""
        self._loops.append(asyncio.create_task(self._repeat(step, pause)))

    def soon(self, job: Awaitable[Any]) -> None:
        """Run a task once; an error ends it."""
        task = asyncio.create_task(self._tried(job))
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
                await self._tried(step())

    async def _tried(self, work: Awaitable[Any]) -> None:
        try:
            await work
        except StoreError:
            pass  # the server is away or refuses; calls for pages report it
        except Exception as error:  # noqa: BLE001  (such as a damaged record among those to sweep)
            level = logging.DEBUG if self._has_warned else logging.WARNING
            self._has_warned = True
            logger.log(level, "The near-duplicate store can't be tidied up: %r", error)
