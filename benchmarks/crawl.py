"""What the plugin costs a crawl of real pages: CPU of the Scrapy process with it and without it.

A spider asks for a sample of each site's pages, served by another process, and takes title and
links of each. Every crawl runs in a process of its own, whose CPU time counts from the first
response to the last. In each round all contestants (presets and stores; with ``--pure`` the pure
code, too) crawl one after the other on one core, in the opposite order every second time; their
ratio to the crawl without the plugin is taken. Checked: each page is answered and checked once,
and reaches the callback unless it is dropped.

    python benchmarks/crawl.py SITE... --preset best --store memory: sqlite redis
"""

import gc
import os
import statistics
import time
from argparse import Namespace
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from multiprocessing import get_context
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import crawling
from crawling import PLUGIN
from harness import environment
from real_pages import Contestant, options_of, sample, setting, way_taken

WITHOUT = Contestant()
SPAWN = get_context("spawn")


def serve(folder: Path, count: int, end: Connection) -> None:
    pages = sample(folder, count)
    with crawling.served(lambda path: (200, pages[path])) as server:
        end.send(server.url)
        end.recv()


@contextmanager
def served(folder: Path, count: int) -> Iterator[str]:
    ours, theirs = SPAWN.Pipe()
    process = SPAWN.Process(target=serve, args=(folder, count, theirs))
    process.start()
    yield ours.recv()
    ours.send("end")
    process.join()


def crawl(url: str, paths: list[str], settings: dict[str, Any], end: Connection) -> None:
    """Crawl pages that are served at `url`, and send what it took."""
    import scrapy
    from scrapy import signals
    from scrapy.crawler import CrawlerProcess

    class Reader(scrapy.Spider):
        name = "reader"
        started = ended = 0.0

        async def start(self):
            for path in paths:  # filtered, as requests for links are
                yield scrapy.Request(url + path)

        @classmethod
        def from_crawler(cls, crawler, *args, **kwargs):
            spider = super().from_crawler(crawler, *args, **kwargs)
            crawler.signals.connect(spider.received, signals.response_received)
            return spider

        def received(self):
            self.ended = time.process_time()
            self.started = self.started or self.ended

        def parse(self, response):
            links = [
                response.urljoin(href.strip())
                for href in response.css("a::attr(href)").getall()
                if not href.startswith(("javascript:", "mailto:"))
            ]
            return {"title": response.css("title::text").get(), "links": links}

    common = crawling.SETTINGS | {"CONCURRENT_REQUESTS_PER_DOMAIN": 16}
    process = CrawlerProcess(common | settings)
    crawler = process.create_crawler(Reader)
    process.crawl(crawler)
    gc.collect()
    process.start()
    spider, stats = crawler.spider, crawler.stats.get_stats()
    counts = {
        "responses": "response_received_count", "items": "item_scraped_count",
        "checked": "neardup/pages/checked", "dropped": "neardup/pages/dropped",
        "refetched": "neardup/experiments/refetched", "doubts": "neardup/experiments/doubts",
    }  # fmt: skip
    taken = {"cpu": spider.ended - spider.started, "way": way_taken(), "pages": len(paths)}
    end.send(taken | {name: stats.get(stat, 0) for name, stat in counts.items()})


@contextmanager
def on_one_core() -> Iterator[None]:
    if not hasattr(os, "sched_setaffinity"):
        yield
        return
    cores = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {max(cores)})
    try:
        yield
    finally:
        os.sched_setaffinity(0, cores)


def settings_of(one: Contestant, uri: str) -> dict[str, Any]:
    if one == WITHOUT:
        return {}
    own = {"PRESET": one.preset, "STORE": uri, "NAMESPACE": f"run{time.time_ns()}"}
    return PLUGIN | {f"NEARDUP_{name}": value for name, value in own.items()}


def crawl_in_turn(
    contestants: dict[Contestant, Iterator[str]], start: partial, *, backwards: bool
) -> dict[Contestant, dict[str, float]]:
    found = {}
    for one in sorted(contestants, key=list(contestants).index, reverse=backwards):
        ours, theirs = SPAWN.Pipe()
        settings = settings_of(one, next(contestants[one]))
        with on_one_core(), environment(pure=one.pure):
            SPAWN.Process(target=start, args=(settings, theirs)).start()
        found[one] = ours.recv()
    for one, counted in found.items():
        again = counted["refetched"] + counted["doubts"]
        assert counted["responses"] == counted["pages"] + again, counted
        assert counted["items"] == counted["pages"] - counted["dropped"], counted
        assert counted["checked"] == (0 if one == WITHOUT else counted["pages"]), counted
    return found


def show(name: str, rounds: list[dict[Contestant, dict]]) -> dict[Contestant, float]:
    base = [found[WITHOUT] for found in rounds]
    pages = base[0]["pages"]
    median = statistics.median(1000 * each["cpu"] / pages for each in base)
    print(f"\n{name}: {pages} pages, {median:.2f} ms of CPU a page without the plugin")
    ratios = {}
    for one in rounds[0].keys() - {WITHOUT}:
        each = sorted(found[one]["cpu"] / found[WITHOUT]["cpu"] for found in rounds)
        ratios[one], last = statistics.median(each), rounds[0][one]
        print(f"  {one!s:24} {ratios[one]:.3f} times, {each[0]:.3f} to {each[-1]:.3f};"
              f" {last['way']}, {last['dropped'] / pages:.0%} dropped", flush=True)  # fmt: skip
    return ratios


def compare(folder: Path, contestants: dict, options: Namespace) -> dict[Contestant, float]:
    with served(folder, options.pages) as url:
        start = partial(crawl, url, list(sample(folder, options.pages)))
        rounds = [
            crawl_in_turn(contestants, start, backwards=bool(number % 2))
            for number in range(options.rounds)
        ]
    return show(folder.name, rounds)


def main() -> None:
    options = options_of(__doc__, quick={"pages": 20, "rounds": 1})
    with setting(options) as (folders, contestants):
        all_of_them = {WITHOUT: iter(lambda: "", None)} | contestants
        by_site = [compare(folder, all_of_them, options) for folder in folders]
    print(f"\nCPU with the plugin to CPU without it, {len(by_site)} sites:")
    for one in by_site[0]:
        ratios = sorted(each[one] for each in by_site)
        print(f"  {one!s:24} median {statistics.median(ratios):.3f}, worst {ratios[-1]:.3f}")


if __name__ == "__main__":
    main()
