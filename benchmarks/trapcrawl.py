"""One crawl of `trapsite`, in a process of its own, and the journal of its responses.

The spider follows every link, breadth first and one request at a time: the order that
serves a crawl without a filter best, and the same crawl whenever it is run. Settings given
by the caller come last.
"""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from scrapy_neardup import signals as neardup_signals
from scrapy_neardup.text import Extractor

SETTINGS = {
    "LOG_LEVEL": "ERROR",
    "TELNETCONSOLE_ENABLED": False,
    "REMOTE_CONTROL_ENABLED": False,
    "ROBOTSTXT_OBEY": False,
    "METAREFRESH_ENABLED": False,
    "DEPTH_PRIORITY": 1,
    "SCHEDULER_DISK_QUEUE": "scrapy.squeues.PickleFifoDiskQueue",
    "SCHEDULER_MEMORY_QUEUE": "scrapy.squeues.FifoMemoryQueue",
    "CONCURRENT_REQUESTS": 1,
    "DOWNLOAD_DELAY": 0,
}
PLUGIN = {"ADDONS": '{"scrapy_neardup.Addon": 500}', "NEARDUP_HASH_KEY": "public"}
EXACT = {"SPIDER_MIDDLEWARES": '{"trapcrawl.ExactText": 60}'}
PROGRESS = 1000
_MIN_WORDS = 5
"""Pages with fewer aren't judged, as by the plugin."""


@dataclass(slots=True)
class Record:
    """What became of one response."""

    url: str
    status: int
    of: str | None = None
    """The page that a filter took it for."""
    distance: int | None = None
    resemblance: float | None = None
    called: bool = False
    """The callback has seen it."""

    @property
    def dropped(self) -> bool:
        """A filter called it a duplicate, whatever was then done about its links."""
        return self.of is not None


@dataclass(frozen=True, slots=True)
class Crawl:
    """A crawl that has ended."""

    name: str
    records: list[Record]
    stats: dict[str, object]

    @property
    def finished(self) -> bool:
        """Whether it ended because nothing was left to do."""
        return self.stats["finish_reason"] == "finished"


class ExactText:
    """Spider middleware: drops a page whose visible text equals that of an earlier one."""

    def __init__(self, crawler):
        self._crawler = crawler
        self._extractor = Extractor()
        self._first = {}

    @classmethod
    def from_crawler(cls, crawler):
        return cls(crawler)

    def process_spider_input(self, response):
        from scrapy.exceptions import IgnoreRequest

        words = tuple(self._extractor.extract(response.selector.root).text.split())
        first = self._first.setdefault(words, response.url)
        if first != response.url and len(words) >= _MIN_WORDS:
            self._crawler.spider.drop(response.url, first)
            raise IgnoreRequest


def run(name: str, url: str, settings: dict[str, str], folder: Path, most: int) -> Crawl:
    """Crawl the site at `url` in another process; `most` bounds the requests (0: don't)."""
    file = folder / f"{name}.json"
    given = SETTINGS | {"CLOSESPIDER_PAGECOUNT": most} | settings
    command = [sys.executable, __file__, name, url, str(file), json.dumps(given)]
    subprocess.run(command, check=True, cwd=Path(__file__).parent)
    found = json.loads(file.read_text("utf-8"))
    return Crawl(name, [Record(*values) for values in found["records"]], found["stats"])


def crawl(name: str, url: str, file: str, settings: dict[str, object]) -> None:
    import scrapy
    from scrapy import signals
    from scrapy.crawler import CrawlerProcess
    from scrapy.linkextractors import LinkExtractor

    class Everything(scrapy.Spider):
        """Follows every link, and keeps the journal."""

        name = "everything"
        allowed_domains = ("127.0.0.1",)
        start_urls = (url,)
        link_extractor = LinkExtractor()

        @classmethod
        def from_crawler(cls, crawler, *args, **kwargs):
            spider = super().from_crawler(crawler, *args, **kwargs)
            spider.records = {}
            crawler.signals.connect(spider.received, signals.response_received)
            crawler.signals.connect(spider.near_duplicate, neardup_signals.near_duplicate)
            return spider

        def received(self, response):
            assert response.url not in self.records, f"{response.url} was fetched twice"
            self.records[response.url] = Record(response.url, response.status)
            if len(self.records) % PROGRESS == 0:
                print(f"{title}: {len(self.records):,} responses", file=sys.stderr, flush=True)

        def near_duplicate(self, response, verdict):
            match = verdict.match
            self.drop(response.url, match.url, match.distance, match.resemblance)

        def drop(self, url, of, distance=None, resemblance=None):
            record = self.records[url]
            record.of, record.distance, record.resemblance = of, distance, resemblance

        def parse(self, response):
            self.records[response.url].called = True
            for link in self.link_extractor.extract_links(response):
                yield scrapy.Request(link.url)

    title = name
    process = CrawlerProcess(settings)
    crawler = process.create_crawler(Everything)
    process.crawl(crawler)
    process.start()
    rows = [
        [r.url, r.status, r.of, r.distance, r.resemblance, r.called]
        for r in crawler.spider.records.values()
    ]
    journal = {"records": rows, "stats": crawler.stats.get_stats()}
    Path(file).write_text(json.dumps(journal, default=str), encoding="utf-8")


if __name__ == "__main__":
    crawl(*sys.argv[1:4], json.loads(sys.argv[4]))
