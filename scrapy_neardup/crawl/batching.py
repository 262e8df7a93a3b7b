"""Batches of pages, which are judged right after each other while the processor is busy.

Between the crawl's other work, judging a page takes about twice as long as in a loop over pages,
because the processor's caches hold other code and data. So pages that arrive while the processor
is busy wait for each other, up to `MAX_BATCH`; a batch ends as soon as the processor isn't busy.
If a crawl waits for the network, a page that waits would delay the next request. Then batches are
small, and after a small one pages don't wait for a while.
"""

from __future__ import annotations

import asyncio
from time import thread_time

MAX_BATCH, MIN_BATCH = 32, 8
"""Maximum number of pages of a batch, and the minimum for which it pays."""

PAUSE = 32
"""Number of pages that don't wait after a batch of fewer than `MIN_BATCH`."""

TICK_SECONDS = 0.002
"""Seconds between two decisions whether a batch continues."""

BUSY = 0.5
"""Share of these seconds above which the processor counts as busy."""


class Batches:
    """The pages of a crawl that wait for each other."""

    def __init__(self) -> None:
        self._ready = asyncio.Event()
        self._size = 0
        self._pause = 0

    async def turn(self) -> bool:
        """Wait while the processor is busy; return whether the page waited for others."""
        if self._pause:
            self._pause -= 1
            return False
        ready = self._ready
        if not self._size:
            self._time(ready)
        self._size += 1
        if self._size == MAX_BATCH:
            self._end()
        await ready.wait()
        return True

    def _time(self, ready: asyncio.Event) -> None:
        loop = asyncio.get_running_loop()
        loop.call_later(TICK_SECONDS, self._go_on, ready, loop.time(), thread_time())

    def _go_on(self, ready: asyncio.Event, started: float, used: float) -> None:
        if ready.is_set():
            return
        seconds = asyncio.get_running_loop().time() - started
        if thread_time() - used > BUSY * seconds:
            self._time(ready)
            return
        if self._size < MIN_BATCH:
            self._pause = PAUSE
        self._end()

    def _end(self) -> None:
        ready, self._ready, self._size = self._ready, asyncio.Event(), 0
        ready.set()
