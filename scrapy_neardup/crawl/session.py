"""One crawl's detector: opened before the first request, asked once a page.

Rule of this module: a session belongs to one crawler and is shared by both middlewares.
A page that can't be judged is delivered, with the reason in its verdict; only a page
judged new has something to end (`ledger.py`).
"""

from __future__ import annotations

import asyncio
import logging
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary

from scrapy_neardup.analysis import Analyser, page_id
from scrapy_neardup.crawl.actions import Actions
from scrapy_neardup.crawl.asking import AskedAgain, Output
from scrapy_neardup.crawl.compat import close_spider
from scrapy_neardup.crawl.eligibility import Eligibility
from scrapy_neardup.crawl.guard import PAUSE_SECONDS, StoreCallFailedError
from scrapy_neardup.crawl.ledger import Ledger
from scrapy_neardup.crawl.opening import make_store, store_uri
from scrapy_neardup.crawl.reading import Reader, UnjudgedError
from scrapy_neardup.crawl.report import KEEP, Judged, Report
from scrapy_neardup.crawl.settings import CrawlSettings
from scrapy_neardup.detector import Detector
from scrapy_neardup.errors import NeardupError, StoreError, StoreUnavailableError
from scrapy_neardup.options import DROP
from scrapy_neardup.urls import redact, redact_store
from scrapy_neardup.verdict import Decision, Reason, Verdict

if TYPE_CHECKING:
    from scrapy import Request
    from scrapy.crawler import Crawler
    from scrapy.http import Response

    from scrapy_neardup.text import Content

logger = logging.getLogger(__name__)

VERDICT_KEY = "neardup"
"""``response.meta[VERDICT_KEY]`` is the page's `Verdict`."""

STORE_ERROR = "neardup_store_error"
"""Why the spider closes when the store makes it close."""

MOST_SAID = 8
"""Ways in which the store failed that are logged at ERROR, each once; further ones at DEBUG."""


class Session:
    """What the two middlewares of one crawler share.

    Parameters
    ----------
    crawler
        Whose pages are judged.
    settings
        Its settings, checked.

    Raises
    ------
    ConfigurationError
        For a store URI, namespace, base or selector that can't be used.
    InputError, StoreMismatchError
        The base can't be read, or its fingerprints aren't comparable.
    """

    def __init__(self, crawler: Crawler, settings: CrawlSettings) -> None:
        self._crawler = crawler
        self.settings = settings
        self.report = Report(crawler)
        self._uri = store_uri(crawler, settings)
        self._store = make_store(crawler, settings, self._store_failed)
        self.ledger = Ledger(self._store, self.report, patience=settings.pending_timeout)
        analyser = Analyser(settings.parameters)
        self._reader = Reader(analyser, text_of=settings.text_of, deny=settings.deny)
        self._detector = Detector(analyser, self._store, on_learnt=self._learnt)
        self._actions = Actions(settings)
        self.asked_again = AskedAgain(crawler.request_fingerprinter.fingerprint)
        self._eligibility: Eligibility | None = None
        self._judged: WeakKeyDictionary[Request, Judged] = WeakKeyDictionary()
        self._failures_logged: set[str] = set()
        self._closing: asyncio.Task[None] | None = None

    async def open(self) -> None:
        """Open the store and the audit file.

        A server that is away keeps no crawl from starting unless ``NEARDUP_ON_ERROR`` says
        so. A store that refuses (other parameters, a wrong password, a lock) always does.

        Raises
        ------
        NeardupError
            With what to do about it.
        """
        logger.info("Opening the near-duplicate store %s", redact_store(self._uri))
        if self.settings.audit is not None:
            self.report.open_audit(self.settings.audit)
        try:
            await self._store.open()
        except NeardupError as error:
            away = isinstance(error, StoreUnavailableError)
            if not away or self.settings.on_error == "close":
                self.report.close()
                raise
            self.report.count("store/errors")
            self._failures_logged.add(str(error))
            logger.error(  # noqa: TRY400
                "%s. As NEARDUP_ON_ERROR is 'keep' the crawl starts all the same: its pages "
                "are kept unjudged until the store answers, which is tried every %g s",
                str(error).rstrip("."),
                PAUSE_SECONDS,
            )
        self._eligibility = Eligibility(self._crawler)

    async def close(self) -> None:
        """End all pending pages and make the store durable."""
        if self._eligibility is None:
            return
        self._eligibility = None
        await self.ledger.close()
        with suppress(StoreError):  # it was counted and logged; what was learnt is learnt anew
            await self._detector.close()
        try:
            await self._store.close()
        except StoreError as error:
            self.report.count("store/errors")
            logger.error("%s", error)  # noqa: TRY400
        self.report.close()

    def _learnt(self, site: str, kind: str, sentence: str) -> None:
        self.report.count(f"learnt/{kind}")
        logger.info(
            "On %s %s; NEARDUP_LEARN without %r switches that off",
            site.removeprefix("//"),
            sentence,
            kind,
            extra={"spider": self._crawler.spider},
        )

    def judged(self, response: Response) -> Judged | None:
        """Return what was decided about `response`, if it was judged."""
        assert response.request is not None  # noqa: S101  (for the type checker)
        return self._judged.get(response.request)

    async def judge(self, request: Request, response: Response) -> None:
        """Judge `response`, the response to `request`, if it is a page of the crawl.

        A page that repeats one whose processing isn't over waits for the end of it.
        """
        if self._eligibility is None:
            return
        # Copied along with another response's meta, or left by an earlier try.
        earlier = request.meta.pop(VERDICT_KEY, None)
        if not self._eligibility.admits(request, response):
            return
        identity = page_id(self._crawler.request_fingerprinter.fingerprint(request))
        try:
            content = self._reader.read(request, response)
        except UnjudgedError as error:
            verdict = _unjudged(identity, error.reason, str(error))
            self._note(request, Judged(verdict=verdict, action=KEEP))
            return
        verdict, action, entry = await self.ledger.settle(
            identity,
            redact(response.url),
            judge=partial(self._verdict, identity, content, response),
            choose=partial(self._actions.choose, request, earlier=earlier),
        )
        if action == DROP:
            self._actions.dropped(request, identity)
        judged = Judged(
            verdict=verdict,
            action=action,
            entry=entry,
            text=content.text if self.settings.audit_text else None,
        )
        self._note(request, judged)

    def end(self, judged: Judged, output: Output) -> None:
        """End the processing of a page; `output` is all that its callback has yielded."""
        if self.asked_again.says_nothing(judged.verdict.page_id, output):
            self.ledger.withdraw(judged)
        else:
            self.ledger.confirm(judged)

    def _note(self, request: Request, judged: Judged) -> None:
        request.meta[VERDICT_KEY] = judged.verdict
        self._judged[request] = judged

    async def _verdict(self, identity: int, content: Content, response: Response) -> Verdict:
        try:
            return await self._detector.judge(content, page_id=identity, url=response.url)
        except StoreCallFailedError as error:
            return _unjudged(identity, error.reason, str(error))
        except Exception as error:  # noqa: BLE001  (whatever it raises, the page is delivered)
            # All that is left is a callable of the user's in the fingerprint.
            self._reader.complain("NEARDUP_WEIGHTS", response, error)
            return _unjudged(identity, Reason.TEXT_ERROR, repr(error))

    def _store_failed(self, failure: StoreCallFailedError) -> None:
        self.report.count("store/errors")
        # A lost connection is often the first that is seen of what the next call then names.
        known = str(failure) in self._failures_logged or len(self._failures_logged) >= MOST_SAID
        self._failures_logged.add(str(failure))
        logger.log(
            logging.DEBUG if known and not failure.refused else logging.ERROR,
            "The near-duplicate store %s failed: %s",
            redact_store(self._uri),
            failure,
        )
        closes = self.settings.on_error == "close" or failure.refused
        if closes and self._closing is None:
            # Not awaited: closing waits for the pages that wait for the store.
            self._closing = asyncio.get_running_loop().create_task(
                close_spider(self._crawler, STORE_ERROR)
            )


def _unjudged(identity: int, reason: Reason, detail: str) -> Verdict:
    return Verdict(decision=Decision.UNJUDGED, reason=reason, page_id=identity, detail=detail)
