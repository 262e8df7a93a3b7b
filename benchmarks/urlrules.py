"""What `NEARDUP_URLS = "skip"` saves, and whether it costs a page, where parameters matter.

Crawls the sites of `urlworlds` with real Scrapy, with ``"report"`` and with ``"skip"``. A content
that the first crawl delivered and the second one didn't is lost; there must be none.

    python benchmarks/urlrules.py --quick
    python benchmarks/urlrules.py --seeds 3
"""

from __future__ import annotations

from collections import Counter
from typing import Any

import crawling
from crawling import BREADTH_FIRST, PLUGIN, Job, served
from harness import Table, arguments, in_own_process
from urlworlds import KINDS, Site

COLUMNS = ("contents", "requests", "with", "skipped", "again", "begun", "wrong", "lost")


def crawled(site: Site, settings: dict[str, Any]) -> tuple[set[str], dict[str, Any]]:
    """Crawl a site; return the contents that were delivered, and the stats."""
    with served(site.answer) as server:
        job = Job(site.kind.name, f"{server.url}/", settings | {"CONCURRENT_REQUESTS": 8})
        [crawl] = in_own_process(crawling.crawl, [job])
        urls = [record.url.removeprefix(server.url) for record in crawl.records if record.called]
    assert crawl.finished
    assert not crawl.stats.get("log_count/ERROR")
    return {site.shows[url] for url in urls}, crawl.stats


def row(site: Site, order: dict[str, Any]) -> Counter[str]:
    """Crawl a site twice and return what is counted."""
    whole, before = crawled(site, PLUGIN | order | {"NEARDUP_URLS": "report"})
    skipping, after = crawled(site, PLUGIN | order | {"NEARDUP_URLS": "skip"})
    assert "neardup/urls/skipped" not in before
    return Counter({
        "contents": len(set(site.shows.values())),
        "requests": before["downloader/request_count"],
        "with": after["downloader/request_count"],
        "skipped": after.get("neardup/urls/skipped", 0),
        "again": after.get("neardup/urls/requested-again", 0),
        "begun": after.get("neardup/urls/rules-begun", 0),
        "wrong": after.get("neardup/urls/rules-ended", 0),
        "lost": len(whole - skipping),
    })  # fmt: skip


def main() -> None:
    options = arguments(
        __doc__,
        seeds=1,
        kind=([""], "only those whose names hold one of these"),
        depth_first=(False, "Scrapy's default order"),
        quick={"kind": ["/print/"]},
    )
    kinds = [kind for kind in KINDS if any(name in kind.name for name in options.kind)]
    table = Table(**{"": "<24"}, **dict.fromkeys(COLUMNS, "9,"))
    total: Counter[str] = Counter()
    for kind in kinds:
        sums: Counter[str] = Counter()
        for seed in range(options.seeds):
            sums.update(row(Site(kind, seed), {} if options.depth_first else BREADTH_FIRST))
        table.row(kind.name, *(sums[column] for column in COLUMNS))
        total.update(sums)
    table.row("all", *(total[column] for column in COLUMNS))
    assert not total["lost"], "pages were never delivered"


if __name__ == "__main__":
    main()
