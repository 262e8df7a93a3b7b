"""Pages whose processing isn't over, and the pages that wait for the outcome of one they repeat.

Rule of this module: a page waits before it has a verdict that stays, and so before any
store holds it. Only pages that a store holds are waited for, and those have gone on to
their callbacks. No page waits for one that waits: there are no cycles.

Where a page is withdrawn, those that repeat it are judged again one at a time: the first
of them takes its place if it is new, and the rest wait behind it without asking the
store. So a failure costs one call of the store, however many pages wait. Pages behind
another one needn't repeat it, which is why they are judged again whatever its outcome.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from enum import Enum, auto


class Ending(Enum):
    """What became of a page that another one waited for."""

    KEPT = auto()
    """The callback is done: the page that waited is a duplicate."""
    GONE = auto()
    """The page was withdrawn: the page that waited is judged again."""
    LATE = auto()
    """The time is up."""


class Visit:
    """A page on its way to a verdict that stays."""

    __slots__ = ("answered", "asked", "behind", "deadline", "entry", "page_id", "turn", "url")

    def __init__(self, page_id: int = 0, url: str = "") -> None:
        self.page_id = page_id
        self.url = url
        """URL without user name and password."""
        self.asked = 0
        """Number of pages withdrawn before the store was last asked about it."""
        self.answered: asyncio.Event | None = None
        """Set when the store's answer has been noted; None while nobody waits for that."""
        self.entry: Pending | None = None
        """What is to be confirmed or withdrawn for it, since the last answer."""
        self.deadline: float | None = None
        """When it stops waiting, on the clock of the event loop; None: it never waited."""
        self.turn: asyncio.Future[Ending] | None = None
        """What it waits for."""
        self.behind: list[Visit] = []
        """Pages that are judged again once it is known whether this one is new."""

    @property
    def waits(self) -> bool:
        """Whether it still waits."""
        return self.turn is not None and not self.turn.done()

    def end(self, outcome: Ending) -> None:
        """End its waiting, if it still waits."""
        if self.turn is not None and not self.turn.done():
            self.turn.set_result(outcome)

    def pass_on(self) -> None:
        """Let the pages behind it be judged, as what becomes of it is known."""
        if self.behind:
            behind, self.behind = self.behind, []
            _call_first(behind)


class Queue:
    """The pages that wait for one page, first come, first served.

    Parameters
    ----------
    behind
        Pages that are judged again when it is over, whatever its outcome.
    """

    def __init__(self, behind: list[Visit]) -> None:
        self._behind = behind
        self._repeating: list[Visit] = []

    async def join(self, visit: Visit) -> Ending:
        """Wait until `visit.deadline` for the page that `visit` was found to repeat."""
        visit.turn = asyncio.get_running_loop().create_future()
        self._repeating.append(visit)
        try:
            async with asyncio.timeout_at(visit.deadline):
                return await visit.turn
        except TimeoutError:
            return Ending.LATE

    def kept(self) -> None:
        """Tell that the page was processed. O(pages that wait)."""
        self._tell(Ending.KEPT)

    def stuck(self) -> None:
        """Tell that the page failed and can't be withdrawn. O(pages that wait)."""
        self._tell(Ending.LATE)

    def gone(self) -> int:
        """Tell that the page was withdrawn; return the number of waiting pages that repeat it."""
        repeating = [visit for visit in self._repeating if visit.waits]
        self._repeating.clear()
        behind, self._behind = self._behind, []
        behind.extend(repeating)
        _call_first(behind)
        return len(repeating)

    def _tell(self, outcome: Ending) -> None:
        for visit in self._repeating:
            visit.end(outcome)
        self._repeating.clear()
        for visit in self._behind:
            visit.end(Ending.GONE)
        self._behind.clear()


@dataclass(slots=True, eq=False)
class Pending:
    """A page that the store holds as pending.

    Parameters
    ----------
    page_id, url
        Of the page; the URL without user name and password.
    queue
        The pages that wait for its end.
    deadline
        When they stop waiting, on the clock of the event loop.
    """

    page_id: int
    url: str
    queue: Queue
    deadline: float
    dropped: list[str] = field(default_factory=list)
    """Pages that were dropped as its duplicates."""
    spared: int = 0
    """Number of pages that were found to repeat it, and aren't dropped for it."""
    failed: bool = False
    """Whether it is to be withdrawn."""
    ending: asyncio.Task[None] | None = None
    """Task that is withdrawing it, if there is one."""
    withdrawal: int = 0
    """Its number among the withdrawn pages of the crawl; 0 while the store may still hold it."""


def _call_first(waiting: list[Visit]) -> None:
    """Let the first page that still waits be judged again, the rest behind it."""
    while waiting:
        first = waiting.pop(0)
        if first.waits:
            first.behind = waiting
            first.end(Ending.GONE)
            return
