"""The entries of an embedded store in columns, one row an entry.

An entry takes 32 bytes in five columns, 8 for each of its features (0 where it has none), and its
evidence (`heaps.py`).
"""

from __future__ import annotations

import time
from array import array
from collections.abc import Iterable
from struct import Struct
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from scrapy_neardup.decision.matching import Matching
from scrapy_neardup.stores.embedded.heaps import EvidenceHeap
from scrapy_neardup.stores.entryformat import ENTRY, ENTRY_DTYPE, Chunk, partition
from scrapy_neardup.verdict import Candidate, Page

_BLOCK: Final = 4096
"""Number of rows by which the columns grow."""


class Arrival(NamedTuple):
    """A page, its partition's tag, and its fingerprint and features XOR the partition's mask."""

    page: Page
    tag: int
    key: int
    features: tuple[int, ...]


def arrival(page: Page, key: bytes) -> Arrival:
    """Return the parts of `page` that are compared with columns; `key` is the store's."""
    tag, mask = partition(page.scope, page.exact, key)
    features = tuple([feature ^ mask for feature in page.features])
    return Arrival(page, tag, page.fingerprint ^ mask, features)


class Entries:
    """The columns of one namespace by row, as in `entryformat.ENTRY`; one for each feature."""

    def __init__(self, matching: Matching) -> None:
        self.keys = array("Q")
        self.page_ids = array("Q")
        self.tags = array("Q")
        self.duplicates = array("I")
        self.seen = array("I")
        self.features = tuple(array("Q") for _ in range(matching.features))
        self.evidence = EvidenceHeap(matching.evidence_size)
        self._columns = (self.keys, self.page_ids, self.tags, self.duplicates, self.seen)
        self._record = Struct(f"{ENTRY.format}{matching.features}Q")
        self._capacity = 0
        self._next = 0
        self._free: list[int] = []

    def __len__(self) -> int:
        """Return the number of rows that were ever taken."""
        return self._next

    @property
    def nbytes(self) -> int:
        """Bytes of memory held."""
        columns = (*self._columns, *self.features)
        return sum(column.itemsize * len(column) for column in columns) + self.evidence.nbytes

    def fits(self, row: int, arrived: Arrival) -> bool:
        """Return whether the entry is of the page's partition."""
        return self.tags[row] == arrived.tag

    def candidate(self, row: int, distance: int) -> Candidate:
        """Return the entry as a candidate."""
        return Candidate(self.page_ids[row], distance, self.evidence.get(row))

    def distance(self, row: int, arrived: Arrival) -> int:
        """Return the Hamming distance of the entry's key and the page's."""
        return (self.keys[row] ^ arrived.key).bit_count()

    def record(self, row: int) -> bytes:
        """Return the entry at `row` as it is written: `record_dtype`, then its evidence."""
        values = [column[row] for column in (*self._columns, *self.features)]
        return self._record.pack(*values) + self.evidence.get(row)

    def fill(self, arrived: Arrival) -> int:
        """Fill the row that is free next, all but its evidence, and return it."""
        row = self._free[-1] if self._free else self._next
        self.grow(row + 1)
        self.keys[row] = arrived.key
        self.page_ids[row] = arrived.page.id
        self.tags[row] = arrived.tag
        self.duplicates[row] = 0
        self.seen[row] = int(time.time())
        if self.features:
            features = arrived.features or (0,) * len(self.features)
            for column, feature in zip(self.features, features, strict=True):
                column[row] = feature
        return row

    def take(self, row: int, evidence: bytes) -> None:
        """Take the row that was filled; `evidence` is its page's evidence."""
        self.evidence.set(row, evidence)
        if self._free:
            self._free.pop()
        else:
            self._next += 1

    def release(self, row: int) -> None:
        """Let a row that was taken be used again."""
        self._free.append(row)

    def load(self, chunks: Iterable[Chunk]) -> NDArray[np.uint32]:
        """Fill empty columns; return the rows, ascending over all chunks, that are taken."""
        for rows, records, evidence in chunks:
            first, self._next = self._next, int(rows[-1]) + 1
            if self._next - first > len(rows):
                self._free += sorted(set(range(first, self._next)).difference(rows.tolist()))
            self.grow(self._next)
            for column, name in zip(self._columns, ENTRY_DTYPE.names or (), strict=True):
                np.frombuffer(column, column.typecode)[rows] = records[name]
            for place, column in enumerate(self.features):
                np.frombuffer(column, np.uint64)[rows] = records["features"][:, place]
            self.evidence.load(rows, evidence)
        taken = np.ones(self._next, np.bool_)
        taken[self._free] = False
        return np.flatnonzero(taken).astype(np.uint32)

    def grow(self, rows: int) -> None:
        """Grow to at least this number of rows."""
        if rows <= self._capacity:
            return
        capacity = -(-rows // _BLOCK) * _BLOCK
        for column in (*self._columns, *self.features):
            column.frombytes(bytes((capacity - len(column)) * column.itemsize))
        self._capacity = capacity
