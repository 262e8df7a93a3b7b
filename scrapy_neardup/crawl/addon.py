"""``ADDONS = {"scrapy_neardup.Addon": 500}``: the add-on, which registers both middlewares."""

from __future__ import annotations

from typing import TYPE_CHECKING, Self

from scrapy import signals
from scrapy.exceptions import NotConfigured

from scrapy_neardup.crawl.component import enabled, misplaced, named, refuse, refuse_misplaced
from scrapy_neardup.errors import ConfigurationError

if TYPE_CHECKING:
    from scrapy.crawler import Crawler
    from scrapy.settings import BaseSettings


class Addon:
    """Registers both middlewares, unless the project has registered them itself."""

    belongs_in = "ADDONS"
    remedy = 'it is an add-on; set ADDONS = {"scrapy_neardup.Addon": 500}'

    def __init__(self) -> None:
        self._error: Exception | None = None

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        """Build the add-on; a crawl that names it in another setting ends at its start."""
        addon = cls()
        crawler.signals.connect(refuse_misplaced, signals.engine_started)
        crawler.signals.connect(addon._start, signals.engine_started)
        return addon

    def update_settings(self, settings: BaseSettings) -> None:
        """Register the middlewares; raise `NotConfigured` if ``NEARDUP_ENABLED`` is False."""
        if not enabled(settings):
            raise NotConfigured
        try:  # imported here, so that an error of the import is raised when the crawl starts
            from scrapy_neardup.crawl.middlewares import HALVES  # noqa: PLC0415
        except Exception as error:  # noqa: BLE001  (raised here it would be a traceback)
            self._error = error
            return
        for half in HALVES:
            settings.setdefault_in_component_priority_dict(half.belongs_in, half, half.PRIORITY)

    async def _start(self, sender: Crawler) -> None:
        """End a crawl that would run without the middlewares."""
        if sender.engine.spider is None or misplaced(sender.settings):
            return
        if self._error is not None:
            await refuse(sender, self._error)
        elif not any(
            named(sender.settings, f"{half}_MIDDLEWARES") for half in ("DOWNLOADER", "SPIDER")
        ):
            await refuse(
                sender,
                ConfigurationError(
                    "DOWNLOADER_MIDDLEWARES and SPIDER_MIDDLEWARES switch off the middlewares"
                    " of the add-on; remove these entries, or set NEARDUP_ENABLED = False"
                ),
            )
