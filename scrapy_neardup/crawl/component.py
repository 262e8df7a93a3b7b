"""What the downloader middleware and the spider middleware have in common.

Rule of this module: neither half does anything without the other, and each finds the
other through the crawler. What goes wrong at start ends the crawl before its first
request. What judging needs is imported when a spider opens: Scrapy's other commands, which load
the add-on too, do without.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, ClassVar, Self

from scrapy import signals
from scrapy.exceptions import NotConfigured

from scrapy_neardup.crawl.placing import (
    CONFIGURATION_ERROR,
    STORE_ERROR,
    enabled,
    misplaced,
    refuse,
    refuse_misplaced,
)
from scrapy_neardup.errors import NeardupError, StoreError

if TYPE_CHECKING:
    from scrapy.crawler import Crawler


class Component(ABC):
    """Base of both halves.

    Parameters
    ----------
    crawler
        The crawler that it belongs to.
    """

    belongs_in: ClassVar[str]
    """Scrapy's setting that names it."""

    remedy: ClassVar[str]
    """What to do where another one does."""

    def __init__(self, crawler: Crawler) -> None:
        self._crawler = crawler

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        """Build the component for `crawler`."""
        if not enabled(crawler.settings):
            raise NotConfigured
        component = cls(crawler)
        crawler.signals.connect(refuse_misplaced, signals.engine_started)
        # Not spider_opened: only this is over before the first request on all versions.
        crawler.signals.connect(component._start, signals.engine_started)
        return component

    async def _start(self) -> None:
        if self._crawler.engine.spider is None:
            return  # `scrapy shell`: a page that is fetched there is to be seen
        if misplaced(self._crawler.settings):
            return  # the crawl is being ended
        try:
            await self._open()
        except NeardupError as error:
            reason = STORE_ERROR if isinstance(error, StoreError) else CONFIGURATION_ERROR
            await refuse(self._crawler, reason, str(error))

    @abstractmethod
    async def _open(self) -> None:
        """Get ready for the first response.

        Raises
        ------
        NeardupError
            Saying why the crawl can't start.
        """
