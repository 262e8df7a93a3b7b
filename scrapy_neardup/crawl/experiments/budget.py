"""The requests that a crawl may spend on experiments (``NEARDUP_EXPERIMENTS``)."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from scrapy.crawler import Crawler

HANDFUL: Final = 20
"""Number of requests that any crawl may spend, unless it may spend none."""


class Budget:
    """The budget of one crawl: a share of its requests, or a handful if that is more."""

    def __init__(self, crawler: Crawler, share: float) -> None:
        self._stats = crawler.stats
        self._share = share
        self._spent: Counter[str] = Counter()

    @property
    def is_open(self) -> bool:
        """Whether the crawl makes experiments at all."""
        return self._share > 0

    def spend(self, kind: str, *, most: float = 1.0) -> bool:
        """Whether a request of a kind may be made; it is counted as made.

        The kind may have spent the share `most` of the budget.
        """
        if self.left(kind, most=most) <= 0:
            return False
        self._spent[kind] += 1
        self._stats.inc_value(f"neardup/experiments/{kind}")
        return True

    def left(self, kind: str, *, most: float = 1.0) -> float:
        """Return how many requests of a kind may be made, of the share `most` of the budget."""
        requests = self._stats.get_value("downloader/request_count", 0)
        allowed = max(HANDFUL, self._share * requests) if self._share else 0
        return min(most * allowed - self._spent[kind], allowed - self._spent.total())
