"""The experiments of one crawl, and the requests that it withholds because of them.

`refetch` tests what changes by itself, `links` whether links of dropped pages lead to new pages,
`urlclaims` and `skipping` which requests are needless, `probe` how a site answers nonsense URLs.
"""

from __future__ import annotations

import logging
import pickle
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from scrapy import signals
from scrapy.exceptions import DontCloseSpider
from scrapy.utils.job import job_dir

from scrapy_neardup.bounded import BoundedDict
from scrapy_neardup.crawl import VERDICT_KEY
from scrapy_neardup.crawl.experiments.ownrequests import OwnRequests, as_sent
from scrapy_neardup.crawl.experiments.refetch import Refetches
from scrapy_neardup.crawl.experiments.withheld import WithheldRequests, dumped, restored
from scrapy_neardup.settings.catalogue import DROP, DROP_ITEMS

if TYPE_CHECKING:
    from collections.abc import Iterable

    from scrapy import Request
    from scrapy.crawler import Crawler
    from scrapy.http import Response

    from scrapy_neardup.crawl.callbacks import Callbacks
    from scrapy_neardup.crawl.crawlsettings import CrawlSettings
    from scrapy_neardup.crawl.experiments.links import Links
    from scrapy_neardup.crawl.experiments.probe import Probe
    from scrapy_neardup.crawl.experiments.skipping import Skipping
    from scrapy_neardup.crawl.experiments.urlclaims import UrlClaims
    from scrapy_neardup.crawl.pagestate import Visit
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
        callbacks: Callbacks,
    ) -> None:
        self._crawler, self._reporter, self._callbacks = crawler, reporter, callbacks
        self._dropped: BoundedDict[int, Request] = BoundedDict(REMEMBERED)
        self._early: BoundedDict[int, None] = BoundedDict(REMEMBERED)
        """Records that weren't dropped; those that are dropped later are requested again."""
        folder = job_dir(crawler.settings)
        self._file = None if folder is None else Path(folder, _FILE)
        self._own = own = OwnRequests(crawler, settings.experiments)
        release = partial(self.release, stat="records/requested-again")
        refetches = Refetches(own, reporter, reader, detector, release)
        self._refetches = refetches
        self._parts: list[Refetches | Probe | UrlClaims | Links] = []
        given = settings.parameters
        if given.min_resemblance and {"changing", "records"}.intersection(given.learn):
            self._parts.append(refetches)  # else second responses show nothing
        self._urls: UrlClaims | None = None
        self.links: Links | None = None
        if settings.probe:
            from scrapy_neardup.crawl.experiments.probe import Probe  # noqa: PLC0415

            self._parts.append(Probe(crawler, own, reporter, reader=reader, detector=detector))
        self.skipping: Skipping | None = None
        """The claims about URLs, if they withhold requests."""
        if settings.withholds:
            from scrapy_neardup.crawl.experiments.skipping import Skipping  # noqa: PLC0415

            self._urls = self.skipping = Skipping(
                crawler, settings, store, reporter, detector,
                own=own, refetches=refetches, reader=reader, callbacks=callbacks,
            )  # fmt: skip
        elif settings.urls != "off":
            from scrapy_neardup.crawl.experiments.urlclaims import UrlClaims  # noqa: PLC0415

            self._urls = UrlClaims(crawler, settings, store, reporter, detector)
        asks = settings.links == "check" and settings.experiments
        if asks:
            from scrapy_neardup.crawl.experiments.links import Links  # noqa: PLC0415

            self.links = Links(crawler, reporter, own, self._urls, callbacks)
            self._parts.append(self.links)  # before its page is known to the claims about URLs
        if self._urls is not None:
            self._parts.append(self._urls)
        self._dropped_action = DROP if asks or settings.links == "withhold" else DROP_ITEMS
        both = {"urls": self._urls, "links": self.links}  # links use what claims know
        self._kept = {name: part for name, part in both.items() if part is not None}
        """The experiments that withhold requests, and whose state a resumed crawl needs."""
        self._unused: dict[str, Any] = {}
        """The saved state of experiments that an earlier run made and this one doesn't."""
        self._resume()
        crawler.signals.connect(self._idle, signals.spider_idle)

    async def judged(
        self, visit: Visit, request: Request, response: Response, page: Page | Verdict
    ) -> None:
        """Learn from the verdict on a page, and choose what happens to its links if it is dropped.

        `page` is the verdict if the response couldn't be judged.
        """
        verdict = visit.verdict
        if visit.action == DROP:
            # A copy, because the request itself is tied to its verdict and the page's tree.
            self._dropped[verdict.page_id] = as_sent(request, {VERDICT_KEY: verdict.page_id})
            visit.action = self._dropped_action
            if verdict.page_id in self._early:
                self.release([verdict.page_id], "records/requested-again")
        if verdict.released:
            self.release(verdict.released, "records/requested-again")
        for part in self._parts:
            await part.judged(visit, request, response, page)

    def release(self, pages: Iterable[int], stat: str) -> None:
        """Request dropped pages again, and count them: records, or pages that may yield items."""
        assert self._crawler.engine is not None  # noqa: S101  (for the type checker)
        for page_id in pages:
            if (request := self._dropped.pop(page_id, None)) is not None:
                self._early.pop(page_id, None)
                self._crawler.engine.crawl(request)
                self._reporter.count(stat)
            else:
                self._early[page_id] = None

    def withdrawn(self, request: Request | None) -> None:
        """Note that the callback of a page failed, or requests it again."""
        if self._urls is not None and request is not None:
            self._urls.withdrawn(request)

    def handles(self, response: Response) -> None:
        """Note an error or a redirection that a callback gets, because its spider handles it."""
        passing = map(int, self._crawler.settings.getlist("RETRY_HTTP_CODES"))
        if self._urls is not None and response.request and response.status not in passing:
            self._urls.unread(response.request)

    def _idle(self) -> None:
        """Make the requests that are needed before the crawl ends."""
        made = [self._refetches.idle(), *[each.idle() for each in self._kept.values()]]
        for state in self._unused.values():
            withheld = WithheldRequests[Any](self._crawler)
            withheld.restore(state["withheld"])
            made.append(withheld.make([*withheld]) > 0)
        self._unused.clear()
        if any(made):
            raise DontCloseSpider

    async def close(self) -> None:
        """End what is under way, report the claims, and keep them for a resumed crawl."""
        await self._own.close()
        for part in self._kept.values():
            await part.close()
        if self._file is None:
            return
        states = self._unused | {name: part.state for name, part in self._kept.items()}
        states["callbacks"] = self._callbacks.state
        states["dropped"] = dumped(self._dropped.items(), self._crawler.spider)
        try:
            written = self._file.with_suffix(".part")
            written.write_bytes(pickle.dumps(states))
            written.replace(self._file)
        except Exception as error:  # noqa: BLE001  (whatever pickle raises)
            logger.warning("Claims can't be kept for a resumed crawl: %r", error)

    def _resume(self) -> None:
        """Read what `close` has written."""
        if self._file is None or not self._file.exists():
            return
        try:
            # The file is as trustworthy as Scrapy's own queues beside it.
            states = pickle.loads(self._file.read_bytes())  # noqa: S301
            self._callbacks.state = states.pop("callbacks")
            self._dropped.update(restored(states.pop("dropped"), self._crawler.spider))
            for name, part in self._kept.items():
                if name in states:
                    part.restore(states.pop(name))
            self._unused = states
        except Exception as error:  # noqa: BLE001  (cut off, or of another version)
            logger.warning("%s can't be read, and is ignored: %r", self._file, error)
