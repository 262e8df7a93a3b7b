"""The half that judges: it may wait for a store, and drops nothing.

``IgnoreRequest`` raised here would hide the page from Scrapy's own accounting, so the
verdict is left for the other half (`spider.py`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from scrapy import signals

from scrapy_neardup.crawl.component import Component
from scrapy_neardup.crawl.session import Session
from scrapy_neardup.crawl.settings import read_settings
from scrapy_neardup.errors import ConfigurationError

if TYPE_CHECKING:
    from scrapy import Request, Spider
    from scrapy.crawler import Crawler
    from scrapy.http import Response

PRIORITY = 90
"""Place in ``DOWNLOADER_MIDDLEWARES``: after decompression, redirection and retries."""


class NearDuplicateDownloaderMiddleware(Component):
    """Gives every page of the crawl its verdict; see `Component`."""

    def __init__(self, crawler: Crawler) -> None:
        super().__init__(crawler)
        self.session = Session(crawler, read_settings(crawler.settings))
        crawler.signals.connect(self.session.close, signals.spider_closed)

    async def process_response(
        self,
        request: Request,
        response: Response,
        spider: Spider | None = None,  # noqa: ARG002  (2.13 passes it)
    ) -> Response:
        """Judge `response`; it is returned as it came."""
        if response.request is None:
            response.request = request  # as the engine does next; rules read response.meta
        await self.session.judge(response.request, response)
        return response

    async def _open(self) -> None:
        # What is looked for is an instance of it, so it may be abstract.
        other = self._crawler.get_spider_middleware(Component)  # type: ignore[type-abstract]
        if other is None:
            raise ConfigurationError(
                "SPIDER_MIDDLEWARES lacks scrapy_neardup.crawl.spider."
                "NearDuplicateSpiderMiddleware, the other half of scrapy-neardup"
            )
        await self.session.open()
