"""How the add-on and both middlewares start, and what keeps a crawl from starting.

If the plugin can't work, the crawl ends before its first request. Reasons are settings that can't
be used, a store that doesn't open, a module that can't be imported, an unexpected exception, and a
class of this package under the wrong setting, where Scrapy would load it without any effect.

The modules that judge pages are imported when a spider opens: Scrapy's other commands load the
add-on, too.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from asyncio import CancelledError
from typing import TYPE_CHECKING, Any, ClassVar, Self

from scrapy import signals
from scrapy.exceptions import NotConfigured
from scrapy.utils.misc import load_object

from scrapy_neardup.errors import ConfigurationError
from scrapy_neardup.settings.catalogue import OPTIONS

if TYPE_CHECKING:
    from scrapy.crawler import Crawler
    from scrapy.settings import BaseSettings

    from scrapy_neardup.crawl.session import Session

COMPONENT_SETTINGS = (
    "ADDONS",
    "DOWNLOADER_MIDDLEWARES",
    "EXTENSIONS",
    "ITEM_PIPELINES",
    "SPIDER_MIDDLEWARES",
)
"""Scrapy's settings whose keys are classes."""


def enabled(settings: BaseSettings) -> bool:
    """Return whether ``NEARDUP_ENABLED`` is on, or has a value that `read_settings` refuses."""
    option = OPTIONS["enabled"]
    try:
        return bool(option.read(settings.get(option.setting, option.default)))
    except ConfigurationError:
        return True


def named(settings: BaseSettings, setting: str) -> dict[str, Any]:
    """Return the classes of this package in a setting, by the names used there.

    Entries that are switched off (None) are left out.
    """
    found: dict[str, Any] = {}
    for entry, place in settings.getdict(setting).items():
        name = entry if isinstance(entry, str) else f"{entry.__module__}.{entry.__name__}"
        if place is not None and name.startswith("scrapy_neardup."):
            found[name] = load_object(entry)
    return found


def misplaced(settings: BaseSettings) -> list[tuple[str, str]]:
    """Return a problem and its remedy for each class of this package in a wrong setting."""
    return [
        (f"{setting} names {name}, which does nothing there", loaded.remedy)
        for setting in COMPONENT_SETTINGS
        for name, loaded in named(settings, setting).items()
        if getattr(loaded, "belongs_in", setting) != setting
    ]


async def refuse_misplaced(sender: Crawler) -> None:
    """End a crawl that starts, and say why, if a class is in the wrong setting."""
    if sender.engine.spider is None or not enabled(sender.settings):
        return
    if found := misplaced(sender.settings):
        await refuse(sender, *[ConfigurationError(": ".join(each)) for each in found])


async def refuse(crawler: Crawler, *errors: BaseException) -> None:
    """End a crawl that is starting, and say why. Only then `stopping` is loaded."""
    from scrapy_neardup.crawl.stopping import refuse as end  # noqa: PLC0415

    await end(crawler, *errors)


class Component(ABC):
    """Base of both middlewares. Without a crawl (`scrapy shell`, a unit test) all pages pass."""

    belongs_in: ClassVar[str]
    """Scrapy's setting in which it belongs."""
    PRIORITY: ClassVar[int]
    """Its place there."""
    remedy: ClassVar[str]
    """The remedy if it is in another setting."""

    def __init__(self, crawler: Crawler) -> None:
        self._crawler = crawler
        self.session: Session | None = None
        """None before the crawl starts, or if it can't start."""

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        """Return the middleware of a crawler."""
        if not enabled(crawler.settings):
            raise NotConfigured
        component = cls(crawler)
        crawler.signals.connect(refuse_misplaced, signals.engine_started)
        # Not spider_opened: only these handlers end before the first request on all versions.
        crawler.signals.connect(component._start, signals.engine_started)
        return component

    async def _start(self) -> None:
        if self._crawler.engine.spider is None:
            return  # `scrapy shell` shows every page that it fetches
        try:
            if not misplaced(self._crawler.settings):  # None if the crawl is being ended
                await self._open()
        except (KeyboardInterrupt, GeneratorExit, CancelledError):
            raise
        except BaseException as error:  # noqa: BLE001  (or the crawl would run unfiltered)
            await refuse(self._crawler, error)

    @abstractmethod
    async def _open(self) -> None:
        """Get ready for the first response; any exception ends the crawl."""
