"""A crawl that judges every page and drops none, to show what the filter would drop on a site.

It is polite to the site, and leaves nothing in a project: no items are stored, and the project's
store of fingerprints isn't used.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from dataclasses import dataclass
from itertools import count
from time import monotonic
from typing import Any, Self
from urllib.parse import urldefrag

from scrapy import Request, Spider, signals
from scrapy.crawler import Crawler, CrawlerProcess
from scrapy.exceptions import IgnoreRequest
from scrapy.http import HtmlResponse, Response
from scrapy.linkextractors import LinkExtractor
from scrapy.settings import Settings
from scrapy.utils.misc import load_object
from scrapy.utils.project import get_project_settings, inside_project

from scrapy_neardup import __version__
from scrapy_neardup.crawl import VERDICT_KEY
from scrapy_neardup.crawl.addon import Addon
from scrapy_neardup.crawl.crawlsettings import read_settings
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
    # Failed downloads are counted, and reported if all failed.
    "LOG_LEVEL": "CRITICAL",
    # Breadth first: the upper pages of a site, not the depths of a trap.
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
"""Maximum number of reasons that are named when a trial got no page."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Terms:
    """The limits of a trial, and its outputs.

    It ends after `pages` responses; requests under way are awaited. `audit` is the path of the
    audit file to write, `settings` overrides Scrapy settings of the trial, `progress` is called
    with the number of responses after each.
    """

    pages: int
    audit: str
    settings: Mapping[str, str]
    progress: Callable[[int], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Trial:
    """The result of a trial.

    `pages` is the number of pages that reached the spider, judged or not; `requests` is the number
    of requests sent, including those for robots.txt. `lost_pages` are URLs of new pages that are
    linked only from pages that would have been dropped, `lost_addresses` all other such URLs: not
    fetched in the trial, or not judged new.
    """

    pages: int
    requests: int
    seconds: float
    lost_pages: list[str]
    lost_addresses: list[str]


class PathsMiddleware:
    """A spider middleware that notes the links between pages, after all others.

    It names pages by their URLs before any redirection.
    """

    def __init__(self) -> None:
        self.links: dict[str, list[str]] = {}
        self.starts: set[str] = set()
        self.dropped: set[str] = set()
        self.new: set[str] = set()

    def lost(self) -> tuple[list[str], list[str]]:
        """Return the URLs that only dropped pages link to: new pages, and others. O(links)."""
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

    async def process_spider_output(
        self,
        response: Response,
        result: AsyncIterator[Any],
        spider: Spider | None = None,  # noqa: ARG002  (2.13 passes it)
    ) -> AsyncIterator[Any]:
        """Note the links of a page."""
        page = urldefrag(response.meta.get("redirect_urls", [response.url])[0]).url
        verdict = response.meta.get(VERDICT_KEY)
        if not response.meta.get("depth"):
            self.starts.add(page)
        elif isinstance(verdict, Verdict) and verdict.is_duplicate:
            self.dropped.add(page)
        if isinstance(verdict, Verdict) and verdict.decision is Decision.NEW:
            self.new.add(page)
        targets = self.links.setdefault(page, [])
        async for entry in result:
            if isinstance(entry, Request) and entry.method == "GET":
                targets.append(urldefrag(entry.url).url)
            yield entry


def try_site(url: str, terms: Terms, *, delay: float) -> Trial:
    """Crawl pages of a server politely, from `url` on.

    `delay` is the minimum of seconds between two requests; more if the site is slow. Raises
    `ConfigurationError` if `url` isn't an http(s) URL, or a setting has a value that can't be
    used; `NeardupError` if `url` redirects to another site, or no page could be fetched.
    """
    if not url.lower().startswith(("http://", "https://")) or not site(url, "host"):
        raise ConfigurationError(
            f"{url!r} isn't a URL to start from: begin with http:// or https://"
        )
    known = Settings({**_POLITE, "DOWNLOAD_DELAY": delay}, priority="project")
    known.set("DOWNLOADER_MIDDLEWARES", {StayOnServer: 1}, priority="project")
    return _run(known, TrialSpider, {"url": url}, terms)


def try_project(spider: str | None, arguments: Mapping[str, str], terms: Terms) -> Trial:
    """Run a spider of the project in the current folder; see `try_site`.

    No pipeline and no feed gets its items. Everything else is as in the project, including
    politeness. Raises `ConfigurationError` if there is no project here, no such spider, or several
    to choose from, or if a setting can't be used; `NeardupError` if no page could be fetched.
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
    return _run(known, loader.load(spider), arguments, terms)


def _run(
    known: Settings, spider: type[Spider], arguments: Mapping[str, str], terms: Terms
) -> Trial:
    # So that a second trial of the same pages has the same result.
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
    own = Crawler(spider, known).settings  # with the spider's own settings
    read_settings(own)  # raises errors that the crawl would only log
    addons = own.getdict("ADDONS")
    if not any(load_object(addon) is Addon for addon in addons):
        known.set("ADDONS", {**addons, Addon: 500}, priority="cmdline")
    middlewares = {**own.getdict("SPIDER_MIDDLEWARES"), PathsMiddleware: 1}
    known.set("SPIDER_MIDDLEWARES", middlewares, priority="cmdline")
    process = CrawlerProcess(known)
    crawler = process.create_crawler(spider)
    received = count(1)
    paths = PathsMiddleware()

    def tell() -> None:
        terms.progress(next(received))

    def close() -> None:
        nonlocal paths
        paths = crawler.get_spider_middleware(PathsMiddleware) or paths

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
                "the site's robots.txt forbids every requested page to the user agent"
                f" {_POLITE['ROBOTSTXT_USER_AGENT']!r}; on a site of your own,"
                " -s ROBOTSTXT_OBEY=False ignores it"
            )
        told.insert(0, f"{forbidden} forbidden by robots.txt")
    why = "; ".join(told[:_LISTED]) or "-s LOG_LEVEL=INFO shows more"
    return f"no page could be fetched, so there is nothing to report (requests: {why})"


_FIRST = "neardup_trial_first"
"""Key of ``request.meta`` that marks the first request, and those to which it was redirected."""


class TrialSpider(Spider):
    """A spider that follows all links of one server, breadth first.

    A redirection of the first URL within its registered domain (``example.com`` to
    ``www.example.com``) is followed; from then on the spider stays on that host and port.
    """

    name = "neardup-trial"

    def __init__(self, url: str, **arguments: Any) -> None:
        super().__init__(**arguments)
        self._first = url
        self._server: str | None = None
        self._links = LinkExtractor()
        self.elsewhere = ""
        """The target of the first URL's redirection, if it is another site."""

    async def start(self) -> AsyncIterator[Request]:
        """Yield the first request, which isn't made again for links to its page."""
        yield Request(self._first, meta={_FIRST: True})

    def parse(self, response: Response) -> Iterator[Request]:
        """Follow the links of a page."""
        if self._server is None:
            self._server = site(response.url)
        if isinstance(response, HtmlResponse):
            for link in self._links.extract_links(response):
                if site(link.url) == self._server:
                    yield Request(link.url)

    def allows(self, request: Request) -> bool:
        """Whether a request for a link, a redirection or robots.txt may be sent."""
        if request.meta.get(_FIRST):
            if site(request.url, "domain") == site(self._first, "domain"):
                return True
            self.elsewhere = redact(request.url)
            return False
        return self._server is None or site(request.url) == self._server


class StayOnServer:
    """A downloader middleware that only sends what a `TrialSpider` allows."""

    def __init__(self, crawler: Crawler) -> None:
        self._crawler = crawler

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        """Return the middleware of a crawler."""
        return cls(crawler)

    def process_request(self, request: Request, spider: Spider | None = None) -> None:  # noqa: ARG002
        """Let a request pass; `IgnoreRequest` if it leads to another server."""
        visiting = self._crawler.spider
        if isinstance(visiting, TrialSpider) and not visiting.allows(request):
            raise IgnoreRequest("another server")
