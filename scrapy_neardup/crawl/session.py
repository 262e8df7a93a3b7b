"""One crawl's detector: opened before the first request, asked once a page.

Rule of this module: a session belongs to one crawler and is shared by both middlewares.
A page that can't be judged is delivered, with the reason in its verdict; only a page
judged new has something to end (`ledger.py`).
"""

from __future__ import annotations

import logging
from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary

from scrapy_neardup.analysis import Analyser, page_id
from scrapy_neardup.crawl.about import about_crawl
from scrapy_neardup.crawl.actions import KEEP, KEEP_PENDING, Actions, Judged
from scrapy_neardup.crawl.asking import AskedAgain
from scrapy_neardup.crawl.budget import PatternBudget
from scrapy_neardup.crawl.eligibility import Eligibility
from scrapy_neardup.crawl.guard import Faults, StoreCallFailedError
from scrapy_neardup.crawl.journal import Journal
from scrapy_neardup.crawl.ledger import Ledger
from scrapy_neardup.crawl.metakeys import VERDICT_KEY
from scrapy_neardup.crawl.opening import job_of, make_store, store_uri
from scrapy_neardup.crawl.probe import Probe
from scrapy_neardup.crawl.progress import ProgressLine
from scrapy_neardup.crawl.reading import Reader, unjudged
from scrapy_neardup.crawl.settings import CrawlSettings
from scrapy_neardup.crawl.sitemaps import Sitemaps
from scrapy_neardup.crawl.urlrules import UrlRules
from scrapy_neardup.crawl.waiting import Ending, Visit
from scrapy_neardup.detector import Detector
from scrapy_neardup.errors import NeardupError, StoreError
from scrapy_neardup.options import DROP
from scrapy_neardup.urls import redact, redact_store
from scrapy_neardup.verdict import Page, Reason, Verdict

if TYPE_CHECKING:
    from scrapy import Request
    from scrapy.crawler import Crawler
    from scrapy.http import Response

logger = logging.getLogger(__name__)


class Session:
    """What the two middlewares of one crawler share.

    Parameters
    ----------
    crawler
        Whose pages are judged.
    settings
        Its settings, checked; `NeardupError` for what only now turns out to be unusable.
    """

    def __init__(self, crawler: Crawler, settings: CrawlSettings) -> None:
        self._crawler = crawler
        self.settings = settings
        self.journal = Journal(crawler)
        self._uri = store_uri(crawler, settings)
        self._faults = Faults(crawler, self.journal, self._uri, settings.on_error)
        self._store = make_store(crawler, settings, self._faults.failed)
        job = job_of(crawler, self._uri)
        self.url_rules: UrlRules | None = None
        if settings.urls != "off":
            self.url_rules = UrlRules(crawler, settings, self._store, self.journal, job)
        self.ledger = Ledger(self._store, self.journal, patience=settings.pending_timeout)
        self._reader = Reader(Analyser(settings.parameters), settings)
        self.pattern_budget = PatternBudget(settings, self.journal)
        self._detector = Detector(
            self._reader.analyser,
            self._store,
            on_learnt=self.journal.learnt,
            job=job,
        )
        self._actions = Actions(settings)
        self._is_keyed = False
        self._probe: Probe | None = None
        if settings.probe:
            self._probe = Probe(crawler, self._reader, self._detector, self._store)
        self.sitemaps = Sitemaps(crawler.spider, keeps=settings.keep_sitemap)
        self._fingerprint = crawler.request_fingerprinter.fingerprint
        self.asked_again = AskedAgain(self._fingerprint)
        self._progress = ProgressLine(crawler, self._uri)
        self._eligibility: Eligibility | None = None
        self._judged: WeakKeyDictionary[Request, Judged] = WeakKeyDictionary()

    async def open(self) -> None:
        """Open the store and the audit file; raise `NeardupError` if the crawl can't start."""
        logger.info("Opening the near-duplicate store %s", redact_store(self._uri))
        if self.settings.audit is not None:
            self.journal.open_audit(self.settings.audit, about_crawl(self._crawler, self._uri))
        eligibility = Eligibility(self._crawler)  # marks what is scheduled meanwhile
        try:
            await self._store.open()
            self._use_key()
        except NeardupError as error:
            if not self._faults.lets_start(error):
                self.journal.close()
                raise
        self._eligibility = eligibility
        self._progress.start()

    async def close(self) -> None:
        """End all pending pages and make the store durable."""
        if self._eligibility is None:
            return
        self._eligibility = None
        self._progress.stop()
        if self._probe is not None:
            await self._probe.close()
        await self.ledger.close()
        try:
            await self._detector.close()
        except StoreError:
            pass  # it was counted and logged; what was learnt is learnt again
        except Exception as error:  # noqa: BLE001  (the store is to be closed, whatever it is)
            self.journal.failed(None, error)
        if self.url_rules is not None:
            await self.url_rules.close()
        try:
            await self._store.close()
        except StoreError as error:
            self.journal.count("store/errors")
            logger.error("%s", error)  # noqa: TRY400
        self.journal.close()

    def withdraw(self, response: Response) -> None:
        """Withdraw a page whose callback failed, or asks for it again."""
        self.ledger.withdraw(self.judged(response))
        if self.url_rules is not None and response.request is not None:
            self.url_rules.withdrawn(response.request)

    def judged(self, response: Response) -> Judged | None:
        """Return what was decided about `response`, if it was judged."""
        assert response.request is not None  # noqa: S101  (for the type checker)
        return self._judged.get(response.request)

    async def judge(self, request: Request, response: Response) -> None:
        """Judge `response`, the response to `request`, if it is a page of the crawl.

        A page that repeats one whose processing isn't over waits for the end of it. One whose
        judging raises anything is delivered, whether or not the store has taken it.
        """
        if self._eligibility is None:
            return
        # Copied along with another response's meta, or left by an earlier try.
        earlier = request.meta.pop(VERDICT_KEY, None)
        if not self._eligibility.admits(request, response):
            return
        visit = Visit()
        try:
            visit.page_id = page_id(self._fingerprint(request))
            judged = await self._decide(visit, request, response, earlier)
        except Exception as error:  # noqa: BLE001  (see above)
            self.journal.failed(response, error)
            verdict = unjudged(visit.page_id, Reason.ERROR, repr(error))
            judged = Judged(verdict=verdict, action=KEEP, entry=visit.entry)
        finally:
            visit.pass_on()
        request.meta[VERDICT_KEY] = judged.verdict
        self._judged[request] = judged

    def _use_key(self) -> None:
        """Hash pages with the key of the store from now on."""
        parameters = self.settings.parameters
        key = parameters.hash_key or self._store.key
        self._reader.analyser = Analyser(replace(parameters, hash_key=key))
        self._detector.analyser = self._reader.analyser
        self._is_keyed = True

    async def _decide(
        self, visit: Visit, request: Request, response: Response, earlier: object
    ) -> Judged:
        """Judge a page until its verdict is final, and choose what to do about it."""
        if not self._is_keyed:
            with suppress(StoreCallFailedError):  # or else it is said when the store is asked
                await self._store.ready()
                self._use_key()
        page, said, words, seconds = self._reader.page(visit.page_id, request, response)
        if isinstance(page, Verdict):
            return Judged(verdict=page, action=KEEP, said=said, seconds=seconds)
        visit.url = redact(response.url)
        ending = Ending.GONE
        while ending is Ending.GONE:
            await self.ledger.begin(visit)
            try:
                verdict = await self._detector.decide(page)
            except StoreCallFailedError as error:
                verdict = unjudged(page.id, error.reason, str(error))
            except BaseException:
                self.ledger.answered(visit, None)
                raise
            self.ledger.answered(visit, verdict)
            action = self._actions.choose(request, verdict, earlier)
            ending = await self.ledger.outcome(visit, verdict, action)
        if ending is Ending.LATE:
            self.journal.late(verdict)
            action = KEEP_PENDING
        if verdict.is_duplicate:
            self.ledger.repeated(visit, verdict, action)
        if self._probe is not None:
            self._probe.met(request)
            verdict = self._probe.named(verdict)
        if action == DROP:
            await self._actions.dropped(request, page.id)
        await self._learn_addresses(request, response, page, words, verdict)
        return Judged(
            verdict=verdict,
            action=action,
            entry=visit.entry,
            said=said,
            priority=self._actions.priority(action, verdict),
            seconds=seconds,
        )

    async def _learn_addresses(
        self, request: Request, response: Response, page: Page, words: int, verdict: Verdict
    ) -> None:
        """Learn which addresses lead to what is known; what that raises changes no verdict."""
        if self.url_rules is None:
            return
        try:
            await self.url_rules.judged(request, verdict, words, short=page.exact)
            self.pattern_budget.judged(request, page, repeats=verdict.is_duplicate)
        except Exception as error:  # noqa: BLE001  (see above)
            self.journal.failed(response, error)
