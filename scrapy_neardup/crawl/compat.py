"""What Scrapy 2.13 does otherwise than later versions."""

from __future__ import annotations

from typing import TYPE_CHECKING

from scrapy.utils.defer import maybe_deferred_to_future

try:
    from scrapy.utils.asyncio import is_asyncio_available
except ImportError:  # Scrapy < 2.14
    from scrapy.utils.reactor import is_asyncio_reactor_installed as is_asyncio_available

if TYPE_CHECKING:
    from scrapy import Request
    from scrapy.crawler import Crawler
    from scrapy.http import Response

__all__ = ["close_spider", "download", "is_asyncio_available"]


async def download(crawler: Crawler, request: Request) -> Response:
    """Return the response to a request that passes neither a scheduler nor a spider."""
    engine = crawler.engine
    assert engine is not None  # noqa: S101  (for the type checker)
    if hasattr(engine, "download_async"):
        return await engine.download_async(request)
    return await maybe_deferred_to_future(engine.download(request))


async def close_spider(crawler: Crawler, reason: str) -> None:
    """Close the spider and wait until it is closed.

    While ``engine_started`` is handled this ends the crawl before its first request:
    an engine without a spider doesn't start.
    """
    engine = crawler.engine
    if hasattr(engine, "close_spider_async"):
        await engine.close_spider_async(reason=reason)
        return
    if not engine.running:
        crawler.crawling = False  # or the crawler stops an engine that never ran: an error
    assert crawler.spider is not None  # noqa: S101  (for the type checker)
    await maybe_deferred_to_future(engine.close_spider(crawler.spider, reason))
