"""What is learnt of each site, how crawlers share it, and how a later run goes on with it.

Rule of this module: bounded; what is learnt is used when a page is looked up and compared with
another one, and never enters the evidence that a store keeps of either.

Of a site a crawl says two things: to other crawlers what it has found out (`Site.dump`), and to
its own next run all that it knows (`Site.state`), so that a crawl that is stopped and resumed
judges as one that is not.

Each kind of knowledge can be left out (``NEARDUP_LEARN``):

============== ===========================================================================
`FURNITURE`    text that most pages of the site share is ignored
`PLACES`       places that change with each response, or never, are ignored
`TITLES`       which words of titles are the site's own
`EDITIONS`     folders whose pages repeat each other one by one
============== ===========================================================================
"""

from __future__ import annotations

import json
import secrets
import zlib
from collections.abc import Iterable, Sized
from contextlib import suppress
from enum import IntEnum
from typing import Any

from scrapy_neardup.bounded import BoundedDict
from scrapy_neardup.evidence.editions import Editions
from scrapy_neardup.evidence.furniture import MAX_STATE, SiteFurniture
from scrapy_neardup.evidence.places import ChangingPlaces, ConstantPlaces
from scrapy_neardup.evidence.titles import SiteTitles
from scrapy_neardup.options import LEARNABLE

FURNITURE, PLACES, TITLES, EDITIONS = LEARNABLE

MAX_STATES = 64 << 20
"""Maximum bytes that a crawl leaves for its next run, of all sites."""

MAX_HELD = 256 << 20
"""Maximum bytes of what is learnt of all sites, whatever they are made of."""

_HELD = 192 << 20
"""Bytes of what is learnt above which the sites met longest ago are forgotten."""
_SITE_SHARE = 0.25
"""Maximum share of these bytes for one site, above which its folders met longest ago are
forgotten."""
_MEASURED = 32
"""Number of pages after which the bytes that are held are measured."""
_ENTRY_BYTES = 256
"""Bytes of a remembered entry that isn't an array, rounded up."""

_MAX_SITES = 1024
"""Maximum number of sites, those met last."""
_MAX_DUMP = 4 << 20
"""Maximum bytes of another crawler's dump of a site."""
_MAX_STATE = 2 * MAX_STATE
"""Maximum bytes of a site's state of an earlier run, as text."""
_MAX_PAGES = 1024
"""Maximum number of pages of a site that are remembered as learnt from."""


class Lesson(IntEnum):
    """What a page can teach, each of them once: bits of one number."""

    ALONE = 1
    """What the page shares with others of its site."""
    BESIDE = 2
    """How the page differs from another one at its path."""


class Site:
    """What one site has shown.

    Attributes
    ----------
    member
        The name under which this crawl says to others what it has learnt of the site.
    told
        The kinds of knowledge that the log has told of.
    """

    def __init__(self) -> None:
        self.member = secrets.token_hex(4)
        self._taught: BoundedDict[int, int] = BoundedDict(_MAX_PAGES)
        self.furniture = SiteFurniture()
        self.places = ChangingPlaces()
        self.constants = ConstantPlaces()
        self.titles = SiteTitles()
        self.editions = Editions()
        self.told: set[str] = set()

    @property
    def nbytes(self) -> int:
        """Bytes that are held, rounded up. O(folders)."""
        parts: tuple[Sized, ...] = (
            self._taught, self.places, self.constants, self.titles, self.editions,
        )  # fmt: skip
        return self.furniture.nbytes + _ENTRY_BYTES * (1 + sum(map(len, parts)))

    def is_due(self, page_id: int, lesson: Lesson) -> bool:
        """Return whether a page hasn't taught this yet; it is noted that it does now.

        A page is judged more than once where it was withdrawn, or waited for one that was.
        """
        taught = self._taught.get(page_id, 0)
        self._taught[page_id] = taught | lesson
        return not taught & lesson

    def dump(self) -> bytes:
        """Return what was learnt here, for other crawlers and later ones."""
        parts = {name: part.dump() for name, part in self._parts().items()}
        return zlib.compress(json.dumps(parts).encode(), 1)

    def add_others(self, dumps: Iterable[bytes]) -> None:
        """Take over what others have learnt, in place of what they had before.

        Dumps that can't be read are skipped.
        """
        read = [loaded for value in dumps if (loaded := _load(value, _MAX_DUMP)) is not None]
        for name, part in self._parts().items():
            with suppress(ValueError, TypeError, AttributeError):
                part.add_others([each[name] for each in read if name in each])

    def state(self) -> bytes:
        """Return all that is known here, for this crawl's next run."""
        parts = {
            "member": self.member,
            "taught": list(self._taught.items()),
            "furniture": self.furniture.state(),
            "places": self.places.dump(),
            "constants": self.constants.dump(),
            "titles": self.titles.dump(),
            "editions": self.editions.state(),
        }
        return zlib.compress(json.dumps(parts).encode(), 1)

    @classmethod
    def restored(cls, state: bytes) -> Site | None:
        """Return the site that goes on from what `state` wrote; None if that can't be read."""
        site = cls()
        if (parts := _load(state, _MAX_STATE)) is None:
            return None
        try:
            site.member = str(parts.pop("member"))
            site._taught.update(parts.pop("taught"))
            for name, part in site._parts().items():
                part.restore(parts[name])
        except (KeyError, ValueError, TypeError, AttributeError):
            return None
        return site

    def _parts(self) -> dict[str, Any]:
        return {
            "furniture": self.furniture,
            "places": self.places,
            "constants": self.constants,
            "titles": self.titles,
            "editions": self.editions,
        }


def _load(dump: bytes, most: int) -> dict[str, Any] | None:
    try:
        unpacked = zlib.decompressobj().decompress(dump, most)
        parts = json.loads(unpacked)
    except (zlib.error, ValueError):
        return None
    return parts if isinstance(parts, dict) else None


class Sites:
    """All sites that a crawl meets.

    Parameters
    ----------
    held
        Bytes beyond which sites are forgotten; somewhat more may be held.
    """

    def __init__(self, held: int = _HELD) -> None:
        self._sites: BoundedDict[str, Site] = BoundedDict(_MAX_SITES)
        self._held = held
        self._sizes: dict[str, int] = {}
        self._changed: set[str] = set()
        self._pages = 0

    def __contains__(self, name: str) -> bool:
        return name in self._sites

    def __getitem__(self, name: str) -> Site:
        """Return what is known of a site; nothing is, of a new one."""
        if name not in self._sites:
            self._sites[name] = Site()
        self._sites.move_to_end(name)
        self._pages += 1
        if not self._pages % _MEASURED:
            self._forget()
        self._changed.add(name)  # by whoever has asked for it
        return self._sites[name]

    def __setitem__(self, name: str, site: Site) -> None:
        self._sites[name] = site

    def _forget(self) -> None:
        """Forget what takes too much; the site met last is kept. O(sites, folders changed)."""
        for name in self._changed & self._sites.keys():
            self._sites[name].furniture.shrink(int(_SITE_SHARE * self._held))
            self._sizes[name] = len(name) + self._sites[name].nbytes
        self._changed.clear()
        self._sizes = {name: self._sizes[name] for name in self._sites if name in self._sizes}
        held = sum(self._sizes.values())
        while held > self._held and len(self._sites) > 1:
            name, _ = self._sites.popitem(last=False)
            held -= self._sizes.pop(name, 0)

    def items(self) -> list[tuple[str, Site]]:
        """Return the sites that are remembered, by name, the one seen last first."""
        return list(reversed(self._sites.items()))
