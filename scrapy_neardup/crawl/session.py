"""The common state of both middlewares of a crawler, from before the first request to the end.

A page that can't be judged is delivered, with the reason in its verdict.
"""

from __future__ import annotations

import asyncio
import gc
import logging
from dataclasses import replace
from time import thread_time
from typing import TYPE_CHECKING, Final
from weakref import ref

from scrapy import signals

from scrapy_neardup.crawl import VERDICT_KEY
from scrapy_neardup.crawl.actions import KEEP_PENDING, KEEP_TEST, Actions
from scrapy_neardup.crawl.crawlsettings import CrawlSettings, job_of, make_store, store_uri
from scrapy_neardup.crawl.experiments.asking import Experiments
from scrapy_neardup.crawl.output import Output, Processing
from scrapy_neardup.crawl.pagestate import Ending, Visit
from scrapy_neardup.crawl.pending import PendingPages
from scrapy_neardup.crawl.reading import Reader, is_page, mark, unjudged
from scrapy_neardup.crawl.reporting import ProgressLine, Reporter
from scrapy_neardup.errors import StoreError
from scrapy_neardup.judge.analysis import Analyser, page_id
from scrapy_neardup.judge.detector import Detector
from scrapy_neardup.settings.catalogue import ACTIONS, DROP
from scrapy_neardup.urls import redact, redact_store
from scrapy_neardup.verdict import DUPLICATE, UNJUDGED, Reason, Verdict

if TYPE_CHECKING:
    from scrapy import Request
    from scrapy.crawler import Crawler
    from scrapy.http import Response

    from scrapy_neardup.verdict import Match, Page

logger = logging.getLogger(__name__)

FROZEN_BY_PYTHON: Final = gc.get_freeze_count()
"""Number of objects that Python itself leaves out of garbage collection: some 400 in 3.12."""


class Session:
    """The parts of the plugin in one crawl, and the way of a page through them.

    Raises a `NeardupError` if a setting turns out to be unusable.
    """

    def __init__(self, crawler: Crawler, settings: CrawlSettings) -> None:
        self._crawler = crawler
        self.settings = settings
        self.reporter = Reporter(crawler)
        self._uri = store_uri(crawler, settings)
        self._store = make_store(crawler, settings)
        if self._uri.lower() != "memory:" or settings.base is not None:  # else it can't fail
            from scrapy_neardup.crawl.guard import CrawlStore  # noqa: PLC0415

            self._store = CrawlStore(crawler, self.reporter, self._store, self._uri, settings)
        job = job_of(crawler, self._uri)
        self.pending = PendingPages(self._store, self.reporter, patience=settings.pending_timeout)
        self._reader = Reader(Analyser(settings.parameters), settings)
        self._detector = Detector(
            self._reader.analyser,
            self._store,
            on_learnt=self.reporter.learnt,
            on_skipped=self.reporter.skipped_notices,
            job=job,
            prefers_canonical=settings.prefer == "canonical",
        )
        self._actions = Actions(settings, crawler.spider)
        self.experiments = Experiments(
            crawler, settings, self._store, self.reporter,
            reader=self._reader, detector=self._detector, callbacks=self._actions.callbacks,
        )  # fmt: skip
        self.processing = Processing(
            crawler, self.reporter, self.pending, self.experiments,
            callbacks=self._actions.callbacks, keeps_sitemap=settings.keep_sitemap,
        )  # fmt: skip
        self._fingerprint = crawler.request_fingerprinter.fingerprint
        self._progress = ProgressLine(crawler, self._uri)
        self._is_open = False
        self._batches = Batches()
        self._freezes = gc.get_freeze_count() <= FROZEN_BY_PYTHON  # else other code freezes
        # Like a WeakKeyDictionary, whose methods are slower because they are written in Python.
        self._visits: dict[ref[Request], Visit] = {}
        self._forget = self._visits.pop

    async def open(self) -> None:
        """Open the store and the audit file; if this raises anything, the crawl can't start."""
        logger.info("Opening the near-duplicate store %s", redact_store(self._uri))
        if self.settings.audit is not None:
            with_text = self.settings.audit_text
            self.reporter.open_audit(self.settings.audit, with_text=with_text)
        self._crawler.signals.connect(self._scheduled, signals.request_scheduled)
        try:
            await self._store.open()
        except BaseException:
            self.reporter.close()
            raise
        parameters = self.settings.parameters
        key = parameters.hash_key or self._store.key
        self._reader.analyser = Analyser(replace(parameters, hash_key=key))
        self._detector.analyser = self._reader.analyser
        self.reporter.begun(self._uri, self._reader.analyser.parameters)
        self._is_open = True
        self._progress.start()
        if self._freezes:
            # The objects that exist now, mostly modules, stay; full collections would scan them.
            gc.freeze()

    def _scheduled(self, request: Request, **_: object) -> None:
        # Called for each link of a page. A handler that takes any arguments is called faster.
        mark(request)
        if self.experiments.links is not None:
            self.experiments.links.scheduled(request)

    async def close(self) -> None:
        """End all pending pages and make the store durable."""
        self._is_open = False
        if self._freezes:
            gc.unfreeze()
        self._progress.stop()
        for part in (self.experiments, self.pending, self._detector):
            try:
                await part.close()
            except StoreError:
                pass  # it was counted and logged; the next run learns again
            except Exception as error:  # noqa: BLE001  (the store is to be closed, whatever it is)
                self.reporter.failed(None, error)
        try:
            await self._store.close()
        except StoreError as error:
            self.reporter.count("store/errors")
            logger.error("%s", error)  # noqa: TRY400
        self.reporter.close()

    def output(self, response: Response) -> Output:
        """Return the filter of what the callback or errback of a page yields."""
        return Output(self.processing, self.judged(response), response)

    def withdraw(self, response: Response) -> None:
        """Withdraw a page whose callback failed."""
        self.processing.withdraw(self.judged(response), response)

    def judged(self, response: Response) -> Visit | None:
        """Return the page that `response` is, with its verdict and action, if it was judged."""
        assert response.request is not None  # noqa: S101  (for the type checker)
        return self._visits.get(ref(response.request))

    async def judge(self, request: Request, response: Response) -> None:
        """Judge `response`, the response to `request`, if it is a page of the crawl.

        A page that repeats a page that is still being processed waits for that page's end. If
        judging raises anything, the page is delivered, whether or not the store has added it.
        """
        if not self._is_open:
            return
        # Copied with another response's meta, or left by an earlier try.
        earlier = request.meta.pop(VERDICT_KEY, None)
        if not (is_known := is_page(request, response)):
            if is_known is None:
                self.reporter.inline()
            return
        waited = await self._batches.turn()
        visit = judged = Visit()
        try:
            visit.page_id = page_id(self._fingerprint(request))
            await self._decide(visit, request, response, earlier)
        except Exception as error:  # noqa: BLE001  (see above)
            self.reporter.raised(response.url, error)
            verdict = unjudged(visit.page_id, Reason.ERROR, repr(error))
            judged = Visit(
                visit.page_id, verdict=verdict, pending=visit.pending, delivery=visit.delivery
            )
        finally:
            visit.pass_on()
        request.meta[VERDICT_KEY] = judged.verdict
        self._visits[ref(request, self._forget)] = judged
        if waited:
            await asyncio.sleep(0)  # the others are judged before Scrapy continues

    async def _decide(
        self, visit: Visit, request: Request, response: Response, earlier: object
    ) -> None:
        """Judge a page until its verdict is final, and choose what to do about it."""
        page = self._reader.page(visit, request, response)
        if isinstance(page, Verdict):
            visit.verdict = page
        else:
            visit.url = redact(response.url)
            await self._outcome(visit, request, page, earlier)
            self.pending.repeated(visit)
        await self.experiments.judged(visit, request, response, page)
        if visit.is_dropped:
            await self._actions.dropped(request, visit.page_id)
        visit.priority = self._actions.priority(visit.action, visit.verdict)
        if visit.verdict.decision is not DUPLICATE:
            visit.root = None

    async def _outcome(self, visit: Visit, request: Request, page: Page, earlier: object) -> None:
        """Call the store until a page's verdict is final, and choose the action."""
        ending = Ending.GONE
        while ending is Ending.GONE:
            await self.pending.begin(visit)
            try:
                is_known = self._actions.callbacks.have_met(page.id)
                verdict = await self._detector.decide(page, renews=not is_known)
            except StoreError as error:
                verdict = unjudged(page.id, Reason(error.reason), str(error))
            except BaseException:
                self.pending.answered(visit, None)
                raise
            self.pending.answered(visit, verdict)
            visit.verdict = verdict
            visit.action = self._actions.choose(request, verdict, earlier)
            ending = Ending.KEPT
            if verdict.match is not None and visit.action in ACTIONS:
                ending = await self._end_of_others(visit, request, verdict.match)
        if ending is Ending.LATE:
            self.reporter.late(visit.verdict)
            visit.action = KEEP_PENDING
        elif visit.action == DROP and self._actions.callbacks.is_tested(request, visit.verdict):
            visit.action = KEEP_TEST  # the callback of the other page is done
        if visit.verdict.decision is not UNJUDGED:
            delivery = self._actions.callbacks.delivery(request, visit.verdict)
            is_first = self._actions.callbacks.see(delivery, visit.verdict.decision)
            if visit.action != DROP:
                self.pending.deliver(visit, delivery, is_first=is_first)

    async def _end_of_others(self, visit: Visit, request: Request, match: Match) -> Ending:
        """Wait until the page that a near-duplicate repeats is done, for its callback, too.

        Another callback may have got that page, and this one a page like it.
        """
        callbacks = self._actions.callbacks
        delivery = callbacks.delivery(request, visit.verdict)
        ending = await self.pending.outcome(visit, match)
        if ending is Ending.KEPT:
            ending = await self.pending.delivered(visit, delivery)
        # It may have failed while the page waited for the other callback.
        has_failed = ending is Ending.KEPT and not callbacks.has_seen(delivery)
        return Ending.GONE if has_failed else ending


MAX_BATCH, MIN_BATCH = 32, 8
"""Maximum number of pages of a batch, and the minimum for which it pays."""

PAUSE = 32
"""Number of pages that don't wait after a batch of fewer than `MIN_BATCH`."""

TICK_SECONDS = 0.002
"""Seconds after which it is decided again whether a batch continues."""

BUSY = 0.5
"""Share of this time above which the processor counts as busy."""

MAX_SECONDS = 0.5
"""Maximum seconds that a page waits for others: another crawl, or an extension of the project, may
keep the processor busy for hours."""


class Batches:
    """The pages of a crawl that wait for each other while the processor is busy.

    Between the crawl's other work, judging a page takes about twice as long as in a loop over
    pages, because the processor's caches hold other code and data. So pages that arrive while the
    processor is busy wait for each other, up to `MAX_BATCH` and `MAX_SECONDS`; a batch ends as
    soon as the processor isn't busy. If a crawl waits for the network, a page that waits would
    delay the next request. Then batches are small, and after a small one pages don't wait for a
    while.
    """

    def __init__(self) -> None:
        self._ready = asyncio.Event()
        self._size = 0
        self._pause = 0

    async def turn(self) -> bool:
        """Wait while the processor is busy; return whether the page waited for others."""
        if self._pause:
            self._pause -= 1
            return False
        ready = self._ready
        if not self._size:
            self._time(ready, asyncio.get_running_loop().time() + MAX_SECONDS)
        self._size += 1
        if self._size == MAX_BATCH:
            self._end()
        await ready.wait()
        return True

    def _time(self, ready: asyncio.Event, until: float) -> None:
        loop = asyncio.get_running_loop()
        loop.call_later(TICK_SECONDS, self._go_on, ready, until, loop.time(), thread_time())

    def _go_on(self, ready: asyncio.Event, until: float, started: float, used: float) -> None:
        if ready.is_set():
            return
        now = asyncio.get_running_loop().time()
        if thread_time() - used > BUSY * (now - started) and now < until:
            self._time(ready, until)
            return
        if self._size < MIN_BATCH:
            self._pause = PAUSE
        self._end()

    def _end(self) -> None:
        ready, self._ready, self._size = self._ready, asyncio.Event(), 0
        ready.set()
