"""Whether the settings name the add-on and the middlewares where Scrapy uses them.

Scrapy loads any class that ``EXTENSIONS`` or another such setting names. In the wrong one it would
do nothing, silently.
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any

from scrapy.utils.misc import load_object

from scrapy_neardup.crawl.compat import close_spider, fail_start
from scrapy_neardup.errors import ConfigurationError
from scrapy_neardup.options import OPTIONS

if TYPE_CHECKING:
    from scrapy.crawler import Crawler
    from scrapy.settings import BaseSettings

logger = logging.getLogger(__name__)

CONFIGURATION_ERROR = "neardup_configuration_error"
"""Closing reason of the spider where settings can't be used."""

STORE_ERROR = "neardup_store_error"
"""Closing reason of the spider when the store makes it close."""

COMPONENT_SETTINGS = (
    "ADDONS",
    "DOWNLOADER_MIDDLEWARES",
    "EXTENSIONS",
    "ITEM_PIPELINES",
    "SPIDER_MIDDLEWARES",
)
"""Scrapy's settings whose keys are classes."""


def enabled(settings: BaseSettings) -> bool:
    """Return whether ``NEARDUP_ENABLED`` is on, or for `read_settings` to refuse."""
    option = OPTIONS["enabled"]
    try:
        return bool(option.read(settings.get(option.setting, option.default)))
    except ConfigurationError:
        return True


def named(settings: BaseSettings, setting: str) -> dict[str, Any]:
    """Return the classes of this package that `setting` names, by the names that it uses.

    Entries that are switched off (None) are left out.
    """
    found: dict[str, Any] = {}
    for entry, place in settings.getdict(setting).items():
        name = entry if isinstance(entry, str) else f"{entry.__module__}.{entry.__name__}"
        if place is not None and name.startswith("scrapy_neardup."):
            found[name] = load_object(entry)
    return found


def misplaced(settings: BaseSettings) -> list[tuple[str, str]]:
    """Return each class of this package that a wrong setting names: the problem, the remedy."""
    return [
        (f"{setting} names {name}, which does nothing there", loaded.remedy)
        for setting in COMPONENT_SETTINGS
        for name, loaded in named(settings, setting).items()
        if getattr(loaded, "belongs_in", setting) != setting
    ]


async def refuse_misplaced(sender: Crawler) -> None:
    """End a crawl before its first request, and say why, if a class is in the wrong setting.

    A handler of ``engine_started``.
    """
    if sender.engine.spider is None or not enabled(sender.settings):
        return
    if found := misplaced(sender.settings):
        await refuse(sender, CONFIGURATION_ERROR, *map(": ".join, found))


async def refuse(crawler: Crawler, reason: str, *messages: str) -> None:
    """End a crawl that is starting before its first request, with messages at ERROR."""
    for message in messages:
        logger.error("%s", message, extra={"spider": crawler.spider})
    await close_spider(crawler, reason)
    fail_start(crawler)
