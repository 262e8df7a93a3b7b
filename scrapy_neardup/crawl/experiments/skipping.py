"""Requests that aren't made because of claims about URLs, and those that test the claims.

With ``NEARDUP_URLS = "skip"`` a request isn't made if claims in force say that its page is known.
It is withheld when a callback yields it or, if the claims have begun later, before its download.
With ``NEARDUP_PATTERN_BUDGET`` the same holds for patterns whose pages bring next to nothing new.
Some of these requests are made nevertheless, to test the claims; before the crawl ends, as many
more as their bound requires. If a claim is contradicted, all requests that it has withheld are
made. Requests whose pages are delivered in any case (start requests, pages of a sitemap,
``neardup_keep``, ``NEARDUP_DENY``, ...) are always made; so are those with `dont_filter` or an
item, which would be lost, and those that the project's fingerprinter distinguishes from others for
the same URL.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from http import HTTPStatus
from itertools import groupby
from operator import itemgetter
from typing import TYPE_CHECKING, Final

from scrapy.http.request import NO_CALLBACK

from scrapy_neardup.bounded import BoundedDict
from scrapy_neardup.claims.claim import ENOUGH, NEEDED, Claim
from scrapy_neardup.claims.claimbook import Key
from scrapy_neardup.claims.host import Host
from scrapy_neardup.claims.part import PATTERN, SPENT
from scrapy_neardup.claims.urlparts import Parts
from scrapy_neardup.crawl import SKIP_KEY
from scrapy_neardup.crawl.actions import KEEP_CALLBACK
from scrapy_neardup.crawl.crawlsettings import store_uri
from scrapy_neardup.crawl.experiments import reports
from scrapy_neardup.crawl.experiments.ownrequests import again
from scrapy_neardup.crawl.experiments.refetch import First
from scrapy_neardup.crawl.experiments.urlclaims import Judged, ShownAnyway, UrlClaims
from scrapy_neardup.crawl.experiments.withheld import carries_item, draw, spread, url_of
from scrapy_neardup.crawl.pagestate import Visit
from scrapy_neardup.verdict import NEW, UNJUDGED, Page, Verdict

if TYPE_CHECKING:
    from scrapy import Request
    from scrapy.crawler import Crawler
    from scrapy.http import Response

    from scrapy_neardup.crawl.callbacks import Callbacks
    from scrapy_neardup.crawl.crawlsettings import CrawlSettings
    from scrapy_neardup.crawl.experiments.ownrequests import OwnRequests
    from scrapy_neardup.crawl.experiments.refetch import Refetches
    from scrapy_neardup.crawl.reading import Reader
    from scrapy_neardup.crawl.reporting import Reporter
    from scrapy_neardup.judge.detector import Detector
    from scrapy_neardup.stores import Store

MARK: Final = "_neardup_found"
"""Key of `request.meta`: a callback has yielded the request, so it may be withheld. The key goes
to disk with the request, and is removed before the download."""

REMEMBERED: Final = 4_096
"""Maximum number of contents whose URL is remembered for the control of a contradiction, and of
pairs of a callback and a URL pattern."""

FEW: Final = 10
"""Number of requests withheld under a claim since its last test, from which on the last one is
made before the crawl ends."""

STRETCHES: Final = 20
"""Number of equal stretches of a claim's withheld requests, in the order in which they were found.
Each gets a test: tests are dense at first, and exceptions may all come late."""


class Skipping(UrlClaims):
    """The claims about URLs of one crawl, and the requests withheld under them."""

    _kept = ("_hosts", "_novelties", "_second", "_places")

    def __init__(
        self,
        crawler: Crawler,
        settings: CrawlSettings,
        store: Store,
        reporter: Reporter,
        detector: Detector,
        *,
        own: OwnRequests,
        refetches: Refetches,
        reader: Reader,
        callbacks: Callbacks,
    ) -> None:
        super().__init__(crawler, settings, store, reporter, detector)
        self._callbacks = callbacks
        self._is_later = store_uri(crawler, settings).lower().startswith("sqlite:")
        """Whether pages of other crawls are those of earlier ones. Claims don't learn from their
        near-duplicates, because this crawl delivers such a page, too, when it comes to its URL."""
        self._own, self._refetches, self._reader = own, refetches, reader
        self._originals: BoundedDict[int, str] = BoundedDict(REMEMBERED)
        """Content -> URL of the page that was the first to show it."""
        self._second: set[str] = set()
        """Callbacks that get pages that others have seen: none of their requests is needless."""
        self._places: BoundedDict[tuple[str, str], None] = BoundedDict(REMEMBERED)
        """Callbacks and URL patterns of judged pages; of each the first request is made."""

    async def judged(
        self, visit: Visit, request: Request, response: Response, page: Page | Verdict
    ) -> None:
        """Learn from a page, or that its callback gets pages that others have seen."""
        match = visit.verdict.match
        is_met = match is None or self._callbacks.have_met(match.page_id)
        if (is_met or not self._is_later) and self._is_its_url(request):
            await super().judged(visit, request, response, page)
        place = callback, _ = self._callbacks.place(request)
        if visit.verdict.decision is not UNJUDGED:
            self._places[place] = None
        if visit.action == KEEP_CALLBACK and callback not in self._second:
            self._second.add(callback)
            self._make([
                url for url, each in self._withheld.items()
                if self._callbacks.of(each.request) == callback
            ])  # fmt: skip

    def passes(self, request: Request) -> bool:
        """Whether a request that a callback has yielded is to be scheduled."""
        if not (_may_be_withheld(request, self._settings) and self._is_its_url(request)):
            request.meta.pop(MARK, None)  # a copy of a request has it
            return True
        request.meta[MARK] = True
        return not self._is_withheld(request, was_scheduled=False)

    def is_withheld_now(self, request: Request) -> bool:
        """Whether a scheduled request needn't be made any more."""
        is_marked = request.meta.pop(MARK, False) is True
        return is_marked and self._is_withheld(request, was_scheduled=True)

    def _is_withheld(self, request: Request, *, was_scheduled: bool) -> bool:
        parts, host = self._at(url := url_of(request))
        if parts is None or host is None or host.knows(parts):
            return False  # the scheduler decides about a page that was fetched before
        place = callback, _ = self._callbacks.place(request)
        if callback in self._second or place not in self._places:
            return False
        acts = partial(self._acts, host)
        found = host.find(parts, acts)
        if found is None or not all(map(acts, found.keys)):
            return False
        request.meta.pop(MARK, None)  # if it is made after all, it isn't withheld again
        if url not in self._withheld:
            drawn, explore = draw(url), self._settings.urls_explore
            claims = [host.claims[key] for key in found.keys]
            is_made = any(claim.is_due(drawn, explore) for claim in claims)
            for claim in claims:
                claim.cover(is_made=is_made)
            if is_made:
                self._reporter.count("urls/explored")
                return False
        tests = tuple(host.claims[host.claims.tested(key)].streak for key in found.keys)
        found = found._replace(tests=tests)
        if self._withheld.withhold(request, found, was_scheduled=was_scheduled):
            reports.skipped(self._reporter, request, found.keys)
        return True

    def _acts(self, host: Host, key: Key) -> bool:
        """Whether requests are withheld under a claim in force."""
        if key.part.kind == SPENT:
            budget = self._settings.pattern_budget
            return budget > 0 and host.claims[key].streak >= NEEDED + budget
        if key.part.kind == PATTERN and not host.repeats(key.place):
            return False  # another crawl has found it
        return self._settings.urls == "skip"

    async def _shown_anyway(self, host: Host, judged: Judged) -> ShownAnyway | None:
        parts, page, verdict, source = judged
        if (shown := judged.shown) is not None or verdict.decision is not NEW:
            return shown
        self._originals[judged.content] = parts.url
        if source is not None and isinstance(page, Page):
            for known, content in host.contradicted(parts, judged.content):
                url = self._originals.get(content) if known is None else known.url
                if url is not None:
                    is_shown = await self._shows(First(*source, page), url)
                    return None if is_shown is False else ShownAnyway(content, is_shown is True)
        return None

    async def _shows(self, first: First, url: str) -> bool | None:
        """Whether `url` now shows the page that another request has found; None if uncertain.

        A new page may be the known page a moment later, with another clock or another front page.
        Or the known page was dropped, and the new one repeats it, but not the original that is
        stored. So the new page's request is made again, which shows what changes by itself. Then
        the two pages are compared as they are now.

        It takes two requests, even if the budget is spent: otherwise all requests that the claim
        has withheld would be made. With a budget of 0 it takes none, and the answer is no. The
        page waits for both, however slow the site is, or the crawl by `DOWNLOAD_DELAY`.
        """
        shown: list[bool | None] = [False]

        async def compare(response: Response) -> None:
            if response.status == HTTPStatus.OK:
                other = self._reader.page(Visit(first.page.id), control, response)
                shown.append(self._detector.repeats(first.page, other))

        if self._own.spend("claims", 2):
            learn = partial(self._refetches.learn, first)
            await self._own.ask(again(first.request), learn, patience=None)
            control = again(first.request).replace(url=url)
            control.meta["dont_merge_cookies"] = True  # cookies may change the page
            control.headers.pop("Cookie", None)
            await self._own.ask(control, compare, patience=None)
        return shown[-1]

    def _make_those(self, name: str, *, key: Key | None = None, content: int | None = None) -> int:
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

    def _host(self, name: str) -> Host:
        return self._hosts.get(name) or Host()

    def idle(self) -> bool:
        """Make the requests that are needed before the crawl ends; return whether there are any.

        If one of these contradicts a claim, more are made. In the end each claim in force has been
        tested by `ENOUGH` requests, or nothing is withheld under it any more.
        """
        return self._make(self._unchecked()) > 0

    def _unchecked(self) -> Iterable[str]:
        by_claim: defaultdict[tuple[str, Key], list[tuple[str, int]]] = defaultdict(list)
        for url, withheld in self._withheld.items():
            for key, tests in zip(withheld.why.keys, withheld.why.tests, strict=True):
                by_claim[_host_of(url), key].append((url, tests))
        chosen: dict[str, None] = {}
        by_test: defaultdict[tuple[str, Key], list[tuple[str, int]]] = defaultdict(list)
        for (name, key), urls in by_claim.items():
            host = self._host(name)
            by_test[name, host.claims.tested(key)] += urls
            if (claim := host.claims.get(key)) is not None and claim.since_test >= FEW:
                claim.since_test = 0
                chosen[urls[-1][0]] = None
        for (name, key), tested in by_test.items():
            claim = self._host(name).claims.get(key) or Claim()
            chosen |= dict.fromkeys(untested(tested, claim.examined))
            claim.examined = claim.streak + 1
            left = [url for url, _ in tested if url not in chosen]
            lacking = ENOUGH - claim.checks - (len(tested) - len(left))
            chosen |= dict.fromkeys(spread(left, max(0, lacking)))
        return chosen


def untested(urls: Sequence[tuple[str, int]], examined: int) -> Iterator[str]:
    """Yield some of the requests withheld under a claim, so that no long stretch lacks a test.

    With each URL comes the number of tests before it; those before `examined` were seen before.
    """
    longest = max(1, len(urls) // STRETCHES)
    for tests, stretch in groupby(urls, itemgetter(1)):
        if tests >= examined:
            found = [url for url, _ in stretch]
            yield from spread(found, len(found) // longest)


def _host_of(url: str) -> str:
    parts = Parts.of(url)
    return "" if parts is None else parts.host


def _may_be_withheld(request: Request, settings: CrawlSettings) -> bool:
    return (
        request.method == "GET"
        and not request.body
        and not request.dont_filter
        and not request.meta.get(SKIP_KEY)
        and not settings.keeps(request)
        and not any(pattern.search(request.url) for pattern in settings.deny)
        and request.callback is not NO_CALLBACK
        and not carries_item(request)
    )
