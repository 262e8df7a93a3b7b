"""The rule of `stores/base.py`, in memory: what the memory and SQLite stores share.

Rule of this room: synchronous, and so atomic for the tasks of one event loop; no I/O.
Where a call fails (MemoryError), the index is as it was before.

An entry is a *row* of six columns, 32 bytes. Three structures lead to it::

    key ── HammingIndex ──> keys within k ── RowMap of keys ──> rows
    page id ─────────────────────────────── RowMap of page ids ──> row

Pages that are compared by equality, and all pages where k = 0, need no Hamming tables:
the map of keys finds them.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterable
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from scrapy_neardup.errors import ConfigurationError
from scrapy_neardup.stores.base import StoreOptions, StoreStats, contradicts
from scrapy_neardup.stores.records import ENTRY, ENTRY_DTYPE, EXACT_BIT, partition
from scrapy_neardup.stores.rowmap import RowMap
from scrapy_neardup.tables import HammingIndex
from scrapy_neardup.verdict import Decision, Match, Page, Reason, Verdict

MOST_CONTRADICTED: Final = 512
"""So many entries may be near a new page and contradict it. Where a site serves one text
under more titles and contents than that, fingerprints say nothing, and to look at all of
them would take longer than to process the page."""
_BLOCK: Final = 4096
"""Rows by which the columns grow."""


def refuse_retention(options: StoreOptions) -> None:
    """Raise `ConfigurationError` if entries should lapse: nothing here keeps times."""
    if options.retention:
        raise ConfigurationError(
            "NEARDUP_RETENTION needs a Redis store, 'redis://HOST': 'memory:' and 'sqlite:PATH'"
            " keep no times"
        )


class Outcome(NamedTuple):
    """What `EmbeddedIndex.check_and_add` decided and did; rows are -1 where there is none.

    Parameters
    ----------
    decision, reason
        As in a `Verdict`.
    row
        The entry that was added (new), or that was matched (duplicate, seen).
    page_id
        Of that entry.
    distance
        Of a match, in bits.
    withdrawn
        The page's own old entry, which is no longer found. Its columns stay until
        `EmbeddedIndex.release`.
    """

    decision: Decision
    reason: Reason
    row: int = -1
    page_id: int = 0
    distance: int = 0
    withdrawn: int = -1

    def verdict(self, page: Page, url: str | None = None) -> Verdict:
        """Return the verdict on `page`; `url` is that of a duplicate's match."""
        match = None
        if self.decision is Decision.DUPLICATE:
            match = Match(page_id=self.page_id, distance=self.distance, url=url)
        elif self.decision is Decision.SEEN:
            match = Match(page_id=self.page_id, distance=self.distance, url=page.url)
        return Verdict(
            decision=self.decision,
            reason=self.reason,
            page_id=page.id,
            match=match,
            fingerprint=page.fingerprint,
            tokens=page.tokens,
        )


class EmbeddedIndex:
    """The entries of one namespace.

    Parameters
    ----------
    max_distance
        k, in bits.
    expected_pages
        How many pages it should be sized for.

    Notes
    -----
    Bytes an entry: 32 in columns, some 6 in each of the maps, and the Hamming tables.
    """

    def __init__(self, max_distance: int, expected_pages: int) -> None:
        self._max_distance = max_distance
        max_bucket = max(4096, 16 * expected_pages // 65536)
        self._near = HammingIndex(max_distance, expected_pages, max_bucket=max_bucket)
        self._keys = array("Q")
        self._page_ids = array("Q")
        self._tags = array("I")
        self._titles = array("I")
        self._contents = array("I")
        self._duplicates = array("I")
        self._columns = (
            self._keys,
            self._page_ids,
            self._tags,
            self._titles,
            self._contents,
            self._duplicates,
        )
        self._by_key = RowMap(self._keys)
        self._by_page_id = RowMap(self._page_ids)
        self._capacity = 0
        self._next = 0
        self._free: list[int] = []
        self._pending: dict[int, int] = {}  # page id -> row
        self._refused: set[int] = set()  # rows loaded that the tables have no room for
        self._dropped = 0
        self._overflowed = 0

    def stats(self, other_bytes: int) -> StoreStats:
        """Count what is held; `other_bytes` of memory are the caller's.

        Costs O(number of buckets).
        """
        columns = sum(column.itemsize * len(column) for column in self._columns)
        maps = self._by_key.nbytes + self._by_page_id.nbytes
        return StoreStats(
            pages=len(self._by_page_id),
            pending=len(self._pending),
            dropped=self._dropped,
            overflowed=self._overflowed,
            memory_bytes=columns + maps + self._near.nbytes + other_bytes,
        )

    def is_pending(self, page_id: int) -> bool:
        """Whether there is a pending entry of this page."""
        return page_id in self._pending

    def entry(self, row: int) -> bytes:
        """Return the record of the entry at `row`; see `records.ENTRY`."""
        return ENTRY.pack(*[column[row] for column in self._columns])

    def check_and_add(self, page: Page) -> Outcome:
        """Judge `page`, and store it as pending if it is new.

        Costs O(entries in its buckets).
        """
        tag, mask = partition(page.scope, page.exact)
        key = page.fingerprint ^ mask
        limit = 0 if page.exact else self._max_distance
        own = next(self._by_page_id.rows(page.id), -1)
        if own >= 0 and self._fits(page, tag, own):
            distance = (key ^ self._keys[own]).bit_count()
            if distance <= limit:
                return Outcome(Decision.SEEN, Reason.SAME_PAGE, own, page.id, distance)
        row, distance, rejected = self._nearest(page, key, tag, limit)
        if row >= 0:
            if own >= 0:
                self._withdraw(own)
            self._duplicates[row] += 1
            self._dropped += 1
            reason = Reason.EQUAL if page.exact else Reason.NEAR
            return Outcome(Decision.DUPLICATE, reason, row, self._page_ids[row], distance, own)
        row = -1 if rejected >= MOST_CONTRADICTED else self._insert(page, key, tag)
        if row < 0:
            self._overflowed += 1
            return Outcome(Decision.UNJUDGED, Reason.OVERFLOW)
        if own >= 0:
            self._withdraw(own)
        self._pending[page.id] = row
        reason = Reason.UNMATCHED if own < 0 else Reason.CHANGED
        return Outcome(Decision.NEW, reason, row, page.id, withdrawn=own)

    def confirm(self, page_id: int) -> int:
        """Make the pending entry of this page final; return its row, or -1."""
        return self._pending.pop(page_id, -1)

    def forget(self, page_id: int) -> tuple[int, int]:
        """Withdraw the pending entry of this page.

        Returns
        -------
        row, duplicates
            Its row, to be released, and how many pages were found to repeat it; (-1, 0)
            if there is none.
        """
        row = self._pending.get(page_id, -1)
        if row < 0:
            return -1, 0
        self._withdraw(row)
        return row, self._duplicates[row]

    def release(self, row: int) -> None:
        """Let the row of a withdrawn entry be used again."""
        self._free.append(row)

    def load(self, chunks: Iterable[tuple[NDArray[np.uint32], NDArray[np.void]]]) -> None:
        """Fill an empty index with kept entries.

        Parameters
        ----------
        chunks
            Rows, ascending over all chunks, and their records (`records.ENTRY_DTYPE`).

        Notes
        -----
        Where the index is sized for fewer pages than the one that kept the entries, some
        may find their buckets full: they are held and counted, and match nothing.
        """
        for rows, records in chunks:
            first, self._next = self._next, int(rows[-1]) + 1
            if self._next - first > len(rows):
                self._free += sorted(set(range(first, self._next)).difference(rows.tolist()))
            self._grow(self._next)
            for column, name in zip(self._columns, ENTRY_DTYPE.names or (), strict=True):
                np.frombuffer(column, column.typecode)[rows] = records[name]
            self._dropped += int(records["duplicates"].sum(dtype=np.uint64))
        held = np.ones(self._next, np.bool_)
        held[self._free] = False
        rows = np.flatnonzero(held).astype(np.uint32)
        self._by_key.add_many(rows)
        self._by_page_id.add_many(rows)
        if self._max_distance:
            rows = rows[np.frombuffer(self._tags, np.uint32)[rows] & EXACT_BIT == 0]
            stored = self._near.add_many(np.frombuffer(self._keys, np.uint64)[rows])
            self._refused.update(rows[~stored].tolist())
            self._overflowed += len(self._refused)

    def _fits(self, page: Page, tag: int, row: int) -> bool:
        """Whether the entry is of the page's partition and doesn't contradict it."""
        return self._tags[row] == tag and not contradicts(
            page, self._titles[row], self._contents[row]
        )

    def _nearest(self, page: Page, key: int, tag: int, limit: int) -> tuple[int, int, int]:
        """Return the best candidate's row or -1, its distance, and how many were none."""
        best = -1
        best_distance = rejected = 0
        for near, distance in self._near.query(key) if limit else ((key, 0),):
            if best >= 0 and distance > best_distance:
                break
            for row in self._by_key.rows(near):
                if not self._fits(page, tag, row):
                    rejected += 1
                elif best < 0 or self._page_ids[row] < self._page_ids[best]:
                    best, best_distance = row, distance
        return best, best_distance, rejected

    def _insert(self, page: Page, key: int, tag: int) -> int:
        """Store an entry and return its row, or -1 if its buckets are full."""
        row = self._free[-1] if self._free else self._next
        self._grow(row + 1)
        self._keys[row] = key
        self._page_ids[row] = page.id
        self._tags[row] = tag
        self._titles[row] = page.title
        self._contents[row] = page.content
        self._duplicates[row] = 0
        near = self._max_distance > 0 and not tag & EXACT_BIT
        if near and not self._near.add(key):
            return -1
        try:
            self._by_key.add(row)
            try:
                self._by_page_id.add(row)
            except MemoryError:
                self._by_key.remove(row)
                raise
        except MemoryError:
            if near:
                self._near.remove(key)
            raise
        if self._free:
            self._free.pop()
        else:
            self._next += 1
        return row

    def _withdraw(self, row: int) -> None:
        """Take an entry out of all that leads to it; its columns stay."""
        self._by_key.remove(row)
        self._by_page_id.remove(row)
        if row in self._refused:
            self._refused.remove(row)
        elif self._max_distance > 0 and not self._tags[row] & EXACT_BIT:
            self._near.remove(self._keys[row])
        self._pending.pop(self._page_ids[row], None)
        self._dropped -= self._duplicates[row]

    def _grow(self, rows: int) -> None:
        """Make room for so many rows."""
        if rows <= self._capacity:
            return
        capacity = -(-rows // _BLOCK) * _BLOCK
        for column in self._columns:
            column.frombytes(bytes((capacity - len(column)) * column.itemsize))
        self._capacity = capacity
