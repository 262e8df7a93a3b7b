"""Drop near-duplicate pages, and their links, while Scrapy crawls.

The names of this module are resolved when they are asked for, so that using the
fingerprints alone imports neither Scrapy nor a store.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from scrapy_neardup.crawl import signals as signals
    from scrapy_neardup.crawl.addon import Addon as Addon
    from scrapy_neardup.crawl.exceptions import NearDuplicatePage as NearDuplicatePage

__version__ = "0.1.0"

_PLACES = {
    "Addon": "scrapy_neardup.crawl.addon",
    "NearDuplicatePage": "scrapy_neardup.crawl.exceptions",
    "signals": "scrapy_neardup.crawl",
}

__all__ = ["Addon", "NearDuplicatePage", "__version__", "signals"]


def __getattr__(name: str) -> object:
    try:
        module = import_module(_PLACES[name])
    except KeyError:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}") from None
    return getattr(module, name)
