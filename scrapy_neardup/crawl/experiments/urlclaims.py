"""The claims about URLs of a crawl, learnt from its verdicts; they are in `scrapy_neardup.claims`.

`skipping` makes and withholds requests under them.
"""

from __future__ import annotations

import secrets
from collections.abc import Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, ClassVar, Final, NamedTuple

from scrapy_neardup.claims.claimbook import ALL, TOPIC, Key, patterns
from scrapy_neardup.claims.host import Host, Hosts, Known
from scrapy_neardup.claims.urlparts import VALUE_BITS, Parts
from scrapy_neardup.crawl.actions import KEEP_CALLBACK
from scrapy_neardup.crawl.experiments import reports
from scrapy_neardup.crawl.experiments.ownrequests import CACHED
from scrapy_neardup.crawl.experiments.withheld import Withholding
from scrapy_neardup.errors import StoreError
from scrapy_neardup.judge.analysis import AnalysedPage
from scrapy_neardup.judge.comparison import Refusal
from scrapy_neardup.verdict import Decision, Reason

if TYPE_CHECKING:
    from scrapy import Request
    from scrapy.crawler import Crawler
    from scrapy.http import Response

    from scrapy_neardup.claims.claim import Change
    from scrapy_neardup.crawl.crawlsettings import CrawlSettings
    from scrapy_neardup.crawl.experiments.novelties import Novelties
    from scrapy_neardup.crawl.pagestate import Visit
    from scrapy_neardup.crawl.reporting import Reporter
    from scrapy_neardup.judge.detector import Detector
    from scrapy_neardup.stores import Store
    from scrapy_neardup.verdict import Page, Verdict

_SAYS: Final = {Decision.NEW, Decision.DUPLICATE}
_UNREAD: Final = {Reason.NOT_HTML, Reason.UNPARSABLE, Reason.TOO_COMPLEX, Reason.TEXT_ERROR}
"""Reasons with which a page may be any other than the known one."""

LESSON: Final = 64
"""Number of pages from which claims learn at once if they withhold nothing. Many at once take a
third of the time, because the processor's caches are warm."""

_EXCHANGED: Final = 128
"""Number of judged pages of a host after which crawlers exchange what they have learnt."""


class ShownAnyway(NamedTuple):
    """The known content behind a page that was judged new."""

    content: int
    is_evidence: bool
    """Whether a control has shown that it does."""


class Judged(NamedTuple):
    """A page to learn from."""

    parts: Parts
    page: Page | Verdict
    verdict: Verdict
    source: tuple[Request, Response] | None
    """None if no request may be made because of it."""

    @property
    def content(self) -> int:
        """The 24-bit number of its content: that of the page that it repeats, or its own."""
        match = self.verdict.match
        return (self.verdict.page_id if match is None else match.page_id) % (1 << VALUE_BITS)

    @property
    def shown(self) -> ShownAnyway | None:
        """The known content that the page may show a moment later, or None."""
        nearest = self.verdict.nearest
        may_be_one = nearest and nearest.decided and nearest.decided.rule == Refusal.CHANGING
        return ShownAnyway(self.content, is_evidence=False) if may_be_one else None


class UrlClaims(Withholding[Known]):
    """The claims about URLs of one crawl. It withholds nothing; `Skipping` does."""

    _kept: ClassVar[tuple[str, ...]] = ("_hosts", "_novelties")

    def __init__(
        self,
        crawler: Crawler,
        settings: CrawlSettings,
        store: Store,
        reporter: Reporter,
        detector: Detector,
    ) -> None:
        super().__init__(crawler)
        self._settings = settings
        self._lessons: list[Judged] = []
        self._store, self._detector, self._reporter = store, detector, reporter
        self._hosts, self._member = Hosts(), secrets.token_hex(4)
        self._novelties: Novelties | None = None
        if settings.pattern_budget:
            from scrapy_neardup.crawl.experiments.novelties import Novelties  # noqa: PLC0415

            self._novelties = Novelties()

    async def judged(
        self, visit: Visit, request: Request, response: Response, page: Page | Verdict
    ) -> None:
        """Learn from a page, later; an error doesn't affect the page."""
        parts = Parts.of(request.url)
        # A page that only another callback has seen is neither new nor needless.
        says = visit.action != KEEP_CALLBACK and visit.verdict.decision in _SAYS
        if parts is not None and says:
            asks = self._settings.withholds and CACHED not in response.flags
            source = (request, response) if asks else None
            self._lessons.append(Judged(parts, page, visit.verdict, source))
        elif visit.verdict.reason in _UNREAD:
            self.unread(request)
        if len(self._lessons) >= (1 if self._settings.withholds else LESSON):
            await self._learn()

    async def _learn(self) -> None:
        """Learn from the pages that were judged since the last time."""
        pages, self._lessons = self._lessons, []
        for judged in pages:
            try:
                await self._learn_from(judged)
            except Exception as error:  # noqa: BLE001  (see above)
                self._reporter.failed(judged.parts.url, error)

    async def _learn_from(self, judged: Judged) -> None:
        """Learn from a page; exchange the knowledge about its host if it is time."""
        parts, page, verdict, _ = judged
        if (host := self._hosts.get(parts.host)) is None:
            await self._exchange(parts.host, host := self._hosts.met(parts.host))
        shown = await self._shown_anyway(host, judged)
        host = self._hosts.met(parts.host)
        match, is_new = verdict.match, verdict.decision is Decision.NEW
        same = match.url if match is not None and match.url else ""
        changes: list[Change] = []
        keys: tuple[Key, ...] = ()
        if shown is None:
            changes, keys = host.learn(parts, judged.content, is_new=is_new, match=Parts.of(same))
        elif shown.is_evidence:
            changes, keys = host.learn(parts, shown.content, is_new=False)
        else:
            host.add(parts, shown.content)
        if self._novelties is not None:
            rows = None
            if isinstance(page, AnalysedPage):
                rows = self._detector.rows_that_count(page)
            is_stale = self._novelties.is_stale(parts.host, rows, is_new=is_new)
            changes += host.spends(parts, is_stale=is_stale, match=same)
        if keys:
            self._reporter.count("urls/saveable")
            if not self._settings.withholds:
                for key in keys:
                    host.claims[key].covered += 1
        self._tell(parts.host, changes)
        if changes or not host.pages % _EXCHANGED:
            await self._exchange(parts.host, host)

    async def _shown_anyway(self, host: Host, judged: Judged) -> ShownAnyway | None:  # noqa: ARG002
        """Return the known content that a new page may show, or None."""
        return judged.shown

    def unread(self, request: Request) -> None:
        """End the claims under which a response would have been withheld that isn't judged."""
        parts, host = self._at(request.url)
        if parts is not None and host is not None and self._is_its_url(request):
            keys = [Key(place, part) for place in patterns(parts) for part in ALL]
            found = host.find(parts)
            keys += found.keys if found else ()
            self._tell(parts.host, host.contradict(dict.fromkeys(keys), (parts.url, "")))

    def is_known(self, url: str) -> bool:
        """Whether claims in force, which are tested, say that the page of a URL is known."""
        if self._settings.urls != "skip":  # links that aren't followed are no tests
            return False
        parts, host = self._at(url)
        # The content of a page of a pattern is known, but not its links.
        return bool(parts and host and not host.patterns(parts) and host.find(parts))

    def is_variant(self, url: str) -> bool:
        """Return whether a URL differs from a known one in a part that had no effect elsewhere."""
        parts, host = self._at(url)
        return bool(self._settings.withholds and parts and host and host.is_variant(parts))

    def leads_on(self, url: str, other: str, *, alone: bool) -> None:
        """Note that a dropped page has a link to a new page.

        The claims that cover such pages end. `alone` says that most of its other links are known;
        then only the claims about its pattern end.
        """
        parts, host = self._at(url)
        if parts is not None and host is not None:
            used = () if alone else host.apply(parts)[1]
            self._tell(parts.host, host.contradict((*host.patterns(parts), *used), (other, url)))

    def withdrawn(self, request: Request) -> None:
        """Forget a page whose callback failed, and make the requests withheld because of it."""
        parts, host = self._at(request.url)
        self._lessons = [each for each in self._lessons if each.parts != parts]
        if parts and host and (content := host.forget(parts)) is not None:
            self._make_those(parts.host, content=content)

    def _at(self, url: str) -> tuple[Parts | None, Host | None]:
        """Return the parts of a URL, and its host, if it was met."""
        parts = Parts.of(url)
        return parts, None if parts is None else self._hosts.get(parts.host)

    def _tell(self, name: str, changes: Sequence[Change]) -> None:
        for change in changes:
            made = 0 if change.begins else self._make_those(name, key=change.key)
            reports.changed(self._reporter, name, change, made)

    def _make_those(self, name: str, *, key: Key | None = None, content: int | None = None) -> int:  # noqa: ARG002
        """Make the requests of a host that are withheld under a claim or for a content."""
        return 0

    def idle(self) -> bool:
        """Make the requests that are needed before the crawl ends; return whether there are any.

        If claims no longer withhold requests, these are all that an earlier run has withheld.
        """
        return self._withheld.make([*self._withheld]) > 0

    # Pauses, and other crawlers

    async def close(self) -> None:
        """Report the claims, and post them for other crawlers."""
        await self._learn()
        reports.sum_up(self._reporter, self._settings, self._hosts)
        forgotten = "requests were forgotten, and aren't made if a claim ends"
        self._tell_forgotten(self._reporter, "urls/forgotten", forgotten)
        for name, host in list(self._hosts.items()):
            with suppress(StoreError):
                await self._store.exchange(f"{TOPIC} {name}", self._member, host.claims.dump())

    async def _exchange(self, name: str, host: Host) -> None:
        """Exchange knowledge about a host with other crawlers."""
        mine = host.claims.dump()
        with suppress(StoreError):  # the next exchange includes it
            heard = await self._store.exchange(f"{TOPIC} {name}", self._member, mine)
            self._tell(name, host.add_others(value for value in heard if value != mine))
