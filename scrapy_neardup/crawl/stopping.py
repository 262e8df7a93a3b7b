"""How the plugin ends a crawl: at its start, or when its store or its first pages fail.

With the add-on, a crawl either is filtered, or ends and says why.
"""

from __future__ import annotations

import asyncio
import logging
import traceback
from typing import TYPE_CHECKING, Any

from scrapy import signals
from scrapy.utils.defer import maybe_deferred_to_future

from scrapy_neardup.crawl.compat import is_asyncio_available
from scrapy_neardup.errors import NeardupError, StoreError

if TYPE_CHECKING:
    from scrapy.crawler import Crawler

logger = logging.getLogger(__name__)

CONFIGURATION_ERROR = "neardup_configuration_error"
"""Closing reason of the spider if settings can't be used."""

STORE_ERROR = "neardup_store_error"
"""Closing reason of the spider when the store makes it close."""


PAGES_ERROR = "neardup_error"
"""Closing reason of the spider when none of its first pages could be judged."""


async def refuse(crawler: Crawler, *errors: BaseException) -> None:
    """End a crawl that is starting before its first request, and log why at ERROR.

    An unexpected exception is named with its place; its traceback is logged at DEBUG.
    """
    for error in errors:
        logger.error("%s", why_not(error), extra={"spider": crawler.spider})
        if not isinstance(error, NeardupError):
            logger.debug("The crawl ends because of this", exc_info=error)
    is_of_store = any(isinstance(error, StoreError) for error in errors)
    await close_spider(crawler, STORE_ERROR if is_of_store else CONFIGURATION_ERROR)
    _fail_start(crawler)


def why_not(error: BaseException) -> str:
    """Return the sentence that says why a crawl doesn't start, and what to do."""
    if isinstance(error, NeardupError):
        return str(error)
    place = traceback.extract_tb(error.__traceback__)[-1:]
    where = "".join(f" ({frame.filename}:{frame.lineno})" for frame in place)
    return (
        f"scrapy-neardup can't start: {error!r}{where}. 'scrapy-neardup doctor --project' says "
        "what is installed and set; NEARDUP_ENABLED = False crawls without the filter"
    )


async def give_up(crawler: Crawler, pages: int, error: Exception) -> None:
    """End a crawl whose first pages couldn't be judged: the rest would pass unfiltered, too.

    The exit status of Scrapy's commands is then 1.
    """
    logger.error(
        "None of the first %d pages could be judged, so the crawl ends: %r. This is a bug in "
        "scrapy-neardup, or of a library it runs with; NEARDUP_ENABLED = False crawls without "
        "the filter",
        pages,
        error,
        extra={"spider": crawler.spider},
    )
    crawler.signals.connect(_has_stopped, signals.engine_stopped)
    await close_spider(crawler, PAGES_ERROR)


async def _has_stopped(sender: Crawler) -> None:
    _fail_start(sender)


async def close_spider(crawler: Crawler, reason: str) -> None:
    """Close the spider and wait until it is closed.

    While ``engine_started`` is handled this ends the crawl before its first request:
    an engine without a spider doesn't start.
    """
    engine = crawler.engine
    if hasattr(engine, "close_spider_async"):
        await engine.close_spider_async(reason=reason)
        return
    if not engine.running:  # Scrapy < 2.14
        crawler.crawling = False  # otherwise the crawler stops an engine that never ran: an error
    assert crawler.spider is not None  # noqa: S101  (for the type checker)
    await maybe_deferred_to_future(engine.close_spider(crawler.spider, reason))


def _fail_start(crawler: Crawler) -> None:
    """Let Scrapy count a crawl whose spider was closed as one that failed to start.

    Scrapy's runners set `bootstrap_failed` if a crawler ends without a spider, and its commands
    then end with exit status 1. To be called by a handler of ``engine_started`` or
    ``engine_stopped``. Other handlers may still use the spider, so it is removed when the last of
    them is done.
    """
    handlers = _handlers_running(crawler) if is_asyncio_available() else []
    if not handlers:
        crawler.spider = None

    def done(_: asyncio.Task[Any]) -> None:
        if all(handler.done() for handler in handlers):
            crawler.spider = None

    for handler in handlers:
        handler.add_done_callback(done)


def _handlers_running(crawler: Crawler) -> list[asyncio.Task[Any]]:
    """Return the tasks of a crawler's handlers of the signal that this task handles.

    Since 2.14 each handler is run by a task of the same coroutine function.
    """
    running: dict[Any, Any] = {task: task.get_coro() for task in asyncio.all_tasks()}
    code = getattr(running.get(asyncio.current_task()), "cr_code", None)
    return [
        task
        for task, handler in running.items()
        if getattr(handler, "cr_code", None) is code
        and handler.cr_frame.f_locals.get("sender") is crawler
    ]
