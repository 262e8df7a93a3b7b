"""A page on its way through the crawl, and the states of a page that the store has added.

Every change of a page's state is an event, and `TRANSITIONS` has the next state. This module calls
no store; `crawl.pending` acts on the states.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from enum import Enum, StrEnum, auto
from typing import TYPE_CHECKING, Final

from scrapy_neardup.crawl.actions import KEEP
from scrapy_neardup.settings.catalogue import DROP
from scrapy_neardup.text import link_targets
from scrapy_neardup.verdict import UNJUDGED, Reason, Verdict

if TYPE_CHECKING:
    from lxml.html import HtmlElement
    from scrapy import Request

    from scrapy_neardup.claims.claimbook import Key
    from scrapy_neardup.crawl.callbacks import Delivery
    from scrapy_neardup.text import Content


class PageState(StrEnum):
    """The states of a page that the store has added."""

    RUNNING = "running"
    """Its callback is running; pages that repeat it wait."""
    WITHDRAWING = "withdrawing"
    """Its callback failed, and the store is asked to forget it; pages that repeat it wait."""
    STUCK = "stuck"
    """Its callback failed, and the store couldn't forget it."""
    KEPT = "kept"
    """Its callback is done; it is confirmed soon."""
    GONE = "gone"
    """The store doesn't hold it any more."""


class PageEvent(StrEnum):
    """The events of a page that the store has added."""

    PROCESSED = "its callback is done"
    FAILED = "its callback failed"
    FORGOTTEN = "the store has forgotten it"
    STORE_FAILED = "the store failed to forget it"
    MET = "a page repeats it, or the crawl ends"
    REPLACED = "it was stored again with other content"


_S, _E = PageState, PageEvent
TRANSITIONS: Final = {
    (_S.RUNNING, _E.PROCESSED): _S.KEPT,
    (_S.RUNNING, _E.FAILED): _S.WITHDRAWING,
    (_S.RUNNING, _E.REPLACED): _S.GONE,
    (_S.WITHDRAWING, _E.FORGOTTEN): _S.GONE,
    (_S.WITHDRAWING, _E.STORE_FAILED): _S.STUCK,
    (_S.WITHDRAWING, _E.REPLACED): _S.GONE,
    (_S.STUCK, _E.MET): _S.WITHDRAWING,
    (_S.STUCK, _E.REPLACED): _S.GONE,
}
"""(state, event) -> next state. Other events change nothing: a failure may be reported twice."""


class Ending(Enum):
    """The outcome of a page that another one waited for."""

    KEPT = auto()
    """It was processed: the page that waited is a duplicate."""
    GONE = auto()
    """It was withdrawn: the page that waited is judged again."""
    LATE = auto()
    """The time is up, or the store has failed."""


_NOT_YET: Final = Verdict(decision=UNJUDGED, reason=Reason.ERROR, page_id=0)


@dataclass(slots=True)
class Case:
    """A dropped page whose callback runs, and the new requests that it yields."""

    key: Key
    """The claim about its folder."""
    url: str
    names: set[str]
    """The names of parameters of its new links."""
    patterns: set[tuple[Key, str, str]]
    """The patterns of its new links, each with the claim and the callback."""
    leads: bool
    """Whether half of its links are new; then it isn't a copy of a page with known links."""
    is_drawn: bool
    """Whether the page was drawn from those that aren't asked."""
    is_due: bool
    """Whether it was requested again for its links; two of them are then made in any case."""
    found: dict[str, Request] = field(default_factory=dict)


@dataclass(slots=True, eq=False)
class Visit:
    """A page of the crawl, from its response until its callback is done."""

    page_id: int = 0
    url: str = ""
    """URL without user name and password."""
    verdict: Verdict = _NOT_YET
    action: str = KEEP
    content: Content | None = None
    """The page's content, unless it couldn't be read."""
    root: HtmlElement | None = None
    """Its tree; after the verdict only if it is a near-duplicate."""
    seconds: float = 0.0
    """Seconds that reading the page took."""
    priority: int = 0
    """Number to add to the priority of the requests found on it."""
    case: Case | None = None
    """The case about its links, if it is dropped and its callback runs nevertheless."""
    pending: PendingPage | None = None
    """The page as the store has added it, to be confirmed or withdrawn."""
    delivery: Delivery | None = None
    """Its delivery to its callback until that is done; None if that was done with such a page."""
    withdrawals: int = 0
    """Number of pages that were withdrawn before the store's last call for it."""
    answered: asyncio.Event | None = None
    """Set when the store has answered; None while no page waits for that."""
    deadline: float | None = None
    """Time of the event loop when it stops waiting; None if it has never waited."""
    turn: asyncio.Future[Ending] | None = None
    """The outcome that it waits for."""
    behind: list[Visit] = field(default_factory=list)
    """Pages that are judged again once it is known whether this one is new."""

    _links: set[str] | None = None
    """See `links`."""

    def links(self, url: str) -> set[str]:
        """Return the targets of the links in its tree; `url` is the response's."""
        if self._links is None:
            self._links = set() if self.root is None else link_targets(self.root, url)
        return self._links

    @property
    def is_dropped(self) -> bool:
        """Whether no callback gets the page."""
        return self.action == DROP and self.case is None

    @property
    def is_kept(self) -> bool:
        """Whether the store keeps the entry of the page, or of the one that it repeats."""
        return self.pending is None or self.pending.state is PageState.KEPT

    @property
    def waits(self) -> bool:
        """Whether the page is waiting."""
        return self.turn is not None and not self.turn.done()

    def end(self, outcome: Ending) -> None:
        """If the page is waiting, end that."""
        if self.turn is not None and not self.turn.done():
            self.turn.set_result(outcome)

    def pass_on(self) -> None:
        """Let the pages that wait for this one be judged, now that its outcome is known."""
        if self.behind:
            behind, self.behind = self.behind, []
            _call_first(behind)

    async def answer(self) -> None:
        """Wait until the store has answered."""
        self.answered = self.answered or asyncio.Event()
        await self.answered.wait()


@dataclass(slots=True, eq=False)
class PendingPage:
    """A page that the store has added, and the pages that wait for its end, in their order."""

    page_id: int
    url: str
    """URL without user name and password."""
    behind: list[Visit]
    """Pages that are judged again after it, whatever its outcome."""
    deadline: float
    """Time of the event loop when pages stop waiting for it."""
    state: PageState = PageState.RUNNING
    repeating: list[Visit] = field(default_factory=list)
    """Pages that repeat it, and wait for its outcome."""
    dropped: list[str] = field(default_factory=list)
    """URLs of pages that were dropped as its duplicates."""
    not_dropped: int = 0
    """Number of pages that repeat it, but weren't dropped."""
    forgetting: asyncio.Task[None] | None = None
    """The task that withdraws it, once started."""
    withdrawal: int = 0
    """Its number among the pages that are gone; 0 while the store may still hold it."""

    def on(self, event: PageEvent) -> bool:
        """Go to the next state, and tell the pages that wait; return whether it has changed.

        O(pages that wait).
        """
        before, self.state = self.state, TRANSITIONS.get((self.state, event), self.state)
        if self.state is before:
            return False
        match self.state:
            case PageState.KEPT:
                self._end(Ending.KEPT)
            case PageState.STUCK:
                self._end(Ending.LATE)
            case PageState.GONE:
                repeating = [visit for visit in self.repeating if visit.waits]
                self.not_dropped += len(repeating)
                _call_first([*self.behind, *repeating])
                self.repeating.clear()
                self.behind.clear()
        return True

    async def join(self, visit: Visit) -> Ending:
        """Wait until `visit.deadline` for the page that `visit` repeats."""
        visit.turn = asyncio.get_running_loop().create_future()
        self.repeating.append(visit)
        try:
            async with asyncio.timeout_at(visit.deadline):
                return await visit.turn
        except TimeoutError:
            return Ending.LATE

    def _end(self, outcome: Ending) -> None:
        for visit in self.repeating:
            visit.end(outcome)
        for visit in self.behind:
            visit.end(Ending.GONE)
        self.repeating.clear()
        self.behind.clear()


def _call_first(waiting: list[Visit]) -> None:
    """Let the first page that is still waiting be judged again, the rest behind it."""
    while waiting:
        first = waiting.pop(0)
        if first.waits:
            first.behind = waiting
            first.end(Ending.GONE)
            return
