"""Pages that bring almost nothing new to their host (``NEARDUP_PATTERN_BUDGET``).

Facets, calendars and sort orders needn't repeat any single page: they show known content in ever
new combinations. A bitmap remembers the lowest shingles of each page. Shingles of a page that it
lacks are new, and represent an equal share of the page's text (a bottom-k sketch: Broder, "On the
resemblance and containment of documents", 1997, section 4).
"""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import NDArray

from scrapy_neardup.bounded import BoundedDict
from scrapy_neardup.fingerprints.shingles import distinct

REMEMBERED: Final = 64
"""Maximum number of shingles of a page that are remembered."""
ASKED: Final = 48
"""Maximum number of looked-up shingles of a page; fewer, because pages may also lack text."""
MAX_NEW: Final = 20
"""Maximum number of new shingles of a page that brings almost nothing new."""
MAX_NEW_SHARE: Final = 0.25
"""Maximum share of new shingles in such a page."""
FEW: Final = 4
"""Number of new shingles that count as almost nothing, whatever their share: a month's name."""

MAX_HOSTS: Final = 256
"""Maximum number of hosts whose shingles are remembered, 48 kB each."""
_BITS: Final = 3 << 17
_MAX_FILLED: Final = 0.7


class Novelties:
    """The shingles that the hosts of a crawl have shown."""

    def __init__(self) -> None:
        self._shown: BoundedDict[str, NDArray[np.uint8]] = BoundedDict(MAX_HOSTS)

    def is_stale(self, host: str, rows: NDArray[np.uint64] | None, *, is_new: bool) -> bool:
        """Remember a page; return whether it brings almost nothing new. O(its shingles).

        `rows` are its shingles within rows (the order of rows doesn't matter), without text that
        its folder's pages share (`Detector.rows_that_count`), because the new text of a short
        record is a small part of the whole page. None if they are unknown.
        """
        if rows is None:
            return not is_new
        few = 2 * REMEMBERED
        lowest = distinct(rows if len(rows) <= few else np.partition(rows, few)[:few])
        size = len(rows) if len(rows) > few else len(lowest)
        shown = self._shown.used(host, lambda: np.zeros(_BITS // 8, np.uint8))
        cells = (lowest[:REMEMBERED] >> np.uint64(1)) % np.uint64(_BITS)
        at, bits = cells >> np.uint64(3), np.uint8(1) << (cells.astype(np.uint8) & np.uint8(7))
        filled = np.bitwise_count(shown).sum() / _BITS
        lacking = (shown[at] & bits == 0)[:ASKED]
        share = np.count_nonzero(lacking) / (1 - filled) / max(len(lacking), 1)
        np.bitwise_or.at(shown, at, bits)
        if filled > _MAX_FILLED:
            shown[:] = 0
        most = MAX_NEW if share <= MAX_NEW_SHARE else FEW
        return not is_new or bool(share * size <= most)
