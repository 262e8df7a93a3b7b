"""Drop near-duplicate pages, and their links, while Scrapy crawls.

The names of this module are resolved on first use, so that using the
fingerprints alone imports neither Scrapy nor a store.
"""

from __future__ import annotations

from pkgutil import resolve_name
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from scrapy_neardup import signals as signals
    from scrapy_neardup.crawl.addon import Addon as Addon
    from scrapy_neardup.crawl.middlewares import NearDuplicatePage as NearDuplicatePage

__version__ = "0.1.0"

_PLACES = {
    "Addon": "scrapy_neardup.crawl.addon:Addon",
    "NearDuplicatePage": "scrapy_neardup.crawl.middlewares:NearDuplicatePage",
    "signals": "scrapy_neardup.signals",
}

__all__ = ["Addon", "NearDuplicatePage", "__version__", "signals"]


def __getattr__(name: str) -> object:
    try:
        place = _PLACES[name]
    except KeyError:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}") from None
    return resolve_name(place)
