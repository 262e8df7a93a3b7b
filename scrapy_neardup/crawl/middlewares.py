"""Both middlewares: the first judges pages, the second drops them and sees their processing end.

Judging may have to wait for a store, which ``process_spider_input`` can't do. The spider
middleware drops pages, because ``IgnoreRequest`` raised by a downloader middleware would hide the
page from Scrapy's own accounting. Scrapy's ``HttpErrorMiddleware`` is the precedent: the exception
is raised in ``process_spider_input``, and reaches the request's errback if there is one, otherwise
``process_spider_exception``.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Iterable, Iterator
from contextlib import AbstractContextManager, nullcontext
from http import HTTPStatus
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, Final, TypeVar

from scrapy import signals
from scrapy.exceptions import IgnoreRequest

from scrapy_neardup.crawl.compat import is_asyncio_available
from scrapy_neardup.crawl.component import Component
from scrapy_neardup.errors import ConfigurationError

if TYPE_CHECKING:
    from scrapy import Request, Spider
    from scrapy.crawler import Crawler
    from scrapy.http import Response

    from scrapy_neardup.verdict import Verdict

T = TypeVar("T", bound=Component)


def _half(half: type[T], get: Callable[[type[T]], T | None]) -> T:
    """Return the other middleware; raise `ConfigurationError` if the crawl lacks it."""
    if (found := get(half)) is None:
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
        budget = crawler.settings.get("NEARDUP_PATTERN_BUDGET", 0)
        if crawler.settings.get("NEARDUP_URLS") == "skip" or budget not in (0, "0"):
            # Only if needed: Scrapy calls this method of every middleware for each request.
            self.process_request = self._skip

    def _skip(
        self,
        request: Request,
        spider: Spider | None = None,  # noqa: ARG002  (2.13 passes it)
    ) -> None:
        """Raise `IgnoreRequest` if a claim that began after its scheduling withholds a request."""
        skipping = None if self.session is None else self.session.experiments.skipping
        if skipping is not None and skipping.is_withheld_now(request):
            raise IgnoreRequest("its page is known (NEARDUP_URLS, NEARDUP_PATTERN_BUDGET)")

    async def process_response(
        self,
        request: Request,
        response: Response,
        spider: Spider | None = None,  # noqa: ARG002  (2.13 passes it)
    ) -> Response:
        """Judge `response`, and return it unchanged."""
        if self._opening is not None:  # a request made before the crawl has started
            await self._opening.wait()
        if self.session is None:
            return response
        if response.request is None:
            response.request = request  # the engine does so later; judging reads response.meta
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
        other = _half(NearDuplicateSpiderMiddleware, crawler.get_spider_middleware)
        # This imports numpy and all modules that judge pages: see `component`.
        from scrapy_neardup.crawl.crawlsettings import read_settings  # noqa: PLC0415
        from scrapy_neardup.crawl.session import Session  # noqa: PLC0415

        if find_spec("chardet") is None:  # a few pages need it
            raise ModuleNotFoundError("No module named 'chardet'", name="chardet")
        session = Session(crawler, read_settings(crawler.settings))
        self._opening = asyncio.Event()
        crawler.signals.connect(self._close, signals.spider_closed)
        try:
            await session.open()
            self.session = other.session = session
        finally:
            self._opening.set()
            self._opening = None

    async def _close(self) -> None:
        if self._opening is not None:  # the spider is closed before the crawl has started
            await self._opening.wait()
        if self.session is not None:
            await self.session.close()


class NearDuplicatePage(IgnoreRequest):
    """The page `response` was dropped because it repeats a kept page, which `verdict` names.

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

    So only one middleware sees the output of a callback after it.
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
        if session is None:
            return
        if (visit := session.judged(response)) is None:
            if not HTTPStatus.OK <= response.status < HTTPStatus.MULTIPLE_CHOICES:
                session.experiments.handles(response)
            return
        session.reporter.page(response, visit)
        if visit.is_dropped:
            raise NearDuplicatePage(response, visit.verdict)

    def process_spider_output(
        self,
        response: Response,
        result: Iterable[Any],
        spider: Spider | None = None,  # noqa: ARG002  (2.13 passes it)
    ) -> Iterator[Any]:
        """Do what `process_spider_output_async` does, at half the cost.

        Scrapy before 2.16 calls this for output that isn't asynchronous.
        """
        with self._passing(response) as passes:
            for entry in result:
                if passes(entry):
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
        with self._passing(response) as passes:
            async for entry in result:
                if passes(entry):
                    yield entry

    def _passing(self, response: Response) -> AbstractContextManager[Callable[[Any], bool]]:
        return (
            nullcontext(lambda _: True) if self.session is None else self.session.output(response)
        )

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
        _half(NearDuplicateDownloaderMiddleware, self._crawler.get_downloader_middleware)


HALVES: Final = NearDuplicateDownloaderMiddleware, NearDuplicateSpiderMiddleware
