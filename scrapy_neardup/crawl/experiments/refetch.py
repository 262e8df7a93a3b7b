"""The same request twice: what differs between the two responses isn't content.

A few pages of each place (`scrapy_neardup.urls.Address.place`) are requested a second time, some
pages later. No callback gets these responses, and no cache answers: they pass the downloader's
middlewares and slots as other requests do. `scrapy_neardup.site.changing` learns from the pairs.
"""

from __future__ import annotations

import asyncio
import logging
from typing import TYPE_CHECKING, Final, NamedTuple

from scrapy.exceptions import IgnoreRequest
from scrapy.http.request import NO_CALLBACK

from scrapy_neardup.bounded import BoundedDict
from scrapy_neardup.crawl import VERDICT_KEY
from scrapy_neardup.crawl.compat import download
from scrapy_neardup.pipeline.analysis import AnalysedPage

if TYPE_CHECKING:
    from scrapy import Request
    from scrapy.crawler import Crawler
    from scrapy.http import Response

    from scrapy_neardup.crawl.experiments.budget import Budget
    from scrapy_neardup.crawl.reading import Reader
    from scrapy_neardup.pipeline.detector import Detector

logger = logging.getLogger(__name__)

DUE: Final = (2, 5, 9)
"""Numbers of the pages of a place that are requested twice."""
LATER: Final = 3
"""Number of judged pages between the two requests."""
SHARE: Final = 0.5
"""Share of the budget that may be spent before the last request of this kind."""

_MAX_PLACES: Final = 4_096
_INTERNAL: Final = (
    VERDICT_KEY,
    "redirect_urls",
    "redirect_reasons",
    "redirect_times",
    "retry_times",
)


class _First(NamedTuple):
    """The first response to a request that is made twice."""

    request: Request
    status: int
    page: AnalysedPage


class Refetches:
    """The requests that one crawl makes twice."""

    def __init__(
        self, crawler: Crawler, reader: Reader, detector: Detector, budget: Budget
    ) -> None:
        self._crawler = crawler
        self._reader = reader
        self._detector = detector
        self._budget = budget
        self._met: BoundedDict[int, int] = BoundedDict(_MAX_PLACES)
        self._waiting: list[tuple[int, _First]] = []
        self._judged = 0
        self._tasks: set[asyncio.Task[None]] = set()

    def judged(self, request: Request, response: Response, page: object) -> None:
        """Count a judged page, and make the requests that are due."""
        self._judged += 1
        if self._waiting and self._waiting[0][0] <= self._judged:
            _, first = self._waiting.pop(0)
            task = asyncio.get_running_loop().create_task(self._ask_again(first))
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)
        if not isinstance(page, AnalysedPage) or request.method != "GET" or request.body:
            return
        place = page.address.place
        met = self._met[place] = self._met.used(place, int) + 1
        if met in DUE and self._budget.spend("refetched", most=SHARE):
            first = _First(request, response.status, page)
            self._waiting.append((self._judged + LATER, first))

    async def close(self) -> None:
        """Cancel the requests that are under way."""
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def _ask_again(self, first: _First) -> None:
        meta = {key: value for key, value in first.request.meta.items() if key not in _INTERNAL}
        request = first.request.replace(
            callback=NO_CALLBACK,
            errback=None,
            meta=meta | {"dont_cache": True},
            priority=0,
        )
        try:
            response = await download(self._crawler, request)
            if response.status != first.status or response.url != first.request.url:
                return
            page = self._reader.page(first.page.id, request, response).page
            await self._detector.learn_response(first.page, page)
        except (IgnoreRequest, OSError) as error:
            logger.debug("%s can't be requested again: %r", request.url, error)
        except Exception as error:  # noqa: BLE001  (whatever a downloader or a store raises)
            logger.warning("%s can't be requested again: %r", request.url, error)
