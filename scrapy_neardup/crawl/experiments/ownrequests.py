"""The requests that a crawl makes itself, and what it may spend on them (``NEARDUP_EXPERIMENTS``).

No callback gets the responses, and no cache answers. Like other requests, these pass the
downloader's middlewares and slots.
"""

from __future__ import annotations

import asyncio
import logging
from collections import Counter
from typing import TYPE_CHECKING, Any, Final

from scrapy.exceptions import IgnoreRequest
from scrapy.http.request import NO_CALLBACK

from scrapy_neardup.crawl import VERDICT_KEY
from scrapy_neardup.crawl.actions import PAGE_KEYS
from scrapy_neardup.crawl.compat import download, end_if_idle
from scrapy_neardup.errors import StoreError
from scrapy_neardup.urls import redact

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Coroutine

    from scrapy import Request
    from scrapy.crawler import Crawler
    from scrapy.http import Response

logger = logging.getLogger(__name__)

HANDFUL: Final = 20
"""Number of requests that any crawl may spend, unless it may spend none."""
PATIENCE: Final = 1.0
"""Maximum seconds that a page waits for the response."""

CACHED: Final = "cached"
"""Flag of a response from Scrapy's HTTP cache, which may be old."""
_OF_RESPONSE: Final = PAGE_KEYS | {
    VERDICT_KEY, "redirect_urls", "redirect_reasons", "redirect_times", "retry_times"
}  # fmt: skip
"""Keys of ``meta`` that belong to the first response: its download, and its browser page."""
_OF_CALLBACK: Final = _OF_RESPONSE | {"playwright_include_page", "camoufox_include_page"}
"""These, and the keys that ask for a browser page, which a callback has to close."""
_ONCE: Final = {"dont_cache": True, "dont_redirect": True, "dont_retry": True}
"""Other keys of ``meta``, which stop retries: a missing response isn't worth more requests."""


class OwnRequests:
    """The requests of one crawl; their budget is a `share` of all requests, at least a handful."""

    def __init__(self, crawler: Crawler, share: float) -> None:
        self._crawler = crawler
        self._stats = crawler.stats
        self._share = share
        self._spent: Counter[str] = Counter()
        self._tasks: set[asyncio.Task[None]] = set()

    def spend(self, kind: str, number: int = 1, *, most: float | None = None) -> bool:
        """Whether requests of a kind may be made; they are counted as made.

        The kind may have spent the share `most` of the budget; None: it is besides the budget.
        """
        if not self._share or (most is not None and self.left(kind, most=most) <= 0):
            return False
        if most is not None:
            self._spent[kind] += number
        self._stats.inc_value(f"neardup/experiments/{kind}", number)
        return True

    def left(self, kind: str, *, most: float) -> float:
        """Return how many requests of a kind may be made, of the share `most` of the budget."""
        get = self._stats.get_value
        requests = get("downloader/request_count", get("scheduler/dequeued", 0))
        allowed = max(HANDFUL, self._share * requests) if self._share else 0
        return min(most * allowed - self._spent[kind], allowed - self._spent.total())

    def make(
        self, request: Request, use: Callable[[Response], Awaitable[None]]
    ) -> asyncio.Task[None]:
        """Make a request, and pass its response on; an error doesn't affect the crawl."""
        return self.begin(self._make(request, use))

    def begin(self, work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        """Begin something that ends with the crawl."""
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._ended)
        return task

    def _ended(self, task: asyncio.Task[None]) -> None:
        self._tasks.discard(task)
        end_if_idle(self._crawler)  # it may have been kept from ending because of this

    async def ask(
        self,
        request: Request,
        use: Callable[[Response], Awaitable[None]],
        patience: float | None = PATIENCE,
    ) -> None:
        """Make a request as `make` does, and wait for it, at most `patience` seconds if given."""
        await asyncio.wait({self.make(request, use)}, timeout=patience)

    async def _make(self, request: Request, use: Callable[[Response], Awaitable[None]]) -> None:
        try:
            await use(await download(self._crawler, request))
        except Exception as error:  # noqa: BLE001  (whatever a downloader or a store raises)
            is_usual = isinstance(error, IgnoreRequest | OSError | StoreError)
            logger.log(
                logging.DEBUG if is_usual else logging.INFO,
                "%s can't be requested as an experiment: %r",
                redact(request.url),
                error,
            )

    async def close(self) -> None:
        """Cancel the requests that are under way."""
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)


def again(request: Request) -> Request:
    """Return the second request for a page."""
    meta = own_meta(request) | _ONCE
    return request.replace(callback=NO_CALLBACK, errback=None, meta=meta, priority=0)


def own_meta(request: Request) -> dict[str, Any]:
    """Return a request's meta without the keys that are about its response and callback."""
    return {key: value for key, value in request.meta.items() if key not in _OF_CALLBACK}


def as_sent(request: Request, meta: dict[str, Any]) -> Request:
    """Return a request as it was before its response, with more `meta`, to be made again.

    Without what scrapy-poet made of the response for the callback: pages with their bodies.
    """
    kept = {key: value for key, value in request.meta.items() if key not in _OF_RESPONSE}
    given = {
        name: value
        for name, value in request.cb_kwargs.items()
        if not any(each.__module__.startswith("web_poet.") for each in type(value).__mro__)
    }
    return request.replace(meta=kept | meta, cb_kwargs=given, dont_filter=True)
