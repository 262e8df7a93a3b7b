"""Probes for soft 404s: what a site answers to URLs that can't exist (``NEARDUP_PROBE``).

One such request is made for each host and kind of URL. A response with status 200 is remembered
like a page of the crawl, so that pages like it are duplicates by the rule `SOFT_404`. No callback
gets it.
"""

from __future__ import annotations

import asyncio
import logging
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from scrapy import Request
from scrapy.exceptions import IgnoreRequest

from scrapy_neardup.bounded import BoundedDict
from scrapy_neardup.claims.urlparts import Parts, hash_of
from scrapy_neardup.crawl.compat import download
from scrapy_neardup.errors import StoreError
from scrapy_neardup.judge.analysis import page_id
from scrapy_neardup.verdict import Decision, Verdict

if TYPE_CHECKING:
    from scrapy.crawler import Crawler
    from scrapy.http import Response

    from scrapy_neardup.crawl.reading import Reader
    from scrapy_neardup.crawl.reporting import Reporter
    from scrapy_neardup.judge.detector import Detector
    from scrapy_neardup.stores import Store

logger = logging.getLogger(__name__)

SOFT_404: Final = "soft-404"
"""`Verdict.rule` of a page like the answer to a URL that can't exist."""

MAX_PROBES: Final = 8
"""Maximum number of probes a host, each for URLs of another first folder or extension."""

_MAX_HOSTS: Final = 4_096
_OK: Final = 200


class Probe:
    """The probes of one crawl."""

    def __init__(
        self,
        crawler: Crawler,
        reporter: Reporter,
        reader: Reader,
        detector: Detector,
        store: Store,
    ) -> None:
        self._crawler = crawler
        self._reporter = reporter
        self._reader = reader
        self._detector = detector
        self._store = store
        self._asked: BoundedDict[str, set[str]] = BoundedDict(_MAX_HOSTS)
        self._nothing: set[int] = set()
        self._tasks: set[asyncio.Task[None]] = set()

    def met(self, request: Request) -> None:
        """Probe the host for the page's kind of URL, once."""
        parts = Parts.of(request.url)
        if parts is None:
            return
        kind = f"{parts.section} {_extension(parts)}"
        asked = self._asked.setdefault(parts.host, set())
        if kind in asked or len(asked) >= MAX_PROBES:
            return
        asked.add(kind)
        task = asyncio.get_running_loop().create_task(self._probe(_nonsense(parts), request))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    def named(self, verdict: Verdict) -> Verdict:
        """Return the verdict, of rule `SOFT_404` if the page is like an answer to a probe."""
        match = verdict.match
        if match is None or match.decided is None or match.page_id not in self._nothing:
            return verdict
        decided = match.decided._replace(rule=SOFT_404)
        return replace(verdict, match=replace(match, decided=decided))

    async def close(self) -> None:
        """Cancel the probes that are under way."""
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def _probe(self, url: str, origin: Request) -> None:
        request = Request(url, headers=origin.headers, cookies=origin.cookies)
        try:
            response = await download(self._crawler, request)
            showed, followed = f"status {response.status}", ""
            if response.status == _OK and await self._remember(request, response):
                followed = "pages like it are soft 404s"
            self._reporter.write(
                lambda audit: audit.experiment("probe", url, showed=showed, followed=followed)
            )
        except (IgnoreRequest, OSError, StoreError) as error:
            logger.debug("%s can't be probed: %r", url, error)
        except Exception as error:  # noqa: BLE001  (whatever a downloader raises)
            logger.info("%s can't be probed: %r", url, error)

    async def _remember(self, request: Request, response: Response) -> bool:
        """Remember what stands for nothing; return whether that is a page."""
        identity = page_id(self._crawler.request_fingerprinter.fingerprint(request))
        page = self._reader.page(identity, request, response).page
        verdict = await self._detector.decide(page)
        if verdict.decision is Decision.NEW:
            await self._store.confirm(identity)
            self._nothing.add(identity)
        elif verdict.match is not None:
            self._nothing.add(verdict.match.page_id)
        if verdict.decision is Decision.UNJUDGED:
            return False
        logger.info("%s doesn't exist, and is answered with a page: a soft 404", request.url)
        return True


def _extension(parts: Parts) -> str:
    stem, dot, extension = parts.segments[-1].rpartition(".")
    return dot + extension if stem else ""


def _nonsense(parts: Parts) -> str:
    """Return a URL next to the page's own that can't exist."""
    name = f"{hash_of(f'nothing beside {parts.url}', 64):016x}"
    *folders, last = parts.segments
    if not last and folders:
        folders, ending = folders[:-1], [name, ""]
    else:
        ending = [name + _extension(parts)]
    return parts._replace(segments=(*folders, *ending), query=()).url
