"""Which responses are pages of the crawl.

Rule of this module: only what a callback is going to see. A response that nobody
processes must not make another page its duplicate (a 404 that ``HttpError`` holds back
and a soft 404 look the same), and logins and forms must not break.

Not pages are: other methods than GET; robots.txt, media and whatever else has
``NO_CALLBACK``; statuses that ``HttpErrorMiddleware`` holds back, by its own rule; and
downloads that a callback awaits inline (``engine.download_async``). The last can't be
told from a request with the default callback by looking at it, so requests with the
default callback are marked when they are scheduled, which inline ones never are.
"""

from __future__ import annotations

import inspect
from functools import partial
from typing import TYPE_CHECKING, Any

from scrapy import signals
from scrapy.http.request import NO_CALLBACK
from scrapy.spidermiddlewares.httperror import HttpError, HttpErrorMiddleware

if TYPE_CHECKING:
    from collections.abc import Callable

    from scrapy import Request
    from scrapy.crawler import Crawler
    from scrapy.http import Response

_SCHEDULED = "_neardup_scheduled"
"""Key of `request.meta`; it goes to disk with the request (``JOBDIR``), and is taken out
when the response arrives, so that nobody inherits it with a copy of ``response.meta``.
"""


class Eligibility:
    """Tells the pages of one crawl from its other responses.

    To be made once the engine exists.
    """

    def __init__(self, crawler: Crawler) -> None:
        crawler.signals.connect(self._mark, signals.request_scheduled)
        self._http_error = _http_error_rule(crawler)

    def admits(self, request: Request, response: Response) -> bool:
        """Return whether `response` is going to be seen by a callback of the crawl.

        `request` is the response's own; its mark is consumed.
        """
        scheduled = request.meta.pop(_SCHEDULED, False)
        callback = request.callback
        if request.method != "GET" or callback is NO_CALLBACK:
            return False
        if callback is None and not scheduled:
            return False
        try:
            self._http_error(response)
        except HttpError:
            return False
        return True

    def _mark(self, request: Request) -> None:
        if request.callback is None:
            request.meta[_SCHEDULED] = True


def _http_error_rule(crawler: Crawler) -> Callable[[Response], Any]:
    """Return the check of the HttpErrorMiddleware in use, which raises `HttpError`."""
    middleware = crawler.get_spider_middleware(HttpErrorMiddleware)
    if middleware is None:
        return lambda _: None
    check = middleware.process_spider_input
    if inspect.signature(check).parameters["spider"].default is inspect.Parameter.empty:
        return partial(check, spider=crawler.spider)  # Scrapy < 2.14
    return check
