"""Does a page cost more the longer a crawl runs? Crawls of many made-up hosts.

Of each four pages one repeats an earlier page of its host, each another one. A download handler
makes them, so a hundred thousand take minutes. Their URLs are of several styles, because what a
crawl knows about a site is kept by folder, by script and by parameter. Each crawl runs in a
process of its own; `first` and `last` are the CPU time in ms of a page of the second and the last
quarter (the first one imports and learns). Checked: each copy is dropped, each other page reaches
the callback.

    python benchmarks/broad.py --pages 100000 --hosts 300
"""

import asyncio
from argparse import Namespace
from collections.abc import Callable
from random import Random
from time import process_time
from typing import Any

import crawling
from crawling import PLUGIN
from harness import Table, arguments, in_own_process, resident

STYLES: dict[str, Callable[[int], str]] = {
    "folders": lambda page: f"s{page % 97}/f{page % 1009}/p{page}.html",
    "deep": lambda page: "/".join(str(page >> bit & 7) for bit in range(0, 18, 3)) + f"/{page}",
    "months": lambda page: f"{2000 + page % 20}/{1 + page % 12}/post-{page}.html",
    "session": lambda page: f"item{page % 7}.php?id={page}&sid={page * 7919 % 100003}",
    "query": lambda page: "x.php?" + "&".join(f"p{at}={page * at % 17}" for at in range(3, 11))
    + f"&n={page}",
}  # fmt: skip
"""Number of a page on its host -> path."""

QUARTERS = 4
WORDS = [f"{number * 7919 % 100003:x}w" for number in range(20_000)]


class Site:
    def __init__(self, style: str, hosts: int) -> None:
        self.path, self.hosts = STYLES[style], hosts

    def url(self, number: int) -> str:
        return f"http://h{number % self.hosts}.test/{self.path(number // self.hosts)}"

    def is_copy(self, number: int) -> bool:
        return number >= 4 * self.hosts and not (number // self.hosts) % 4

    def page(self, number: int) -> str:
        """Return a page; a copy shows an earlier page of its host that is no copy."""
        host, of_host = number % self.hosts, number // self.hosts
        shown = host + (of_host // 2 | 1) * self.hosts if self.is_copy(number) else number
        title = f"{WORDS[shown % len(WORDS)]} {shown}"
        links = "".join(f"<a href='{self.url(number * 13 + at)}'>{at}</a> " for at in range(5))
        text = " ".join(Random(shown).choices(WORDS, k=150))
        return f"<title>{title}</title><h1>{title}</h1><p>{text}</p><div>{links}</div>"


def crawl(style: str, pages: int, hosts: int, settings: dict[str, Any]) -> dict[str, float]:
    """Crawl, and return what the quarters took, the memory in bytes, and the counts."""
    import scrapy
    from scrapy.crawler import CrawlerProcess
    from scrapy.http import HtmlResponse

    site, times = Site(style, hosts), []

    class Maker:
        lazy = False

        @classmethod
        def from_crawler(cls, _):
            return cls()

        async def download_request(self, request):
            await asyncio.sleep(0)
            number = request.meta["number"]
            if not number % max(1, pages // QUARTERS):
                times.append(process_time())
            return HtmlResponse(request.url, body=site.page(number), encoding="utf-8")

        async def close(self):
            times.append(process_time())

    class Broad(scrapy.Spider):
        name = "broad"

        async def start(self):
            for number in range(pages):
                yield scrapy.Request(site.url(number), meta={"number": number})

        def parse(self, response):
            return {"number": response.meta["number"]}

    own = {"DOWNLOAD_HANDLERS": {"http": Maker}, "NEARDUP_KEEP_START": False}
    process = CrawlerProcess(crawling.SETTINGS | own | settings)
    crawler = process.create_crawler(Broad)
    process.crawl(crawler)
    process.start()
    stats = crawler.stats.get_stats()
    quarter = pages // QUARTERS
    return {
        "first": (times[2] - times[1]) * 1000 / quarter,
        "last": (times[QUARTERS] - times[QUARTERS - 1]) * 1000 / quarter,
        "held": resident(),
        "items": stats["item_scraped_count"],
        "dropped": stats.get("neardup/pages/dropped", 0),
    }


def main() -> None:
    options = arguments(
        __doc__,
        quick={"pages": 800, "hosts": 5, "style": ["folders", "query"]},
        check=lambda given: None if given.pages >= QUARTERS else "--pages: at least 4",
        pages=(40_000, "number of pages of a crawl"),
        hosts=(200, "number of hosts"),
        style=([*STYLES], "styles of URLs", [*STYLES]),
        urls=("report", "NEARDUP_URLS of the crawl", ["off", "report", "skip"]),
    )
    table = Table(style="<8", plugin="<8", first="7.2f", last="7.2f", megabytes="9.0f")
    for style in options.style:
        measure(style, options, table)


def measure(style: str, options: Namespace, table: Table) -> None:
    site = Site(style, options.hosts)
    copies = sum(map(site.is_copy, range(options.pages)))
    crawls = {"without": {}, "with": PLUGIN | {"NEARDUP_URLS": options.urls}}
    for plugin, settings in crawls.items():
        found = in_own_process(crawl, style, options.pages, options.hosts, settings)
        table.row(style, plugin, found["first"], found["last"], found["held"] / 1e6)
        dropped = copies if settings else 0
        assert (found["dropped"], found["items"]) == (dropped, options.pages - dropped), found


if __name__ == "__main__":
    main()
