"""The kept pages whose processing isn't over, and how each of them ends.

Rule of this module: every page that the store took for new is confirmed or forgotten
exactly once, before the store closes. Nobody waits for a confirmation: those of a tenth of
a second go out together, so that a store behind a network gets them in one request. One that
the store doesn't take is tried once more at the end; an entry that can't be withdrawn stays
pending, is tried again when a page meets it, and ends with the crawl.

Other pages that repeat a pending one wait here for its end (`waiting.py`).
"""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from math import inf
from typing import TYPE_CHECKING, Any

from scrapy_neardup.bounded import BoundedDict
from scrapy_neardup.crawl.actions import WITHHOLDING
from scrapy_neardup.crawl.guard import StoreCallFailedError
from scrapy_neardup.crawl.waiting import Ending, Pending, Queue, Visit
from scrapy_neardup.options import ACTIONS
from scrapy_neardup.verdict import Decision, Reason, Verdict

if TYPE_CHECKING:
    from scrapy_neardup.crawl.actions import Judged
    from scrapy_neardup.crawl.guard import GuardedStore
    from scrapy_neardup.crawl.journal import Journal

CONFIRM_SECONDS = 0.1
"""Maximum seconds that a confirmation waits for others; a process that is killed loses those of
that time."""

LISTED_ORPHANS = 1_000
"""Maximum number of pages, dropped for one pending page, that are remembered for the audit."""

RECENT_WITHDRAWALS = 4_096
"""Maximum number of withdrawn pages that are remembered: the store may name one of them in an
answer that is under way."""


class Ledger:
    """The pending pages of one crawl: at most as many as are in flight.

    Parameters
    ----------
    store, journal
        Where pages are confirmed and withdrawn, and what hears of it.
    patience
        Seconds for which other pages wait for a pending one, counted from its own arrival;
        0: they don't wait.
    """

    def __init__(self, store: GuardedStore, journal: Journal, *, patience: float) -> None:
        self._store = store
        self._journal = journal
        self._patience = patience
        self._pending: dict[int, Pending] = {}
        self._processed: dict[int, None] = {}
        self._confirming: asyncio.TimerHandle | None = None
        self._unconfirmed: set[int] = set()
        self._tasks: set[asyncio.Task[None]] = set()
        self._asking: dict[int, Visit] = {}
        self._withdrawals = 0
        self._withdrawn: BoundedDict[int, Pending] = BoundedDict(RECENT_WITHDRAWALS)

    async def begin(self, visit: Visit) -> None:
        """Let a page be asked about, which no other task may do until `answered` is called."""
        await self._answer(visit.page_id)
        while (own := self._pending.get(visit.page_id)) is not None and own.ending is not None:
            await asyncio.wait([own.ending])  # or it might withdraw what is stored now
            await self._answer(visit.page_id)
        visit.asked = self._withdrawals
        self._asking[visit.page_id] = visit

    def answered(self, visit: Visit, verdict: Verdict | None) -> None:
        """Note what was decided about a page; None: whether the store took it isn't known."""
        if verdict is None or verdict.decision is Decision.NEW or verdict.reason is Reason.TIMEOUT:
            visit.entry = self._enter(visit)
        elif verdict.decision is Decision.SEEN:
            # Fetched again while it is pending: whichever response is done first ends it.
            visit.entry = self._pending.get(visit.page_id)
        else:
            visit.entry = None
        del self._asking[visit.page_id]
        if visit.answered is not None:
            visit.answered.set()
            visit.answered = None

    async def outcome(self, visit: Visit, verdict: Verdict, action: str) -> Ending:
        """Wait for the end of the page that a near-duplicate repeats.

        A page that is delivered whatever becomes of the other one (`action`) doesn't wait.
        """
        if action not in ACTIONS or verdict.match is None:
            return Ending.KEPT
        page_id = verdict.match.page_id
        visit.pass_on()
        if not self._was_withdrawn_since(visit, page_id):
            await self._answer(page_id)  # the store may have told others of it before
        entry = self._pending.get(page_id)
        if (gone := self._was_withdrawn_since(visit, page_id)) is not None:
            for spared in filter(None, (gone, entry)):  # which of them it repeats isn't known
                spared.spared += 1
            return Ending.GONE
        if entry is None or not (entry.failed or self._patience):
            return Ending.KEPT
        if entry.failed and entry.ending is None:
            self._withdraw(entry)
        waited = visit.deadline is not None
        visit.deadline = min(visit.deadline or inf, entry.deadline)
        if visit.deadline <= asyncio.get_running_loop().time():
            return Ending.LATE
        if not waited:
            self._journal.count("pages/waited")
        return await entry.queue.join(visit)

    def repeated(self, visit: Visit, verdict: Verdict, action: str) -> None:
        """Note what is done about a near-duplicate."""
        if verdict.match is None or (entry := self._pending.get(verdict.match.page_id)) is None:
            return
        if action not in WITHHOLDING:
            entry.spared += 1
        elif len(entry.dropped) < LISTED_ORPHANS:
            entry.dropped.append(visit.url)

    def confirm(self, judged: Judged | None) -> None:
        """Make the entry of a page final, within `CONFIRM_SECONDS`, as its processing is over."""
        if (entry := self._running(judged)) is None:
            return
        del self._pending[entry.page_id]
        entry.queue.kept()
        self._processed[entry.page_id] = None
        if self._confirming is None:
            loop = asyncio.get_running_loop()
            self._confirming = loop.call_later(CONFIRM_SECONDS, self._confirm_processed)

    def withdraw(self, judged: Judged | None) -> None:
        """Withdraw the entry of a page without waiting for the store."""
        if (entry := self._running(judged)) is not None:
            self._withdraw(entry)

    async def close(self) -> None:
        """End what is pending, and wait for it."""
        self._confirm_processed()
        await self._settled()
        for entry in list(self._pending.values()):
            self._withdraw(entry)
        await self._settled()
        for page_id in self._unconfirmed:
            try:
                await self._store.confirm(page_id)
            except StoreCallFailedError:
                break

    async def _settled(self) -> None:
        """Wait for all tasks, and for those that they begin."""
        while tasks := list(self._tasks):
            await asyncio.gather(*tasks)
            # Since Python 3.12 their callbacks need not have been called by now.
            self._tasks.difference_update(tasks)

    async def _answer(self, page_id: int) -> None:
        """If the store is being asked about a page, wait until its answer has been noted."""
        while (visit := self._asking.get(page_id)) is not None:
            await _noted(visit)

    def _enter(self, visit: Visit) -> Pending:
        """Enter a page that is new."""
        if (old := self._pending.get(visit.page_id)) is not None:
            self._gone(old)  # the same page with other content: the store has replaced it
        self._processed.pop(visit.page_id, None)
        behind, visit.behind = visit.behind, []
        deadline = asyncio.get_running_loop().time() + self._patience
        entry = Pending(visit.page_id, visit.url, Queue(behind), deadline)
        self._pending[visit.page_id] = entry
        return entry

    def _was_withdrawn_since(self, visit: Visit, page_id: int) -> Pending | None:
        """Return the entry that the store took for a page's match, if it no longer holds it."""
        gone = self._withdrawn.get(page_id)
        return gone if gone is not None and gone.withdrawal > visit.asked else None

    def _running(self, judged: Judged | None) -> Pending | None:
        """Return the entry of a page whose processing isn't known to be over."""
        entry = None if judged is None else judged.entry
        if entry is None or entry.failed or self._pending.get(entry.page_id) is not entry:
            return None
        return entry

    def _confirm_processed(self) -> None:
        if self._confirming is not None:
            self._confirming.cancel()
            self._confirming = None
        if self._processed:
            self._spawn(self._confirm(list(self._processed)))
            self._processed.clear()

    async def _confirm(self, page_ids: list[int]) -> None:
        replies = await asyncio.gather(*map(self._store.confirm, page_ids), return_exceptions=True)
        for page_id, reply in zip(page_ids, replies, strict=True):
            if isinstance(reply, StoreCallFailedError):
                self._unconfirmed.add(page_id)
            elif reply is not None:
                raise reply

    def _withdraw(self, entry: Pending) -> None:
        if not entry.failed:
            entry.failed = True
            self._journal.count("pages/withdrawn")
        entry.ending = self._spawn(self._forget(entry))

    def _spawn(self, ending: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        task = asyncio.get_running_loop().create_task(ending)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task

    async def _forget(self, entry: Pending) -> None:
        # The same page fetched again may be about to replace it.
        await self._answer(entry.page_id)
        if self._pending.get(entry.page_id) is not entry:
            return
        try:
            matched = await self._store.forget(entry.page_id)
        except StoreCallFailedError:
            entry.ending = None
            entry.queue.stuck()
            return
        del self._pending[entry.page_id]
        self._gone(entry)
        if matched > entry.spared:
            self._spawn(self._tell_orphans(entry, matched))

    def _gone(self, entry: Pending) -> None:
        """Have the pages judged again that were found to repeat a page that was withdrawn."""
        self._withdrawals += 1
        entry.withdrawal = self._withdrawals
        self._withdrawn[entry.page_id] = entry
        entry.spared += entry.queue.gone()

    async def _tell_orphans(self, entry: Pending, matched: int) -> None:
        # Answers that are under way spare theirs when they arrive.
        for visit in [v for v in self._asking.values() if v.asked < entry.withdrawal]:
            if self._asking.get(visit.page_id) is visit:  # not answered while others were
                await _noted(visit)
        if (orphaned := matched - entry.spared) > 0:
            self._journal.orphaned(entry.url, entry.page_id, orphaned, entry.dropped)


async def _noted(visit: Visit) -> None:
    """Wait until the store's answer about a page has been noted."""
    visit.answered = visit.answered or asyncio.Event()
    await visit.answered.wait()
