"""What is learnt of each site, and how crawlers tell each other.

Rule of this module: bounded; what is learnt is used when two pages are compared, and never enters
what a store keeps of either.

Each kind of knowledge can be left out (``NEARDUP_LEARN``):

============== ===========================================================================
`FURNITURE`    what most pages of the site share doesn't count
`PLACES`       places that change with each response, or never, aren't content
`TITLES`       which words of titles are the site's own
`EDITIONS`     folders whose pages repeat each other one by one
============== ===========================================================================
"""

from __future__ import annotations

import json
import zlib
from collections.abc import Iterable
from typing import Any

from scrapy_neardup.bounded import Bounded
from scrapy_neardup.evidence.editions import Editions
from scrapy_neardup.evidence.furniture import SiteFurniture
from scrapy_neardup.evidence.places import ChangingPlaces, ConstantPlaces
from scrapy_neardup.evidence.titles import SiteTitles
from scrapy_neardup.options import LEARNABLE

FURNITURE, PLACES, TITLES, EDITIONS = LEARNABLE

_MAX_SITES = 1024
_MAX_DUMP = 4 << 20
"""Maximum bytes of what another crawler says of a site."""


class Site:
    """What one site has shown."""

    def __init__(self) -> None:
        self.furniture = SiteFurniture()
        self.places = ChangingPlaces()
        self.constants = ConstantPlaces()
        self.titles = SiteTitles()
        self.editions = Editions()

    def dump(self) -> bytes:
        """Return what was learnt here, for other crawlers and later ones."""
        parts = {name: part.dump() for name, part in self._parts().items()}
        return zlib.compress(json.dumps(parts).encode(), 1)

    def add_others(self, dumps: Iterable[bytes]) -> None:
        """Take over what others have learnt, in place of what they had before.

        What can't be read is passed over.
        """
        read = [loaded for value in dumps if (loaded := _load(value)) is not None]
        for name, part in self._parts().items():
            part.add_others([each[name] for each in read if name in each])

    def _parts(self) -> dict[str, Any]:
        return {
            "furniture": self.furniture,
            "places": self.places,
            "constants": self.constants,
            "titles": self.titles,
            "editions": self.editions,
        }


def _load(dump: bytes) -> dict[str, Any] | None:
    try:
        unpacked = zlib.decompressobj().decompress(dump, _MAX_DUMP)
        parts = json.loads(unpacked)
    except (zlib.error, ValueError):
        return None
    return parts if isinstance(parts, dict) else None


class Sites:
    """All sites that a crawl meets."""

    def __init__(self) -> None:
        self._sites: Bounded[str, Site] = Bounded(_MAX_SITES)

    def __contains__(self, name: str) -> bool:
        return name in self._sites

    def __getitem__(self, name: str) -> Site:
        """Return what is known of a site; nothing is, of a new one."""
        if name not in self._sites:
            self._sites[name] = Site()
        self._sites.move_to_end(name)
        return self._sites[name]

    def names(self) -> list[str]:
        """Return the names of the sites that are remembered."""
        return list(self._sites)
