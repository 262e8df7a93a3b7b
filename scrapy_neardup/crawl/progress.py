"""A line a minute, beside Scrapy's own: near-duplicates, waiting requests, the store."""

from __future__ import annotations

import asyncio
import logging
from typing import TYPE_CHECKING

from scrapy_neardup.urls import redact_store

if TYPE_CHECKING:
    from scrapy.crawler import Crawler

logger = logging.getLogger(__name__)

_COUNTED = ("checked", "duplicate", "dropped")
"""Stats ``neardup/pages/NAME`` that the line tells, of the last minute and in all."""


class ProgressLine:
    """Logs a line every ``LOGSTATS_INTERVAL`` seconds, from `start` to `stop`.

    Parameters
    ----------
    crawler
        Whose stats are told.
    uri
        Of its store.
    """

    def __init__(self, crawler: Crawler, uri: str) -> None:
        self._crawler = crawler
        self._store = redact_store(uri)
        self._interval = crawler.settings.getfloat("LOGSTATS_INTERVAL")
        self._before = [0, 0, 0]
        self._timer: asyncio.TimerHandle | None = None

    def start(self) -> None:
        """Begin, unless the interval is 0; to be called in a running event loop."""
        if self._interval:
            loop = asyncio.get_running_loop()
            self._timer = loop.call_later(self._interval, self._tell)

    def stop(self) -> None:
        """End."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _tell(self) -> None:
        now = [self._stat(f"neardup/pages/{name}") for name in _COUNTED]
        last = [new - old for new, old in zip(now, self._before, strict=True)]
        self._before = now
        logger.info(
            "Near-duplicates: %s in the last %g s, %s in all; %d requests wait; store %s, "
            "%d errors",
            _share(*last),
            self._interval,
            _share(*now),
            max(self._stat("scheduler/enqueued") - self._stat("scheduler/dequeued"), 0),
            self._store,
            self._stat("neardup/store/errors"),
            extra={"spider": self._crawler.spider},
        )
        self.start()

    def _stat(self, name: str) -> int:
        return int(self._crawler.stats.get_value(name, 0))


def _share(checked: int, duplicate: int, dropped: int) -> str:
    """Return in words how many of the pages repeat another, and how many were dropped."""
    percent = f"{duplicate / checked:.0%}" if checked else "none"
    return f"{duplicate:,} of {checked:,} pages ({percent}), {dropped:,} dropped"
