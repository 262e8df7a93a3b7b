"""The spider middleware, which reports verdicts, drops pages, and sees how their processing ends.

Scrapy's ``HttpErrorMiddleware`` is the precedent: the exception is raised in
``process_spider_input``, reaches the request's errback if there is one, and ends in
``process_spider_exception`` otherwise.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable, Iterator
from typing import TYPE_CHECKING, Any, Self

from scrapy import Request
from scrapy.exceptions import IgnoreRequest

from scrapy_neardup.crawl import KEEP_KEY, SKIP_KEY, VERDICT_KEY
from scrapy_neardup.crawl.component import Component
from scrapy_neardup.crawl.downloadermiddleware import NearDuplicateDownloaderMiddleware
from scrapy_neardup.errors import ConfigurationError
from scrapy_neardup.settings.catalogue import DROP, DROP_ITEMS, DROP_LINKS
from scrapy_neardup.verdict import DUPLICATE

if TYPE_CHECKING:
    from scrapy import Spider
    from scrapy.crawler import Crawler
    from scrapy.http import Response

    from scrapy_neardup.crawl.session import Session
    from scrapy_neardup.verdict import Verdict

PRIORITY = 60
"""Place in ``SPIDER_MIDDLEWARES``: next after ``HttpErrorMiddleware`` (50), and so the last but
one to see what a callback yields."""


class NearDuplicatePage(IgnoreRequest):
    """A page, `response`, was dropped because it repeats one that was kept, as `verdict` says.

    Like Scrapy's ``HttpError`` it reaches the request's errback, if there is one, and
    is otherwise ignored without an entry in ``spider_exceptions``.
    """

    def __init__(self, response: Response, verdict: Verdict) -> None:
        super().__init__(response, verdict)
        self.response = response
        self.verdict = verdict

    def __str__(self) -> str:
        return self.verdict.explain()


class NearDuplicateSpiderMiddleware(Component):
    """Acts on the verdicts; see `Component`.

    Without a crawl (a spider middleware manager in a unit test, `scrapy shell`) everything passes.
    """

    belongs_in = "SPIDER_MIDDLEWARES"
    remedy = f"move it to SPIDER_MIDDLEWARES, with the place {PRIORITY}"

    def __init__(self, crawler: Crawler) -> None:
        super().__init__(crawler)
        self._judging: NearDuplicateDownloaderMiddleware | None = None

    def process_spider_input(
        self,
        response: Response,
        spider: Spider | None = None,  # noqa: ARG002  (2.13 passes it)
    ) -> None:
        """Report a page; raise `NearDuplicatePage` if it is dropped."""
        session = self._session
        if session is None or (judged := session.judged(response)) is None:
            return
        session.reporter.page(response, judged)
        if judged.action == DROP and judged.case is None:
            raise NearDuplicatePage(response, judged.verdict)

    def process_spider_output(
        self,
        response: Response,
        result: Iterable[Any],
        spider: Spider | None = None,  # noqa: ARG002  (2.13 passes it)
    ) -> Iterator[Any]:
        """Do what `process_spider_output_async` does, at half the cost.

        Scrapy before 2.16 calls this for output that isn't asynchronous.
        """
        with Output(response, self._session) as output:
            for entry in result:
                if output.passes(entry):
                    yield entry

    async def process_spider_output_async(
        self,
        response: Response,
        result: AsyncIterator[Any],
        spider: Spider | None = None,  # noqa: ARG002  (2.13 passes it)
    ) -> AsyncIterator[Any]:
        """Pass on what a callback or errback yields; the page's processing ends with it.

        If this generator is abandoned half-way (the spider closes, a later component fails) the
        page counts as failed too.
        """
        with Output(response, self._session) as output:
            async for entry in result:
                if output.passes(entry):
                    yield entry

    def process_spider_exception(
        self,
        response: Response,
        exception: Exception,
        spider: Spider | None = None,  # noqa: ARG002  (2.13 passes it)
    ) -> Iterable[Any] | None:
        """End a dropped page without a traceback; withdraw a page whose callback failed."""
        if isinstance(exception, NearDuplicatePage):
            return ()
        if self._session is not None:
            self._session.withdraw(response)
        return None

    async def _open(self) -> None:
        judging = self._crawler.get_downloader_middleware(NearDuplicateDownloaderMiddleware)
        if judging is None:
            raise ConfigurationError(
                "DOWNLOADER_MIDDLEWARES lacks scrapy_neardup.crawl.downloadermiddleware."
                "NearDuplicateDownloaderMiddleware, the other half of scrapy-neardup"
            )
        self._judging = judging

    @property
    def _session(self) -> Session | None:
        return None if self._judging is None else self._judging.session


class Output:
    """The output of the callback or errback of a page; its end ends the page's processing.

    Without a session everything passes.
    """

    __slots__ = ("_asks_again", "_holds_more", "_judged", "_response", "_session")

    def __init__(self, response: Response, session: Session | None) -> None:
        self._response, self._session = response, session
        self._judged = None if session is None else session.judged(response)
        self._asks_again = self._holds_more = False

    def passes(self, entry: Any) -> bool:
        """Whether an item or a request is passed on; a request's priority is adjusted."""
        session, judged = self._session, self._judged
        if session is None:
            return True
        if entry is not None and not self._holds_more:
            if session.asked_again.is_for(self._response, entry):
                self._asks_again = True
            else:
                self._holds_more = True
        action = None if judged is None else judged.action
        case = None if judged is None else judged.case
        if isinstance(entry, Request):
            _disinherit(entry, self._response)
            session.sitemaps.mark(entry, self._response)
            if case is not None and session.experiments.links is not None:
                session.experiments.links.take(case, entry)
                return False
            if action == DROP_LINKS:
                session.reporter.count("requests/dropped")
                return False
            if not session.experiments.passes(entry):
                return False
            if judged is not None and judged.priority:
                entry.priority += judged.priority
                session.reporter.count("requests/deprioritized")
        elif (action == DROP_ITEMS or case is not None) and entry is not None:
            session.reporter.count("items/dropped")
            return False
        return True

    def __enter__(self) -> Self:
        return self

    def __exit__(self, failed: type[BaseException] | None, *_: object) -> None:
        """Confirm the page; withdraw it if its callback failed, or only asks for it again."""
        session, judged = self._session, self._judged
        if session is None:
            return
        case, links = None if judged is None else judged.case, session.experiments.links
        if case is not None and links is not None and failed is not GeneratorExit:
            links.done(case)  # or the crawl ends
        if failed is not None:
            session.withdraw(self._response)
        elif judged is not None and judged.pending is not None:
            page_id = judged.verdict.page_id
            if session.asked_again.says_nothing(page_id, self._asks_again, self._holds_more):
                session.withdraw(self._response)
            else:
                session.pending.confirm(judged.pending)


def _disinherit(request: Request, response: Response) -> None:
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
