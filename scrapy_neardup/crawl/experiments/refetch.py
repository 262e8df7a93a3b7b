"""Requests that are made twice: differences between the two responses aren't content.

A few pages of each place (`scrapy_neardup.urls.Address.place`) are requested a second time, some
pages later (`ownrequests`), and besides the budget each page on whose second response a verdict
depends (`Detector.asks_again`). `scrapy_neardup.judge.changing` learns from the pairs.
"""

from __future__ import annotations

from collections import deque
from functools import partial
from math import inf
from typing import TYPE_CHECKING, Final, NamedTuple

from scrapy_neardup.bounded import BoundedDict
from scrapy_neardup.crawl.experiments.ownrequests import CACHED, again
from scrapy_neardup.crawl.pagestate import Visit
from scrapy_neardup.judge.analysis import AnalysedPage
from scrapy_neardup.verdict import Decision

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from scrapy import Request
    from scrapy.http import Response

    from scrapy_neardup.crawl.experiments.ownrequests import OwnRequests
    from scrapy_neardup.crawl.reading import Reader
    from scrapy_neardup.crawl.reporting import Reporter
    from scrapy_neardup.judge.detector import Detector
    from scrapy_neardup.verdict import Page, Verdict

DUE: Final = (2, 5, 9)
"""Numbers of a place's pages at which one is requested twice; short pages have their own count."""
RESERVED: Final = 4
"""Number of requests that are reserved for places without any, and for places where two responses
differed and a second pair must show what changes."""
SHORT: Final = 32
"""Number of words below which a page is short: its footer counts, which may have a clock."""
LATER: Final = 3
"""Number of judged pages between the two requests."""
SHARE: Final = 0.5
"""Share of the budget that these requests may spend."""
TRIES: Final = 2
"""Number of times that a request on which a verdict depends is made before the crawl ends, while
none is answered."""

_MAX_PLACES: Final = 4_096
_MAX_UNDECIDED: Final = 64


class Due:
    """Which pages are requested twice, by their number within each place."""

    def __init__(self) -> None:
        self._met: BoundedDict[tuple[int, bool], _Met] = BoundedDict(_MAX_PLACES)

    def includes(self, page: AnalysedPage, left: float = inf, *, is_known: bool = False) -> bool:
        """Count a page of its place; return whether to make its request again.

        `left` is the number of requests that may be made. A request that is due waits until it
        suffices, and while pages are equal, because that alone shows that nothing changes. If
        `is_known`, another crawl or crawler has shown what changes there: one request is enough.
        """
        place = _place(page)
        met, asked, before, changes = self._met.used(place, _Met)
        if is_known and not asked:
            asked = len(DUE) - 1
        says = page.known.rows, page.known.named_rows, page.known.embedded
        reserved = 0 if not asked or (changes and not is_known) else RESERVED
        is_due = asked < len(DUE) and met + 1 >= DUE[asked] and left > reserved
        is_due = is_due and says != before
        self._met[place] = _Met(met + 1, asked + is_due, says, changes)
        return is_due

    def differs(self, page: AnalysedPage) -> None:
        """Note that two responses to the request of a page differed."""
        place = _place(page)
        self._met[place] = self._met.used(place, _Met)._replace(changes=True)


def _place(page: AnalysedPage) -> tuple[int, bool]:
    return page.address.place, page.tokens < SHORT


class _Met(NamedTuple):
    """The pages of a place so far."""

    pages: int = 0
    asked: int = 0
    """Number of the place's pages that are requested twice."""
    says: tuple[int, int, int] | None = None
    """Text, boilerplate and media of the last page."""
    changes: bool = False
    """Whether two responses to the request of one of its pages differed."""


def _are_identical(one: Response, other: Response) -> bool:
    """Return whether two responses have the same body and type, as most have."""
    kinds = [each.headers.get("Content-Type") for each in (one, other)]
    return one.body == other.body and kinds[0] == kinds[1]


class First(NamedTuple):
    """The first response to a request that is made twice."""

    request: Request
    response: Response
    page: Page
    decides: bool = False
    """Whether a verdict depends on what the second response shows."""
    tries: int = TRIES
    """Number of `TRIES` that are left."""


class Refetches:
    """The requests that one crawl makes twice."""

    def __init__(
        self,
        own: OwnRequests,
        reporter: Reporter,
        reader: Reader,
        detector: Detector,
        release: Callable[[Iterable[int]], object],
    ) -> None:
        self._own, self._reporter, self._release = own, reporter, release
        self._reader, self._detector = reader, detector
        self._due = Due()
        self._waiting: deque[tuple[int, First]] = deque()
        self._undecided: BoundedDict[int, First] = BoundedDict(_MAX_UNDECIDED)
        """First responses on whose second one a verdict depends, by page id, until it has come."""
        self._count = self._heard = 0
        """Number of judged pages, now and when the crawl heard from other crawlers at its end."""
        self._again: BoundedDict[int, bool] = BoundedDict(_MAX_PLACES)
        """Whether the crawl has requested a page again; each response may continue the last."""

    async def judged(
        self, visit: Visit, request: Request, response: Response, page: Page | Verdict
    ) -> None:
        """Count a judged page, and make the request that is due.

        It waits for the response, but not long. So the response counts from the next page on, and
        a crawl with one request at a time has the same results in each run.
        """
        if visit.verdict.decision is Decision.UNJUDGED:
            return
        self._count += 1
        if request.dont_filter:
            self._again[visit.page_id] = visit.page_id in self._again
        if self._waiting and self._waiting[0][0] <= self._count:
            _, first = self._waiting.popleft()
            if self._may_ask(first):
                await self._own.ask(again(first.request), partial(self.learn, first))
        if (
            isinstance(page, AnalysedPage)
            and request.method == "GET"
            and not request.body
            and CACHED not in response.flags  # it may be old
        ):
            left = self._own.left("refetched", most=SHARE) - len(self._waiting)
            is_known = bool(self._detector.changing(page))
            is_due = self._due.includes(page, left, is_known=is_known)
            decides = self._detector.asks_again(page)
            if is_due or decides:
                first = First(request, response, page, decides)
                self._waiting.append((self._count + LATER, first))
                if decides:
                    self._undecided[page.id] = first

    def idle(self) -> bool:
        """Make the requests on which verdicts depend and that got no answer yet.

        Return whether any do, or whether other crawlers may have found records since.
        """
        self._waiting.clear()
        left = [each for each in self._undecided.values() if each.tries and self._may_ask(each)]
        for first in left:
            self._undecided[first.page.id] = first._replace(tries=first.tries - 1)
            self._own.make(again(first.request), partial(self.learn, first))
        heard, self._heard = self._heard, self._count
        if hears := heard < self._count and not self._detector.store.is_private:
            self._own.begin(self._hear())
        return bool(left) or hears

    async def _hear(self) -> None:
        """Request the dropped pages again that are records, as other crawlers have found."""
        self._release(await self._detector.hear())

    def _may_ask(self, first: First) -> bool:
        if self._again.get(first.page.id):
            return False
        if first.decides:
            return self._own.spend("doubts")
        return self._own.spend("refetched", most=SHARE)

    async def learn(self, first: First, response: Response) -> None:
        """Learn from the second response to a request."""
        before = first.response
        if (response.status, response.url) != (before.status, before.url):
            return
        self._undecided.pop(first.page.id, None)
        page: Page | Verdict = first.page
        if not _are_identical(before, response):
            visit = Visit(first.page.id)
            page = self._reader.page(visit, first.request, response)
            if isinstance(first.page, AnalysedPage):
                self._due.differs(first.page)
        await self._detector.learn_response(first.page, page, self._release)
        changing = self._detector.changing(first.page)
        both = before.body, response.body
        self._reporter.write(lambda it: it.refetched(before.url, both, changing=changing))
