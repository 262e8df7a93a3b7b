"""Patterns of addresses whose pages bring next to nothing new: facets, calendars, sort orders.

A sample of the shingles that a host's pages hold is remembered. A page brings something new if
more than one shingle of its own sample isn't among them, which is some twenty words. A pattern is
spent if 40 of its last 50 pages didn't. Pages with text of their own, such as the threads of a
forum, never come near that.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from scrapy_neardup.bounded import BoundedDict
from scrapy_neardup.dust.hashtable import KEY_BITS, HashTable

SAMPLED: Final = 16
"""One in so many shingles is in the sample: those whose hash is lowest."""

WINDOW: Final = 50
"""Number of pages of a pattern that are looked back on."""

MIN_STALE: Final = 40
"""Number of them that brought next to nothing, from which on the pattern is spent."""

MAX_NEW: Final = 1
"""Maximum number of new shingles in the sample of a page that brings next to nothing."""

MAX_PATTERNS: Final = 32
"""Maximum number of patterns of a host, those that were met last."""

_CELLS: Final = 4_096
_WINDOW_BITS: Final = (1 << WINDOW) - 1


class Pattern:
    """What the pages of a pattern brought.

    Attributes
    ----------
    pages
        Number of pages.
    since
        Number of the page with which the pattern was spent; 0 while it isn't.
    last_news
        Number of the last page that brought something new.
    """

    __slots__ = ("_stale", "last_news", "pages", "since")

    def __init__(self) -> None:
        self.pages = self.since = self.last_news = 0
        self._stale = 0

    def add(self, *, is_stale: bool) -> bool:
        """Note a page; return whether the pattern is spent with it."""
        self.pages += 1
        if not is_stale:
            self.last_news = self.pages
        self._stale = (self._stale << 1 | is_stale) & _WINDOW_BITS
        was_spent, is_spent = self.since > 0, self._stale.bit_count() >= MIN_STALE
        self.since = (self.since or self.pages) if is_spent else 0
        return is_spent and not was_spent


class Novelty:
    """The patterns of one host.

    Bounded: 32 kB of shingles, and the patterns.
    """

    __slots__ = ("_patterns", "_seen")

    def __init__(self) -> None:
        self._seen = HashTable(_CELLS)
        self._patterns: BoundedDict[str, Pattern] = BoundedDict(MAX_PATTERNS)

    def page(self, pattern: str, sample: Iterable[int]) -> Pattern | None:
        """Note a page of a pattern; return the pattern if it is spent with this page.

        Parameters
        ----------
        sample
            The page's shingles of the sample, 64-bit hashes. O(sample).
        """
        new = 0
        for shingle in sample:
            key = shingle % (1 << KEY_BITS) or 1
            if self._seen.get(key) is None:
                new += 1
                self._seen.put(key, 1)
        met = self._patterns.pop(pattern, None) or Pattern()
        self._patterns[pattern] = met
        return met if met.add(is_stale=new <= MAX_NEW) else None

    def spent(self, pattern: str) -> Pattern | None:
        """Return a pattern if it is spent."""
        met = self._patterns.get(pattern)
        return met if met is not None and met.since else None
