"""Crawls of made-up sites by real Scrapy: a server on this machine, a spider, and its journal."""

from __future__ import annotations

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

Answer = Callable[[str], tuple[int, str | bytes]]
"""Path with its query -> status and HTML."""


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
        status, page = self.server.answer(self.path)
        is_raw = isinstance(page, bytes)
        body = page if is_raw else page.encode()
        self.send_response(HTTPStatus(status))
        self.send_header("Content-Type", "text/html" + "; charset=utf-8" * (not is_raw))
        self.send_header("Content-Length", str(len(body)))
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
    """What became of one response."""

    url: str
    status: int
    of: str | None = None
    """The page that a filter took it for."""
    distance: int | None = None
    called: bool = False
    """The callback has seen it."""
    verdict: Any = None

    @property
    def dropped(self) -> bool:
        return self.of is not None


@dataclass(frozen=True, slots=True)
class Crawl:
    """A crawl that has ended."""

    name: str
    records: list[Record]
    stats: dict[str, Any]

    @property
    def finished(self) -> bool:
        return self.stats["finish_reason"] == "finished"

    @property
    def refetched(self) -> int:
        """Number of requests that were made a second time, as an experiment."""
        return self.stats.get("neardup/experiments/refetched", 0)


@dataclass(frozen=True)
class Job:
    """A crawl to make: every link is followed, in an order of chance if `order` says so."""

    name: str
    start: str
    settings: dict[str, Any] = field(default_factory=dict)
    order: str = ""


def _spider() -> type:
    from scrapy import Request, Spider, signals
    from scrapy.http.request import NO_CALLBACK
    from scrapy.linkextractors import LinkExtractor

    from scrapy_neardup import signals as neardup_signals

    class Everything(Spider):
        """Follows every link, and keeps the journal."""

        name = "everything"

        @classmethod
        def from_crawler(cls, crawler, job):
            spider = super().from_crawler(crawler, job=job, records={})
            spider.links = LinkExtractor()
            crawler.signals.connect(spider.received, signals.response_received)
            crawler.signals.connect(spider.near_duplicate, neardup_signals.near_duplicate)
            return spider

        async def start(self):
            yield self.ask(self.job.start)

        def ask(self, url):
            order = self.job.order
            drawn = Random(f"{order} {url}").randrange(DRAWN) if "random" in order else 0
            return Request(url, priority=drawn)

        def received(self, response, request):
            is_experiment = request.callback is NO_CALLBACK
            assert is_experiment == (response.url in self.records), f"{response.url}, twice"
            self.records.setdefault(response.url, Record(response.url, response.status))
            if len(self.records) % 1_000 == 0:
                print(f"{self.job.name}: {len(self.records):,} requests", file=sys.stderr)

        def near_duplicate(self, response, verdict):
            self.drop(response.url, verdict.match.url or "?", verdict.match.distance, verdict)

        def drop(self, url, of, distance=None, verdict=None):
            record = self.records[url]
            record.of, record.distance, record.verdict = of, distance, verdict

        def parse(self, response):
            self.records[response.url].called = True
            for link in self.links.extract_links(response):
                yield self.ask(link.url)

    return Everything


def crawl(jobs: Iterable[Job]) -> list[Crawl]:
    """Make crawls one after the other. Once in a process, as this starts Scrapy's reactor.

    The next job is asked for when the one before has ended.
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
                configure_logging(settings := SETTINGS | job.settings)
                crawler = CrawlerRunner(settings).create_crawler(_spider())
                yield crawler.crawl(job=job)
                records, stats = crawler.spider.records, crawler.stats.get_stats()
                done.append(Crawl(job.name, list(records.values()), stats))
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
