"""The output of a callback: what it shows about its page, and what becomes of its requests.

A page whose callback only requests it again ('we are busy', a captcha with status 200) has no
content. It is withdrawn, so that other pages with the same text reach their callbacks, which
request them again, too. A callback *only requests its page again* if all that it yields are GET
requests with `dont_filter` (Scrapy wouldn't send others twice) for the page itself: with the
fingerprint of the response's request, or of a URL that redirected to it
(``get_retry_request(response.request, ...)``, ``response.request.replace(dont_filter=True)``). A
callback that only submits a form without an item, at a login or an age gate, counts as requesting
its page again. A callback that also yields an item or another request has read the page. So has
one that yields nothing, unless it has requested the same page before, and now gives up.
"""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, Any, Final

from scrapy import Request
from scrapy.spiders import SitemapSpider

from scrapy_neardup.crawl import KEEP_KEY, SKIP_KEY, VERDICT_KEY
from scrapy_neardup.crawl.actions import KEEP_TEST, TEST_KEYS
from scrapy_neardup.crawl.experiments.withheld import carries_item
from scrapy_neardup.crawl.pagestate import Visit
from scrapy_neardup.settings.catalogue import DROP, DROP_ITEMS, DROP_LINKS
from scrapy_neardup.verdict import DUPLICATE

if TYPE_CHECKING:
    from collections.abc import Callable

    from scrapy.crawler import Crawler
    from scrapy.http import Response

    from scrapy_neardup.crawl.callbacks import Callbacks
    from scrapy_neardup.crawl.experiments.asking import Experiments
    from scrapy_neardup.crawl.pending import PendingPages
    from scrapy_neardup.crawl.reporting import Reporter

_OF_PAGE: Final = TEST_KEYS | {VERDICT_KEY}
"""Keys of ``request.meta`` that belong to one page."""


def disinherit(request: Request, response: Response) -> None:
    """Remove from `request` the keys that belong to the page that it was found on.

    Spiders copy ``response.meta``. A request for the same page keeps the keys: a dropped page
    passes the second time, and a page with `SKIP_KEY` is skipped again.
    """
    meta, origin = request.meta, response.request
    is_same = origin is not None and request.url == origin.url
    if not is_same:  # a response that isn't judged has them, such as a 404 that a spider handles
        for key in TEST_KEYS:
            meta.pop(key, None)
    if (verdict := meta.get(VERDICT_KEY)) is None:
        return  # not a copy: the keys are meant for this request
    del meta[VERDICT_KEY]
    if is_same:
        if getattr(verdict, "decision", None) is DUPLICATE:
            meta[VERDICT_KEY] = verdict.page_id  # a value that JSON queues can write
        return
    for key in (SKIP_KEY, KEEP_KEY):
        if meta.get(key) is True and response.meta.get(key) is True:
            del meta[key]


class Processing:
    """The processing of a crawl's pages by callbacks: their output, and its end."""

    def __init__(
        self,
        crawler: Crawler,
        reporter: Reporter,
        pending: PendingPages,
        experiments: Experiments,
        *,
        callbacks: Callbacks,
        keeps_sitemap: bool,
    ) -> None:
        self.reporter, self.pending, self.experiments = reporter, pending, experiments
        self._callbacks = callbacks
        self._fingerprint = crawler.request_fingerprinter.fingerprint
        reads = keeps_sitemap and isinstance(crawler.spider, SitemapSpider)
        self.parse_sitemap = getattr(crawler.spider, "_parse_sitemap", None) if reads else None
        """The callback of sitemaps. Their pages are delivered like those of start requests,
        because the site itself lists them (``NEARDUP_KEEP_SITEMAP``)."""

    def withdraw(self, visit: Visit | None, response: Response) -> None:
        """Withdraw a page whose callback failed, or requests it again."""
        if visit is not None:
            if visit.pending is not None:  # else another response has shown the page, or its like
                self.pending.withdraw(visit.pending)
                self.experiments.withdrawn(response.request)
            failed = self.pending.end(visit, failed=True)
            if failed is not None and visit.is_kept:
                self._callbacks.failed(failed)

    def confirm(self, visit: Visit) -> None:
        """Confirm a page whose callback is done."""
        if visit.pending is not None:
            self.pending.confirm(visit.pending)
        self.pending.end(visit, failed=False)

    def item_passes(self, visit: Visit) -> bool:
        """Whether an item of a near-duplicate passes, because the other page yielded none."""
        passes = self._callbacks.lacks_item(visit.verdict)
        if not passes:
            self.reporter.count("items/dropped")
        return passes

    def yielded(self, visit: Visit, request: Request) -> None:
        """Note that a page has yielded an item."""
        is_test = visit.action in {KEEP_TEST, DROP, DROP_ITEMS}
        again = self._callbacks.yielded(request, visit.verdict, is_test=is_test)
        if again is None or visit.verdict.match is None:
            return
        self.experiments.release(again, "items/requested-again")
        of, followed = (
            visit.verdict.match.url or "",
            f"pages that are requested again: {len(again)}",
        )
        self.reporter.experiment("items", visit.url, of=of, showed="an item", followed=followed)
        self.reporter.log.info(
            "%s yields an item, and %s, which it repeats, yielded none. From now on such pages are"
            " delivered if their URLs have the same pattern; %s", visit.url, of, followed,
        )  # fmt: skip

    def is_of_itself(self, response: Response, entry: Any) -> bool:
        """Whether a callback's output is a request for its own page, or submits a form."""
        if not isinstance(entry, Request):
            return False
        if b"form-" in (entry.headers.get("Content-Type") or b""):
            return not carries_item(entry)
        if not entry.dont_filter or entry.method != "GET":
            return False
        own = response.request
        assert own is not None  # noqa: S101  (for the type checker)
        with suppress(Exception):  # such as a KeyError of the project's fingerprinter
            requests = (own, *(own.replace(url=url) for url in own.meta.get("redirect_urls", ())))
            return self._fingerprint(entry) in map(self._fingerprint, requests)
        return False

    def says_nothing(self, page_id: int, *, asks_again: bool, holds_more: bool) -> bool:
        """Whether a callback, whose output is complete, only requests its page again.

        `asks_again`: whether it has yielded requests for its page; `holds_more`: anything else.
        """
        if holds_more:
            self._callbacks.asked_again.pop(page_id, None)
            return False
        if asks_again:
            self._callbacks.asked_again[page_id] = None
        return page_id in self._callbacks.asked_again


class Output:
    """The output of the callback or errback of a page; its end ends the page's processing."""

    __slots__ = ("_asks_again", "_holds_more", "_processing", "_response", "_visit", "_yields")

    def __init__(self, processing: Processing, visit: Visit | None, response: Response) -> None:
        self._processing, self._response = processing, response
        self._visit = visit or Visit()
        self._asks_again = self._holds_more = self._yields = False

    def __enter__(self) -> Callable[[Any], bool]:
        return self._passes

    def _passes(self, entry: Any) -> bool:
        """Whether an item or a request is passed on; a request's priority is adjusted."""
        if entry is None:
            return True
        if not self._holds_more:
            asks_again = self._processing.is_of_itself(self._response, entry)
            self._asks_again |= asks_again
            self._holds_more = not asks_again
        if isinstance(entry, Request):
            return self._request_passes(entry)
        self._yields = True
        if self._visit.action == DROP_ITEMS or self._visit.case is not None:
            return self._processing.item_passes(self._visit)
        return True

    def _request_passes(self, request: Request) -> bool:
        crawl, visit, own = self._processing, self._visit, self._response.request
        if not _OF_PAGE.isdisjoint(request.meta):
            disinherit(request, self._response)
        parse = crawl.parse_sitemap
        if parse is not None and own is not None and own.callback == parse != request.callback:
            request.meta[KEEP_KEY] = True
        links = crawl.experiments.links
        if visit.case is not None and links is not None and links.holds(visit.case, request):
            return False
        if visit.action == DROP_LINKS:
            crawl.reporter.count("requests/dropped")
            return False
        skipping = crawl.experiments.skipping
        if skipping is not None and not skipping.passes(request):
            return False
        if visit.priority:
            request.priority += visit.priority
            crawl.reporter.count("requests/deprioritized")
        return True

    def __exit__(self, failed: type[BaseException] | None, *_: object) -> None:
        """Confirm the page; withdraw it if its callback failed, or only requests it again."""
        crawl, visit = self._processing, self._visit
        links = crawl.experiments.links
        if self._yields and self._response.request is not None:
            crawl.yielded(visit, self._response.request)
        if visit.case is not None and links is not None and failed is not GeneratorExit:
            links.done(visit.case)  # not if the crawl ends
        is_awaited = visit.pending is not None or visit.delivery is not None
        if failed is not None or (
            is_awaited
            and crawl.says_nothing(
                visit.page_id, asks_again=self._asks_again, holds_more=self._holds_more
            )
        ):
            crawl.withdraw(visit, self._response)
        else:
            crawl.confirm(visit)
