"""Kept pages that are still being processed, and the pages that wait for one of them.

Every page that the store has added is confirmed or forgotten exactly once, before the store
closes. Nobody waits for a confirmation: those of a tenth of a second go out together, so that a
store behind a network gets them in one request. One that fails is tried once more at the end; an
entry that can't be withdrawn stays pending, is tried again when a page meets it, and ends with the
crawl.

A page that repeats a pending one waits for its end before its own verdict is final, and so before
any store holds it. Only pages that a store holds are waited for, and those have gone on to their
callbacks: there are no cycles. When a page is withdrawn, those that repeat it are judged again one
at a time: the first of them takes its place if it is new, and the rest wait behind it without
asking the store. So a failure costs one call of the store, however many pages wait. Pages behind
another one needn't repeat it, which is why they are judged again whatever its outcome.
"""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from dataclasses import dataclass, field
from enum import Enum, auto
from math import inf
from typing import TYPE_CHECKING, Any

from scrapy_neardup.bounded import BoundedDict
from scrapy_neardup.crawl.actions import WITHHOLDING
from scrapy_neardup.errors import StoreError
from scrapy_neardup.verdict import Decision, Reason, Verdict

if TYPE_CHECKING:
    from scrapy_neardup.crawl.actions import Judged
    from scrapy_neardup.crawl.journal import Journal
    from scrapy_neardup.stores import Store
    from scrapy_neardup.verdict import Match

CONFIRM_SECONDS = 0.1
"""Maximum seconds that a confirmation waits for others; a killed process loses those of that
time."""

LISTED_ORPHANS = 1_000
"""Maximum number of pages dropped for one pending page that are remembered for the audit."""

RECENT_WITHDRAWALS = 4_096
"""Maximum number of withdrawn pages that are remembered: an answer of the store that is under way
may name one of them."""


class Ledger:
    """The pending pages of one crawl: at most as many as are in flight.

    Other pages wait `patience` seconds for a pending one, counted from its own arrival; 0: none.
    """

    def __init__(self, store: Store, journal: Journal, *, patience: float) -> None:
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
        """Wait until the store may be asked about a page; none else may until `answered`."""
        if visit.page_id in self._asking:
            await self._answer(visit.page_id)
        while (own := self._pending.get(visit.page_id)) is not None and own.ending is not None:
            await asyncio.wait([own.ending])  # or it might withdraw what is stored now
            await self._answer(visit.page_id)
        visit.asked = self._withdrawals
        self._asking[visit.page_id] = visit

    def answered(self, visit: Visit, verdict: Verdict | None) -> None:
        """Note the verdict on a page; None: it isn't known whether the store has added it."""
        if verdict is None or verdict.decision is Decision.NEW or verdict.reason is Reason.TIMEOUT:
            visit.entry = self._enter(visit)
        elif verdict.decision is Decision.SEEN:
            # Fetched again while it is pending: the response that is done first ends it.
            visit.entry = self._pending.get(visit.page_id)
        else:
            visit.entry = None
        del self._asking[visit.page_id]
        if visit.answered is not None:
            visit.answered.set()
            visit.answered = None

    async def outcome(self, visit: Visit, match: Match) -> Ending:
        """Wait for the end of the page that a near-duplicate repeats."""
        page_id = match.page_id
        visit.pass_on()
        if not self._was_withdrawn_since(visit, page_id):
            await self._answer(page_id)  # others may have heard of it from the store before
        entry = self._pending.get(page_id)
        if (gone := self._was_withdrawn_since(visit, page_id)) is not None:
            for possible in filter(None, (gone, entry)):  # it may repeat either of them
                possible.missing += 1
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
        return await entry.join(visit)

    def repeated(self, visit: Visit, verdict: Verdict, action: str) -> None:
        """Note that a page was delivered or withheld, if it is a near-duplicate."""
        match = verdict.match if verdict.decision is Decision.DUPLICATE else None
        if match is None or (entry := self._pending.get(match.page_id)) is None:
            return
        if action not in WITHHOLDING:
            entry.missing += 1
        elif len(entry.dropped) < LISTED_ORPHANS:
            entry.dropped.append(visit.url)

    def confirm(self, judged: Judged | None) -> None:
        """Confirm a page that was processed, within `CONFIRM_SECONDS`."""
        if (entry := self._running(judged)) is None:
            return
        del self._pending[entry.page_id]
        entry.end(Ending.KEPT)
        self._processed[entry.page_id] = None
        if self._confirming is None:
            loop = asyncio.get_running_loop()
            self._confirming = loop.call_later(CONFIRM_SECONDS, self._confirm_processed)

    def withdraw(self, judged: Judged | None) -> None:
        """Withdraw a page without waiting for the store."""
        if (entry := self._running(judged)) is not None:
            self._withdraw(entry)

    async def close(self) -> None:
        """Confirm what was processed, and withdraw the rest."""
        self._confirm_processed()
        await self._settled()
        for entry in list(self._pending.values()):
            self._withdraw(entry)
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
            await _noted(visit)

    def _enter(self, visit: Visit) -> Pending:
        """Return the entry of a page that the store has added."""
        if (old := self._pending.get(visit.page_id)) is not None:
            self._gone(old)  # the same page with other content: the store has replaced it
        self._processed.pop(visit.page_id, None)
        behind, visit.behind = visit.behind, []
        deadline = asyncio.get_running_loop().time() + self._patience
        entry = Pending(visit.page_id, visit.url, behind, deadline)
        self._pending[visit.page_id] = entry
        return entry

    def _was_withdrawn_since(self, visit: Visit, page_id: int) -> Pending | None:
        """Return the withdrawn entry of the page that was named as a match, if there is one."""
        gone = self._withdrawn.get(page_id)
        return gone if gone is not None and gone.withdrawal > visit.asked else None

    def _running(self, judged: Judged | None) -> Pending | None:
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
            if isinstance(reply, StoreError):
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
        except StoreError:
            entry.ending = None
            entry.end(Ending.LATE)
            return
        del self._pending[entry.page_id]
        self._gone(entry)
        if matched > entry.missing:
            self._spawn(self._report_orphans(entry, matched))

    def _gone(self, entry: Pending) -> None:
        """Have the pages judged again that were found to repeat a withdrawn page."""
        self._withdrawals += 1
        entry.withdrawal = self._withdrawals
        self._withdrawn[entry.page_id] = entry
        entry.missing += entry.gone()

    async def _report_orphans(self, entry: Pending, matched: int) -> None:
        # Pages whose answers are under way aren't dropped, and are counted when these arrive.
        for visit in [v for v in self._asking.values() if v.asked < entry.withdrawal]:
            if self._asking.get(visit.page_id) is visit:  # not answered while others were
                await _noted(visit)
        if (orphaned := matched - entry.missing) > 0:
            self._journal.orphaned(entry.url, entry.page_id, orphaned, entry.dropped)


async def _noted(visit: Visit) -> None:
    visit.answered = visit.answered or asyncio.Event()
    await visit.answered.wait()


class Ending(Enum):
    """The outcome of a page that another one waited for."""

    KEPT = auto()
    """It was processed: the page that waited is a duplicate."""
    GONE = auto()
    """It was withdrawn: the page that waited is judged again."""
    LATE = auto()
    """The time is up."""


@dataclass(slots=True, eq=False)
class Visit:
    """A page on its way to a final verdict."""

    page_id: int = 0
    url: str = ""
    """URL without user name and password."""
    asked: int = 0
    """Number of pages withdrawn before the store was last asked about it."""
    answered: asyncio.Event | None = None
    """Set when the store has answered; None while nobody waits for that."""
    entry: Pending | None = None
    """Its entry since the last answer, to be confirmed or withdrawn."""
    deadline: float | None = None
    """Time of the event loop when it stops waiting; None: it never waited."""
    turn: asyncio.Future[Ending] | None = None
    """The outcome that it waits for."""
    behind: list[Visit] = field(default_factory=list)
    """Pages that are judged again once it is known whether this one is new."""

    @property
    def waits(self) -> bool:
        """Whether it is waiting."""
        return self.turn is not None and not self.turn.done()

    def end(self, outcome: Ending) -> None:
        """End its waiting, if it is waiting."""
        if self.turn is not None and not self.turn.done():
            self.turn.set_result(outcome)

    def pass_on(self) -> None:
        """Let the pages behind it be judged, as its outcome is known."""
        if self.behind:
            behind, self.behind = self.behind, []
            _call_first(behind)


@dataclass(slots=True, eq=False)
class Pending:
    """A page that the store holds as pending, and those that wait for its end, in turn."""

    page_id: int
    url: str
    """URL without user name and password."""
    behind: list[Visit]
    """Pages that are judged again after it, whatever its outcome."""
    deadline: float
    """Time of the event loop when pages stop waiting for it."""
    repeating: list[Visit] = field(default_factory=list)
    """Pages that repeat it, and wait for its outcome."""
    dropped: list[str] = field(default_factory=list)
    """URLs of pages that were dropped as its duplicates."""
    missing: int = 0
    """Number of pages that repeat it, and weren't dropped for it."""
    failed: bool = False
    """Whether it is to be withdrawn."""
    ending: asyncio.Task[None] | None = None
    """Task that withdraws it, if there is one."""
    withdrawal: int = 0
    """Its number among the withdrawn pages of the crawl; 0 while the store may still hold it."""

    async def join(self, visit: Visit) -> Ending:
        """Wait until `visit.deadline` for the page that `visit` repeats."""
        visit.turn = asyncio.get_running_loop().create_future()
        self.repeating.append(visit)
        try:
            async with asyncio.timeout_at(visit.deadline):
                return await visit.turn
        except TimeoutError:
            return Ending.LATE

    def gone(self) -> int:
        """End the waiting, as the page was withdrawn; return how many pages repeat it."""
        repeating = [visit for visit in self.repeating if visit.waits]
        self.repeating.clear()
        behind, self.behind = self.behind, []
        behind.extend(repeating)
        _call_first(behind)
        return len(repeating)

    def end(self, outcome: Ending) -> None:
        """End the waiting: it was processed, or can't be withdrawn. O(pages that wait)."""
        for visit in self.repeating:
            visit.end(outcome)
        self.repeating.clear()
        for visit in self.behind:
            visit.end(Ending.GONE)
        self.behind.clear()


def _call_first(waiting: list[Visit]) -> None:
    """Let the first page that is still waiting be judged again, the rest behind it."""
    while waiting:
        first = waiting.pop(0)
        if first.waits:
            first.behind = waiting
            first.end(Ending.GONE)
            return
