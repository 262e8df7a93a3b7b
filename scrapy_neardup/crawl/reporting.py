"""The reports of a crawl: stats, log lines, signals, the audit file.

URLs are shown without user name and password.
"""

from __future__ import annotations

import asyncio
import logging
import shlex
from typing import TYPE_CHECKING

from scrapy_neardup import signals
from scrapy_neardup.bounded import BoundedDict
from scrapy_neardup.crawl.actions import KEPT
from scrapy_neardup.crawl.patternwarnings import PatternWarnings
from scrapy_neardup.settings.catalogue import DROP, DROP_ITEMS, FLAG
from scrapy_neardup.urls import redact, redact_store
from scrapy_neardup.verdict import SEEN, UNJUDGED, Decision, Verdict

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from scrapy.crawler import Crawler
    from scrapy.http import Response

    from scrapy_neardup.crawl.audit import AuditFile
    from scrapy_neardup.crawl.pagestate import Visit
    from scrapy_neardup.judge.parameters import Parameters

logger = logging.getLogger(__name__)

SLOW_SECONDS = 1.0
"""Seconds from which the reading of a page is logged as slow."""

FIRST_PAGES = 20
"""Number of failed pages after which a crawl ends that has judged no page."""

REMEMBERED_LINKS = 100_000
"""Maximum number of links of dropped pages that are remembered; 20 MB."""

_ENDS = {DROP: "neardup/pages/dropped"} | {
    action: f"neardup/pages/{action.replace('keep', 'kept')}" for action in KEPT
}
_DECIDED = {decision: f"neardup/pages/{decision}" for decision in Decision}


class Reporter:
    """The reports of one crawl."""

    def __init__(self, crawler: Crawler) -> None:
        self._crawler = crawler
        self.log = logging.LoggerAdapter(logger, {"spider": crawler.spider})
        self._inc = crawler.stats.inc_value
        self._audit: AuditFile | None = None
        self._links: BoundedDict[int, None] = BoundedDict(REMEMBERED_LINKS)
        self._logged: set[object] = set()
        self._shows_all = "NEARDUP_AUDIT = 'audit.jsonl' would list them"
        self._patterns = PatternWarnings(
            crawler.spider, advises=crawler.settings.get("NEARDUP_PRESET") != "exact"
        )
        self._raised = self._inline = 0
        self._has_begun = self._has_judged = False

    def open_audit(self, path: str, *, with_text: bool) -> None:
        """Open the audit file at `path`."""
        from scrapy_neardup.crawl.audit import AuditFile  # noqa: PLC0415

        self._audit = AuditFile(path, with_text=with_text)
        self._shows_all = f"'scrapy-neardup report {shlex.quote(path)}' shows them"

    def begun(self, uri: str, parameters: Parameters) -> None:
        """Describe the crawl in the audit; `uri` is that of its store."""
        self._has_begun = True
        if self._audit is not None:
            from scrapy_neardup.crawl.audit import about_crawl  # noqa: PLC0415

            self.event("begun", **about_crawl(self._crawler, uri, parameters.schema()))

    def close(self) -> None:
        """Log the summary, and close the audit file."""
        if self._has_begun:
            self._patterns.sum_up(self._shows_all)
        if self._inline:
            self.log.log(
                logging.INFO if self._has_judged else logging.WARNING,
                "%d responses weren't judged, because their requests have no callback and weren't"
                " scheduled in this crawl: a callback has awaited them, a scheduler of the project"
                " has made them, or they were in JOBDIR before scrapy-neardup was enabled. If they"
                " are pages, name the callback of such requests",
                self._inline,
            )
        self._close_audit()

    def count(self, stat: str, number: int = 1) -> None:
        """Add to the stat ``neardup/STAT``."""
        self._inc(f"neardup/{stat}", number)

    def send(self, signal: object, **arguments: object) -> None:
        """Send a signal of the package, with the spider."""
        spider = self._crawler.spider
        self._crawler.signals.send_catch_log(signal=signal, spider=spider, **arguments)

    def write(self, line: Callable[[AuditFile], None]) -> None:
        """Write a line to the audit file, if there is one; if that fails, the audit ends."""
        if self._audit is None:
            return
        try:
            line(self._audit)
        except OSError as error:
            self.count("audit/errors")
            # No traceback: the error says what it is.
            self.log.log(
                logging.ERROR, "NEARDUP_AUDIT: can't write any more, the audit ends (%s)", error
            )
            self._close_audit()

    def event(self, event: str, **keys: object) -> None:
        """Write a line about something other than a page to the audit file."""
        self.write(lambda audit: audit.event(event, **keys))

    def experiment(
        self, kind: str, url: str, *, showed: str, followed: str = "", of: str = ""
    ) -> None:
        """Report an experiment: a URL requested because of another one, and the result."""
        pair = {"page": redact(url), "of": redact(of) or None}
        self.event("experiment", kind=kind, **pair, showed=showed, followed=followed)

    def page(self, response: Response, visit: Visit) -> None:
        """Report a page that reached the spider."""
        verdict = visit.verdict
        self._inc("neardup/pages/checked")
        if verdict.decision is UNJUDGED:
            self._inc(f"neardup/unjudged/{verdict.reason}")
        else:
            self._has_judged = True
            self._inc(_DECIDED[verdict.decision])
        if verdict.is_duplicate:
            if (match := verdict.match) is not None:
                self._inc(f"neardup/distance/{match.distance}")
                if match.decided is not None:
                    self._inc(f"neardup/rule/{match.decided.rule}")
            if visit.action in _ENDS:
                self._inc(_ENDS[visit.action])
        elif verdict.decision is SEEN and visit.action in {DROP, DROP_ITEMS}:
            self._inc("neardup/pages/unchanged")
        try:
            self._report(response, visit)
        except Exception as error:  # noqa: BLE001  (the page is delivered or dropped all the same)
            self.count("report/errors")
            self.failed(response.url, error)

    def inline(self) -> None:
        """Count a response that is taken for an inline download."""
        self._inline += 1
        self._inc("neardup/pages/inline")

    def failed(self, url: str | None, error: Exception) -> None:
        """Log an error that doesn't affect its page; at ERROR once for each type."""
        self.log.log(
            self._level(type(error), logging.ERROR),
            "A page couldn't be judged or reported, and is delivered nevertheless: %s. This is"
            " a bug in scrapy-neardup; further errors of this type are logged at level DEBUG",
            "the end of the crawl" if url is None else redact(url),
            exc_info=error,
        )

    def raised(self, url: str, error: Exception) -> None:
        """Log an error in judging a page; end the crawl if all of the first `FIRST_PAGES` failed.

        It doesn't wait until the spider is closed, which waits for the page that is being judged.
        """
        self.failed(url, error)
        self._raised += 1
        if self._raised == FIRST_PAGES and not self._has_judged:
            from scrapy_neardup.crawl.stopping import give_up  # noqa: PLC0415

            self._closing = asyncio.ensure_future(give_up(self._crawler, self._raised, error))

    def _report(self, response: Response, visit: Visit) -> None:
        """Log a page if it is unusual, and write it to the audit."""
        verdict = visit.verdict
        if visit.seconds > SLOW_SECONDS:
            self._slow(response, visit.seconds)
        difference = self._patterns.page(response.url, visit)
        links = self._duplicate(response, visit) if verdict.is_duplicate else None
        self.write(lambda audit: audit.verdict(redact(response.url), visit, links))
        if difference is not None and (match := verdict.match) is not None:
            of = {"of": match.url, "of_id": f"{match.page_id:016x}"}
            self.event("differ", **of, difference=difference)

    def learnt(self, site: str, kind: str, sentence: str) -> None:
        """Report what has been learnt of a site; see `scrapy_neardup.judge.detector.Learnt`."""
        self.count(f"learnt/{kind}")
        name = site.removeprefix("//")
        self.log.info("Learnt on %s: %s (%r in NEARDUP_LEARN)", name, sentence, kind)

    def skipped_notices(self, site: str, number: int) -> None:
        """Report notices of other crawlers that can't be read; in the log once."""
        if self._is_first("notices"):
            self.log.warning(
                "A notice from another crawler about %s can't be read and is skipped; further ones"
                " are counted in neardup/notices/unreadable",
                site.removeprefix("//"),
            )
        self.count("notices/unreadable", number)

    def late(self, verdict: Verdict) -> None:
        """Report a page that is delivered because the page it repeats wasn't processed in time."""
        if self._is_first("late"):
            self.log.warning(
                "A page is delivered although it %s: the callback of that page wasn't done"
                " within NEARDUP_PENDING_TIMEOUT, or failed and the store didn't withdraw the"
                " page; further cases are counted in neardup/pages/kept-pending",
                verdict.explain(),
            )

    def orphaned(self, url: str, page_id: int, count: int, pages: Sequence[str]) -> None:
        """Report a kept page that was withdrawn after `count` others were dropped for it."""
        self.count("pages/orphaned", count)
        self.log.warning(
            "%d near-duplicates of %s were dropped, but its own processing failed", count, url
        )
        of = {"of": url, "of_id": f"{page_id:016x}"}
        self.event("orphaned", **of, count=count, pages=list(pages))

    def _duplicate(self, response: Response, visit: Visit) -> int | None:
        """Report a near-duplicate; return the number of links withheld with it, if any."""
        verdict = visit.verdict
        links = None
        if visit.action in {DROP, FLAG}:
            # Links that no remembered dropped page had.
            links_of_page = map(hash, visit.links(response.url))
            fresh = [link for link in links_of_page if link not in self._links]
            self._links.update(dict.fromkeys(fresh))
            links = len(fresh)
            self.count("links/withheld", links)
        level = self._level("duplicate", logging.INFO)
        if self.log.isEnabledFor(level):
            url, why = redact(response.url), verdict.explain()
            if level == logging.INFO:
                why += f"; further ones are logged at level DEBUG; {self._shows_all}"
            self.log.log(level, "Near-duplicate page (%s): %s %s", visit.action, url, why)
        self.send(signals.near_duplicate, response=response, verdict=verdict)
        return links

    def _slow(self, response: Response, seconds: float) -> None:
        self.count("pages/slow")
        self.log.log(
            self._level("slow", logging.WARNING),
            "%s (%d bytes) took %.1f s to read; the crawl stood still meanwhile. If there "
            "are many such pages, name them in NEARDUP_DENY; they are counted in "
            "neardup/pages/slow",
            redact(response.url),
            len(response.body),
            seconds,
        )

    def _is_first(self, kind: object) -> bool:
        """Return whether no message of this kind was logged before."""
        is_first = kind not in self._logged
        self._logged.add(kind)
        return is_first

    def _level(self, kind: object, level: int) -> int:
        """Return the level for the first message of a kind, DEBUG for further ones."""
        return level if self._is_first(kind) else logging.DEBUG

    def _close_audit(self) -> None:
        if self._audit is not None:
            self._audit.close()
            self._audit = None


_COUNTED = ("checked", "duplicate", "dropped")
"""Stats ``neardup/pages/NAME`` in the line, of the last interval and of the whole crawl."""


class ProgressLine:
    """A log line every ``LOGSTATS_INTERVAL`` seconds."""

    def __init__(self, crawler: Crawler, uri: str) -> None:
        self._crawler = crawler
        self._store = redact_store(uri)
        self._interval = crawler.settings.getfloat("LOGSTATS_INTERVAL")
        self._before = [0, 0, 0]
        self._timer: asyncio.TimerHandle | None = None

    def start(self) -> None:
        """Start the timer, unless the interval is 0; needs a running event loop."""
        if self._interval:
            loop = asyncio.get_running_loop()
            self._timer = loop.call_later(self._interval, self._log)

    def stop(self) -> None:
        """Stop the timer."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _log(self) -> None:
        now = [self._stat(f"neardup/pages/{name}") for name in _COUNTED]
        last = [new - old for new, old in zip(now, self._before, strict=True)]
        self._before = now
        logger.info(
            "Near-duplicates: %s in the last %g s, %s in all; %d requests wait; store %s, "
            "%d errors",
            _share(*last),
            self._interval,
            _share(*now),
            max(self._stat("scheduler/enqueued") - self._stat("scheduler/dequeued"), 0),
            self._store,
            self._stat("neardup/store/errors"),
            extra={"spider": self._crawler.spider},
        )
        self.start()

    def _stat(self, name: str) -> int:
        return int(self._crawler.stats.get_value(name, 0))


def _share(checked: int, duplicate: int, dropped: int) -> str:
    percent = f"{duplicate / checked:.0%}" if checked else "none"
    return f"{duplicate:,} of {checked:,} pages ({percent}), {dropped:,} dropped"
