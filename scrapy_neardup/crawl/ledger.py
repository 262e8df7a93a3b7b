"""The kept pages whose processing isn't over, and how each of them ends.

Rule of this module: every page that the store took for new is confirmed or forgotten
exactly once, and all of it is over before the store closes. Nobody waits for a
confirmation: those of a tenth of a second go out together, so that a store behind a
network sends them at once. One that the store doesn't take is tried once more at the
end; an entry that can't be withdrawn stays pending, and pending entries end with the
crawl.
"""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from scrapy_neardup.crawl.guard import StoreCallFailedError

if TYPE_CHECKING:
    from scrapy_neardup.crawl.guard import GuardedStore
    from scrapy_neardup.crawl.report import Judged, Report

CONFIRM_SECONDS = 0.1
"""How long a confirmation may wait for others. A process that is killed loses so much."""

LISTED_ORPHANS = 1_000
"""How many pages are remembered, for the audit, that were dropped for one pending page."""


@dataclass(slots=True)
class _Pending:
    url: str
    dropped: list[str] = field(default_factory=list)
    delivered: int = 0


class Ledger:
    """The pending pages of one crawl: at most as many as are in flight."""

    def __init__(self, store: GuardedStore, report: Report) -> None:
        self._store = store
        self._report = report
        self._pending: dict[int, _Pending] = {}
        self._processed: list[int] = []
        self._confirming: asyncio.TimerHandle | None = None
        self._unconfirmed: set[int] = set()
        self._tasks: set[asyncio.Task[None]] = set()

    def begin(self, page_id: int, url: str) -> None:
        """Note that the page is new."""
        self._pending[page_id] = _Pending(url)

    def repeated(self, page_id: int, url: str, *, delivered: bool) -> None:
        """Note that the page at `url` was found to repeat the page `page_id`."""
        if (pending := self._pending.get(page_id)) is None:
            return
        if delivered:
            pending.delivered += 1
        elif len(pending.dropped) < LISTED_ORPHANS:
            pending.dropped.append(url)

    def confirm(self, judged: Judged | None) -> None:
        """Make the entry of a page final, soon, as its processing is over."""
        if judged is None or not judged.pending:
            return
        page_id = judged.verdict.page_id
        if self._pending.pop(page_id, None) is None:
            return
        self._processed.append(page_id)
        if self._confirming is None:
            loop = asyncio.get_running_loop()
            self._confirming = loop.call_later(CONFIRM_SECONDS, self._confirm_processed)

    def fail(self, judged: Judged | None) -> None:
        """Withdraw the entry of a page, soon, as its processing failed."""
        if judged is not None and judged.pending:
            self._withdraw(judged.verdict.page_id)

    async def close(self) -> None:
        """End what is pending, and wait for it."""
        self._confirm_processed()
        while self._tasks:
            await asyncio.gather(*self._tasks)
        for page_id in list(self._pending):
            self._withdraw(page_id)
        while self._tasks:
            await asyncio.gather(*self._tasks)
        for page_id in self._unconfirmed:
            try:
                await self._store.confirm(page_id)
            except StoreCallFailedError:
                break

    def _confirm_processed(self) -> None:
        if self._confirming is not None:
            self._confirming.cancel()
            self._confirming = None
        if self._processed:
            self._spawn(self._confirm(self._processed))
            self._processed = []

    async def _confirm(self, page_ids: list[int]) -> None:
        replies = await asyncio.gather(*map(self._store.confirm, page_ids), return_exceptions=True)
        for page_id, reply in zip(page_ids, replies, strict=True):
            if isinstance(reply, StoreCallFailedError):
                self._unconfirmed.add(page_id)
            elif reply is not None:
                raise reply

    def _withdraw(self, page_id: int) -> None:
        if (pending := self._pending.pop(page_id, None)) is not None:
            self._spawn(self._forget(page_id, pending))

    def _spawn(self, ending: Coroutine[Any, Any, None]) -> None:
        task = asyncio.get_running_loop().create_task(ending)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _forget(self, page_id: int, pending: _Pending) -> None:
        try:
            matched = await self._store.forget(page_id)
        except StoreCallFailedError:
            return
        if (orphaned := matched - pending.delivered) > 0:
            self._report.orphaned(pending.url, page_id, orphaned, pending.dropped)
