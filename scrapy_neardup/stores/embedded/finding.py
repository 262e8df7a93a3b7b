"""The entries of an embedded store, and the search for candidates among them.

Entries are in columns, one row for each: 32 bytes in five columns, 8 bytes for each feature (0 if
it has none), and the evidence. Candidates are all entries that are within k bits of a
page or share enough features.

`stores.base` limits the number of similar entries that are found. These structures lead to a row::

    masked fingerprint ── HammingIndex ──> those within k ── RowMap of them ──> rows
    each feature ─────────────────────────────── RowMap of that feature ──> rows
    page id ───────────────────────────────────────── RowMap of page ids ──> row

Pages that are compared by equality, and all pages if k = 0, need no Hamming tables: the map of
masked fingerprints finds them. If distance isn't used, only exact pages are in it.
"""

from __future__ import annotations

import time
from array import array
from collections import Counter
from collections.abc import Iterable
from struct import Struct
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from scrapy_neardup.judge.parameters import Matching
from scrapy_neardup.stores.base import MAX_EQUAL, MAX_UNDER_FEATURE, StoreOptions, limit_of
from scrapy_neardup.stores.embedded.rowmap import RowMap
from scrapy_neardup.stores.entryformat import CROWD_BIT, ENTRY, ENTRY_DTYPE, EXACT_BIT, Chunk
from scrapy_neardup.tables import HammingIndex
from scrapy_neardup.verdict import Candidate, Page

_BLOCK: Final = 4096
"""Number of rows by which the columns grow."""


class Arrival(NamedTuple):
    """A page with its partition's tag, and its fingerprint and features XOR the mask."""

    page: Page
    tag: int
    masked: int
    features: tuple[int, ...]


class Entries:
    """The columns of one namespace by row, as in `entryformat.ENTRY`; one for each feature."""

    def __init__(self, matching: Matching) -> None:
        self.masked = array("Q")
        self.page_ids = array("Q")
        self.tags = array("Q")
        self.duplicates = array("I")
        self.seen = array("I")
        self.features = tuple(array("Q") for _ in range(matching.features))
        self._evidence = bytearray()
        self._evidence_size = matching.evidence_size
        self._columns = (self.masked, self.page_ids, self.tags, self.duplicates, self.seen)
        self._record = Struct(f"{ENTRY.format}{matching.features}Q")
        self._capacity = 0
        self._next = 0
        self._free: list[int] = []

    def __len__(self) -> int:
        """Return the number of rows that have ever been used."""
        return self._next

    @property
    def nbytes(self) -> int:
        """Memory in bytes."""
        columns = (*self._columns, *self.features)
        return sum(column.itemsize * len(column) for column in columns) + len(self._evidence)

    def candidate(self, row: int, distance: int) -> Candidate:
        """Return the entry as a candidate."""
        return Candidate(self.page_ids[row], distance, self.evidence(row))

    def distance(self, row: int, arrived: Arrival) -> int:
        """Return the Hamming distance of the entry's fingerprint and the page's."""
        return (self.masked[row] ^ arrived.masked).bit_count()

    def evidence(self, row: int) -> bytes:
        """Return the evidence of the entry; ``b""`` if only fingerprints are compared."""
        size = self._evidence_size
        return bytes(self._evidence[row * size : (row + 1) * size])

    def record(self, row: int) -> bytes:
        """Return the bytes of the entry at `row`: `record_dtype`, then its evidence."""
        values = [column[row] for column in (*self._columns, *self.features)]
        return self._record.pack(*values) + self.evidence(row)

    def fill(self, arrived: Arrival) -> int:
        """Fill a free row and return it; ValueError for evidence of another size."""
        evidence, size = arrived.page.evidence, self._evidence_size
        if size and len(evidence) != size:
            raise ValueError(f"evidence of {len(evidence)} bytes instead of {size}")
        if not self._free:
            self.grow(self._next + 1)
            self._free.append(self._next)
            self._next += 1
        row = self._free.pop()
        if size:
            self._evidence[row * size : (row + 1) * size] = evidence
        self.masked[row] = arrived.masked
        self.page_ids[row] = arrived.page.id
        self.tags[row] = arrived.tag
        self.duplicates[row] = 0
        self.seen[row] = int(time.time())
        if self.features:
            features = arrived.features or (0,) * len(self.features)
            for column, feature in zip(self.features, features, strict=True):
                column[row] = feature
        return row

    def release(self, row: int) -> None:
        """Free a used row."""
        self._free.append(row)

    def load(self, chunks: Iterable[Chunk]) -> NDArray[np.uint32]:
        """Fill empty columns; return the used rows, ascending over all chunks."""
        for rows, records, evidence in chunks:
            first, self._next = self._next, int(rows[-1]) + 1
            if self._next - first > len(rows):
                self._free += sorted(set(range(first, self._next)).difference(rows.tolist()))
            self.grow(self._next)
            for column, name in zip(self._columns, ENTRY_DTYPE.names or (), strict=True):
                np.frombuffer(column, column.typecode)[rows] = records[name]
            for place, column in enumerate(self.features):
                np.frombuffer(column, np.uint64)[rows] = records["features"][:, place]
            if self._evidence_size and len(rows):
                joined = np.frombuffer(b"".join(evidence), np.uint8).reshape(len(rows), -1)
                # Without a variable: as long as there is one, the bytes can't grow.
                np.frombuffer(self._evidence, np.uint8).reshape(-1, joined.shape[1])[rows] = joined
        taken = np.ones(self._next, np.bool_)
        taken[self._free] = False
        return np.flatnonzero(taken).astype(np.uint32)

    def grow(self, rows: int) -> None:
        """Grow to at least this number of rows."""
        self._evidence += bytes(max(0, rows * self._evidence_size - len(self._evidence)))
        if rows <= self._capacity:
            return
        capacity = -(-rows // _BLOCK) * _BLOCK
        for column in (*self._columns, *self.features):
            column.frombytes(bytes((capacity - len(column)) * column.itemsize))
        self._capacity = capacity


class Candidates:
    """The indexes of the entries of one namespace.

    An entry takes some 6 bytes in each map, and its part of the Hamming tables. `limit` is the
    maximum distance of candidates in bits; -1 if distance finds none that isn't exact.
    """

    def __init__(self, entries: Entries, options: StoreOptions) -> None:
        matching, expected = options.matching, options.expected_pages
        self._entries = entries
        self.limit = limit_of(matching, options.max_distance, exact=False)
        self._shared = matching.shared_features
        self._near: HammingIndex | None = None
        if self.limit > 0:
            max_bucket = max(4096, 16 * expected // 65536)
            self._near = HammingIndex(self.limit, expected, max_bucket=max_bucket)
        # Without evidence no more entries can have one fingerprint, by the rules of `decide`.
        self._by_fingerprint = RowMap(entries.masked, MAX_EQUAL if matching.sketch else 0)
        self._by_page_id = RowMap(entries.page_ids)
        self._by_feature = [RowMap(column, MAX_UNDER_FEATURE) for column in entries.features]
        self._refused: set[int] = set()  # loaded rows whose buckets were full

    def __len__(self) -> int:
        return len(self._by_page_id)

    @property
    def nbytes(self) -> int:
        """Memory in bytes. O(number of buckets)."""
        maps = (self._by_fingerprint, self._by_page_id, *self._by_feature)
        tables = 0 if self._near is None else self._near.nbytes
        return sum(each.nbytes for each in maps) + tables

    def own(self, arrived: Arrival) -> int:
        """Return the row of the page's own entry, or -1."""
        rows = self._by_page_id.rows(arrived.page.id)
        return rows[0] if rows else -1

    def holds(self, row: int) -> bool:
        """Return whether the search can find an entry at `row`."""
        return row in self._by_page_id.rows(self._entries.page_ids[row])

    def is_candidate(self, row: int, arrived: Arrival) -> bool:
        """Return whether the page may repeat the entry, by any index."""
        entries = self._entries
        if entries.tags[row] & ~CROWD_BIT != arrived.tag:
            return False
        if entries.distance(row, arrived) <= (0 if arrived.page.exact else self.limit):
            return True
        shared = sum(
            column[row] == feature
            for column, feature in zip(entries.features, arrived.features, strict=False)
        )
        return bool(entries.features) and shared >= self._shared

    def find(self, arrived: Arrival) -> list[tuple[int, int, int]]:
        """Return distance, page id and row of each entry that the page may repeat, ascending.

        Its own entry is among them. Costs O(entries in its buckets and under its features).
        """
        entries, near = self._entries, [(arrived.masked, 0)]
        if not arrived.page.exact and self.limit:
            near = [] if self._near is None else self._near.query(arrived.masked)
        found = [
            (distance, entries.page_ids[row], row)
            for masked, distance in near
            for row in self._by_fingerprint.rows(masked)
            if entries.tags[row] == arrived.tag
        ]
        if self._by_feature and arrived.features:
            known = {row for *_, row in found}
            sharing: list[int] = []
            for by_feature, feature in zip(self._by_feature, arrived.features, strict=True):
                sharing += by_feature.rows(feature)
            found += [
                (entries.distance(row, arrived), entries.page_ids[row], row)
                for row, shared in (Counter(sharing).items() if sharing else ())
                if shared >= self._shared
                and row not in known
                and entries.tags[row] & ~CROWD_BIT == arrived.tag
            ]
        found.sort()
        return found

    def add(self, row: int) -> bool:
        """Index the entry at `row`, one of a crowd not by distance; False if its buckets are full.

        In that case, and after a `MemoryError`, no index has the entry.
        """
        tag = self._entries.tags[row]
        exact = tag & EXACT_BIT
        in_tables = False
        try:
            is_listed = exact or (self.limit >= 0 and not tag & CROWD_BIT)
            is_mapped = is_listed and self._by_fingerprint.add(row)
            if is_mapped and self._near is not None and not exact:
                in_tables = self._near.add(self._entries.masked[row])
                if not in_tables:
                    self._by_fingerprint.discard(row)
                    return False
            self._by_page_id.add(row)
            if any(column[row] for column in self._entries.features):
                for by_feature in self._by_feature:
                    by_feature.add(row)
        except MemoryError:
            if self._near is not None and in_tables:
                self._near.remove(self._entries.masked[row])
            for each in (self._by_fingerprint, self._by_page_id, *self._by_feature):
                each.discard(row)
            raise
        return True

    def remove(self, row: int) -> None:
        """Remove the entry at `row` from the indexes, which reads its columns."""
        # Only the map of fingerprints knows whether it is indexed by distance.
        was_found = self._by_fingerprint.discard(row)
        self._by_page_id.discard(row)
        for by_feature in self._by_feature:
            by_feature.discard(row)
        if row in self._refused:
            self._refused.remove(row)
        elif was_found and self._near is not None and not self._entries.tags[row] & EXACT_BIT:
            self._near.remove(self._entries.masked[row])

    def add_many(self, rows: NDArray[np.uint32]) -> int:
        """Index the entries at `rows`; return the number with full buckets.

        If the index is sized for fewer pages than the one that kept the entries, some
        buckets may be full. Then only their own pages and equal ones find the entries.
        """
        entries = self._entries
        self._by_page_id.add_many(rows)
        tags = np.frombuffer(entries.tags, np.uint64)[rows]
        is_listed = (tags & EXACT_BIT > 0) | ((tags & CROWD_BIT == 0) & (self.limit >= 0))
        mapped = self._by_fingerprint.add_many(rows[is_listed])
        if self._near is not None:
            near = mapped[np.frombuffer(entries.tags, np.uint64)[mapped] & EXACT_BIT == 0]
            stored = self._near.add_many(np.frombuffer(entries.masked, np.uint64)[near])
            self._refused.update(near[~stored].tolist())
        if self._by_feature:
            columns = [np.frombuffer(column, np.uint64)[rows] for column in entries.features]
            featured = rows[np.any(columns, axis=0)]
            for by_feature in self._by_feature:
                by_feature.add_many(featured)
        return len(self._refused)
