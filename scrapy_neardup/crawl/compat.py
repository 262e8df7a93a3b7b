"""What Scrapy's versions do differently, and what none of them has an interface for."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

from scrapy.utils.defer import maybe_deferred_to_future

try:
    from scrapy.utils.asyncio import is_asyncio_available
except ImportError:  # Scrapy < 2.14
    from scrapy.utils.reactor import is_asyncio_reactor_installed as is_asyncio_available

if TYPE_CHECKING:
    from scrapy import Request, Selector
    from scrapy.crawler import Crawler
    from scrapy.http import Response, TextResponse

__all__ = [
    "close_spider",
    "download",
    "fail_start",
    "has_selector",
    "is_asyncio_available",
    "set_selector",
]


def has_selector(response: TextResponse) -> bool:
    """Return whether somebody has asked for `response.selector`, and may hold its tree."""
    return response._cached_selector is not None  # noqa: SLF001


def set_selector(response: TextResponse, selector: Selector) -> None:
    """Make `selector` the value of ``response.selector``."""
    response._cached_selector = selector  # noqa: SLF001


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


def fail_start(crawler: Crawler) -> None:
    """Let Scrapy count a crawl whose spider was closed at its start as one that failed to start.

    Scrapy's runners set `bootstrap_failed` where a crawler ends without a spider, and its commands
    then end with exit status 1. To be called by a handler of ``engine_started``. Other handlers
    may still use the spider: it is taken away when the last of them is done.
    """
    handlers = _handlers_running() if is_asyncio_available() else []
    if len(handlers) <= 1:
        crawler.spider = None
        return

    def done(_: asyncio.Task[Any]) -> None:
        if all(handler.done() for handler in handlers):
            crawler.spider = None

    for handler in handlers:
        handler.add_done_callback(done)


def _handlers_running() -> list[asyncio.Task[Any]]:
    """Return the tasks of the handlers of the signal that this task is a handler of.

    Since 2.14 each handler is run by a task of the same coroutine function.
    """
    current = asyncio.current_task()
    code = current and getattr(current.get_coro(), "cr_code", None)
    return [
        task for task in asyncio.all_tasks() if getattr(task.get_coro(), "cr_code", None) is code
    ]
