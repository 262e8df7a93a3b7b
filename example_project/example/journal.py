"""An extension that writes down what became of each page, for `compare`.

It shows how a project listens to the plugin: `near_duplicate` is an ordinary Scrapy
signal, and without the plugin it is never sent.
"""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from scrapy import signals
from scrapy.exceptions import NotConfigured
from scrapy.http import Response

from scrapy_neardup import signals as neardup_signals

if TYPE_CHECKING:
    from scrapy.crawler import Crawler

    from example.items import DocPage
    from scrapy_neardup.verdict import Verdict


class Journal:
    """One JSON line a page, in the order of the crawl, and the crawl's stats at its end."""

    def __init__(self, path: str, crawler: Crawler) -> None:
        self._file = Path(path).open("w", encoding="utf-8")  # noqa: SIM115  (closed at the end)
        self._crawler = crawler

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        path = crawler.settings.get("EXAMPLE_JOURNAL")
        if not path:
            raise NotConfigured("no EXAMPLE_JOURNAL")
        journal = cls(path, crawler)
        crawler.signals.connect(journal.item_scraped, signals.item_scraped)
        crawler.signals.connect(journal.near_duplicate, neardup_signals.near_duplicate)
        crawler.signals.connect(journal.stats_collected, signals.spider_closed)
        return journal

    def item_scraped(self, item: DocPage) -> None:
        self._write(kept=item.url)

    def near_duplicate(self, response: Response, verdict: Verdict) -> None:
        match = verdict.match
        self._write(dropped=response.url, of=match.url, distance=match.distance)

    def stats_collected(self) -> None:
        self._write(stats=self._crawler.stats.get_stats())
        self._file.close()

    def _write(self, **record: Any) -> None:
        record["time"] = time.time()  # orders what several crawlers write
        self._file.write(json.dumps(record, default=str) + "\n")
        self._file.flush()
