"""Claims about URLs in a crawl: learnt from its verdicts, tested by its requests.

The claims themselves are in `scrapy_neardup.claims`. With ``NEARDUP_URLS = "skip"`` a request
isn't made if claims in force say that its page is known: when a callback yields it, or, if they
have begun since, before it is downloaded. With ``NEARDUP_PATTERN_BUDGET`` the same holds for
patterns whose pages bring next to nothing new. Some of these requests are made all the same, to
check the claims, and before the crawl ends as many more as their bound asks for. A contradiction
makes those that its claim has withheld. Start requests, pages of a sitemap, and requests with
`dont_filter`, ``neardup_skip`` or ``neardup_keep`` are always made.
"""

from __future__ import annotations

import secrets
from collections import defaultdict
from collections.abc import Iterable, Sequence
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, Final

from scrapy.http.request import NO_CALLBACK

from scrapy_neardup.claims.claim import ENOUGH, NEEDED, Claim
from scrapy_neardup.claims.claimbook import TOPIC, Key
from scrapy_neardup.claims.host import Host, Hosts, Known
from scrapy_neardup.claims.part import SPENT
from scrapy_neardup.claims.urlparts import VALUE_BITS, Parts
from scrapy_neardup.crawl import KEEP_KEY, SKIP_KEY
from scrapy_neardup.crawl.experiments import reports
from scrapy_neardup.crawl.experiments.withheld import Withholding, draw, spread, url_of
from scrapy_neardup.errors import StoreError
from scrapy_neardup.judge.analysis import AnalysedPage
from scrapy_neardup.verdict import Decision

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

MARK: Final = "_neardup_found"
"""Key of `request.meta`: the request may be withheld, as a callback has yielded it. It goes to
disk with the request, and is removed before the download."""

LESSON: Final = 64
"""Number of pages after which claims that withhold nothing learn from them. Many at once cost a
third of what each costs alone, as they find the processor's caches warm."""

FEW: Final = 10
"""Number of requests that a claim has withheld since it was last checked, from which on the last
one is made before the crawl ends."""

_EXCHANGED: Final = 128
"""Number of judged pages of a host after which crawlers exchange what they have learnt."""


class UrlClaims(Withholding[Known]):
    """The claims about URLs of one crawl, and the requests withheld under them."""

    _kept = ("_hosts", "_novelties")

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
        self.withholds = settings.urls == "skip" or settings.pattern_budget > 0
        self._judged: list[tuple[Parts, Page | Verdict, Verdict]] = []
        self._store, self._detector, self._reporter = store, detector, reporter
        self._member = secrets.token_hex(4)
        self._hosts = Hosts()
        self._novelties: Novelties | None = None
        if settings.pattern_budget:
            from scrapy_neardup.crawl.experiments.novelties import Novelties  # noqa: PLC0415

            self._novelties = Novelties()

    # Requests

    def passes(self, request: Request) -> bool:
        """Whether a request that a callback has yielded is to be scheduled."""
        if not _may_be_withheld(request):
            return True
        request.meta[MARK] = True
        return not self._is_withheld(request, was_scheduled=False)

    def is_withheld_now(self, request: Request) -> bool:
        """Whether a scheduled request needn't be made any more."""
        is_marked = request.meta.pop(MARK, False) is True
        return is_marked and self._is_withheld(request, was_scheduled=True)

    def is_known(self, url: str) -> bool:
        """Whether claims in force say that the page of a URL is known."""
        parts, host = self._at(url)
        # What a page of a pattern shows is known, and not where it leads.
        return bool(parts and host and not host.patterns(parts) and host.find(parts))

    def _is_withheld(self, request: Request, *, was_scheduled: bool) -> bool:
        parts, host = self._at(url := url_of(request))
        if parts is None or host is None or host.knows(parts):
            return False  # a page that was fetched before is left to the scheduler
        acts = partial(self._acts, host)
        found = host.find(parts, acts)
        if found is None or not all(map(acts, found.keys)):
            return False
        request.meta.pop(MARK, None)  # when it is made after all, it isn't asked about again
        if url not in self._withheld:
            drawn, explore = draw(url), self._settings.urls_explore
            tested = [host.claims[key].is_checked(drawn, explore) for key in found.keys]
            if any(tested):
                self._reporter.count("urls/explored")
                return False
        if self._withheld.withhold(request, found, was_scheduled=was_scheduled):
            reports.skipped(self._reporter, request, found.keys)
        return True

    def _acts(self, host: Host, key: Key) -> bool:
        """Whether requests are withheld under a claim in force."""
        if key.part.kind == SPENT:
            budget = self._settings.pattern_budget
            return budget > 0 and host.claims[key].row >= NEEDED + budget
        return self._settings.urls == "skip"

    # Pages

    async def judged(
        self, visit: Visit, request: Request, _: Response, page: Page | Verdict
    ) -> None:
        """Learn from a page, later; an error changes nothing for it."""
        parts = Parts.of(request.url)
        if parts is not None and visit.verdict.decision in {Decision.NEW, Decision.DUPLICATE}:
            self._judged.append((parts, page, visit.verdict))
        if len(self._judged) >= (1 if self.withholds else LESSON):
            await self._learn()

    async def _learn(self) -> None:
        """Learn from the pages that were judged since the last time."""
        pages, self._judged = self._judged, []
        try:
            for parts, page, verdict in pages:
                await self._learn_from(parts, page, verdict)
        except Exception as error:  # noqa: BLE001  (see above)
            self._reporter.failed(pages[-1][0].url, error)

    async def _learn_from(self, parts: Parts, page: Page | Verdict, verdict: Verdict) -> None:
        if self._hosts.get(parts.host) is None:
            await self._exchange(parts.host, self._hosts.met(parts.host))
        host = self._hosts.met(parts.host)
        match, is_new = verdict.match, verdict.decision is Decision.NEW
        number = (verdict.page_id if match is None else match.page_id) % (1 << VALUE_BITS)
        same = match.url if match is not None and match.url else ""
        changes, keys = host.learn(parts, number, is_new=is_new, match=Parts.of(same))
        if self._novelties is not None:
            rows = None
            if isinstance(page, AnalysedPage):
                rows = self._detector.rows_that_count(page)
            is_stale = self._novelties.is_stale(parts.host, rows, is_new=is_new)
            changes += host.spends(parts, is_stale=is_stale, match=same)
        if keys:
            self._reporter.count("urls/saveable")
            if not self.withholds:
                for key in keys:
                    host.claims[key].covered += 1
        self._tell(parts.host, changes)
        if changes or not host.pages % _EXCHANGED:
            await self._exchange(parts.host, host)

    def is_variant(self, url: str) -> bool:
        """Return whether a URL differs from a known one in a part that had no effect elsewhere."""
        parts, host = self._at(url)
        return bool(parts and host and host.is_variant(parts))

    def leads_on(self, url: str, other: str, *, alone: bool) -> None:
        """Note that a dropped page has a link to a new page.

        The claims that cover such pages end, those about its pattern whatever its other links are;
        with `alone` most of these are known.
        """
        parts, host = self._at(url)
        if parts is not None and host is not None:
            used = () if alone else host.apply(parts)[1]
            self._tell(parts.host, host.contradict((*host.patterns(parts), *used), (other, url)))

    def withdrawn(self, request: Request) -> None:
        """Forget a page whose callback failed, and make the requests withheld because of it."""
        parts, host = self._at(request.url)
        self._judged = [page for page in self._judged if page[0] != parts]
        if parts and host and (content := host.forget(parts)) is not None:
            self._make_those(parts.host, content=content)

    def _at(self, url: str) -> tuple[Parts | None, Host | None]:
        """Return the parts of a URL, and its host, if it was met."""
        parts = Parts.of(url)
        return parts, None if parts is None else self._hosts.get(parts.host)

    def _host(self, name: str) -> Host:
        return self._hosts.get(name) or Host()

    def _tell(self, name: str, changes: Sequence[Change]) -> None:
        for change in changes:
            made = 0 if change.begins else self._make_those(name, key=change.key)
            reports.changed(self._reporter, name, change, made)

    def _make_those(self, name: str, *, key: Key | None = None, content: int | None = None) -> int:
        """Make the requests of a host that are withheld under a claim or for a content."""
        return self._make([
            url
            for url, (_, why, _) in self._withheld.items()
            if (key in why.keys or why.content == content) and _host_of(url) == name
        ])  # fmt: skip

    def _make(self, urls: Iterable[str]) -> int:
        urls = list(urls)
        for url in urls:
            for key in self._withheld[url].why.keys:
                if (claim := self._host(_host_of(url)).claims.get(key)) is not None:
                    claim.withheld = max(0, claim.withheld - 1)
        if made := self._withheld.make(urls):
            self._reporter.count("urls/requested-again", made)
        return made

    def idle(self) -> bool:
        """Make the requests that are needed before the crawl ends; return whether there are any.

        A contradiction that these bring makes more. So each claim in force has been tested by
        `ENOUGH` requests, or nothing is withheld under it any more.
        """
        return self._make(self._unchecked()) > 0

    def _unchecked(self) -> Iterable[str]:
        by_claim: defaultdict[tuple[str, Key], list[str]] = defaultdict(list)
        for url, withheld in self._withheld.items():
            for key in withheld.why.keys:
                by_claim[_host_of(url), key].append(url)
        chosen: dict[str, None] = {}
        by_test: defaultdict[tuple[str, Key], list[str]] = defaultdict(list)
        for (name, key), urls in by_claim.items():
            host = self._host(name)
            by_test[name, host.claims.tested(key)] += urls
            if (claim := host.claims.get(key)) is not None and claim.gap >= FEW:
                claim.gap = 0
                chosen[urls[-1]] = None
        for (name, key), urls in by_test.items():
            claim = self._host(name).claims.get(key) or Claim()
            left = [url for url in urls if url not in chosen]
            lacking = ENOUGH - claim.row - (len(urls) - len(left))
            chosen |= dict.fromkeys(spread(left, max(0, lacking)))
        return chosen

    # Pauses, and other crawlers

    async def close(self) -> None:
        """Report the claims, and post them for other crawlers."""
        await self._learn()
        reports.sum_up(self._reporter, self._settings, self._hosts)
        if self._withheld.forgotten:
            self._reporter.count("urls/forgotten", self._withheld.forgotten)
        for name, host in list(self._hosts.items()):
            with suppress(StoreError):
                await self._store.exchange(f"{TOPIC} {name}", self._member, host.claims.dump())

    async def _exchange(self, name: str, host: Host) -> None:
        """Exchange knowledge about a host with other crawlers."""
        mine = host.claims.dump()
        with suppress(StoreError):  # the next exchange makes up for it
            heard = await self._store.exchange(f"{TOPIC} {name}", self._member, mine)
            self._tell(name, host.add_others(value for value in heard if value != mine))


def _host_of(url: str) -> str:
    parts = Parts.of(url)
    return "" if parts is None else parts.host


def _may_be_withheld(request: Request) -> bool:
    meta = request.meta
    return (
        request.method == "GET"
        and not request.body
        and not request.dont_filter
        and not meta.get(SKIP_KEY)
        and not meta.get(KEEP_KEY)
        and request.callback is not NO_CALLBACK
        and not (meta.get("is_start_request") and not meta.get("depth"))
    )
