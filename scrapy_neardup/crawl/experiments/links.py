"""Whether the links of dropped pages lead to anything new (``NEARDUP_LINKS``).

A dropped page with new links is a case of the claim 'pages that are dropped in this folder lead to
nothing new'. A case is asked while the claim is open. Once it is in force, one case in twenty is,
and each that has a link with parameters that no asked page had. *Asked* means: the page's callback
runs, its items are withheld, and a few of the new requests that it yields are made, the samples;
the rest are remembered. If a sample brings a new page, the rest are made, and the claim ends;
pages that weren't asked because of it are requested again. A page without new links costs nothing.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable
from math import ceil
from typing import TYPE_CHECKING, Final
from urllib.parse import urlsplit

from scrapy_neardup.bounded import BoundedDict
from scrapy_neardup.claims.claim import ENOUGH, LENT, NEEDED, Claim, bound
from scrapy_neardup.claims.claimbook import ANYWHERE, ClaimBook, Key
from scrapy_neardup.claims.part import LINKS, Part
from scrapy_neardup.claims.urlparts import Parts, kinds_of
from scrapy_neardup.crawl.actions import LOOK_KEY, SAMPLE_KEY
from scrapy_neardup.crawl.experiments.ownrequests import as_sent
from scrapy_neardup.crawl.experiments.withheld import MetFilter, Withholding, draw, spread, url_of
from scrapy_neardup.crawl.pagestate import Case
from scrapy_neardup.settings.catalogue import DROP, DROP_ITEMS
from scrapy_neardup.text import link_targets
from scrapy_neardup.urls import redact
from scrapy_neardup.verdict import Decision

if TYPE_CHECKING:
    from scrapy import Request
    from scrapy.crawler import Crawler
    from scrapy.http import Response

    from scrapy_neardup.claims.claim import Pair
    from scrapy_neardup.crawl.callbacks import Callbacks
    from scrapy_neardup.crawl.experiments.ownrequests import OwnRequests
    from scrapy_neardup.crawl.experiments.urlclaims import UrlClaims
    from scrapy_neardup.crawl.pagestate import Visit
    from scrapy_neardup.crawl.reporting import Reporter
    from scrapy_neardup.verdict import Page, Verdict

SAMPLE: Final = 2
"""Number of new requests of a dropped page that are made."""
EVERY: Final = 20
"""While the claim is in force, one in this number of dropped pages with new links is asked."""
MOST: Final = 0.5
"""Share of new links from which on a page isn't a copy of a page with known links."""
SHARE: Final = 0.75
"""Share of the budget that these requests may spend."""

_LATER: Final = ""
"""In place of the URL of a dropped page: the request is for a dropped page that wasn't asked."""
_WRITTEN: Final = ""
"""In place of the pattern of links: addresses that aren't in an ``a`` or ``area``."""
_ELSEWHERE: Final = ("", "", "elsewhere")
"""In place of the kinds of links to hosts that weren't met."""
_COMPARED: Final = 1_024
"""Maximum number of links among which those sampled least are looked for; evenly spread."""
_MAX_FOLDERS: Final = 4_096
_MAX_KINDS: Final = 65_536


class Links(Withholding[tuple[Key, str]]):
    """The links of one crawl's dropped pages; a request is withheld for a claim and a page.

    Requests for dropped pages that weren't asked are withheld, too.
    """

    _kept = ("_met", "_claims", "_unfinished", "_asked", "_left")

    def __init__(
        self,
        crawler: Crawler,
        reporter: Reporter,
        own: OwnRequests,
        urls: UrlClaims | None,
        callbacks: Callbacks,
    ) -> None:
        super().__init__(crawler)
        self._reporter, self._own = reporter, own
        self._urls, self._callbacks = urls, callbacks
        self._met = MetFilter()
        """URLs that were scheduled, and their hosts."""
        self._last_host = "none"
        self._claims = ClaimBook(_MAX_FOLDERS)
        self._unfinished: BoundedDict[str, Key] = BoundedDict(_MAX_FOLDERS)
        """URL of a sample that repeats a page but has new links -> the claim about the page that
        it was found on. It counts once one of its links repeats a page, too."""
        self._asked: BoundedDict[str, int] = BoundedDict(_MAX_KINDS)
        """Number of samples by each of their kinds (`kinds_of`)."""
        self._left: BoundedDict[tuple[Key, str, str], int] = BoundedDict(_MAX_KINDS)
        """A folder, a callback and the pattern of links on dropped pages -> number of such pages
        in a row for which the callback has yielded no new request."""
        self._is_ending = False
        """Whether nothing was left to do once: then new pages are found nowhere else."""
        self._unanswered = 0
        """Number of `idle` steps in a row none of whose requests has brought a page."""

    def scheduled(self, request: Request) -> None:
        """Note a request; this is called for each one."""
        url = url_of(request)
        if self._is_its_url(request):  # others don't show what a link to the URL does
            self._met.add(url)
        if not url.startswith(self._last_host):
            parts = urlsplit(url)
            self._last_host = f"{parts.scheme}://{parts.netloc}/"
            self._met.add(parts.netloc)

    # Dropped pages

    async def judged(
        self, visit: Visit, request: Request, response: Response, _: Page | Verdict
    ) -> None:
        """Learn from the verdict on a page, if it is a sample; ask a dropped one, if it is due."""
        sample = request.meta.pop(SAMPLE_KEY, None)
        if is_due := request.meta.pop(LOOK_KEY, False):
            request.errback = None  # it has heard of the page; it hears of a failed download
        if sample is not None or is_due:
            self._unanswered = 0
        if visit.action == DROP and visit.root is not None:
            if self._is_its_url(request):
                visit.case = self._case(visit, request, response, is_due=is_due)
            else:  # URLs that were met may be other requests there
                visit.action = DROP_ITEMS
        if sample is not None:
            *folder, page, leads = sample
            key = _key(*folder)
            if visit.verdict.decision in {Decision.SEEN, Decision.DUPLICATE}:
                self._repeats(key, page, request.url, asks=visit.case is not None)
            else:  # new, or not judged and so delivered
                self._is_news(key, page, request.url, leads=leads)

    def _case(
        self, visit: Visit, request: Request, response: Response, *, is_due: bool
    ) -> Case | None:
        """Return the case of a dropped page if the page is asked."""
        key, links = _key_of(response.url), self._links(visit.links(response.url), response)
        new = list(filter(self._is_new, links))
        by, patterns = self._callbacks.of(request), set()
        written = _general(key), by, _WRITTEN
        # Searching takes as long as judging a page.
        if not new and visit.root is not None and not self._is_left_aside(written):
            found = link_targets(visit.root, response.url, is_written=True)
            new = list(filter(self._is_new, self._links(found, response)))
            self._left[written] = self._left.get(written, 0) + 1
            patterns = {written}
        if not new:
            if is_due:  # by now the crawl has met its links from other pages
                self._confirm(key, (response.url, ""))
            return None
        kinds = list(map(self._kinds, new))
        names = {name for name, *_ in kinds}
        patterns |= {(key, by, at) for *_, at in kinds}
        if not (is_due or patterns - {kind for kind in patterns if self._is_left_aside(kind)}):
            return None
        claim = self._claims.about(key)
        claim.covered += 1
        is_drawn = is_due or (claim.is_in_force and not claim.covered % EVERY)
        is_asked = is_drawn or not claim.is_in_force or not names <= self._asked.keys()
        if not is_asked or self._callbacks.has_errback(request):  # that is called now
            later = as_sent(request, {LOOK_KEY: True})
            self._withheld.withhold(later, (key, _LATER), was_scheduled=True)
            if is_asked and self._own.spend("links", most=SHARE):
                self._withheld.make([url_of(later)])
            return None
        self._reporter.count("links/asked")
        leads = len(new) >= MOST * len(links)
        url = response.url.partition("#")[0]
        return Case(key, url, names, patterns, leads=leads, is_drawn=is_drawn, is_due=is_due)

    def _kinds(self, url: str) -> tuple[str, str, str]:
        return _ELSEWHERE if self._met.is_new(urlsplit(url).netloc) else kinds_of(url)

    def _is_left_aside(self, kind: tuple[Key, str, str]) -> bool:
        """Whether a callback has followed no such links on `NEEDED` pages in a row.

        One page in `EVERY` is asked nevertheless.
        """
        if (left := self._left.get(kind, 0)) < NEEDED:
            return False
        self._left[kind] = left + 1
        return left % EVERY > 0

    def holds(self, case: Case, request: Request) -> bool:
        """Whether a case keeps a request until its end: not if it is more than its URL."""
        if waits := self._is_its_url(request):
            case.found.setdefault(url_of(request), request)
        return waits

    def done(self, case: Case) -> None:
        """Make a few of the requests that a case has yielded; the rest are remembered."""
        found = [url for url in case.found if self._met.is_new(url)]
        new = [url for url in found if self._is_new(url)]
        for kind in case.patterns:
            self._left[kind] = 0 if new else self._left.get(kind, 0) + (kind[-1] != _WRITTEN)
        for name in case.names:
            self._asked.setdefault(name, 0)
        if not new:
            tested = self._unfinished.pop(case.url, None) or (case.key if case.is_drawn else None)
            if tested is not None:  # other pages show nothing about those that aren't asked
                self._confirm(tested, (case.url, ""))
        for url in found:
            request = case.found[url]
            place, part = case.key
            request.meta[SAMPLE_KEY] = [part.what, place, case.url, case.leads]
            self._withheld.withhold(request, (case.key, case.url))
        new = [url for url in new if url in self._withheld]  # the first may be forgotten by now
        spent = sum([self._own.spend("links", most=SHARE) for _ in new[:SAMPLE]])
        self._withheld.make(self._least_asked(new, SAMPLE if case.is_due else spent))
        self._reporter.count("links/remembered", len(found))

    def _links(self, links: Iterable[str], response: Response) -> list[str]:
        """Return the links to hosts that were met, or that the spider allows, if not all."""
        own = urlsplit(response.url).netloc
        domains = getattr(self._crawler.spider, "allowed_domains", None) or ()
        allowed = tuple(f".{domain}" for domain in domains) or ("",)
        return [
            link for link in links
            if (host := urlsplit(link).netloc) == own
            or not self._met.is_new(host)
            or f".{host.partition(':')[0]}".endswith(allowed)
        ]  # fmt: skip

    def _is_new(self, url: str) -> bool:
        return self._met.is_new(url) and not (self._urls and self._urls.is_known(url))

    def _least_asked(self, urls: Collection[str], number: int) -> list[str]:
        """Return `number` of some links, each time one whose kinds were sampled least.

        So the one link to a list's shorter form is found among many links. At most `_COMPARED` of
        them are compared.
        """
        rest = [(*kinds_of(url), draw(url), url) for url in spread([*urls], _COMPARED)]
        found, asked = [], self._asked
        for _ in range(min(number, len(rest))):
            least = min(rest, key=lambda each: (*[asked.get(at, 0) for at in each[:3]], each[3]))
            rest.remove(least)
            for kind in least[:3]:
                asked[kind] = asked.get(kind, 0) + 1
            found.append(least[-1])
        return found

    # Samples

    def _repeats(self, key: Key, page: str, sample: str, *, asks: bool) -> None:
        """Note that a sample, found on a dropped page, repeats a page.

        If it `asks` where its own links lead, it doesn't count yet. But paths may grow without
        end, so the second such page in a row counts at once.
        """
        if (before := self._unfinished.pop(page, None)) is not None:
            self._confirm(before, (sample, page))
        if asks and before is None:
            self._unfinished[sample.partition("#")[0]] = key
        else:
            self._confirm(key, (sample, page))
        self._tell(page, sample, "a page that is known")

    def _is_news(self, key: Key, page: str, sample: str, *, leads: bool) -> None:
        """Note that a sample shows a new page: make all requests that its page has yielded."""
        self._unfinished.pop(page, None)
        is_variant = self._urls is not None and self._urls.is_variant(sample)
        ended = []
        if not is_variant:  # claims about URLs know more about a variant
            for each in (key, _general(key)):
                ended += self._claims.note(each, (sample, page), speaks_for=False)
            self._asked[kinds_of(sample)[2]] = 0  # its URL pattern is tested anew
        released = self._make_those(page)
        followed = f"{released} more requests of that page are made"
        if any(change.key == key for change in ended):
            asked = self._make_those(_LATER, key)
            self._reporter.count("links/requested-again", asked)
            followed += f", and {asked} pages of that folder are requested again"
        self._reporter.count("links/released", released)
        self._tell(page, sample, "a new page", followed)
        if self._urls is not None and not is_variant:
            self._urls.leads_on(page, sample, alone=not (leads or self._is_ending))

    def _make_those(self, page: str, key: Key | None = None) -> int:
        """Make the requests found on a page, or those for pages of a folder; count them."""
        return self._withheld.make([
            url
            for url, (_, why, _) in self._withheld.items()
            if why[1] == page and key in {None, why[0]}
        ])  # fmt: skip

    def _tell(self, page: str, link: str, showed: str, followed: str = "") -> None:
        self._reporter.log.debug(
            "%s was dropped, and leads to %s: %s", redact(page), redact(link), showed
        )
        self._reporter.experiment("links", link, of=page, showed=showed, followed=followed)

    def _confirm(self, key: Key, pair: Pair) -> None:
        self._claims.note(_general(key), pair, speaks_for=True)
        if self._claims.note(key, pair, speaks_for=True):
            self._reporter.log.info(
                "The links of pages that are dropped in %s lead to nothing new: from now on"
                " only one such page in %d is tested",
                _folder(key),
                EVERY,
            )

    def idle(self) -> bool:
        """Make the requests that are needed before the crawl ends; return whether there are any.

        Half of the lacking requests are made at a time, because a repetition on an unfinished page
        counts twice. If no page answers (forbidden by robots.txt, not found), twice as many are
        made each time: a step costs O(links), and thousands of links would take as many steps.
        """
        self._is_ending = True
        by_claim: defaultdict[Key, list[str]] = defaultdict(list)
        later: defaultdict[Key, list[str]] = defaultdict(list)
        hosts: Counter[Key] = Counter()
        for url, (_, (key, page), _) in list(self._withheld.items()):
            if page == _LATER:
                later[key].append(url)
            elif not self._met.is_new(url):
                del self._withheld[url]
            elif self._is_new(url):
                by_claim[key].append(url)
        number = {key: len(by_claim[key] + later[key]) for key in {**by_claim, **later}}
        for key, left in number.items():
            hosts[_general(key)] += left
        made = asked = 0
        for key, left in number.items():
            urls, half = by_claim[key], ceil(self._lacking(key, left / hosts[_general(key)]) / 2)
            half <<= self._unanswered
            pages = {self._withheld[url].why[1]: url for url in urls}
            finishing = [url for page, url in pages.items() if page in self._unfinished]
            patterns = {url: kinds_of(url)[2] for url in urls}
            rare = [url for url, at in patterns.items() if self._asked.get(at, 0) < LENT]
            half = max(half, len({patterns[url] for url in rare}))
            choose = spread if self._unanswered else self._least_asked
            made += self._withheld.make(choose(finishing or rare or urls, half))
            if not urls:
                asked += self._withheld.make(spread(later[key], ceil(half / SAMPLE)))
        self._unanswered = self._unanswered + 1 if made + asked else 0
        for stat, times in (("links/checked", made), ("links/requested-again", asked)):
            if times:
                self._reporter.count(stat, times)
        return made + asked > 0

    def _lacking(self, key: Key, share: float) -> int:
        """Return the number of requests that must still test the claim about a folder.

        Each folder needs `LENT`, and its `share` of the `ENOUGH` for all folders of a host.
        """
        of_host, of_folder = (self._claims.about(each).streak for each in (_general(key), key))
        return max(0, LENT - of_folder, ceil(share * (ENOUGH - of_host)))

    async def close(self) -> None:
        """Report the withheld requests."""
        forgotten = "links of dropped pages were forgotten, and weren't tested"
        self._tell_forgotten(self._reporter, "links/forgotten", forgotten)
        unasked, unmet = Counter[Key](), Counter[Key]()
        for url, (_, (key, page), _) in self._withheld.items():
            unasked[key] += page == _LATER
            unmet[key] += page != _LATER and self._is_new(url)
        for key, claim in self._claims.items():
            told = []
            if unmet[key]:
                told.append(f"{unmet[key]} links of dropped pages weren't followed")
            if unasked[key]:
                told.append(f"{unasked[key]} dropped pages weren't tested")
            if told:
                self._reporter.log.info(
                    "%s: %s; %s", _folder(key), ", and ".join(told), _tested(claim)
                )


def _tested(claim: Claim) -> str:
    if not claim.streak:
        return "the last test of such links found a new page"
    return (
        f"tests in a row that found nothing new: {claim.streak}, so that at most"
        f" {bound(claim.streak):.1%} of them lead to something new (with 95 % confidence)"
    )


def _key(host: str, folder: str) -> Key:
    """Return the claim about the first folder of a host, ``""`` for the whole host."""
    return Key(folder, Part(LINKS, host))


def _key_of(url: str) -> Key:
    if (parts := Parts.of(url)) is None:
        return _key("", ANYWHERE)
    return _key(parts.host, f"/{parts.section}/" if parts.section else "/")


def _general(key: Key) -> Key:
    return key._replace(place=ANYWHERE)


def _folder(key: Key) -> str:
    return f"{key.part.what}{key.place}"
