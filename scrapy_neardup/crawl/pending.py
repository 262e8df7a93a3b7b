"""The pages of a crawl whose callbacks are running, and the pages that wait for one of them.

`crawl.pagestate` has the states of such a page, and the events between them.

Every page that the store has added is confirmed or forgotten exactly once, before the store
closes. No page waits for a confirmation. Confirmations of a tenth of a second are made together,
so that a store on a network gets them in one request. One that fails is tried once more at the
end. An entry that can't be withdrawn stays pending; it is tried again when a page repeats it, and
at the end of the crawl.

A page that repeats a pending one waits for that page's end before its own verdict is final, and so
before the store adds it. Another callback may have got that page before; then it also waits for
the first page like it that its own callback has got. Pages wait only for pages whose callbacks are
running: so there are no cycles. When a page is withdrawn, those that repeat it are judged again
one at a time: the first of them takes its place if it is new, and the rest wait behind the first
without a call of the store. So a failure costs one call, however many pages wait. A page behind
another needn't repeat it, so it is judged again whatever the other's outcome.
"""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from math import inf
from typing import TYPE_CHECKING, Any

from scrapy_neardup.bounded import BoundedDict
from scrapy_neardup.crawl.actions import WITHHOLDING
from scrapy_neardup.crawl.pagestate import Ending, PageEvent, PageState, PendingPage
from scrapy_neardup.errors import StoreError
from scrapy_neardup.verdict import DUPLICATE, NEW, SEEN, Reason, Verdict

if TYPE_CHECKING:
    from scrapy_neardup.crawl.callbacks import Delivery
    from scrapy_neardup.crawl.pagestate import Visit
    from scrapy_neardup.crawl.reporting import Reporter
    from scrapy_neardup.stores import Store
    from scrapy_neardup.verdict import Match

CONFIRM_SECONDS = 0.1
"""Maximum seconds that a confirmation waits for others; a killed process loses those that wait."""

LISTED_ORPHANS = 1_000
"""Maximum number of pages dropped for one pending page that are remembered for the audit."""

RECENT_WITHDRAWALS = 4_096
"""Maximum number of remembered withdrawn pages: an answer of the store under way may name one."""


_UNSURE = {Reason.TIMEOUT, Reason.STORE_ERROR}
"""Reasons with which the store may have added the page nevertheless."""


class PendingPages:
    """The pending pages of one crawl: those in flight, and those whose callback never ends.

    Other pages wait for a pending one until `patience` seconds after its arrival; 0: not at all.
    """

    def __init__(self, store: Store, reporter: Reporter, *, patience: float) -> None:
        self._store = store
        self._reporter = reporter
        self._patience = patience
        self._pending: dict[int, PendingPage] = {}
        self._delivered: dict[Delivery, PendingPage] = {}
        """Pages that callbacks have now; no page like them was delivered to the same callback."""
        self._processed: dict[int, None] = {}
        self._confirming: asyncio.TimerHandle | None = None
        self._unconfirmed: set[int] = set()
        self._tasks: set[asyncio.Task[None]] = set()
        self._asking: dict[int, Visit] = {}
        self._withdrawals = 0
        self._withdrawn: BoundedDict[int, PendingPage] = BoundedDict(RECENT_WITHDRAWALS)

    async def begin(self, visit: Visit) -> None:
        """Wait until the store may be called for a page; no other call starts until `answered`."""
        if visit.page_id in self._asking:
            await self._answer(visit.page_id)
        while (own := self._pending.get(visit.page_id)) and own.state is PageState.WITHDRAWING:
            assert own.forgetting is not None  # noqa: S101  (for the type checker)
            await asyncio.wait([own.forgetting])  # it might withdraw the entry that is stored now
            await self._answer(visit.page_id)
        visit.withdrawals = self._withdrawals
        self._asking[visit.page_id] = visit

    def answered(self, visit: Visit, verdict: Verdict | None) -> None:
        """Note the verdict on a page; None if the store may or may not have added the page."""
        if verdict is None or verdict.decision is NEW or verdict.reason in _UNSURE:
            visit.pending = self._added(visit)
        elif verdict.decision is SEEN:
            # Fetched again while it is pending: the response that is done first ends it.
            visit.pending = self._pending.get(visit.page_id)
        else:
            visit.pending = None
        del self._asking[visit.page_id]
        if visit.answered is not None:
            visit.answered.set()
            visit.answered = None

    async def outcome(self, visit: Visit, match: Match) -> Ending:
        """Wait for the end of the page that a near-duplicate repeats."""
        page_id = match.page_id
        visit.pass_on()
        if page_id in self._asking and not self._was_withdrawn_since(visit, page_id):
            await self._answer(page_id)  # others may have learnt of it from the store before
        page = self._pending.get(page_id)
        if (gone := self._was_withdrawn_since(visit, page_id)) is not None:
            for possible in filter(None, (gone, page)):  # it may repeat either of them
                possible.not_dropped += 1
            return Ending.GONE
        if page is None or (page.state is PageState.RUNNING and not self._patience):
            return Ending.KEPT
        self._withdraw(page, PageEvent.MET)
        return await self._end_of(page, visit)

    def deliver(self, visit: Visit, delivery: Delivery, *, is_first: bool) -> None:
        """Note that a callback gets a page; `is_first` says that it hasn't seen such a page."""
        running = self._delivered.get(delivery)
        if is_first:
            if running is not None:
                running.on(PageEvent.REPLACED)
            deadline = asyncio.get_running_loop().time() + self._patience
            self._delivered[delivery] = PendingPage(visit.page_id, visit.url, [], deadline)
        if is_first or running is not None:
            visit.delivery = delivery  # the page that is done first ends it

    async def delivered(self, visit: Visit, delivery: Delivery) -> Ending:
        """Wait until a callback is done with a page that a near-duplicate repeats."""
        page = self._delivered.get(delivery)
        if page is None or not self._patience:
            return Ending.KEPT
        return await self._end_of(page, visit)

    def end(self, visit: Visit, *, failed: bool) -> Delivery | None:
        """End the delivery of a page to a callback, and return it, if it hasn't ended before."""
        delivery, visit.delivery = visit.delivery, None
        if delivery is None or (page := self._delivered.pop(delivery, None)) is None:
            return None
        if failed:
            page.on(PageEvent.FAILED)
            page.on(PageEvent.FORGOTTEN)  # the store holds no entry for it
        else:
            page.on(PageEvent.PROCESSED)
        return delivery

    async def _end_of(self, page: PendingPage, visit: Visit) -> Ending:
        waited = visit.deadline is not None
        visit.deadline = min(visit.deadline or inf, page.deadline)
        if visit.deadline <= asyncio.get_running_loop().time():
            return Ending.LATE
        if not waited:
            self._reporter.count("pages/waited")
        return await page.join(visit)

    def repeated(self, visit: Visit) -> None:
        """Note that a page is delivered or withheld, if it is a near-duplicate."""
        match = visit.verdict.match if visit.verdict.decision is DUPLICATE else None
        if match is None or (page := self._pending.get(match.page_id)) is None:
            return
        if visit.action not in WITHHOLDING:
            page.not_dropped += 1
        elif len(page.dropped) < LISTED_ORPHANS:
            page.dropped.append(visit.url)

    def confirm(self, page: PendingPage) -> None:
        """Confirm a page that was processed, within `CONFIRM_SECONDS`."""
        if not page.on(PageEvent.PROCESSED):
            return
        del self._pending[page.page_id]
        self._processed[page.page_id] = None
        if self._confirming is None:
            loop = asyncio.get_running_loop()
            self._confirming = loop.call_later(CONFIRM_SECONDS, self._confirm_processed)

    def withdraw(self, page: PendingPage) -> None:
        """Withdraw a page whose callback failed, without waiting for the store."""
        self._withdraw(page, PageEvent.FAILED)

    async def close(self) -> None:
        """Confirm what was processed, and withdraw the rest."""
        self._confirm_processed()
        await self._settled()
        for page in list(self._pending.values()):
            for event in (PageEvent.FAILED, PageEvent.MET):  # it is running, or it is stuck
                self._withdraw(page, event)
        await self._settled()
        for page_id in self._unconfirmed:
            try:
                await self._store.confirm(page_id)
            except StoreError:
                break

    async def _settled(self) -> None:
        while tasks := list(self._tasks):
            await asyncio.gather(*tasks)
            # Since Python 3.12 their callbacks may not have been called yet.
            self._tasks.difference_update(tasks)

    async def _answer(self, page_id: int) -> None:
        while (visit := self._asking.get(page_id)) is not None:
            await visit.answer()

    def _added(self, visit: Visit) -> PendingPage:
        """Return the page that the store has added."""
        if (old := self._pending.get(visit.page_id)) is not None:
            self._gone(old, PageEvent.REPLACED)
        self._processed.pop(visit.page_id, None)
        behind, visit.behind = visit.behind, []
        deadline = asyncio.get_running_loop().time() + self._patience
        page = PendingPage(visit.page_id, visit.url, behind, deadline)
        self._pending[visit.page_id] = page
        return page

    def _was_withdrawn_since(self, visit: Visit, page_id: int) -> PendingPage | None:
        """Return the withdrawn page that was named as a match, if it was withdrawn since."""
        gone = self._withdrawn.get(page_id)
        return gone if gone is not None and gone.withdrawal > visit.withdrawals else None

    def _confirm_processed(self) -> None:
        if self._confirming is not None:
            self._confirming.cancel()
            self._confirming = None
        if self._processed:
            self._spawn(self._confirm_all(list(self._processed)))
            self._processed.clear()

    async def _confirm_all(self, page_ids: list[int]) -> None:
        if self._store.is_private:  # without a network, a task for each would only cost time
            for page_id in page_ids:
                await self._confirm(page_id)
        else:
            await asyncio.gather(*map(self._confirm, page_ids))

    async def _confirm(self, page_id: int) -> None:
        try:
            await self._store.confirm(page_id)
        except StoreError:
            self._unconfirmed.add(page_id)

    def _withdraw(self, page: PendingPage, event: PageEvent) -> None:
        if page.on(event):
            if event is PageEvent.FAILED:
                self._reporter.count("pages/withdrawn")
            page.forgetting = self._spawn(self._forget(page))

    def _spawn(self, ending: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        task = asyncio.get_running_loop().create_task(ending)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task

    async def _forget(self, page: PendingPage) -> None:
        # The same page fetched again may be about to replace it.
        await self._answer(page.page_id)
        if page.state is not PageState.WITHDRAWING:
            return
        try:
            matched = await self._store.forget(page.page_id)
        except StoreError:
            page.on(PageEvent.STORE_FAILED)
            return
        del self._pending[page.page_id]
        self._gone(page, PageEvent.FORGOTTEN)
        if matched > page.not_dropped:
            self._spawn(self._report_orphans(page, matched))

    def _gone(self, page: PendingPage, event: PageEvent) -> None:
        """Let the pages be judged again that were found to repeat a page that is gone."""
        self._withdrawals += 1
        page.withdrawal = self._withdrawals
        self._withdrawn[page.page_id] = page
        page.on(event)

    async def _report_orphans(self, page: PendingPage, matched: int) -> None:
        # Pages whose answers are under way aren't dropped, and are counted when these arrive.
        for visit in [v for v in self._asking.values() if v.withdrawals < page.withdrawal]:
            if self._asking.get(visit.page_id) is visit:  # it wasn't answered with the others
                await visit.answer()
        if (orphaned := matched - page.not_dropped) > 0:
            self._reporter.orphaned(page.url, page.page_id, orphaned, page.dropped)
