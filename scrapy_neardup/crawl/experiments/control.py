"""The control of a test that contradicts a claim: both pages are requested again.

A new page may be the known page a moment later, with another clock or another front page. Or the
known page was dropped, and the new one repeats it, but not the original that is stored. So the new
page's request is made again, which shows what changes by itself. Then the two pages are compared
as they are now.
"""

from __future__ import annotations

from functools import partial
from http import HTTPStatus
from typing import TYPE_CHECKING

from scrapy_neardup.crawl.experiments.ownrequests import again
from scrapy_neardup.crawl.pagestate import Visit

if TYPE_CHECKING:
    from scrapy import Request
    from scrapy.http import Response

    from scrapy_neardup.crawl.experiments.ownrequests import OwnRequests
    from scrapy_neardup.crawl.experiments.refetch import First, Refetches
    from scrapy_neardup.crawl.reading import Reader
    from scrapy_neardup.judge.detector import Detector
    from scrapy_neardup.verdict import Page


class Control:
    """The controls of one crawl."""

    def __init__(
        self, own: OwnRequests, refetches: Refetches, reader: Reader, detector: Detector
    ) -> None:
        self._own, self._refetches = own, refetches
        self._reader, self._detector = reader, detector

    async def shows(self, first: First, url: str) -> bool | None:
        """Whether `url` now shows the page that another request has found; None if uncertain.

        It takes two requests, even if the budget is spent: otherwise all requests that the claim
        has withheld would be made. With a budget of 0 it takes none, and the answer is no.
        """
        shown: list[bool | None] = [False]
        if self._own.spend("claims", 2):
            await self._own.ask(again(first.request), partial(self._refetches.learn, first))
            control = again(first.request).replace(url=url)
            control.meta["dont_merge_cookies"] = True  # cookies may change the page
            control.headers.pop("Cookie", None)
            await self._own.ask(control, partial(self._compare, first.page, control, shown))
        return shown[-1]

    async def _compare(
        self, page: Page, control: Request, shown: list[bool | None], response: Response
    ) -> None:
        if response.status == HTTPStatus.OK:
            other = self._reader.page(Visit(page.id), control, response)
            shown.append(self._detector.repeats(page, other))
