"""Probes for soft 404s: requests for URLs that can't exist (``NEARDUP_PROBE``).

One such request is made for each host and kind of URL. A response with status 200 is remembered
like a page of the crawl, so that pages like it are duplicates by the rule `Rule.SOFT_404`.
"""

from __future__ import annotations

import logging
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Final

from scrapy import Request
from scrapy.http.request import NO_CALLBACK

from scrapy_neardup.bounded import BoundedDict
from scrapy_neardup.claims.urlparts import Parts
from scrapy_neardup.crawl.experiments.ownrequests import own_meta
from scrapy_neardup.crawl.pagestate import Visit
from scrapy_neardup.judge.analysis import page_id
from scrapy_neardup.judge.comparison import Rule
from scrapy_neardup.urls import hash_of, redact
from scrapy_neardup.verdict import Decision, Verdict

if TYPE_CHECKING:
    from scrapy.crawler import Crawler
    from scrapy.http import Response

    from scrapy_neardup.crawl.experiments.ownrequests import OwnRequests
    from scrapy_neardup.crawl.reading import Reader
    from scrapy_neardup.crawl.reporting import Reporter
    from scrapy_neardup.judge.detector import Detector
    from scrapy_neardup.verdict import Page

logger = logging.getLogger(__name__)

MAX_PROBES: Final = 8
"""Maximum number of probes for each host, each with another first folder or extension."""

_MAX_HOSTS: Final = 4_096
_OK: Final = 200


class Probe:
    """The probes of one crawl."""

    def __init__(
        self,
        crawler: Crawler,
        own: OwnRequests,
        reporter: Reporter,
        *,
        reader: Reader,
        detector: Detector,
    ) -> None:
        self._crawler, self._own, self._reporter = crawler, own, reporter
        self._reader, self._detector = reader, detector
        self._asked: BoundedDict[str, set[str]] = BoundedDict(_MAX_HOSTS)
        self._nothing: BoundedDict[int, None] = BoundedDict(MAX_PROBES * _MAX_HOSTS)
        """Ids of pages that answer URLs that don't exist."""

    async def judged(
        self, visit: Visit, request: Request, _: Response, page: Page | Verdict
    ) -> None:
        """Apply `Rule.SOFT_404` to a page like an answer to a probe; probe its kind once."""
        if isinstance(page, Verdict):
            return
        match = visit.verdict.match
        if match is not None and match.decided is not None and match.page_id in self._nothing:
            decided = match.decided._replace(rule=Rule.SOFT_404)
            visit.verdict = replace(visit.verdict, match=replace(match, decided=decided))
        if (parts := Parts.of(request.url)) is None:
            return
        kind = f"{parts.section} {_extension(parts)}"
        asked = self._asked.used(parts.host, set)
        if kind in asked or len(asked) >= MAX_PROBES:
            return
        asked.add(kind)
        probe = Request(
            _nonsense(parts),
            NO_CALLBACK,
            headers=request.headers,
            cookies=request.cookies,
            meta=own_meta(request),  # such as its proxy, or its browser
        )
        self._own.make(probe, partial(self._answered, probe))

    async def _answered(self, request: Request, response: Response) -> None:
        showed, followed = f"status {response.status}", ""
        if response.url != request.url:
            showed = f"{showed} of {redact(response.url)}"  # which may be a page of the site
        elif response.status == _OK and await self._remember(request, response):
            followed = "pages like it are soft 404s"
        self._reporter.experiment("probe", request.url, showed=showed, followed=followed)

    async def _remember(self, request: Request, response: Response) -> bool:
        """Remember the answer to a probe; return whether it could be judged."""
        identity = page_id(self._crawler.request_fingerprinter.fingerprint(request))
        page = self._reader.page(Visit(identity), request, response)
        verdict = await self._detector.decide(page)
        if verdict.decision is Decision.NEW:
            await self._detector.store.confirm(identity)
            self._nothing[identity] = None
        elif verdict.match is not None:
            self._nothing[verdict.match.page_id] = None
        if verdict.decision is Decision.UNJUDGED:
            return False
        logger.info("%s doesn't exist, but the site shows a page: a soft 404", request.url)
        return True


def _extension(parts: Parts) -> str:
    stem, dot, extension = parts.segments[-1].rpartition(".")
    return dot + extension if stem else ""


def _nonsense(parts: Parts) -> str:
    """Return a URL next to the page's own that can't exist."""
    name = f"{hash_of(f'nothing beside {parts.url}', 8):016x}"
    *folders, last = parts.segments
    if not last and folders:
        folders, ending = folders[:-1], [name, ""]
    else:
        ending = [name + _extension(parts)]
    return parts._replace(segments=(*folders, *ending), query=()).url
