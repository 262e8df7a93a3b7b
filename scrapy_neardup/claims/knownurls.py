"""The URLs of a host that are known, and the contents that they show.

They are kept as hashes, eight bytes each: every URL under its own key, and under a key without
each of its parameters, so that its relatives are found by a few look-ups.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterator
from typing import Final

from scrapy_neardup.claims.part import PARAMETER, PATH_PARAMETER, Part, parts_of
from scrapy_neardup.claims.urlparts import VALUE_BITS, Parts, key_of

_WAYS: Final = 8
"""Number of cells in a row; a key has one row, and may be in any of its cells."""

MAX_CELLS: Final = 16_384
"""Default maximum number of cells of a table: 128 kB."""

_VALUES: Final = (1 << VALUE_BITS) - 1
MAX_DERIVED: Final = 4_096
"""Maximum number of cells for URLs without the parts that claims in force are about."""


class HashTable:
    """A set-associative table, like a processor's cache.

    Keys are numbers from 1 to 2^40 - 1, values from 0 to 2^24 - 1. When a row is full, the table
    doubles, until it has `most` cells, a power of two from 8 on; from then on the oldest key of
    the row is lost. `get` and `put` are O(1), `put` amortized.
    """

    __slots__ = ("_cells", "_filled", "_most")

    def __init__(self, most: int = MAX_CELLS) -> None:
        self._most = most
        self._cells = array("Q", bytes(8 * _WAYS))
        self._filled = 0

    @property
    def nbytes(self) -> int:
        """Bytes of the cells."""
        return len(self._cells) * 8

    def get(self, key: int) -> int | None:
        """Return the value of a key, or None."""
        start = key % (len(self._cells) // _WAYS) * _WAYS
        for cell in self._cells[start : start + _WAYS]:
            if cell >> VALUE_BITS == key:
                return cell & _VALUES
        return None

    def put(self, key: int, value: int) -> None:
        """Set the value of a key."""
        cells = self._cells
        start = key % (len(cells) // _WAYS) * _WAYS
        for at in range(start, start + _WAYS):
            cell = cells[at]
            if not cell or cell >> VALUE_BITS == key:
                break
        else:
            if len(cells) < self._most and self._filled * 8 > len(cells):
                self._double()
                self.put(key, value)
                return
        self._filled += not cell
        cells[start + 1 : at + 1] = cells[start:at]  # the newest comes first
        cells[start] = key << VALUE_BITS | value

    def discard(self, value: int) -> None:
        """Forget all keys of a value. O(cells)."""
        for start in range(0, len(self._cells), _WAYS):
            row = self._cells[start : start + _WAYS]
            kept = [cell for cell in row if cell and cell & _VALUES != value]
            self._cells[start : start + _WAYS] = array("Q", kept + [0] * (_WAYS - len(kept)))
        self._filled = len(self._cells) - self._cells.count(0)

    def clear(self) -> None:
        """Forget everything."""
        self._cells, self._filled = array("Q", bytes(8 * _WAYS)), 0

    def _double(self) -> None:
        """Split each row into two, which keep its order."""
        old = self._cells
        self._cells, self._filled = array("Q", bytes(16 * len(old))), 0
        for cell in reversed(old):
            if cell:
                self.put(cell >> VALUE_BITS, cell & _VALUES)


class KnownUrls:
    """The known URLs of one host."""

    __slots__ = ("_derived", "_fetched")

    def __init__(self) -> None:
        self._fetched = HashTable()
        self._derived = HashTable(MAX_DERIVED)

    @property
    def nbytes(self) -> int:
        """Bytes of the tables."""
        return self._fetched.nbytes + self._derived.nbytes

    def is_fetched(self, page: Parts) -> bool:
        """Whether this very URL was fetched."""
        return self._fetched.get(key_of(page)) is not None

    def shows(self, page: Parts) -> int | None:
        """Return the content of a URL; None if it isn't known."""
        return self._get(key_of(page))

    def fetched_with(self, part: Part, without: Parts) -> int | None:
        """Return the content of a fetched URL that has a part that `without` lacks, or None."""
        return self._fetched.get(part.key(without))

    def relatives(self, part: Part, without: Parts) -> Iterator[int]:
        """Yield the contents of URLs that differ from a page in a part alone."""
        found = [self.shows(without)]
        if part.kind in {PARAMETER, PATH_PARAMETER}:
            found.append(self._get(part.key(without)))  # any value of the part
        yield from dict.fromkeys(each for each in found if each is not None)

    def add(self, page: Parts, canonical: Parts, content: int) -> None:
        """Note the content of a URL, and of the URL without the parts that have no effect."""
        for each, table in {canonical: self._derived, page: self._fetched}.items():
            table.put(key_of(each), content)
            for part in parts_of(each):
                table.put(part.key(part.without(each)), content)

    def forget(self, page: Parts) -> int | None:
        """Forget the content of a URL, and with it all URLs that have it; return its number."""
        if (content := self.shows(page)) is not None:
            self._fetched.discard(content)
            self._derived.discard(content)
        return content

    def forget_derived(self) -> None:
        """Forget the contents that claims have predicted, because one of them has ended."""
        self._derived.clear()

    def _get(self, key: int) -> int | None:
        shown = self._fetched.get(key)
        return self._derived.get(key) if shown is None else shown
