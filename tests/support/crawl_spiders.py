"""Spiders for tests to inherit from."""

from typing import ClassVar

import scrapy
from scrapy.spiders import CrawlSpider
from scrapy.utils.defer import maybe_deferred_to_future

from scrapy_neardup.crawl import circuitbreaker

TOGETHER = {"CONCURRENT_REQUESTS": 16, "SCRAPER_SLOT_MAX_ACTIVE_SIZE": 5_000_000}
"""Settings under which pages don't come one after the other."""

ONE_BY_ONE = {
    "CONCURRENT_REQUESTS": 1,
    "SCHEDULER_PRIORITY_QUEUE": "scrapy.pqueues.ScrapyPriorityQueue",  # hosts don't take turns
}
"""Settings under which they do."""


AGAIN = {"dont_filter": True}
"""What `Visit` sends so that it requests every path, whether it has done so before or not."""


class Visit(scrapy.Spider):
    """Requests ``paths`` one after the other, and notes which of them a callback sees.

    The start request is a JSON document, so that it is no page itself; `paths` are paths
    of the site, in order.
    """

    name = "visit"
    sends: ClassVar = {}
    """Further arguments of each request; a method `failed` is its errback."""
    hears: ClassVar = {}
    """Methods, and the signals that call them."""
    fails = ()
    """Paths of pages whose callback fails after its output."""

    @classmethod
    def from_crawler(cls, crawler, *arguments, **keywords):
        spider = super().from_crawler(crawler, *arguments, **keywords)
        for method, signal in cls.hears.items():
            crawler.signals.connect(getattr(spider, method), signal)
        return spider

    def __init__(self, site, paths=(), **arguments):
        super().__init__(**arguments)
        self.site = site
        self.paths = paths
        self.notes = []
        self.start_urls = [f"{site}/start.json"]

    def parse(self, response):
        for place, path in enumerate(self.paths):
            yield self.request(response, path, -1000 * place)

    def request(self, response, path, priority):
        url, failed = response.urljoin(path), getattr(self, "failed", None)
        return scrapy.Request(url, self.page, priority=priority, errback=failed, **self.sends)

    def page(self, response):
        self.note(response)
        yield {"path": self.path_of(response)}
        self.fail_for(response)

    def fail_for(self, response):
        if self.path_of(response) in self.fails:
            raise RuntimeError("an error in the callback")

    async def inline(self, request):
        """Download a response within a callback."""
        engine = self.crawler.engine
        if hasattr(engine, "download_async"):
            return await engine.download_async(request)
        return await maybe_deferred_to_future(engine.download(request))  # Scrapy < 2.14

    def note(self, response, *more):
        self.notes.append([self.path_of(response), *more] if more else self.path_of(response))

    def path_of(self, response):
        return response.url.removeprefix(self.site)


class RuleSpider(CrawlSpider):
    """Begins at the front page; ``rules`` are its own."""

    name = "rules"

    def __init__(self, site, notes=None, **_):
        super().__init__()
        self.start_urls, self.notes = [f"{site}/"], []


class Starts(Visit):
    """Starts with its paths."""

    async def start(self):
        for place, path in enumerate(self.paths):
            yield scrapy.Request(self.site + path, self.page, priority=-1000 * place)


class Impatient(Visit):
    """Leaves a broken store alone for no longer than a test can wait."""

    pause = 0.3

    @classmethod
    def from_crawler(cls, crawler, *arguments, **keywords):
        cls.usual = circuitbreaker.FIRST_PAUSE_SECONDS, circuitbreaker.PAUSE_SECONDS
        circuitbreaker.FIRST_PAUSE_SECONDS = circuitbreaker.PAUSE_SECONDS = cls.pause
        return super().from_crawler(crawler, *arguments, **keywords)

    def closed(self, reason):
        circuitbreaker.FIRST_PAUSE_SECONDS, circuitbreaker.PAUSE_SECONDS = self.usual


class Follow(Visit):
    """Yields an item, and a request for each of the page's links, the first ones first."""

    def page(self, response):
        self.note(response)
        yield {"path": self.path_of(response)}
        for place, href in enumerate(response.css("a[href^='/']::attr(href)").getall()):
            yield self.request(response, href, -1_000_000 - 1000 * place)


class Copies(Visit):
    """The pages that its pages lead to copy their meta."""

    def page(self, response):
        self.note(response)
        for href in response.css("a::attr(href)").getall():
            yield response.follow(href, self.page, meta=response.meta, priority=-1_000_000)


class Default(Visit):
    """Has its requests without a callback."""

    def request(self, response, path, priority):
        return super().request(response, path, priority).replace(callback=None)

    def parse(self, response):
        at_start = self.path_of(response) == "/start.json"
        return super().parse(response) if at_start else self.page(response)
