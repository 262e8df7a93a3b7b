"""What an audit says first of the crawl that writes it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import scrapy

from scrapy_neardup import __version__
from scrapy_neardup.options import OPTIONS
from scrapy_neardup.urls import redact_store

if TYPE_CHECKING:
    from scrapy.crawler import Crawler

_SHOWN_ELSEWHERE = {"NEARDUP_STORE", "NEARDUP_AUDIT"}


def about_crawl(crawler: Crawler, uri: str) -> dict[str, Any]:
    """Return the versions, the spider, the store, and the ``NEARDUP_*`` settings that are set.

    Settings are text in Python's notation; secrets are left out.
    """
    given = {
        option.setting: crawler.settings[option.setting]
        for option in OPTIONS.values()
        if option.setting in crawler.settings and not option.is_secret
    }
    return {
        "version": __version__,
        "scrapy": scrapy.__version__,
        "bot": str(crawler.settings["BOT_NAME"]),
        "spider": (crawler.spider or crawler.spidercls).name,
        "store": redact_store(uri),
        "preset": str(crawler.settings.get("NEARDUP_PRESET", "best")),
        "settings": {
            name: repr(value)
            for name, value in sorted(given.items())
            if value is not None and name not in _SHOWN_ELSEWHERE
        },
    }
