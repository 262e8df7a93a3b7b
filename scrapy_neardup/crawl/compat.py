"""Differences between Scrapy's versions."""

from __future__ import annotations

from contextlib import suppress
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

__all__ = ["download", "end_if_idle", "is_asyncio_available"]


async def download(crawler: Crawler, request: Request) -> Response:
    """Return the response to a request that passes neither a scheduler nor a spider."""
    engine = crawler.engine
    assert engine is not None  # noqa: S101  (for the type checker)
    if hasattr(engine, "download_async"):
        return await engine.download_async(request)
    return await maybe_deferred_to_future(engine.download(request))


def end_if_idle(crawler: Crawler) -> None:
    """Let the engine see now whether the crawl ends, not only at its next heartbeat, after 5 s."""
    with suppress(AttributeError, RuntimeError):  # private to Scrapy, or there is no engine
        crawler.engine._slot.nextcall.schedule()  # type: ignore[union-attr]  # noqa: SLF001
