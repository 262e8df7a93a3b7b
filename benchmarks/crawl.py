"""What the plugin costs a crawl: CPU seconds a page, without it and with it.

A spider takes the title and follows the links of every page by CSS selectors, as most
spiders do, on a generated site served by another process. Each crawl runs in a process of
its own; its CPU time counts from the first response to the last. Runs without and with the
plugin take turns, and the ratio of each pair is taken, so that a machine that changes its
pace doesn't decide. Without the plugin every page must reach the callback, with it all but
one of each planted pair of near-duplicates. ``--store redis`` compares the plugin with itself:
with a Redis server, started here, and with ``memory:``.

    python benchmarks/crawl.py
    python benchmarks/crawl.py --quick
    python benchmarks/crawl.py --store redis
    python benchmarks/crawl.py --store sqlite:DIR/RUN.sqlite --words 2000 --links 20
"""

from __future__ import annotations

import argparse
import asyncio
import gc
import json
import os
import random
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import accumulate
from pathlib import Path

VOCABULARY = 20_000
PLANTED = 50
"""One page in so many is a near-duplicate of the page before it."""
SEED = 2007


def site_pages(count: int, words: int, links: int) -> list[bytes]:
    """Return the pages ``/0`` to ``/count-1``: prose of Zipf's law, navigation and links.

    A page links to the pages that follow it, so all are found though some are dropped.
    """
    source = random.Random(SEED)
    letters = "aeioubcdfghklmnprst"
    lengths = [source.randint(2, 11) for _ in range(VOCABULARY)]
    vocabulary = ["".join(source.choices(letters, k=length)) for length in lengths]
    weights = list(accumulate(1 / rank for rank in range(1, VOCABULARY + 1)))
    menu = "".join(f'<li><a href="/{n}">{vocabulary[-n]}</a></li>' for n in range(1, 21))
    pages: list[bytes] = []
    prose: list[str] = []
    for number in range(count):
        if number % PLANTED != PLANTED - 1:
            prose = source.choices(vocabulary, cum_weights=weights, k=words)
        targets = range(number + 1, min(number + 1 + links, count))
        anchors = [f'<a href="/{target}">more</a>' for target in targets]
        parts = [
            f'<p class="x">{" ".join(prose[at : at + 60])} {anchors.pop() if anchors else ""}</p>'
            for at in range(0, words, 60)
        ]
        pages.append((
            f"<!DOCTYPE html><html><head><title>Page {number}</title>"
            f'<meta charset="utf-8"><link rel="stylesheet" href="/s.css"></head><body>'
            f'<header><nav><ul>{menu}</ul></nav></header><main><h1>Page</h1>{"".join(parts)}'
            f'</main><aside>{" ".join(anchors)}</aside><footer>about us</footer></body></html>'
        ).encode())  # fmt: skip
    return pages


def serve(count: int, words: int, links: int) -> None:
    """Serve the site until standard input ends; the first line out is the port."""
    pages = site_pages(count, words, links)
    head = (
        b"HTTP/1.1 200 OK\r\nContent-Type: text/html; charset=utf-8\r\nContent-Length: %d\r\n\r\n"
    )

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while request := await reader.readline():
            while (await reader.readline()).strip():
                pass
            page = pages[int(request.split()[1][1:])]
            writer.write(head % len(page) + page)
        writer.close()

    async def run() -> None:
        server = await asyncio.start_server(answer, "127.0.0.1", 0)
        print(server.sockets[0].getsockname()[1], flush=True)
        await asyncio.to_thread(sys.stdin.read)

    asyncio.run(run())
    os._exit(0)  # connections may still be open


def crawl(url: str, *, store: str | None) -> None:
    """Crawl the site and print what it took; `store` is None without the plugin."""
    import scrapy
    from scrapy import signals
    from scrapy.crawler import CrawlerProcess

    class Links(scrapy.Spider):
        name = "links"
        start_urls = (f"{url}/0",)
        pages = 0
        started = ended = 0.0

        @classmethod
        def from_crawler(cls, crawler, *args, **kwargs):
            spider = super().from_crawler(crawler, *args, **kwargs)
            crawler.signals.connect(spider.received, signals.response_received)
            return spider

        def received(self):
            self.ended = time.process_time()
            self.started = self.started or self.ended

        def parse(self, response):
            self.pages += 1
            yield {"title": response.css("title::text").get()}
            for href in response.css("a::attr(href)").getall():
                yield response.follow(href)

    settings = {
        "LOG_LEVEL": "WARNING",
        "TELNETCONSOLE_ENABLED": False,
        "REMOTE_CONTROL_ENABLED": False,
        "CONCURRENT_REQUESTS": 16,
        "CONCURRENT_REQUESTS_PER_DOMAIN": 16,
        "DOWNLOAD_DELAY": 0,
    }
    if store is not None:
        settings |= {"ADDONS": {"scrapy_neardup.Addon": 500}, "NEARDUP_STORE": store}
    process = CrawlerProcess(settings)
    crawler = process.create_crawler(Links)
    process.crawl(crawler)
    gc.collect()
    process.start()
    spider, stats = crawler.spider, crawler.stats.get_stats()
    print(json.dumps({
        "cpu": spider.ended - spider.started,
        "called": spider.pages,
        "responses": stats["response_received_count"],
        "items": stats["item_scraped_count"],
        "dropped": stats.get("neardup/pages/dropped", 0),
        "new": stats.get("neardup/pages/new", 0),
    }))  # fmt: skip


def measure(url: str, store: str | None) -> dict[str, float]:
    """Crawl in a process of its own."""
    options = ["--crawl", url, *(() if store is None else ("--store", store))]
    done = subprocess.run(
        [sys.executable, __file__, *options], check=True, stdout=subprocess.PIPE, text=True
    )
    return json.loads(done.stdout)


@contextmanager
def contestant(store: str, folder: str) -> Iterator[tuple[str, Callable[[], object]]]:
    """Yield the URI of a store, and what empties it between runs."""
    if store != "redis":
        yield store.replace("DIR", folder), lambda: None
        return
    sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tests" / "support"))
    from redis_servers import RedisServer

    with RedisServer() as server, server.client() as client:
        yield server.uri, client.flushall


def check(result: dict[str, float], store: str | None, pages: int) -> None:
    """Assert that a crawl has found what was planted."""
    planted = 0 if store is None else pages // PLANTED
    assert result["responses"] == pages, result
    assert result["dropped"] == planted, result
    assert result["called"] == result["items"] == pages - planted, result
    assert result["new"] == (0 if store is None else pages - planted), result


def compare(
    url: str, options: argparse.Namespace, store: str, fresh: Callable[[], object]
) -> list[tuple[float, float]]:
    """Return the milliseconds a page of the two contestants, run by run.

    `fresh` is called before each run: a store has to forget what the last one left in it.
    """
    against = "memory:" if options.store == "redis" else None
    pairs = []
    for run in range(options.runs):
        kinds = [against, store.replace("RUN", str(run))]
        results = {}
        for kind in kinds if run % 2 else reversed(kinds):
            fresh()
            results[kind] = measure(url, kind)
            check(results[kind], kind, options.pages)
        one, other = (1000 * results[kind]["cpu"] / options.pages for kind in kinds)
        pairs.append((one, other))
        print(
            f"run {run + 1}: {one:6.2f} ms a page {name(against)}, "
            f"{other:6.2f} ms {name(options.store)}, ratio {other / one:.3f}",
            flush=True,
        )
    return pairs


def name(store: str | None) -> str:
    return "without" if store is None else f"with {store}"


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--pages", type=int, default=2000)
    parser.add_argument("--words", type=int, default=800, help="words of prose a page")
    parser.add_argument("--links", type=int, default=40, help="links a page, next to 20 of a menu")
    parser.add_argument("--runs", type=int, default=7, help="pairs of crawls")
    parser.add_argument(
        "--store",
        default="memory:",
        help="NEARDUP_STORE; DIR and RUN make a path of its own a run; 'redis' starts a server "
        "and compares with memory: instead of no plugin",
    )
    parser.add_argument("--quick", action="store_true", help="300 pages, 2 runs")
    parser.add_argument("--crawl", help=argparse.SUPPRESS)
    parser.add_argument("--serve", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.quick:
        options.pages, options.runs = 300, 2
    if options.serve:
        serve(options.pages, options.words, options.links)
    if options.crawl:
        crawl(options.crawl, store=options.store if "--store" in sys.argv else None)
        return
    shape = [f"--{name}={getattr(options, name)}" for name in ("pages", "words", "links")]
    with (
        tempfile.TemporaryDirectory() as folder,
        contestant(options.store, folder) as (store, fresh),
        subprocess.Popen(
            [sys.executable, __file__, "--serve", *shape],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        ) as server,
    ):
        url = f"http://127.0.0.1:{int(server.stdout.readline())}"
        try:
            pairs = compare(url, options, store, fresh)
        finally:
            server.stdin.close()
    one, other = (statistics.median(times) for times in zip(*pairs, strict=True))
    ratio = statistics.median(other / one for one, other in pairs)
    print(f"median: {one:.2f} and {other:.2f} ms of CPU a page; ratio {ratio:.3f}")


if __name__ == "__main__":
    main()
