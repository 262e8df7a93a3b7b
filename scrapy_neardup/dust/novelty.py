"""URL patterns whose pages bring next to nothing new: facets, calendars, sort orders.

A sample of the shingles of a host's pages is remembered. A page brings something new if more than
one shingle of its own sample isn't among them, which is some twenty words. A pattern is spent if
40 of its last 50 pages brought nothing new. Pages with text of their own, such as the threads of a
forum, never come near that.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterable
from typing import Final

from scrapy_neardup.bounded import BoundedDict
from scrapy_neardup.dust.urlrule import MAX_WHAT

SAMPLED: Final = 16
"""One in so many shingles is in the sample: those whose hash is lowest."""

WINDOW: Final = 50
"""Number of last pages of a pattern that count."""

MIN_STALE: Final = 40
"""Number of them that brought next to nothing, from which on the pattern is spent."""

MAX_NEW: Final = 1
"""Maximum number of new shingles in the sample of a page that brings next to nothing."""

MAX_PATTERNS: Final = 32
"""Maximum number of patterns of a host; the least recently seen are forgotten."""

_CELLS: Final = 8_192
"""Number of shingles of a host that are remembered, four bytes each."""
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
        """Count a page; return whether it makes the pattern spent."""
        self.pages += 1
        if not is_stale:
            self.last_news = self.pages
        self._stale = (self._stale << 1 | is_stale) & _WINDOW_BITS
        was_spent, is_spent = self.since > 0, self._stale.bit_count() >= MIN_STALE
        self.since = (self.since or self.pages) if is_spent else 0
        return is_spent and not was_spent


class Novelty:
    """The patterns of one host: 32 kB of shingles, and some 400 bytes a pattern."""

    __slots__ = ("_patterns", "_seen")

    def __init__(self) -> None:
        self._seen = array("I", bytes(4 * _CELLS))
        self._patterns: BoundedDict[str, Pattern] = BoundedDict(MAX_PATTERNS)

    def page(self, pattern: str, sample: Iterable[int]) -> Pattern | None:
        """Count a page of a pattern; return the pattern if this page makes it spent.

        `sample` has the hashes of the page's sampled shingles. A shingle has one cell, and takes
        it from another one: where too much is remembered, pages count as new. O(sample).
        """
        new, cells = 0, self._seen
        for shingle in sample:
            cell, tag = shingle % _CELLS, shingle // _CELLS % (1 << 32)
            if cells[cell] != tag:
                new += 1
                cells[cell] = tag
        pattern = pattern[:MAX_WHAT]
        found = self._patterns.pop(pattern, None) or Pattern()
        self._patterns[pattern] = found
        return found if found.add(is_stale=new <= MAX_NEW) else None

    def spent(self, pattern: str) -> Pattern | None:
        """Return a pattern if it is spent."""
        found = self._patterns.get(pattern[:MAX_WHAT])
        return found if found is not None and found.since else None
