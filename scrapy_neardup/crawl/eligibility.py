"""Which responses are pages of the crawl.

Rule of this module: only what a callback is going to see. A response that nobody
processes must not make another page its duplicate (a 404 that ``HttpError`` holds back
and a soft 404 look the same), and logins and forms must not break.

Not pages are: answers to other methods than GET, and where a redirection leads from
there; robots.txt, media and whatever else has ``NO_CALLBACK``; statuses that
``HttpErrorMiddleware`` holds back, by its own rule; and downloads that a callback awaits
inline (``engine.download_async``).

Two of these don't show in the request: a redirected form is a GET, and an inline download
looks like a request with the default callback. So both a form and a request with the
default callback are marked when they are scheduled, which inline downloads never are.
"""

from __future__ import annotations

import inspect
from functools import partial
from typing import TYPE_CHECKING, Any

from scrapy import signals
from scrapy.http.request import NO_CALLBACK
from scrapy.spidermiddlewares.httperror import HttpErrorMiddleware

if TYPE_CHECKING:
    from collections.abc import Callable

    from scrapy import Request
    from scrapy.crawler import Crawler
    from scrapy.http import Response

_MARK = "_neardup"
_FORM, _SCHEDULED = "form", "scheduled"
"""Key of `request.meta`, and its values. The mark goes to disk with the request (``JOBDIR``)
and along with a redirection or retry; it is taken out when the response arrives, so that
nobody inherits it with a copy of ``response.meta``.
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
        mark = request.meta.pop(_MARK, None)
        callback = request.callback
        if request.method != "GET" or mark == _FORM or callback is NO_CALLBACK:
            return False
        if callback is None and mark is None:
            return False
        try:
            self._http_error(response)
        except Exception:  # noqa: BLE001  (whatever it raises, no callback is called)
            return False
        return True

    def _mark(self, request: Request) -> None:
        if request.method != "GET":
            request.meta[_MARK] = _FORM
        elif request.callback is None:
            request.meta.setdefault(_MARK, _SCHEDULED)


def _http_error_rule(crawler: Crawler) -> Callable[[Response], Any]:
    """Return the check of the HttpErrorMiddleware in use, which raises `HttpError`."""
    middleware = crawler.get_spider_middleware(HttpErrorMiddleware)
    if middleware is None:
        return lambda _: None
    check = middleware.process_spider_input
    if inspect.signature(check).parameters["spider"].default is inspect.Parameter.empty:
        return partial(check, spider=crawler.spider)  # Scrapy < 2.14
    return check
