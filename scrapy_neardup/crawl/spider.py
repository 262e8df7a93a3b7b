"""The half that acts: it tells about a page, drops it, and sees how its processing ends.

Scrapy's ``HttpErrorMiddleware`` is the precedent: the exception is raised in
``process_spider_input``, reaches the request's errback if there is one, and ends in
``process_spider_exception`` otherwise.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable
from typing import TYPE_CHECKING, Any

from scrapy import Request

from scrapy_neardup.crawl.component import Component
from scrapy_neardup.crawl.downloader import NearDuplicateDownloaderMiddleware
from scrapy_neardup.crawl.exceptions import NearDuplicatePage
from scrapy_neardup.crawl.reading import SKIP_KEY
from scrapy_neardup.crawl.session import VERDICT_KEY, Session
from scrapy_neardup.crawl.settings import DEPRIORITIZE, DROP, DROP_ITEMS, DROP_LINKS
from scrapy_neardup.errors import ConfigurationError

if TYPE_CHECKING:
    from scrapy import Spider
    from scrapy.crawler import Crawler
    from scrapy.http import Response

PRIORITY = 60
"""Place in ``SPIDER_MIDDLEWARES``: next after ``HttpErrorMiddleware`` (50), and so the last
but one to see what a callback yields.
"""


class NearDuplicateSpiderMiddleware(Component):
    """Acts on the verdicts; see `Component`."""

    def __init__(self, crawler: Crawler) -> None:
        super().__init__(crawler)
        self._session: Session | None = None

    def process_spider_input(
        self,
        response: Response,
        spider: Spider | None = None,  # noqa: ARG002  (2.13 passes it)
    ) -> None:
        """Tell about a page, and drop it if it is a duplicate.

        Raises
        ------
        NearDuplicatePage
            It is dropped.
        """
        if (session := self._session) is None or (judged := session.judged(response)) is None:
            return
        session.report.page(response, judged)
        if judged.action == DROP:
            raise NearDuplicatePage(response, judged.verdict)

    async def process_spider_output(
        self,
        response: Response,
        result: AsyncIterator[Any],
        spider: Spider | None = None,  # noqa: ARG002  (2.13 passes it)
    ) -> AsyncIterator[Any]:
        """Pass on what a callback or errback yields, and end the page with it.

        Where this generator is given up half-way (the spider closes, a later component
        fails) the page counts as failed too.
        """
        session = self._session
        judged = None if session is None else session.judged(response)
        if session is None or judged is None:
            async for entry in result:
                _disinherit(entry, response)
                yield entry
            return
        identity = judged.verdict.page_id
        try:
            async for entry in result:
                _disinherit(entry, response)
                if self._passes(entry, judged.action, session):
                    yield entry
        except BaseException:
            if judged.pending:
                session.ledger.fail(identity)
            raise
        if judged.pending:
            await session.ledger.confirm(identity)

    def process_spider_exception(
        self,
        response: Response,
        exception: Exception,
        spider: Spider | None = None,  # noqa: ARG002  (2.13 passes it)
    ) -> Iterable[Any] | None:
        """End a dropped page without a traceback, and a failed one by withdrawing it."""
        if isinstance(exception, NearDuplicatePage):
            return ()
        session = self._session
        if session is not None and (judged := session.judged(response)) and judged.pending:
            session.ledger.fail(judged.verdict.page_id)
        return None

    def _passes(self, entry: object, action: str, session: Session) -> bool:
        if isinstance(entry, Request):
            if action == DROP_LINKS:
                session.report.count("requests/dropped")
                return False
            if action == DEPRIORITIZE:
                entry.priority += session.settings.priority_adjust
                session.report.count("requests/deprioritized")
        elif action == DROP_ITEMS and entry is not None:
            session.report.count("items/dropped")
            return False
        return True

    async def _open(self) -> None:
        judging = self._crawler.get_downloader_middleware(NearDuplicateDownloaderMiddleware)
        if judging is None:
            raise ConfigurationError(
                "DOWNLOADER_MIDDLEWARES lacks scrapy_neardup.crawl.downloader."
                "NearDuplicateDownloaderMiddleware, the other half of scrapy-neardup"
            )
        self._session = judging.session


def _disinherit(entry: object, response: Response) -> None:
    """Take from a request what belongs to the page that it was found on.

    Spiders copy ``response.meta``. The same page requested again keeps it: a dropped one
    passes the second time, one that is to be skipped is skipped again.
    """
    origin = response.request
    if not isinstance(entry, Request) or (origin is not None and entry.url == origin.url):
        return
    meta = entry.meta
    if VERDICT_KEY in meta:
        del meta[VERDICT_KEY]
    if meta.get(SKIP_KEY) is True and response.meta.get(SKIP_KEY) is True:
        del meta[SKIP_KEY]
