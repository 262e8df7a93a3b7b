"""A crawl that judges every page and drops none: what the filter would do to a site.

Rule of this module: whatever a trial does to a site, a polite visitor does; whatever it does to
a project, leaves no traces: no items are stored, no store of fingerprints is touched.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Mapping
from dataclasses import dataclass, field
from itertools import count
from time import monotonic
from typing import Any
from urllib.parse import urldefrag

from scrapy import Request, Spider, signals
from scrapy.crawler import CrawlerProcess
from scrapy.http import Response
from scrapy.settings import Settings
from scrapy.utils.misc import load_object
from scrapy.utils.project import get_project_settings, inside_project

from scrapy_neardup import __version__
from scrapy_neardup.crawl.addon import Addon
from scrapy_neardup.crawl.metakeys import VERDICT_KEY
from scrapy_neardup.crawl.settings import read_settings
from scrapy_neardup.crawl.trialspider import StayOnServer, TrialSpider
from scrapy_neardup.errors import ConfigurationError, NeardupError
from scrapy_neardup.fingerprints import PUBLIC_KEY
from scrapy_neardup.urls import redact, site
from scrapy_neardup.verdict import Decision, Verdict

USER_AGENT = f"scrapy-neardup/{__version__} (trial of a near-duplicate filter; Scrapy)"

_POLITE = {
    "USER_AGENT": USER_AGENT,
    "ROBOTSTXT_OBEY": True,
    "ROBOTSTXT_USER_AGENT": "scrapy-neardup",
    "AUTOTHROTTLE_ENABLED": True,
    "AUTOTHROTTLE_START_DELAY": 0.5,
    "AUTOTHROTTLE_TARGET_CONCURRENCY": 2.0,
    "CONCURRENT_REQUESTS": 2,
    "DOWNLOAD_MAXSIZE": 16 << 20,
    "DOWNLOAD_TIMEOUT": 30,
    "RETRY_TIMES": 1,
    # What can't be downloaded is counted, and told where nothing can.
    "LOG_LEVEL": "CRITICAL",
    # Breadth first: the first pages of a site, not the depth of one of its traps.
    "DEPTH_PRIORITY": 1,
    "SCHEDULER_DISK_QUEUE": "scrapy.squeues.PickleFifoDiskQueue",
    "SCHEDULER_MEMORY_QUEUE": "scrapy.squeues.FifoMemoryQueue",
}
_HARMLESS: dict[str, Any] = {
    "NEARDUP_ENABLED": True,
    "NEARDUP_ACTION": "flag",
    "NEARDUP_STORE": "memory:",
    "NEARDUP_AUDIT_TEXT": True,
    "ITEM_PIPELINES": {},
    "FEEDS": {},
    "JOBDIR": None,
    "TELNETCONSOLE_ENABLED": False,
}
_LISTED = 5
"""Maximum number of reasons that are named where a trial got no page."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Terms:
    """How far a trial goes, and who hears of it.

    Parameters
    ----------
    pages
        After how many responses to end; those under way are awaited.
    audit
        The audit file to write.
    settings
        Scrapy settings that come before those of the trial.
    progress
        Called with the number of responses after each.
    """

    pages: int
    audit: str
    settings: Mapping[str, str]
    progress: Callable[[int], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Trial:
    """What a trial did.

    Parameters
    ----------
    pages
        Pages that reached the spider, judged or not.
    requests
        Requests that were sent, for robots.txt as well.
    seconds
        How long it took.
    lost_pages
        Addresses of pages that repeat no other, to which only pages led that would have been
        dropped.
    lost_addresses
        All other such addresses: not fetched in the trial, or not judged new.
    """

    pages: int
    requests: int
    seconds: float
    lost_pages: list[str]
    lost_addresses: list[str]


@dataclass
class Paths:
    """Which pages of a crawl lead where.

    Pages are known by the address that was requested first, before it was redirected.
    """

    starts: set[str] = field(default_factory=set)
    links: dict[str, list[str]] = field(default_factory=dict)
    dropped: set[str] = field(default_factory=set)
    new: set[str] = field(default_factory=set)

    def lost(self) -> tuple[list[str], list[str]]:
        """Return what can't be reached without the links of dropped pages.

        First the addresses of new pages, then all others. O(links).
        """
        reached, waiting = set(self.starts), list(self.starts)
        while waiting:
            page = waiting.pop()
            for target in () if page in self.dropped else self.links.get(page, ()):
                if target not in reached:
                    reached.add(target)
                    waiting.append(target)
        known = dict.fromkeys(target for targets in self.links.values() for target in targets)
        lost = [redact(target) for target in known if target not in reached]
        new = {redact(page) for page in self.new}
        return [url for url in lost if url in new], [url for url in lost if url not in new]


class PathsMiddleware:
    """A spider middleware that notes the `Paths` of its crawl, after all others."""

    def __init__(self) -> None:
        self.paths = Paths()

    async def process_spider_output(
        self,
        response: Response,
        result: AsyncIterator[Any],
        spider: Spider | None = None,  # noqa: ARG002  (2.13 passes it)
    ) -> AsyncIterator[Any]:
        """Note where a page leads."""
        page = urldefrag(response.meta.get("redirect_urls", [response.url])[0]).url
        verdict = response.meta.get(VERDICT_KEY)
        if not response.meta.get("depth"):
            self.paths.starts.add(page)
        elif isinstance(verdict, Verdict) and verdict.is_duplicate:
            self.paths.dropped.add(page)
        if isinstance(verdict, Verdict) and verdict.decision is Decision.NEW:
            self.paths.new.add(page)
        targets = self.paths.links.setdefault(page, [])
        async for entry in result:
            if isinstance(entry, Request) and entry.method == "GET":
                targets.append(urldefrag(entry.url).url)
            yield entry


def try_site(url: str, terms: Terms, *, delay: float) -> Trial:
    """Crawl pages of the server that `url` leads to, politely.

    Parameters
    ----------
    url
        Where to begin.
    terms
        How far to go.
    delay
        Seconds between two requests, at least; more where the site is slow.

    Raises
    ------
    ConfigurationError
        `url` is no http(s) URL, or a setting has a value that can't be used.
    NeardupError
        `url` leads to another site, or not a single page was got; the message says why.
    """
    if not url.lower().startswith(("http://", "https://")) or not site(url, "host"):
        raise ConfigurationError(f"{url!r} is no address to begin at: give http:// or https://")
    known = Settings({**_POLITE, "DOWNLOAD_DELAY": delay}, priority="project")
    known.set("DOWNLOADER_MIDDLEWARES", {StayOnServer: 1}, priority="project")
    return _run(known, TrialSpider, {"url": url}, terms)


def try_project(spider: str | None, arguments: Mapping[str, str], terms: Terms) -> Trial:
    """Run a spider of the project in the current folder; see `try_site`.

    Its items are thrown away: no pipeline and no feed sees them. Everything else is as the
    project has it, politeness included.

    Raises
    ------
    ConfigurationError
        There is no project here, no such spider, or several to choose from; or a setting has a
        value that can't be used.
    NeardupError
        Not a single page was got; the message says why.
    """
    if not inside_project():
        raise ConfigurationError("--project: there is no Scrapy project here (no scrapy.cfg)")
    known = get_project_settings()
    known.set("LOG_LEVEL", "ERROR", priority="cmdline")
    loader = load_object(known["SPIDER_LOADER_CLASS"]).from_settings(known)
    names = sorted(loader.list())
    if spider is None and len(names) == 1:
        [spider] = names
    if spider is None or spider not in names:
        choice = ", ".join(names) or "none"
        asked = "name a spider" if spider is None else f"there is no spider {spider!r}"
        raise ConfigurationError(f"--project: {asked}; the project has: {choice}")
    return _run(known, spider, arguments, terms)


def _run(
    known: Settings, spider: type[Spider] | str, arguments: Mapping[str, str], terms: Terms
) -> Trial:
    # So that a second trial of the same pages says the same.
    known.set("NEARDUP_HASH_KEY", PUBLIC_KEY, priority="default")
    known.setdict(
        {
            **_HARMLESS,
            "CLOSESPIDER_PAGECOUNT": terms.pages,
            **terms.settings,
            "NEARDUP_AUDIT": terms.audit,
        },
        priority="cmdline",
    )
    read_settings(known)  # raises what the crawl would only log
    addons = dict(known.getdict("ADDONS"))
    if not any(load_object(addon) is Addon for addon in addons):
        known.set("ADDONS", {**addons, Addon: 500}, priority="cmdline")
    known.get("SPIDER_MIDDLEWARES").set(PathsMiddleware, 1, priority="cmdline")
    process = CrawlerProcess(known)
    crawler = process.create_crawler(spider)
    received = count(1)
    paths = Paths()

    def tell() -> None:
        terms.progress(next(received))

    def close() -> None:
        nonlocal paths
        if (noting := crawler.get_spider_middleware(PathsMiddleware)) is not None:
            paths = noting.paths

    crawler.signals.connect(tell, signals.response_received)
    crawler.signals.connect(close, signals.spider_closed)
    start = monotonic()
    process.crawl(crawler, **arguments)
    process.start()
    stats = crawler.stats.get_stats() if crawler.stats is not None else {}
    if elsewhere := getattr(crawler.spider, "elsewhere", ""):
        raise NeardupError(f"{arguments['url']} redirects to another site: try {elsewhere}")
    if not stats.get("neardup/pages/checked"):
        raise NeardupError(_why_nothing(stats))
    lost_pages, lost_addresses = paths.lost()
    return Trial(
        pages=stats["neardup/pages/checked"],
        requests=stats.get("downloader/request_count", 0),
        seconds=monotonic() - start,
        lost_pages=lost_pages,
        lost_addresses=lost_addresses,
    )


def _why_nothing(stats: Mapping[str, Any]) -> str:
    """Return why a crawl got no page, as far as its stats know."""
    signs = {
        "downloader/exception_type_count/": "failed with",
        "downloader/response_status_count/": "were answered with status",
    }
    told = [
        f"{number} {words} {name.removeprefix(prefix).rpartition('.')[2]}"
        for prefix, words in signs.items()
        for name, number in stats.items()
        if name.startswith(prefix)
    ]
    if forbidden := stats.get("robotstxt/forbidden"):
        if forbidden == stats.get("scheduler/dequeued"):
            return (
                "the site's robots.txt forbids every page that was asked for to user agent"
                f" {_POLITE['ROBOTSTXT_USER_AGENT']!r}; on a site of your own,"
                " -s ROBOTSTXT_OBEY=False tries it all the same"
            )
        told.insert(0, f"{forbidden} forbidden by robots.txt")
    why = "; ".join(told[:_LISTED]) or "-s LOG_LEVEL=INFO shows more"
    return f"no page was got, so there is nothing to report (requests: {why})"
