"""The downloader middleware, which judges pages and may wait for a store.

It drops none: ``IgnoreRequest`` raised here would hide the page from Scrapy's own accounting, so
acting on the verdict is left to the spider middleware (`spidermiddleware.py`).
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from scrapy import signals
from scrapy.exceptions import IgnoreRequest

from scrapy_neardup.crawl.compat import is_asyncio_available
from scrapy_neardup.crawl.component import Component
from scrapy_neardup.errors import ConfigurationError

if TYPE_CHECKING:
    from scrapy import Request, Spider
    from scrapy.crawler import Crawler
    from scrapy.http import Response

    from scrapy_neardup.crawl.session import Session

PRIORITY = 90
"""Place in ``DOWNLOADER_MIDDLEWARES``: after decompression, redirection and retries."""


class NearDuplicateDownloaderMiddleware(Component):
    """Judges every page of the crawl; see `Component`."""

    belongs_in = "DOWNLOADER_MIDDLEWARES"
    remedy = f"move it to DOWNLOADER_MIDDLEWARES, with the place {PRIORITY}"

    def __init__(self, crawler: Crawler) -> None:
        super().__init__(crawler)
        self.session: Session | None = None
        """None before the crawl starts, and if it can't."""
        self._opening: asyncio.Event | None = None
        if crawler.settings.get("NEARDUP_URLS") == "skip" or crawler.settings.getint(
            "NEARDUP_PATTERN_BUDGET"
        ):
            # Only here: Scrapy passes each request to every middleware that has this method.
            self.process_request = self._skip

    def _skip(
        self,
        request: Request,
        spider: Spider | None = None,  # noqa: ARG002  (2.13 passes it)
    ) -> None:
        """Raise `IgnoreRequest` if a claim, begun since it was scheduled, withholds a request."""
        if self.session is not None and self.session.experiments.is_withheld_now(request):
            raise IgnoreRequest("its page is known (NEARDUP_URLS, NEARDUP_PATTERN_BUDGET)")

    async def process_response(
        self,
        request: Request,
        response: Response,
        spider: Spider | None = None,  # noqa: ARG002  (2.13 passes it)
    ) -> Response:
        """Judge `response`; it is returned as it came."""
        if self._opening is not None:  # a request made before the crawl has started
            await self._opening.wait()
        if self.session is None:
            return response
        if response.request is None:
            response.request = request  # as the engine does next; rules read response.meta
        await self.session.judge(response.request, response)
        return response

    async def _open(self) -> None:
        crawler = self._crawler
        if not is_asyncio_available():
            raise ConfigurationError(
                "scrapy-neardup needs the asyncio reactor, Scrapy's default: remove the setting "
                "TWISTED_REACTOR, or set it to "
                "'twisted.internet.asyncioreactor.AsyncioSelectorReactor'"
            )
        # An instance is looked up, so the class may be abstract.
        other = crawler.get_spider_middleware(Component)  # type: ignore[type-abstract]
        if other is None:
            raise ConfigurationError(
                "SPIDER_MIDDLEWARES lacks scrapy_neardup.crawl.spidermiddleware."
                "NearDuplicateSpiderMiddleware, the other half of scrapy-neardup"
            )
        # With numpy and all that judges pages: see `component`.
        from scrapy_neardup.crawl.crawlsettings import check_needed, read_settings  # noqa: PLC0415
        from scrapy_neardup.crawl.session import Session  # noqa: PLC0415

        check_needed()
        session = Session(crawler, read_settings(crawler.settings))
        self._opening = asyncio.Event()
        try:
            await session.open()
            crawler.signals.connect(session.close, signals.spider_closed)
            self.session = session
        finally:
            self._opening.set()
            self._opening = None
