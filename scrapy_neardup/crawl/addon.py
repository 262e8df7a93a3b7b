"""``ADDONS = {"scrapy_neardup.Addon": 500}``: all that a project has to say."""

from __future__ import annotations

from typing import TYPE_CHECKING, Self

from scrapy import signals
from scrapy.exceptions import NotConfigured

from scrapy_neardup.crawl import downloader, spider
from scrapy_neardup.crawl.placing import enabled, refuse_misplaced

if TYPE_CHECKING:
    from scrapy.crawler import Crawler
    from scrapy.settings import BaseSettings


class Addon:
    """Puts both middlewares in their places, unless the project has placed them itself."""

    belongs_in = "ADDONS"
    remedy = 'it is an add-on; set ADDONS = {"scrapy_neardup.Addon": 500}'

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        """Build the add-on; a crawl whose settings name it elsewhere ends at its start."""
        crawler.signals.connect(refuse_misplaced, signals.engine_started)
        return cls()

    def update_settings(self, settings: BaseSettings) -> None:
        """Register the middlewares.

        Raises
        ------
        NotConfigured
            ``NEARDUP_ENABLED`` is False.
        """
        if not enabled(settings):
            raise NotConfigured
        settings.setdefault_in_component_priority_dict(
            "DOWNLOADER_MIDDLEWARES",
            downloader.NearDuplicateDownloaderMiddleware,
            downloader.PRIORITY,
        )
        settings.setdefault_in_component_priority_dict(
            "SPIDER_MIDDLEWARES", spider.NearDuplicateSpiderMiddleware, spider.PRIORITY
        )
