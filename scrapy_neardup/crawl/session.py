"""The common state of both middlewares of a crawler, from before the first request to the end.

A page that can't be judged is delivered, with the reason in its verdict.

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

import asyncio
import gc
import logging
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final
from weakref import ref

from itemadapter import is_item
from scrapy import Request
from scrapy.spiders import SitemapSpider

from scrapy_neardup.bounded import BoundedDict
from scrapy_neardup.crawl import KEEP_KEY, VERDICT_KEY
from scrapy_neardup.crawl.actions import KEEP, KEEP_PENDING, Actions, Judged
from scrapy_neardup.crawl.batching import Batches
from scrapy_neardup.crawl.crawlsettings import CrawlSettings, job_of, make_store, store_uri
from scrapy_neardup.crawl.experiments.asking import Experiments
from scrapy_neardup.crawl.pagestate import Ending, Visit
from scrapy_neardup.crawl.pending import PendingPages
from scrapy_neardup.crawl.reading import Eligibility, Reader, unjudged
from scrapy_neardup.crawl.reporting import ProgressLine, Reporter
from scrapy_neardup.errors import StoreError
from scrapy_neardup.judge.analysis import Analyser, page_id
from scrapy_neardup.judge.detector import Detector
from scrapy_neardup.settings.catalogue import ACTIONS, DROP
from scrapy_neardup.urls import redact, redact_store
from scrapy_neardup.verdict import DUPLICATE, UNJUDGED, Reason, Verdict

if TYPE_CHECKING:
    from collections.abc import Callable

    from scrapy import Spider
    from scrapy.crawler import Crawler
    from scrapy.http import Response

    from scrapy_neardup.verdict import Page

logger = logging.getLogger(__name__)

REMEMBERED = 65_536
"""Maximum number of pages that are remembered as asked for again."""
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
        if self._uri.lower() != "memory:" or settings.base is not None:  # or it doesn't fail
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
        self._actions = Actions(settings)
        self.experiments = Experiments(
            crawler, settings, self._store, self.reporter,
            reader=self._reader, detector=self._detector,
        )  # fmt: skip
        self.sitemaps = Sitemaps(crawler.spider, keeps=settings.keep_sitemap)
        self._fingerprint = crawler.request_fingerprinter.fingerprint
        self.asked_again = AskedAgain(self._fingerprint)
        self._progress = ProgressLine(crawler, self._uri)
        self._eligibility: Eligibility | None = None
        self._batches = Batches()
        self._freezes = gc.get_freeze_count() <= FROZEN_BY_PYTHON  # or somebody else does
        # As a WeakKeyDictionary, whose methods are slower, being Python's.
        self._judged: dict[ref[Request], Judged] = {}
        self._forget = self._judged.pop

    async def open(self) -> None:
        """Open the store and the audit file; whatever it raises, the crawl can't start."""
        logger.info("Opening the near-duplicate store %s", redact_store(self._uri))
        if self.settings.audit is not None:
            with_text = self.settings.audit_text
            self.reporter.open_audit(self.settings.audit, self._uri, with_text=with_text)
        eligibility = Eligibility(self._crawler)  # marks what is scheduled meanwhile
        try:
            await self._store.open()
        except BaseException:
            self.reporter.close()
            raise
        parameters = self.settings.parameters
        key = parameters.hash_key or self._store.key
        self._reader.analyser = Analyser(replace(parameters, hash_key=key))
        self._detector.analyser = self._reader.analyser
        self._eligibility = eligibility
        self._progress.start()
        if self._freezes:
            # What exists by now, modules above all, stays; each full collection would go over it.
            gc.freeze()

    async def close(self) -> None:
        """End all pending pages and make the store durable."""
        if self._eligibility is None:
            return
        self._eligibility = None
        if self._freezes:
            gc.unfreeze()
        self._progress.stop()
        await self.experiments.close()
        await self.pending.close()
        try:
            await self._detector.close()
        except StoreError:
            pass  # it was counted and logged; what was learnt is learnt again
        except Exception as error:  # noqa: BLE001  (the store is to be closed, whatever it is)
            self.reporter.failed(None, error)
        try:
            await self._store.close()
        except StoreError as error:
            self.reporter.count("store/errors")
            logger.error("%s", error)  # noqa: TRY400
        self.reporter.close()

    def withdraw(self, response: Response) -> None:
        """Withdraw a page whose callback failed, or asks for it again."""
        judged = self.judged(response)
        if judged is not None and judged.pending is not None:
            self.pending.withdraw(judged.pending)
        self.experiments.withdrawn(response.request)

    def judged(self, response: Response) -> Judged | None:
        """Return the verdict and the action for `response`, if it was judged."""
        assert response.request is not None  # noqa: S101  (for the type checker)
        return self._judged.get(ref(response.request))

    async def judge(self, request: Request, response: Response) -> None:
        """Judge `response`, the response to `request`, if it is a page of the crawl.

        A page that repeats one that is still being processed waits for the end of it. If judging
        raises anything, the page is delivered, whether or not the store has added it.
        """
        if self._eligibility is None:
            return
        # Copied along with another response's meta, or left by an earlier try.
        earlier = request.meta.pop(VERDICT_KEY, None)
        if not self._eligibility.admits(request, response):
            return
        waited = await self._batches.turn()
        visit = Visit()
        try:
            visit.page_id = page_id(self._fingerprint(request))
            judged = await self._decide(visit, request, response, earlier)
        except Exception as error:  # noqa: BLE001  (see above)
            self.reporter.raised(response.url, error)
            verdict = unjudged(visit.page_id, Reason.ERROR, repr(error))
            judged = Judged(verdict=verdict, action=KEEP, pending=visit.pending)
        finally:
            visit.pass_on()
        request.meta[VERDICT_KEY] = judged.verdict
        self._judged[ref(request, self._forget)] = judged
        if waited:
            await asyncio.sleep(0)  # the others are judged before Scrapy goes on with this one

    async def _decide(
        self, visit: Visit, request: Request, response: Response, earlier: object
    ) -> Judged:
        """Judge a page until its verdict is final, and choose what to do about it."""
        page, content, root, seconds = self._reader.page(visit.page_id, request, response)
        if isinstance(page, Verdict):
            self.experiments.unjudged(request, response, page)
            return Judged(verdict=page, action=KEEP, content=content, seconds=seconds)
        visit.url = redact(response.url)
        verdict, action = await self._outcome(visit, request, page, earlier)
        if verdict.decision is not UNJUDGED:
            await self.experiments.read(request, response, page)
        self.pending.repeated(visit, verdict, action)
        verdict = self.experiments.named(request, verdict)
        action, case = await self.experiments.judged(
            request, response, page, verdict, action=action, root=root
        )
        if action == DROP and case is None:
            await self._actions.dropped(request, page.id)
        return Judged(
            verdict=verdict,
            action=action,
            pending=visit.pending,
            content=content,
            root=root if verdict.decision is DUPLICATE else None,
            priority=self._actions.priority(action, verdict),
            seconds=seconds,
            case=case,
        )

    async def _outcome(
        self, visit: Visit, request: Request, page: Page, earlier: object
    ) -> tuple[Verdict, str]:
        """Ask the store until a page's verdict is final; return it, and the action."""
        ending = Ending.GONE
        while ending is Ending.GONE:
            await self.pending.begin(visit)
            try:
                verdict = await self._detector.decide(page)
            except StoreError as error:
                verdict = unjudged(page.id, Reason(error.reason), str(error))
            except BaseException:
                self.pending.answered(visit, None)
                raise
            self.pending.answered(visit, verdict)
            action = self._actions.choose(request, verdict, earlier)
            ending = Ending.KEPT
            if verdict.match is not None and action in ACTIONS:
                ending = await self.pending.outcome(visit, verdict.match)
        if ending is Ending.LATE:
            self.reporter.late(verdict)
            action = KEEP_PENDING
        return verdict, action


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


class Sitemaps:
    """The mark on a `SitemapSpider`'s requests for pages that its sitemaps list.

    They are delivered like start requests, as the site names them itself
    (``NEARDUP_KEEP_SITEMAP``).
    """

    def __init__(self, spider: Spider | None, *, keeps: bool) -> None:
        reads = keeps and isinstance(spider, SitemapSpider)
        self._parse = getattr(spider, "_parse_sitemap", None) if reads else None

    def mark(self, request: Request, response: Response) -> None:
        """Mark `request` if `response` is the sitemap that lists its page."""
        if self._parse is None or response.request is None:
            return
        if response.request.callback == self._parse != request.callback:
            request.meta[KEEP_KEY] = True
