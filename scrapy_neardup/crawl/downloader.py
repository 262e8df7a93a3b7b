"""The half that judges: it may wait for a store, and drops no page.

``IgnoreRequest`` raised here would hide the page from Scrapy's own accounting, so the
verdict is left for the other half (`spider.py`).
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
    """Gives every page of the crawl its verdict; see `Component`."""

    belongs_in = "DOWNLOADER_MIDDLEWARES"
    remedy = f"move it to DOWNLOADER_MIDDLEWARES, with the place {PRIORITY}"

    def __init__(self, crawler: Crawler) -> None:
        super().__init__(crawler)
        self.session: Session | None = None
        """None while no crawl runs, and where it can't start."""
        self._opening: asyncio.Event | None = None

    def process_request(
        self,
        request: Request,
        spider: Spider | None = None,  # noqa: ARG002  (2.13 passes it)
    ) -> None:
        """Leave a request out that a rule of addresses, begun since it was scheduled, skips.

        Raises
        ------
        IgnoreRequest
            It isn't made.
        """
        rules = None if self.session is None else self.session.url_rules
        if rules is not None and rules.is_skipped_now(request):
            raise IgnoreRequest("its page is known by a rule of addresses (NEARDUP_URLS)")

    async def process_response(
        self,
        request: Request,
        response: Response,
        spider: Spider | None = None,  # noqa: ARG002  (2.13 passes it)
    ) -> Response:
        """Judge `response`; it is returned as it came."""
        if self._opening is not None:  # a request that nobody waited with for the crawl's start
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
        # What is looked for is an instance of it, so it may be abstract.
        other = crawler.get_spider_middleware(Component)  # type: ignore[type-abstract]
        if other is None:
            raise ConfigurationError(
                "SPIDER_MIDDLEWARES lacks scrapy_neardup.crawl.spider."
                "NearDuplicateSpiderMiddleware, the other half of scrapy-neardup"
            )
        # With numpy and all that judges pages: see `component`.
        from scrapy_neardup.crawl.session import Session  # noqa: PLC0415
        from scrapy_neardup.crawl.settings import read_settings  # noqa: PLC0415

        session = Session(crawler, read_settings(crawler.settings))
        self._opening = asyncio.Event()
        try:
            await session.open()
            crawler.signals.connect(session.close, signals.spider_closed)
            self.session = session
        finally:
            self._opening.set()
            self._opening = None
