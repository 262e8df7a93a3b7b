"""Whether the links of dropped pages lead to anything new (``NEARDUP_LINKS``).

A dropped page whose tree holds links that nobody has met is a case of the claim 'pages that are
dropped in this folder lead to nothing new'. While the claim is open, and then for one such page
in twenty, the page's callback runs, its items are withheld, and of the new requests that it yields
a few are made; the rest are remembered. If one of them brings a new page, those of its page are
made, and the claim ends. A page whose links are all known costs nothing.
"""

from __future__ import annotations

import logging
from collections import Counter
from math import ceil
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import urlsplit

from scrapy import signals

from scrapy_neardup.bounded import BoundedDict
from scrapy_neardup.claims.claim import ENOUGH, LENT, Claim
from scrapy_neardup.claims.urlparts import Parts
from scrapy_neardup.crawl.actions import Case, Folder
from scrapy_neardup.crawl.experiments.metfilter import MetFilter
from scrapy_neardup.crawl.experiments.withheld import WithheldRequests, draw, spread, url_of
from scrapy_neardup.text import link_targets
from scrapy_neardup.urls import redact
from scrapy_neardup.verdict import Decision

if TYPE_CHECKING:
    from lxml.html import HtmlElement
    from scrapy import Request
    from scrapy.crawler import Crawler
    from scrapy.http import Response

    from scrapy_neardup.crawl.experiments.budget import Budget
    from scrapy_neardup.crawl.experiments.requests import UrlClaims
    from scrapy_neardup.crawl.reporting import Reporter
    from scrapy_neardup.verdict import Verdict

logger = logging.getLogger(__name__)

SAMPLE: Final = 2
"""Number of new requests of a dropped page that are made."""
EVERY: Final = 20
"""While the claim is in force, one in this number of dropped pages with new links is asked."""
DEPTH: Final = 2
"""Number of dropped pages in a row that lead to a sample, from which on it counts whatever its own
links are: one that repeats a page and has new links itself shows nothing yet."""
MOST: Final = 0.5
"""Share of a page's links that are new, from which on it isn't a copy as far as links go."""
SAMPLE_KEY: Final = "_neardup_links"
"""Key of `request.meta`: the folder and the URL of the dropped page that a sample was found on,
the number of dropped pages in a row that lead there, and whether most links there are new."""

_MAX_FOLDERS: Final = 4_096


class Links:
    """The links of one crawl's dropped pages."""

    def __init__(
        self, crawler: Crawler, journal: Reporter, budget: Budget, urls: UrlClaims | None
    ) -> None:
        self._journal = journal
        self._budget = budget
        self._urls = urls
        self._met = MetFilter()
        self._hosts: BoundedDict[str, None] = BoundedDict(_MAX_FOLDERS)
        self._claims: BoundedDict[Folder, Claim] = BoundedDict(_MAX_FOLDERS)
        self._asked: BoundedDict[Folder, int] = BoundedDict(_MAX_FOLDERS)
        self._withheld: WithheldRequests[tuple[Folder, str]] = WithheldRequests(crawler)
        crawler.signals.connect(self._scheduled, signals.request_scheduled)

    def _scheduled(self, request: Request) -> None:
        self._met.add(url_of(request))
        self._hosts[urlsplit(request.url).netloc] = None

    # Dropped pages

    def judged(
        self, request: Request, response: Response, verdict: Verdict, root: HtmlElement | None
    ) -> Case | None:
        """Learn from the verdict on a page, if it is a sample.

        With `root` the page is dropped; return the case that it is, if its callback is to run.
        """
        sample = request.meta.pop(SAMPLE_KEY, None)
        *folder, url, depth, leads = sample or ("", "", "", 0, False)
        new = 0.0 if root is None else self._share_of_new_links(response, root)
        if url and (depth >= DEPTH or not new):
            self._learn((folder[0], folder[1]), url, request.url, verdict, leads=leads)
        return self._case(response, depth, new) if new else None

    def _case(self, response: Response, depth: int, new: float) -> Case | None:
        folder = _folder(response.url)
        claim = self._claims.used(folder, Claim)
        asked = self._asked[folder] = self._asked.used(folder, int) + 1
        if claim.is_in_force and asked % EVERY:
            claim.withheld += 1
            return None
        self._journal.count("links/asked")
        url = response.url.partition("#")[0]
        return Case(folder, url, depth + 1, leads=new >= MOST)

    def take(self, case: Case, request: Request) -> None:
        """Withhold a request that the callback of a dropped page yields."""
        url = url_of(request)
        if self._met.is_new(url):
            case.found.setdefault(url, request)

    def done(self, case: Case) -> None:
        """Make a few of the requests that a case has yielded; the rest are remembered."""
        found = [url for url in case.found if self._met.is_new(url)]
        new = [url for url in found if self._is_new(url)]
        if not new:
            self._confirm(case.folder, (case.url, ""))
        for url in found:
            request = case.found[url]
            request.meta[SAMPLE_KEY] = [*case.folder, case.url, case.depth, case.leads]
            self._withheld.withhold(request, (case.folder, case.url))
        for url in sorted(new, key=draw)[:SAMPLE]:
            if self._budget.spend("links"):
                self._withheld.make([url])
        self._journal.count("links/remembered", len(found))

    def _share_of_new_links(self, response: Response, root: HtmlElement) -> float:
        """Return the share of a page's links that nobody has met, of those to known hosts."""
        hosts = {urlsplit(response.url).netloc, *self._hosts}
        links = {link.partition("#")[0] for link in link_targets(root, response.url)}
        near = [link for link in links if urlsplit(link).netloc in hosts]
        return sum(map(self._is_new, near)) / len(near) if near else 0.0

    def _is_new(self, url: str) -> bool:
        return self._met.is_new(url) and not (self._urls and self._urls.is_known(url))

    # Samples

    def _learn(
        self, folder: Folder, url: str, sample: str, verdict: Verdict, *, leads: bool
    ) -> None:
        """Learn from the verdict on a sample that was found on a dropped page."""
        pair = (sample, url)
        is_seen = verdict.decision is Decision.SEEN
        if is_seen or verdict.decision is Decision.DUPLICATE:
            self._confirm(folder, pair)
            return
        # New, or a page that can't be judged, and is delivered as if it were.
        is_variant = self._urls is not None and self._urls.is_variant(sample)
        if not is_variant:  # of a variant the claims about URLs know more
            for each in (folder, (folder[0], "")):
                self._claims.used(each, Claim).contradict(pair)
        released = self._withheld.make(
            each for each, (_, why, _) in self._withheld.items() if why[1] == url
        )
        self._journal.count("links/released", released)
        self._journal.log.debug(
            "%s was dropped, and leads to %s, which is new", redact(url), redact(sample)
        )
        if self._urls is not None and not is_variant:
            self._urls.leads_on(url, sample, alone=not leads)

    def _confirm(self, folder: Folder, pair: tuple[str, str]) -> None:
        general = self._claims.used((folder[0], ""), Claim)
        general.support(pair)
        if self._claims.used(folder, Claim).support(pair, is_lent=general.is_in_force):
            self._journal.log.info(
                "The links of pages that are dropped in %s%s lead to nothing new: from now on one"
                " such page in %d is looked at",
                *folder,
                EVERY,
            )

    def idle(self) -> bool:
        """Make the requests that are needed before the crawl ends; return whether there are any.

        What is withheld under a claim that isn't in force is made, a part at a time, as it may
        be confirmed yet; one in force is tested by `ENOUGH` requests.
        """
        by_folder: dict[Folder, list[str]] = {}
        hosts: Counter[str] = Counter()
        for url, withheld in list(self._withheld.items()):
            if not self._met.is_new(url):
                del self._withheld[url]
            elif self._is_new(url):
                by_folder.setdefault(withheld.why[0], []).append(url)
                hosts[withheld.why[0][0]] += 1
        made = 0
        for folder, urls in by_folder.items():
            lacking = self._lacking(folder, len(urls) / hosts[folder[0]])
            deep = [url for url in urls if self._depth(url) >= DEPTH]  # whatever their links are
            made += self._withheld.make(spread(deep or urls, lacking))
        if made:
            self._journal.count("links/checked", made)
        return made > 0

    def _depth(self, url: str) -> int:
        return int(self._withheld[url].request.meta[SAMPLE_KEY][3])

    def _lacking(self, folder: Folder, share: float) -> int:
        """Return the number of requests that must still test the claim about a folder.

        `LENT` in each folder, and in all folders of a host `ENOUGH`, by the folder's `share`.
        """
        claim, general = (self._claims.used(each, Claim) for each in (folder, (folder[0], "")))
        return max(0, LENT - claim.row, ceil(share * (ENOUGH - general.row)))

    def close(self) -> None:
        """Report the withheld requests."""
        for (host, path), claim in self._claims.items():
            held = sum(why[0] == (host, path) for _, why, _ in self._withheld.values())
            if held or claim.withheld:
                self._journal.log.info(
                    "%s%s: the links of %d dropped pages weren't looked at and %d were withheld;"
                    " %d tested whether such links lead to anything new, so that at most %.1f %%"
                    " do (with 95 %% confidence)",
                    host, path, claim.withheld, held, claim.row, 100 * claim.bound,
                )  # fmt: skip

    # Pauses

    @property
    def state(self) -> dict[str, Any]:
        """Return the state for a resumed crawl, in types that can be pickled."""
        return {
            "met": self._met,
            "hosts": self._hosts,
            "claims": self._claims,
            "asked": self._asked,
            "withheld": self._withheld.dump(),
        }

    def restore(self, state: dict[str, Any], spider: Any) -> None:
        """Continue from the `state` of an earlier run."""
        self._met, self._hosts = state["met"], state["hosts"]
        self._claims, self._asked = state["claims"], state["asked"]
        self._withheld.restore(state["withheld"], spider)


def _folder(url: str) -> Folder:
    parts = Parts.of(url)
    if parts is None:
        return "", ""
    return parts.host, f"/{parts.section}/" if parts.section else "/"
