"""What `NEARDUP_URLS = "skip"` saves, and whether it costs a page, where parameters matter.

Crawls the sites of `urlworlds` with real Scrapy, with ``"report"`` and with ``"skip"``. A content
that the first crawl delivered and the second one didn't is lost; there must be none.

    python benchmarks/urlrules.py --quick
    python benchmarks/urlrules.py --seeds 3
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import threading
from collections import Counter
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from urlworlds import KINDS, Site, sites

SETTINGS = {
    "LOG_LEVEL": "ERROR",
    "TELNETCONSOLE_ENABLED": False,
    "REMOTE_CONTROL_ENABLED": False,
    "ROBOTSTXT_OBEY": False,
    "DOWNLOAD_DELAY": 0,
    "CONCURRENT_REQUESTS_PER_DOMAIN": 8,
}
BREADTH_FIRST = {
    "DEPTH_PRIORITY": 1,
    "SCHEDULER_DISK_QUEUE": "scrapy.squeues.PickleFifoDiskQueue",
    "SCHEDULER_MEMORY_QUEUE": "scrapy.squeues.FifoMemoryQueue",
}


class Server(ThreadingHTTPServer):
    """Serves one site."""

    daemon_threads = True

    def __init__(self, site: Site) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.site = site


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    server: Server

    def do_GET(self) -> None:
        page = self.server.site.answer(self.path)
        body = (page or "").encode()
        self.send_response(HTTPStatus.NOT_FOUND if page is None else HTTPStatus.OK)
        self.send_header("Content-Type", "text/html; charset=utf-8")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        pass


def crawled(site: Site, settings: dict[str, Any]) -> tuple[set[str], dict[str, Any]]:
    """Crawl a site in another process; return the contents that were delivered, and the stats."""
    with Server(site) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        url = f"http://127.0.0.1:{server.server_port}"
        command = [sys.executable, __file__, "--crawl", url, json.dumps(settings)]
        done = subprocess.run(command, check=True, capture_output=True, text=True)
        server.shutdown()
    found = json.loads(done.stdout)
    return {site.shows[path] for path in found["delivered"]}, found["stats"]


def crawl(url: str, settings: dict[str, Any]) -> None:
    import scrapy
    from scrapy.crawler import CrawlerProcess

    class Everything(scrapy.Spider):
        """Follows every link."""

        name = "everything"
        start_urls = (f"{url}/",)
        delivered: list[str] = []  # noqa: RUF012  (one spider a process)

        def parse(self, response):
            self.delivered.append(response.url.removeprefix(url))
            yield from response.follow_all(css="a")

    process = CrawlerProcess(SETTINGS | settings)
    crawler = process.create_crawler(Everything)
    process.crawl(crawler)
    process.start()
    stats = {k: v for k, v in crawler.stats.get_stats().items() if isinstance(v, int | str)}
    print(json.dumps({"delivered": Everything.delivered, "stats": stats}))


def row(site: Site, order: dict[str, Any]) -> Counter[str]:
    """Crawl a site twice and return what is counted."""
    addon = {"ADDONS": {"scrapy_neardup.Addon": 500}, "NEARDUP_HASH_KEY": "public"}
    plugin = addon | order
    whole, before = crawled(site, plugin | {"NEARDUP_URLS": "report"})
    skipping, after = crawled(site, plugin | {"NEARDUP_URLS": "skip"})
    for stats in (before, after):
        assert stats["finish_reason"] == "finished"
        assert not stats.get("log_count/ERROR")
    assert "neardup/urls/skipped" not in before
    return Counter({
        "sites": 1,
        "contents": len(site.contents()),
        "requests": before["downloader/request_count"],
        "with": after["downloader/request_count"],
        "skipped": after.get("neardup/urls/skipped", 0),
        "again": after.get("neardup/urls/requested-again", 0),
        "begun": after.get("neardup/urls/rules-begun", 0),
        "wrong": after.get("neardup/urls/rules-ended", 0),
        "lost": len(whole - skipping),
    })  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--seeds", type=int, default=1)
    parser.add_argument("--kind", nargs="*", help="only those whose names hold one of these")
    parser.add_argument("--depth-first", action="store_true", help="Scrapy's default order")
    parser.add_argument("--quick", action="store_true", help="three kinds")
    parser.add_argument("--crawl", nargs=2, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.crawl:
        crawl(options.crawl[0], json.loads(options.crawl[1]))
        return
    wanted = options.kind or (["?page=", "?sid=", "/print/"] if options.quick else [""])
    kinds = [kind for kind in KINDS if any(name in kind.name for name in wanted)]
    total: Counter[str] = Counter()
    columns = ("contents", "requests", "with", "skipped", "again", "begun", "wrong", "lost")
    print(f"{'':24}", *(f"{column:>9}" for column in columns))
    by_kind: dict[str, Counter[str]] = {}
    for site in sites(kinds, options.seeds):
        found = row(site, {} if options.depth_first else BREADTH_FIRST)
        by_kind.setdefault(site.kind.name, Counter()).update(found)
        total.update(found)
        if by_kind[site.kind.name]["sites"] == options.seeds:
            sums = by_kind[site.kind.name]
            print(f"{site.kind.name:24}", *(f"{sums[c]:9,}" for c in columns), flush=True)
    print(f"{'all':24}", *(f"{total[c]:9,}" for c in columns))
    assert not total["lost"], "pages were never delivered"


if __name__ == "__main__":
    main()
