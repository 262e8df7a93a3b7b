"""Crawls of made-up sites by real Scrapy: a server on this machine, a spider, and its journal."""

from __future__ import annotations

import os
import sys
import threading
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from random import Random
from time import process_time
from typing import Any

SETTINGS = {
    "LOG_LEVEL": "ERROR",
    "TELNETCONSOLE_ENABLED": False,
    "REMOTE_CONTROL_ENABLED": False,
    "ROBOTSTXT_OBEY": False,
    "RETRY_ENABLED": False,
    "METAREFRESH_ENABLED": False,
    "DOWNLOAD_DELAY": 0,
}
BREADTH_FIRST = {
    "DEPTH_PRIORITY": 1,
    "SCHEDULER_DISK_QUEUE": "scrapy.squeues.PickleFifoDiskQueue",
    "SCHEDULER_MEMORY_QUEUE": "scrapy.squeues.FifoMemoryQueue",
}
PLUGIN = {"ADDONS": {"scrapy_neardup.Addon": 500}}
DRAWN = 1000
"""Priorities of requests in an order of chance."""

SHOWN = "X-Shown"
"""Header in which a server may say what a response shows, for the journal alone."""

Answer = Callable[[str], tuple[Any, ...]]
"""Path with its query, or the whole URL if the server is used as a proxy -> status, HTML, and
headers as pairs."""


class Server(ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self, answer: Answer) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.answer = answer
        self.served: Counter[str] = Counter()
        self.url = f"http://127.0.0.1:{self.server_port}"


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    server: Server

    def do_GET(self) -> None:
        self.server.served[self.path] += 1
        status, page, *headers = self.server.answer(self.path)
        is_raw = isinstance(page, bytes)
        body = page if is_raw else page.encode()
        self.send_response(HTTPStatus(status))
        self.send_header("Content-Type", "text/html" + "; charset=utf-8" * (not is_raw))
        self.send_header("Content-Length", str(len(body)))
        for name, value in headers:
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        pass


@contextmanager
def served(answer: Answer) -> Iterator[Server]:
    with Server(answer) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        try:
            yield server
        finally:
            server.shutdown()


@dataclass(slots=True)
class Record:
    """What became of one URL."""

    url: str
    status: int
    of: str | None = None
    """The page that a filter took it for."""
    distance: int | None = None
    called: bool = False
    """The callback has seen it."""
    has_item: bool = False
    """Its item has come through."""
    shown: str = ""
    """What the response that was judged showed, by its header `SHOWN`."""
    verdict: Any = None

    def judged(self, response: Any) -> None:
        """Note which of its responses is judged: another may have come first."""
        self.status, self.shown = response.status, response.headers.get(SHOWN, b"").decode()

    @property
    def dropped(self) -> bool:
        return self.of is not None


@dataclass(frozen=True, slots=True)
class Crawl:
    """A crawl that has ended."""

    name: str
    records: list[Record]
    stats: dict[str, Any]
    skipped: list[str] = field(default_factory=list)
    """URLs of requests that the plugin withheld."""
    changed: list[str] = field(default_factory=list)
    """URLs of delivered pages whose verdict says that they have changed."""
    seconds: float = 0.0
    """Processor seconds."""

    @property
    def finished(self) -> bool:
        return self.stats["finish_reason"] == "finished"

    @property
    def refetched(self) -> int:
        """Number of requests that were made a second time."""
        kinds = (
            "experiments/refetched", "experiments/doubts", "experiments/claims",
            "links/requested-again", "records/requested-again",
        )  # fmt: skip
        return sum(self.stats.get(f"neardup/{kind}", 0) for kind in kinds)


@dataclass(frozen=True)
class Job:
    """A crawl to make: every link is followed, in an order of chance if `order` says so."""

    name: str
    start: str
    settings: dict[str, Any] = field(default_factory=dict)
    order: str = ""
    proxy: str = ""
    """The server that answers for all hosts; ``""``: each host for itself."""


def _spider() -> type:  # noqa: C901  (one class)
    from scrapy import Request, Spider, signals
    from scrapy.linkextractors import LinkExtractor

    from scrapy_neardup import signals as neardup_signals

    class Everything(Spider):
        """Follows every link, and keeps the journal."""

        name = "everything"

        @classmethod
        def from_crawler(cls, crawler, job):
            spider = super().from_crawler(crawler, job=job, records={})
            spider.links = LinkExtractor()
            spider.skipped, spider.changed = [], []
            crawler.signals.connect(spider.received, signals.response_received)
            crawler.signals.connect(spider.scraped, signals.item_scraped)
            crawler.signals.connect(spider.near_duplicate, neardup_signals.near_duplicate)
            crawler.signals.connect(spider.skips, neardup_signals.request_skipped)
            return spider

        async def start(self):
            yield self.ask(self.job.start)

        def ask(self, url):
            order = self.job.order
            drawn = Random(f"{order} {url}").randrange(DRAWN) if "random" in order else 0
            return Request(url, priority=drawn)

        def received(self, response):
            if response.url in self.records:  # requested again by the plugin, or a redirect
                return
            self.records[response.url] = record = Record(response.url, response.status)
            record.judged(response)
            if len(self.records) % 1_000 == 0:
                print(f"{self.job.name}: {len(self.records):,} requests", file=sys.stderr)

        def scraped(self, item):
            self.records[item["url"]].has_item = True

        def skips(self, request):
            self.skipped.append(request.url)

        def near_duplicate(self, response, verdict):
            self.records[response.url].judged(response)
            self.drop(response.url, verdict.match.url or "?", verdict.match.distance, verdict)

        def drop(self, url, of, distance=None, verdict=None):
            record = self.records[url]
            record.of, record.distance, record.verdict = of, distance, verdict

        def parse(self, response):
            record = self.records[response.url]
            record.called = True
            record.judged(response)
            verdict = response.meta.get("neardup")
            if verdict is not None and verdict.changed:
                self.changed.append(response.url)
            yield {"url": response.url}
            for link in self.links.extract_links(response):
                yield self.ask(link.url)

    return Everything


def crawl(jobs: Iterable[Job], tell: Callable[[Crawl], object] = lambda _: None) -> list[Crawl]:
    """Make crawls one after the other. Once in a process, as this starts Scrapy's reactor.

    The next job is asked for when the one before has ended, and `tell` was told of it.
    """
    from scrapy.crawler import CrawlerRunner
    from scrapy.utils.log import configure_logging
    from scrapy.utils.reactor import install_reactor

    install_reactor("twisted.internet.asyncioreactor.AsyncioSelectorReactor")
    from twisted.internet import defer, reactor

    done: list[Crawl] = []
    failures: list[BaseException] = []

    @defer.inlineCallbacks
    def run():
        try:
            for job in jobs:
                before = process_time()
                configure_logging(settings := SETTINGS | job.settings)
                os.environ |= {"http_proxy": job.proxy, "no_proxy": ""} if job.proxy else {}
                crawler = CrawlerRunner(settings).create_crawler(_spider())
                yield crawler.crawl(job=job)
                spider, stats = crawler.spider, crawler.stats.get_stats()
                records, seconds = list(spider.records.values()), process_time() - before
                done.append(
                    Crawl(job.name, records, stats, spider.skipped, spider.changed, seconds)
                )
                tell(done[-1])
        except BaseException as failure:  # noqa: BLE001  (raised below, outside the reactor)
            failures.append(failure)
        reactor.stop()

    reactor.callWhenRunning(run)
    reactor.run()
    for failure in failures:
        raise failure
    return done


class Dropping(ABC):
    """A spider middleware that drops what `known` says repeats an earlier page."""

    def __init__(self, crawler: Any) -> None:
        self._crawler = crawler
        self._first: dict[object, str] = {}

    @classmethod
    def from_crawler(cls, crawler: Any) -> Dropping:
        return cls(crawler)

    @abstractmethod
    def known(self, response: Any) -> object:
        """Say what pages that repeat each other have in common; None: this one is kept."""

    def process_spider_input(self, response: Any) -> None:
        from scrapy.exceptions import IgnoreRequest

        known = self.known(response)
        first = response.url if known is None else self._first.setdefault(known, response.url)
        if first != response.url:
            self._crawler.spider.drop(response.url, first)
            raise IgnoreRequest

    def process_spider_exception(self, response: Any, exception: Exception) -> list[Any]:  # noqa: ARG002
        return []
