"""Worlds crawled by real Scrapy, over HTTP on this machine; what reaches the callback counts.

A server on 127.0.0.1 answers for all host names of a world as their proxy. Each page links to all
pages of its own content and of two others (by `<link rel="related">`, which adds no text), a
binary tree of contents that the spider follows from the world's first page: breadth first, depth
first, or in an order of chance. So a content that is lost withholds those below it, as on any
site, and one that is delivered leads to all that it would lead to in a crawl without a filter.
"""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import AsyncIterator, Hashable, Iterator, Sequence
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from random import Random

from scrapy import Request, Spider, signals
from scrapy.crawler import Crawler, CrawlerRunner
from scrapy.exceptions import IgnoreRequest
from scrapy.http import Response
from scrapy.utils.log import configure_logging
from scrapy.utils.reactor import install_reactor
from worlds_judging import Tally, tally
from worlds_site import FAMILIES, Page, World

from scrapy_neardup import Addon
from scrapy_neardup import signals as neardup_signals
from scrapy_neardup.verdict import Verdict

NONE, ORACLE = "none", "oracle"
"""Filters beside the presets: none at all, and one that knows the truth."""

SETTINGS = {
    "LOG_LEVEL": "WARNING",
    "TELNETCONSOLE_ENABLED": False,
    "REMOTE_CONTROL_ENABLED": False,
    "RETRY_ENABLED": False,
}
BREADTH_FIRST = {
    "DEPTH_PRIORITY": 1,
    "SCHEDULER_DISK_QUEUE": "scrapy.squeues.PickleFifoDiskQueue",
    "SCHEDULER_MEMORY_QUEUE": "scrapy.squeues.FifoMemoryQueue",
}
DRAWN = 1000
"""Priorities of requests in an order of chance."""


def orders(count: int) -> list[str]:
    """Return the names of `count` orders."""
    return ["breadth", "depth", *(f"random {n}" for n in range(1, count - 1))][:count]


def links(pages: Sequence[Page]) -> dict[str, list[str]]:
    """Return the URLs to which each page links."""
    groups: dict[Hashable, list[str]] = {}
    for page in pages:
        groups.setdefault(page.content, []).append(page.url)
    tree = list(groups.values())
    return {
        url: [each for each in sum(tree[2 * at + 1 : 2 * at + 3], urls) if each != url]
        for at, urls in enumerate(tree)
        for url in urls
    }


class Server(ThreadingHTTPServer):
    """Answers as the proxy of all hosts of the worlds, and counts what it has served."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.answers: dict[str, bytes] = {}
        self.served: Counter[str] = Counter()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}"

    def show(self, world: World) -> None:
        """Serve a world, and nothing else."""
        targets = links(world.pages)
        self.served.clear()
        self.answers = {}
        for page in world.pages:
            related = "".join(f'<link rel="related" href="{url}">' for url in targets[page.url])
            self.answers[page.url] = page.html.replace("</head>", f"{related}</head>").encode()


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    server: Server

    def do_GET(self) -> None:
        body = self.server.answers.get(self.path, b"")
        self.server.served[self.path] += 1
        self.send_response(HTTPStatus.OK if body else HTTPStatus.NOT_FOUND)
        self.send_header("Content-Type", "text/html; charset=utf-8")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        pass


class Visitor(Spider):
    """Follows every link of a world in an order, and notes what it gets."""

    name = "visitor"

    @classmethod
    def from_crawler(cls, crawler: Crawler, *args: object, **kwargs: object) -> Visitor:
        spider = super().from_crawler(crawler, *args, **kwargs)
        spider.received, spider.delivered, spider.dropped = [], [], {}
        crawler.signals.connect(spider.note, signals.response_received)
        crawler.signals.connect(spider.drop, neardup_signals.near_duplicate)
        return spider

    async def start(self) -> AsyncIterator[Request]:
        yield self.ask(self.world.pages[0].url)

    def ask(self, url: str) -> Request:
        random = self.order.startswith("random")
        drawn = Random(f"{self.order} {url}").randrange(DRAWN) if random else 0
        return Request(url, priority=drawn, meta={"proxy": self.proxy})

    def note(self, response: Response) -> None:
        self.received.append(response.url)

    def drop(self, response: Response, verdict: Verdict | None) -> None:
        self.dropped[response.url] = verdict

    def parse(self, response: Response) -> Iterator[Request]:
        self.delivered.append(response.url)
        for url in response.css('link[rel="related"]::attr(href)').getall():
            yield self.ask(url)


class Oracle:
    """Spider middleware: drops what shows a content that was delivered before."""

    def __init__(self, crawler: Crawler) -> None:
        self._crawler = crawler
        self._delivered: set[Hashable] = set()

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Oracle:
        return cls(crawler)

    def process_spider_input(self, response: Response) -> None:
        spider = self._crawler.spider
        [content] = (page.content for page in spider.world.pages if page.url == response.url)
        if content in self._delivered:
            spider.drop(response, None)
            raise IgnoreRequest
        self._delivered.add(content)

    def process_spider_exception(self, response: Response, exception: Exception) -> list[Request]:  # noqa: ARG002
        return []


def settings_of(filtered: str, order: str) -> dict[str, object]:
    """Return the settings of a crawl; see `crawl`."""
    settings = SETTINGS | (BREADTH_FIRST if order == "breadth" else {})
    if filtered == ORACLE:
        settings["SPIDER_MIDDLEWARES"] = {Oracle: 60}
    elif filtered != NONE:
        settings |= {
            "ADDONS": {Addon: 500},
            "NEARDUP_HASH_KEY": "public",
            "NEARDUP_PRESET": filtered,
        }
    return settings


def crawl(names: Sequence[str], *, filtered: str, order: str, seed: int) -> dict[str, Tally]:
    """Crawl a world of each family, one after the other, and return what was counted.

    Once in a process, as it starts Scrapy's reactor.

    Parameters
    ----------
    filtered
        `NONE`, `ORACLE`, or a preset of the plugin.
    order
        One of `orders`.
    """
    install_reactor("twisted.internet.asyncioreactor.AsyncioSelectorReactor")
    from twisted.internet import defer, reactor

    settings = settings_of(filtered, order)
    configure_logging(settings)
    tallies: dict[str, Tally] = {}
    failures: list[BaseException] = []

    @defer.inlineCallbacks
    def run() -> Iterator[object]:
        try:
            for name in names:
                world = FAMILIES[name].world(seed)
                server.show(world)
                crawler = CrawlerRunner(settings).create_crawler(Visitor)
                yield crawler.crawl(world=world, order=order, proxy=server.url)
                check(world, server, crawler)
                spider = crawler.spider
                tallies[name] = tally(world.pages, spider.dropped, set(spider.received))
        except BaseException as failure:  # noqa: BLE001  (raised below, outside the reactor)
            failures.append(failure)
        reactor.stop()

    with Server() as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        reactor.callWhenRunning(run)
        reactor.run()
        server.shutdown()
    for failure in failures:
        raise failure
    return tallies


def check(world: World, server: Server, crawler: Crawler) -> None:
    """Assert that a crawl's counts are right: every page served once, and counted once."""
    spider, stats = crawler.spider, crawler.stats.get_stats()
    assert stats["finish_reason"] == "finished", world.name
    assert not stats.get("log_count/ERROR"), world.name
    assert set(server.served) <= set(server.answers), f"{world.name}: a link leads nowhere"
    assert set(server.served.values()) == {1}, f"{world.name}: a page was fetched twice"
    assert server.served.total() == len(spider.received) == stats["downloader/response_count"]
    counted = Counter(spider.delivered) + Counter(spider.dropped.keys())
    assert counted == Counter(spider.received), f"{world.name}: a page was counted twice, or never"
    if "neardup/pages/checked" in stats:
        assert stats.get("neardup/pages/dropped", 0) == len(spider.dropped), world.name
