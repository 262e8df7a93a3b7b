"""The experiments of one crawl, and all that it withholds until they have shown something.

`refetch` asks what changes by itself, `links` whether the links of dropped pages lead to anything,
`requests` whether a request is needless, `probe` what a site answers to nonsense.
"""

from __future__ import annotations

import logging
import pickle
from pathlib import Path
from typing import TYPE_CHECKING, Final

from scrapy import signals
from scrapy.exceptions import DontCloseSpider
from scrapy.utils.job import job_dir

from scrapy_neardup.bounded import BoundedDict
from scrapy_neardup.crawl import VERDICT_KEY
from scrapy_neardup.crawl.experiments.budget import Budget
from scrapy_neardup.crawl.experiments.refetch import Refetches
from scrapy_neardup.settings.catalogue import DROP, DROP_ITEMS

if TYPE_CHECKING:
    from collections.abc import Iterable

    from lxml.html import HtmlElement
    from scrapy import Request
    from scrapy.crawler import Crawler
    from scrapy.http import Response

    from scrapy_neardup.crawl.actions import Case
    from scrapy_neardup.crawl.crawlsettings import CrawlSettings
    from scrapy_neardup.crawl.experiments.links import Links
    from scrapy_neardup.crawl.experiments.probe import Probe
    from scrapy_neardup.crawl.experiments.requests import UrlClaims
    from scrapy_neardup.crawl.reading import Reader
    from scrapy_neardup.crawl.reporting import Reporter
    from scrapy_neardup.judge.detector import Detector
    from scrapy_neardup.stores import Store
    from scrapy_neardup.verdict import Page, Verdict

logger = logging.getLogger(__name__)

REMEMBERED: Final = 4_096
"""Maximum number of dropped pages that can be requested again."""

_FILE: Final = "neardup.claims"
"""File in ``JOBDIR`` with the claims, and the requests that are withheld under them."""


class Experiments:
    """The experiments of one crawl."""

    def __init__(
        self,
        crawler: Crawler,
        settings: CrawlSettings,
        store: Store,
        reporter: Reporter,
        *,
        reader: Reader,
        detector: Detector,
    ) -> None:
        self._crawler = crawler
        self._reporter = reporter
        self._dropped: BoundedDict[int, Request] = BoundedDict(REMEMBERED)
        self.urls: UrlClaims | None = None
        self.links: Links | None = None
        self._probe: Probe | None = None
        budget = Budget(crawler, settings.experiments)
        self._refetches = Refetches(crawler, reporter, reader, detector, budget)
        if settings.urls != "off" or settings.pattern_budget:
            from scrapy_neardup.crawl.experiments.requests import UrlClaims  # noqa: PLC0415

            self.urls = UrlClaims(crawler, settings, store, reporter, detector)
        follows = settings.links == "follow" or (
            settings.links == "check" and not settings.experiments
        )
        self._dropped_action = DROP_ITEMS if follows else DROP
        if settings.links == "check" and settings.experiments:
            from scrapy_neardup.crawl.experiments.links import Links  # noqa: PLC0415

            self.links = Links(crawler, reporter, budget, self.urls)
        if settings.probe:
            from scrapy_neardup.crawl.experiments.probe import Probe  # noqa: PLC0415

            self._probe = Probe(crawler, reporter, reader, detector, store)
        folder = job_dir(crawler.settings)
        self._file = None if folder is None else Path(folder, _FILE)
        self._resume()
        crawler.signals.connect(self._idle, signals.spider_idle)

    def is_withheld_now(self, request: Request) -> bool:
        """Whether a scheduled request needn't be made any more."""
        return self.urls is not None and self.urls.is_withheld_now(request)

    async def read(self, request: Request, response: Response, page: Page) -> None:
        """Ask for a page a second time, if that is due."""
        await self._refetches.judged(request, response, page)

    def named(self, request: Request, verdict: Verdict) -> Verdict:
        """Return the verdict on a page, by the name of the probe that it is like, if it is."""
        if self._probe is None:
            return verdict
        self._probe.met(request)
        return self._probe.named(verdict)

    async def judged(
        self,
        request: Request,
        response: Response,
        page: Page,
        verdict: Verdict,
        *,
        action: str,
        root: HtmlElement | None,
    ) -> tuple[str, Case | None]:
        """Learn from a verdict; return the action, and the case that a dropped page is, if any."""
        if action == DROP:
            # A copy: what was judged of the request itself goes with it, the page's tree, too.
            meta = request.meta | {VERDICT_KEY: verdict.page_id}
            self._dropped[verdict.page_id] = request.replace(dont_filter=True, meta=meta)
        if verdict.released:
            self._release(verdict.released)
        if self.urls is not None:
            await self.urls.judged(request.url, page, verdict)
        if self.links is None:
            return (self._dropped_action if action == DROP else action), None
        return action, self.links.judged(
            request, response, verdict, root if action == DROP else None
        )

    def _release(self, pages: Iterable[int]) -> None:
        """Request dropped pages again, as they turn out to be records (`site.records`)."""
        assert self._crawler.engine is not None  # noqa: S101  (for the type checker)
        for page_id in pages:
            if (request := self._dropped.pop(page_id, None)) is not None:
                self._crawler.engine.crawl(request)
                self._reporter.count("records/requested-again")

    def unjudged(self, request: Request, response: Response, verdict: Verdict) -> None:
        """Note a page that can't be judged, and is delivered."""
        if self.links is not None:
            self.links.judged(request, response, verdict, None)

    def withdrawn(self, request: Request | None) -> None:
        """Note that the callback of a page failed, or asks for it again."""
        if self.urls is not None and request is not None:
            self.urls.withdrawn(request)

    def _idle(self) -> None:
        """Make the requests that are needed before the crawl ends."""
        made = [each.idle() for each in (self.links, self.urls) if each is not None]
        if any(made):
            raise DontCloseSpider

    async def close(self) -> None:
        """End what is under way, report the claims, and keep them for a resumed crawl."""
        await self._refetches.close()
        if self._probe is not None:
            await self._probe.close()
        if self.urls is not None:
            await self.urls.close()
        if self.links is not None:
            self.links.close()
        if self._file is None:
            return
        parts = {"urls": self.urls, "links": self.links}
        states = {name: part.state for name, part in parts.items() if part}
        try:
            self._file.write_bytes(pickle.dumps(states))
        except (OSError, pickle.PicklingError) as error:
            logger.warning("Claims can't be kept for a resumed crawl: %s", error)

    def _resume(self) -> None:
        """Read what `close` has written."""
        if self._file is None or not self._file.exists():
            return
        try:
            # As Scrapy's own queues beside it, the file is the user's.
            states = pickle.loads(self._file.read_bytes())  # noqa: S301
            for name, part in (("urls", self.urls), ("links", self.links)):
                if part is not None and name in states:
                    part.restore(states[name], self._crawler.spider)
        except Exception as error:  # noqa: BLE001  (cut off, or of another version)
            logger.warning("%s can't be read, and is ignored: %r", self._file, error)
