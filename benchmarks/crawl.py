"""What the plugin costs a crawl of real pages: CPU of the Scrapy process with it and without it.

A spider asks for a sample of each site's pages, served by another process, and takes the title
and all links of each by CSS selectors. Every crawl runs in a process of its own, whose CPU time
counts from the first response to the last. In each round all contestants crawl at the same time,
on one core, which goes from one to the next every few milliseconds: a machine that changes its
pace changes it for all of them. Their ratio to the crawl without the plugin in the same round is
taken. Contestants are presets and stores, and with ``--pure`` the pure code beside the compiled
extension. Checked: each page is answered and checked once, and reaches the callback unless it is
dropped.

    python benchmarks/crawl.py SITE...
    python benchmarks/crawl.py SITE... --preset best --store memory: sqlite redis
    python benchmarks/crawl.py --quick
"""

from __future__ import annotations

import argparse
import asyncio
import gc
import itertools
import json
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from real_pages import (
    COMPILED,
    PURE,
    add_page_options,
    environment,
    sample,
    sites,
    store_uris,
    way_taken,
)

HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: %d\r\n\r\n"


@dataclass(frozen=True)
class Contestant:
    """How a site is crawled; without the plugin where there is no preset."""

    preset: str = ""
    store: str = ""
    way: str = COMPILED

    def __str__(self) -> str:
        parts = (self.preset, self.store, "pure" if self.way == PURE else "")
        return " ".join(filter(None, parts)) or "without"


WITHOUT = Contestant()


def serve(folder: str, count: str) -> None:
    """Serve a sample of a site until standard input ends; the first line out is the port."""
    pages = {path.encode(): page for path, page in sample(Path(folder), int(count)).items()}

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while request := await reader.readline():
            while (await reader.readline()).strip():
                pass
            page = pages[request.split()[1]]
            writer.write(HEAD % len(page) + page)
        writer.close()

    async def run() -> None:
        server = await asyncio.start_server(answer, "127.0.0.1", 0)
        print(server.sockets[0].getsockname()[1], flush=True)
        await asyncio.to_thread(sys.stdin.read)

    asyncio.run(run())
    os._exit(0)  # connections may still be open


@contextmanager
def served(folder: Path, count: int) -> Iterator[str]:
    """Yield the address of a sample of a site."""
    with subprocess.Popen(
        [sys.executable, __file__, "--serve", str(folder), str(count)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as server:
        try:
            yield f"http://127.0.0.1:{int(server.stdout.readline())}"
        finally:
            server.stdin.close()


def crawl(url: str, folder: str, count: str, settings: str) -> None:
    """Crawl the sample of a site that is served at `url`, and print what it took."""
    import scrapy
    from scrapy import signals
    from scrapy.crawler import CrawlerProcess

    class Reader(scrapy.Spider):
        name = "reader"
        paths = tuple(sample(Path(folder), int(count)))
        started = ended = 0.0

        async def start(self):
            for path in self.paths:  # filtered, as requests for links are
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

    common = {
        "LOG_LEVEL": "ERROR",
        "TELNETCONSOLE_ENABLED": False,
        "REMOTE_CONTROL_ENABLED": False,
        "CONCURRENT_REQUESTS": 16,
        "CONCURRENT_REQUESTS_PER_DOMAIN": 16,
        "DOWNLOAD_DELAY": 0,
    }
    process = CrawlerProcess(common | json.loads(settings))
    crawler = process.create_crawler(Reader)
    process.crawl(crawler)
    gc.collect()
    print("ready", flush=True)
    sys.stdin.readline()
    process.start()
    spider, stats = crawler.spider, crawler.stats.get_stats()
    print(json.dumps({
        "cpu": spider.ended - spider.started,
        "way": way_taken(),
        "pages": len(spider.paths),
        "responses": stats["response_received_count"],
        "items": stats.get("item_scraped_count", 0),
        "checked": stats.get("neardup/pages/checked", 0),
        "dropped": stats.get("neardup/pages/dropped", 0),
    }))  # fmt: skip


@contextmanager
def on_one_core() -> Iterator[None]:
    """Let what is started within the block run on one core, where the system can."""
    if not hasattr(os, "sched_setaffinity"):
        yield
        return
    cores = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {max(cores)})
    try:
        yield
    finally:
        os.sched_setaffinity(0, cores)


def start(one: Contestant, uri: str, run: str, arguments: list[str]) -> subprocess.Popen:
    """Start a crawl in a process of its own; it waits for a line."""
    settings = {
        "ADDONS": {"scrapy_neardup.Addon": 500},
        "NEARDUP_PRESET": one.preset,
        "NEARDUP_STORE": uri.format(run=run),
        "NEARDUP_NAMESPACE": run,
    }
    return subprocess.Popen(
        [sys.executable, __file__, "--crawl", *arguments,
         json.dumps({} if one == WITHOUT else settings)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env=environment(one.way),
    )  # fmt: skip


def compare(
    folder: Path, contestants: dict[Contestant, str], options: argparse.Namespace, runs: Iterator
) -> dict[Contestant, list[dict[str, float]]]:
    """Crawl one site in rounds; return what each contestant took, round by round."""
    found = {one: [] for one in contestants}
    with served(folder, options.pages) as url:
        arguments = [url, str(folder), str(options.pages)]
        for _ in range(options.rounds):
            with on_one_core():
                crawls = {
                    one: start(one, uri, f"run-{next(runs)}", arguments)
                    for one, uri in contestants.items()
                }
            for process in crawls.values():
                assert process.stdout.readline() == "ready\n"
            for process in crawls.values():
                process.stdin.write("\n")
                process.stdin.flush()
            for one, process in crawls.items():
                printed, _ = process.communicate()
                found[one].append(checked(one, json.loads(printed)))
    return found


def checked(one: Contestant, found: dict[str, float]) -> dict[str, float]:
    """Return what a crawl has counted, which must add up."""
    assert found["responses"] == found["pages"], found
    assert found["items"] == found["pages"] - found["dropped"], found
    assert found["checked"] == (0 if one == WITHOUT else found["pages"]), found
    return found


def show(name: str, found: dict[Contestant, list[dict[str, float]]]) -> dict[Contestant, float]:
    """Print what a site's crawls took; return the median ratio of each contestant."""
    base = found.pop(WITHOUT)
    pages = base[0]["pages"]
    median = statistics.median(1000 * each["cpu"] / pages for each in base)
    print(f"\n{name}: {pages} pages, {median:.2f} ms of CPU a page without the plugin")
    ratios = {}
    for one, runs in found.items():
        each = sorted(run["cpu"] / bare["cpu"] for run, bare in zip(runs, base, strict=True))
        ratios[one] = statistics.median(each)
        dropped = runs[0]["dropped"] / pages
        print(
            f"  {one!s:24} {ratios[one]:.3f} times, {each[0]:.3f} to {each[-1]:.3f};"
            f" {runs[0]['way']}, {dropped:.0%} dropped",
            flush=True,
        )
    return ratios


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    add_page_options(parser, pages=400, rounds=5)
    parser.add_argument("--serve", nargs=2, help=argparse.SUPPRESS)
    parser.add_argument("--crawl", nargs=4, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.serve:
        serve(*options.serve)
    if options.crawl:
        crawl(*options.crawl)
        return
    if options.quick:
        options.pages, options.rounds = 20, 1
    ways = [COMPILED, PURE] if options.pure else [COMPILED]
    runs = itertools.count()
    with (
        TemporaryDirectory() as scratch,
        sites(options) as folders,
        store_uris(options.store, Path(scratch)) as uris,
    ):
        contestants = {WITHOUT: ""} | {
            Contestant(preset, store, way): uris[store]
            for preset in options.preset
            for store in options.store
            for way in ways
        }
        by_site = [
            show(folder.name, compare(folder, contestants, options, runs)) for folder in folders
        ]
    print(f"\nCPU with the plugin to CPU without it, {len(by_site)} sites:")
    for one in by_site[0]:
        ratios = sorted(each[one] for each in by_site)
        print(f"  {one!s:24} median {statistics.median(ratios):.3f}, worst {ratios[-1]:.3f}")


if __name__ == "__main__":
    main()
