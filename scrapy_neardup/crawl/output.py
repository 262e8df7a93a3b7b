"""What the output of a callback says of its page, and what its requests get from that.

A page whose callback only asks for it again ('we are busy', a captcha with status 200) says
nothing. It is withdrawn, so that other pages that say the same reach their callbacks too, which
ask again in turn. A callback *only asks for its page again* if it yields requests and nothing
else, each of them a GET request with `dont_filter` (Scrapy wouldn't send others twice) for the
page itself: with the fingerprint of the response's request, or of a URL that redirected to it
(``get_retry_request(response.request, ...)``, ``response.request.replace(dont_filter=True)``). One
that submits a form and carries no item along hasn't got past a login or an age gate, which counts
as asking again. A callback that yields an item or another request as well has read the page, and
so has one that yields nothing, unless it has asked for the same page before, and now gives up.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from itemadapter import is_item
from scrapy import Request
from scrapy.spiders import SitemapSpider

from scrapy_neardup.bounded import BoundedDict
from scrapy_neardup.crawl import KEEP_KEY, SKIP_KEY, VERDICT_KEY
from scrapy_neardup.verdict import DUPLICATE

if TYPE_CHECKING:
    from collections.abc import Callable

    from scrapy import Spider
    from scrapy.http import Response

REMEMBERED = 65_536
"""Maximum number of pages that are remembered as asked for again."""


def disinherit(request: Request, response: Response) -> None:
    """Remove from `request` the keys that belong to the page that it was found on.

    Spiders copy ``response.meta``. A request for the same page keeps them: a dropped page passes
    the second time, one that is to be skipped is skipped again.
    """
    meta = request.meta
    if (verdict := meta.get(VERDICT_KEY)) is None:
        return  # not a copy: the keys are meant for this request
    del meta[VERDICT_KEY]
    origin = response.request
    if origin is not None and request.url == origin.url:
        if getattr(verdict, "decision", None) is DUPLICATE:
            meta[VERDICT_KEY] = verdict.page_id  # queues that write JSON take it, too
        return
    for key in (SKIP_KEY, KEEP_KEY):
        if meta.get(key) is True and response.meta.get(key) is True:
            del meta[key]


class AskedAgain:
    """The pages of a crawl that were only asked for again, as far as remembered."""

    def __init__(self, fingerprint: Callable[[Request], bytes]) -> None:
        self._fingerprint = fingerprint
        self._pages: BoundedDict[int, None] = BoundedDict(REMEMBERED)

    def is_for(self, response: Response, entry: Any) -> bool:
        """Whether what a callback yields is a request for its own page, or submits a form."""
        if not isinstance(entry, Request):
            return False
        if b"form-" in (entry.headers.get("Content-Type") or b""):
            carried = {**entry.cb_kwargs, **entry.meta, VERDICT_KEY: None}
            return not any(map(is_item, carried.values()))
        if not entry.dont_filter or entry.method != "GET":
            return False
        own = response.request
        assert own is not None  # noqa: S101  (for the type checker)
        redirected = own.meta.get("redirect_urls", ())
        requests = (own, *(own.replace(url=url) for url in redirected))
        return self._fingerprint(entry) in map(self._fingerprint, requests)

    def says_nothing(self, page_id: int, asks_again: bool, holds_more: bool) -> bool:
        """Whether a callback, whose output is complete, only asks for its page again.

        `asks_again`: whether it has yielded requests for its page; `holds_more`: anything else.
        """
        if holds_more:
            self._pages.pop(page_id, None)
            return False
        if asks_again:
            self._pages[page_id] = None
        return page_id in self._pages


def sitemap_parser(spider: Spider | None, *, keeps: bool) -> object:
    """Return the callback of a `SitemapSpider`'s sitemaps, if it `keeps` the pages they list.

    These are delivered like start requests, as the site names them itself
    (``NEARDUP_KEEP_SITEMAP``).
    """
    reads = keeps and isinstance(spider, SitemapSpider)
    return getattr(spider, "_parse_sitemap", None) if reads else None
