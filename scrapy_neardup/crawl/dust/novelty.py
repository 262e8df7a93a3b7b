"""What pages bring that their host hasn't shown, and URL patterns whose pages bring little.

Of each page the lowest shingles are remembered as bits of a bitmap. A page's own lowest shingles
that aren't among them are new, and stand for as large a share of its text (a bottom-k sketch:
Broder, "On the resemblance and containment of documents", 1997, section 4). A page brings next to
nothing if that is no more than some twenty words, and a quarter of the page. A pattern is spent if
40 of its last 50 pages brought nothing more: facets, calendars, sort orders. Pages with text of
their own, such as the threads of a forum, never come near that.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import sqrt
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from scrapy_neardup.bounded import BoundedDict
from scrapy_neardup.decision.shingling import Text
from scrapy_neardup.dust.urlrule import MAX_WHAT
from scrapy_neardup.fingerprints.shingles import distinct

REMEMBERED: Final = 64
"""Maximum number of shingles of a page that are remembered."""

ASKED: Final = 48
"""Maximum number of shingles of a page that are looked up: fewer, as pages may also lack text."""

_FEW: Final = 2 * REMEMBERED
"""Number of lowest shingles, some of them repeated, of which a sample is made."""

MAX_NEW: Final = 20
"""Maximum number of new shingles of a page that brings next to nothing."""

MAX_NEW_SHARE: Final = 0.25
"""Maximum share of them in such a page."""

MAX_COPY_SHARE: Final = 0.1
"""Maximum share of them in a page that may be a copy of pages that the host has shown."""

WINDOW: Final = 50
"""Number of last pages of a pattern that count."""

MIN_STALE: Final = 40
"""Number of them that brought next to nothing, from which on the pattern is spent."""

MAX_PATTERNS: Final = 32
"""Maximum number of patterns of a host; the least recently seen are forgotten."""

_ONE, _THREE, _SEVEN = map(np.uint64, (1, 3, 7))
_BIT: Final = np.uint8(1) << np.arange(8, dtype=np.uint8)
_BITS: Final = 3 << 17
_FIRST: Final = np.zeros(_BITS, np.uint16)
"""Scratch memory of `Novelty.news`: where a cell comes first among those that are looked up."""
_WINDOW_BITS: Final = (1 << WINDOW) - 1
_MAX_FILLED: Final = 0.7


class Sample(NamedTuple):
    """A page's lowest shingles."""

    lowest: NDArray[np.uint64]
    """Distinct, ascending, of which the first `REMEMBERED` count; shape (n,)."""
    size: int
    """Number of all its shingles."""


def samples_of(text: Text) -> tuple[Sample, Sample]:
    """Return samples of a page's shingles within rows, and of all. O(shingles).

    Rows stay the same in any order, but lists of links have hardly any shingles within them.
    """
    rows = text.row_shingles
    lowest = distinct(rows if len(rows) <= _FEW else np.partition(rows, _FEW)[:_FEW])
    size = len(rows) if len(rows) > _FEW else len(lowest)
    return Sample(lowest, size), Sample(text.shingles, len(text.shingles))


class News(NamedTuple):
    """What a page brings."""

    new: float
    """Number of its sampled shingles that are new, by estimate."""
    asked: int
    """Number of those that were looked up."""
    size: int
    """Number of all its shingles."""

    @property
    def is_stale(self) -> bool:
        """Whether the page brings next to nothing."""
        return self._is_little(self.new)

    @property
    def is_copy(self) -> bool:
        """Whether it may bring no more than near-duplicates do: within one standard error."""
        least = self.new - sqrt(self.new)
        return self._is_little(least) or least <= MAX_COPY_SHARE * self.asked

    def _is_little(self, new: float) -> bool:
        share = new / max(self.asked, 1)
        return share * self.size <= MAX_NEW and share <= MAX_NEW_SHARE


class Pattern:
    """What the pages of a pattern brought."""

    __slots__ = ("_stale", "_was_spent", "pages", "since")

    def __init__(self) -> None:
        self.pages = self._stale = 0
        self.since = 0
        """Number of the page with which the pattern was spent; 0 while it isn't."""
        self._was_spent = False

    def add(self, *, is_stale: bool) -> bool:
        """Count a page; return whether it makes the pattern spent for the first time."""
        self.pages += 1
        self._stale = (self._stale << 1 | is_stale) & _WINDOW_BITS
        is_spent, was_spent = self._stale.bit_count() >= MIN_STALE, self._was_spent
        self.since = (self.since or self.pages) if is_spent else 0
        self._was_spent |= is_spent
        return is_spent and not was_spent


class Novelty:
    """The shingles and patterns of one host: 48 kB of shingles, and some 400 bytes a pattern."""

    __slots__ = ("_bitmap", "_filled", "_patterns")

    def __init__(self) -> None:
        self._bitmap = np.zeros(_BITS // 8, np.uint8)
        self._filled = 0
        self._patterns: BoundedDict[str, Pattern] = BoundedDict(MAX_PATTERNS)

    def news(self, pages: Sequence[Sequence[Sample]]) -> list[list[News]]:
        """Remember pages, 512 at most; return what each brings, by each of its samples.

        A page brings nothing that one before it has brought. Of 32 at once each takes 6 µs, alone
        22. Once 70 % of the bits are set, all is forgotten, and is new again.
        """
        lowest = [low[:REMEMBERED] for samples in pages for low, _ in samples]
        if not lowest:
            return [[] for _ in pages]
        cells = (np.concatenate(lowest) >> _ONE) % np.uint64(_BITS)
        places = np.arange(len(cells), dtype=np.uint16)
        _FIRST[cells[::-1]] = places[::-1]  # of several places the last one stays
        first = _FIRST[cells]
        numbers = [number for number, samples in enumerate(pages) for _ in samples]
        page_of = np.repeat(numbers, [len(low) for low in lowest])
        at, bits = cells >> _THREE, _BIT[cells & _SEVEN]
        is_fresh = (self._bitmap[at] & bits == 0) & (page_of[first] == page_of)
        fresh_before = np.concatenate(([0], np.cumsum(is_fresh)))
        share_empty = 1 - self._filled / _BITS
        found: list[list[News]] = []
        start = 0
        for samples in pages:
            found.append(news := [])
            for low, size in samples:
                asked = min(len(low), ASKED)
                new = int(fresh_before[start + asked] - fresh_before[start])
                news.append(News(new / share_empty, asked, size))
                start += min(len(low), REMEMBERED)
        np.bitwise_or.at(self._bitmap, at[is_fresh], bits[is_fresh])
        self._filled += int(np.count_nonzero(is_fresh & (first == places)))
        if self._filled > _MAX_FILLED * _BITS:
            self._bitmap[:], self._filled = 0, 0
        return found

    def page(self, pattern: str, *, is_stale: bool) -> Pattern | None:
        """Count a page of a pattern; return the pattern if that makes it spent at first."""
        pattern = pattern[:MAX_WHAT]
        found = self._patterns.pop(pattern, None) or Pattern()
        self._patterns[pattern] = found
        return found if found.add(is_stale=is_stale) else None

    def spent(self, pattern: str) -> Pattern | None:
        """Return a pattern if it is spent."""
        found = self._patterns.get(pattern[:MAX_WHAT])
        return found if found is not None and found.since else None
