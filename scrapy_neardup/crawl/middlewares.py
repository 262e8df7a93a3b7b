"""Both middlewares: the first judges pages, the second drops them and sees their processing end.

Judging may have to wait for a store, which ``process_spider_input`` can't do. Dropping is left to
the spider middleware, as ``IgnoreRequest`` raised by a downloader middleware would hide the page
from Scrapy's own accounting. Scrapy's ``HttpErrorMiddleware`` is the precedent: the exception is
raised in ``process_spider_input``, reaches the request's errback if there is one, and ends in
``process_spider_exception`` otherwise.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterable, Iterator
from typing import TYPE_CHECKING, Any, Final, Self, TypeVar

from scrapy import Request, signals
from scrapy.exceptions import IgnoreRequest

from scrapy_neardup.crawl import KEEP_KEY, VERDICT_KEY
from scrapy_neardup.crawl.compat import is_asyncio_available
from scrapy_neardup.crawl.component import Component
from scrapy_neardup.crawl.output import disinherit
from scrapy_neardup.errors import ConfigurationError
from scrapy_neardup.settings.catalogue import DROP, DROP_ITEMS, DROP_LINKS

if TYPE_CHECKING:
    from scrapy import Spider
    from scrapy.crawler import Crawler
    from scrapy.http import Response

    from scrapy_neardup.crawl.session import Session
    from scrapy_neardup.verdict import Verdict

T = TypeVar("T", bound=Component)


def _half(half: type[T], found: T | None) -> T:
    """Return one of the middlewares; raise `ConfigurationError` if the crawl lacks it."""
    if found is None:
        raise ConfigurationError(
            f"{half.belongs_in} lacks {half.__module__}.{half.__name__}, the other half of"
            " scrapy-neardup"
        )
    return found


class NearDuplicateDownloaderMiddleware(Component):
    """Judges every page of the crawl, after decompression, redirection and retries."""

    belongs_in = "DOWNLOADER_MIDDLEWARES"
    PRIORITY = 90
    remedy = f"move it to {belongs_in}, with the place {PRIORITY}"

    def __init__(self, crawler: Crawler) -> None:
        super().__init__(crawler)
        self._opening: asyncio.Event | None = None
        if crawler.settings.get("NEARDUP_URLS") == "skip" or crawler.settings.getint(
            "NEARDUP_PATTERN_BUDGET"
        ):
            # Only here: Scrapy passes each request to every middleware that has this method.
            self.process_request = self._skip

    def _skip(
        self,
        request: Request,
        spider: Spider | None = None,  # noqa: ARG002  (2.13 passes it)
    ) -> None:
        """Raise `IgnoreRequest` if a claim, begun since it was scheduled, withholds a request."""
        if self.session is not None and self.session.experiments.is_withheld_now(request):
            raise IgnoreRequest("its page is known (NEARDUP_URLS, NEARDUP_PATTERN_BUDGET)")

    async def process_response(
        self,
        request: Request,
        response: Response,
        spider: Spider | None = None,  # noqa: ARG002  (2.13 passes it)
    ) -> Response:
        """Judge `response`; it is returned as it came."""
        if self._opening is not None:  # a request made before the crawl has started
            await self._opening.wait()
        if self.session is None:
            return response
        if response.request is None:
            response.request = request  # as the engine does next; rules read response.meta
        await self.session.judge(response.request, response)
        return response

    async def _open(self) -> None:
        crawler = self._crawler
        if not is_asyncio_available():
            raise ConfigurationError(
                "scrapy-neardup needs the asyncio reactor, Scrapy's default: remove the setting "
                "TWISTED_REACTOR, or set it to "
                "'twisted.internet.asyncioreactor.AsyncioSelectorReactor'"
            )
        other = _half(
            NearDuplicateSpiderMiddleware,
            crawler.get_spider_middleware(NearDuplicateSpiderMiddleware),
        )
        # With numpy and all that judges pages: see `component`.
        from scrapy_neardup.crawl.crawlsettings import check_needed, read_settings  # noqa: PLC0415
        from scrapy_neardup.crawl.session import Session  # noqa: PLC0415

        check_needed()
        session = Session(crawler, read_settings(crawler.settings))
        self._opening = asyncio.Event()
        try:
            await session.open()
            crawler.signals.connect(session.close, signals.spider_closed)
            self.session = other.session = session
        finally:
            self._opening.set()
            self._opening = None


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
    """Drops and reports pages, next after ``HttpErrorMiddleware`` (50).

    So it is the last but one to see what a callback yields.
    """

    belongs_in = "SPIDER_MIDDLEWARES"
    PRIORITY = 60
    remedy = f"move it to {belongs_in}, with the place {PRIORITY}"

    def process_spider_input(
        self,
        response: Response,
        spider: Spider | None = None,  # noqa: ARG002  (2.13 passes it)
    ) -> None:
        """Report a page; raise `NearDuplicatePage` if it is dropped."""
        session = self.session
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
        with Output(response, self.session) as output:
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
        with Output(response, self.session) as output:
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
        if self.session is not None:
            self.session.withdraw(response)
        return None

    async def _open(self) -> None:
        _half(
            NearDuplicateDownloaderMiddleware,
            self._crawler.get_downloader_middleware(NearDuplicateDownloaderMiddleware),
        )


class Output:
    """The output of the callback or errback of a page; its end ends the page's processing.

    Without a session everything passes.
    """

    __slots__ = ("_asks_again", "_case", "_holds_more", "_judged", "_response", "_session")

    def __init__(self, response: Response, session: Session | None) -> None:
        self._response, self._session = response, session
        self._judged = judged = None if session is None else session.judged(response)
        self._case = None if judged is None else judged.case
        self._asks_again = self._holds_more = False

    def passes(self, entry: Any) -> bool:
        """Whether an item or a request is passed on; a request's priority is adjusted."""
        if (session := self._session) is None or entry is None:
            return True
        if not self._holds_more:
            asks_again = session.asked_again.is_for(self._response, entry)
            self._asks_again |= asks_again
            self._holds_more = not asks_again
        if isinstance(entry, Request):
            return self._request_passes(entry, session)
        is_dropped = self._judged is not None and self._judged.action == DROP_ITEMS
        if is_dropped or self._case is not None:
            session.reporter.count("items/dropped")
            return False
        return True

    def _request_passes(self, request: Request, session: Session) -> bool:
        judged, own, parse = self._judged, self._response.request, session.parse_sitemap
        if VERDICT_KEY in request.meta:
            disinherit(request, self._response)
        if parse is not None and own is not None and own.callback == parse != request.callback:
            request.meta[KEEP_KEY] = True
        if self._case is not None and session.experiments.links is not None:
            session.experiments.links.take(self._case, request)
            return False
        if judged is not None and judged.action == DROP_LINKS:
            session.reporter.count("requests/dropped")
            return False
        if session.claims is not None and not session.claims.passes(request):
            return False
        if judged is not None and judged.priority:
            request.priority += judged.priority
            session.reporter.count("requests/deprioritized")
        return True

    def __enter__(self) -> Self:
        return self

    def __exit__(self, failed: type[BaseException] | None, *_: object) -> None:
        """Confirm the page; withdraw it if its callback failed, or only asks for it again."""
        if (session := self._session) is None:
            return
        links = session.experiments.links
        if self._case is not None and links is not None and failed is not GeneratorExit:
            links.done(self._case)  # or the crawl ends
        if failed is not None:
            session.withdraw(self._response)
        elif (judged := self._judged) is not None and judged.pending is not None:
            page_id = judged.verdict.page_id
            if session.asked_again.says_nothing(page_id, self._asks_again, self._holds_more):
                session.withdraw(self._response)
            else:
                session.pending.confirm(judged.pending)


HALVES: Final = NearDuplicateDownloaderMiddleware, NearDuplicateSpiderMiddleware
