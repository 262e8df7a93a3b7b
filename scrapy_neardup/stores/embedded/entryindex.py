"""The index of the memory and SQLite stores: entries, found by `finding.py`.

It is synchronous, and so atomic for the tasks of an event loop, and has no I/O. If a
call fails (MemoryError), the index doesn't change.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence
from math import ceil
from typing import Final, NamedTuple

from scrapy_neardup.fingerprints import PUBLIC_KEY
from scrapy_neardup.stores.base import MAX_COMPARED, StoreOptions, StoreStats, matched, near_reason
from scrapy_neardup.stores.embedded.finding import Arrival, Candidates, Entries, arrival
from scrapy_neardup.stores.entryformat import Chunk
from scrapy_neardup.verdict import Candidate, Decide, Decided, Page, Reason, Verdict

_SWEPT: Final = 4
"""Number of rows in which each page looks for lapsed entries."""


class IndexOutcome(NamedTuple):
    """The outcome of `EmbeddedIndex.check_and_add`; a row of -1 means none.

    `row` is the entry that was added or is repeated. `candidate` and `decided` are the argument
    and result of `decide` for it. `withdrawn` is the page's own old entry. `lapsed` has row and
    page id of each entry that no page met for the retention time. Nothing finds withdrawn and
    lapsed entries any more, and their columns stay until `EmbeddedIndex.release`. `is_touched`
    says that the time of the entry at `row` starts anew.
    """

    reason: Reason
    row: int = -1
    candidate: Candidate | None = None
    decided: Decided | None = None
    repeats: int = 0
    withdrawn: int = -1
    lapsed: Sequence[tuple[int, int]] = ()
    is_touched: bool = False

    @property
    def is_new(self) -> bool:
        """Return whether the page was added."""
        return self.reason in (Reason.UNMATCHED, Reason.CHANGED)

    @property
    def is_repeat(self) -> bool:
        """Return whether the page repeats an entry of another page."""
        return self.reason in (Reason.NEAR, Reason.EQUAL)

    def verdict(self, page: Page, url: str | None) -> Verdict:
        """Return the verdict on `page`; `url` is that of the entry that it repeats."""
        if self.candidate is None or self.decided is None:
            return Verdict.on(page, self.reason)
        match = matched(self.candidate, self.decided, self.repeats, url)
        return Verdict.on(page, self.reason, match)


class EmbeddedIndex:
    """The entries of one namespace, whose pages are hashed with `key`."""

    def __init__(self, options: StoreOptions, key: bytes = PUBLIC_KEY) -> None:
        self._key = key
        self._entries = Entries(options.matching)
        self._candidates = Candidates(self._entries, options)
        self._pending: dict[int, int] = {}  # page id -> row
        self._dropped = 0
        self._overflowed = 0
        self._retention = ceil(options.retention)
        self._swept = 0  # rows before it were looked at in this pass

    def stats(self, other_bytes: int) -> StoreStats:
        """Return the counts; `other_bytes` is memory of the caller.

        Costs O(number of buckets).
        """
        return StoreStats(
            pages=len(self._candidates),
            pending=len(self._pending),
            dropped=self._dropped,
            overflowed=self._overflowed,
            memory_bytes=self._entries.nbytes + self._candidates.nbytes + other_bytes,
        )

    def is_pending(self, page_id: int) -> bool:
        """Return whether there is a pending entry of this page."""
        return page_id in self._pending

    def record(self, row: int) -> bytes:
        """Return the bytes of the entry at `row`; see `Entries.record`."""
        return self._entries.record(row)

    def check_and_add(self, page: Page, decide: Decide) -> IndexOutcome:
        """Look for an entry that `page` repeats, and add the page as pending if there is none.

        Costs O(entries in its buckets and under its features).
        """
        arrived = arrival(page, self._key)
        lapsed: list[tuple[int, int]] = []
        if self._retention:
            self._sweep(lapsed)
        entries, own = self._entries, self._candidates.own(arrived)
        if own >= 0 and self._has_lapsed(own, lapsed):
            own = -1
        if own >= 0 and self._candidates.is_candidate(own, arrived):
            candidate = entries.candidate(own, entries.distance(own, arrived))
            if (decided := decide(candidate)).is_same:
                touched = self._touch(own)
                return IndexOutcome(
                    Reason.SAME_PAGE, own, candidate, decided, lapsed=lapsed, is_touched=touched
                )
        found = self._candidates.find(arrived)
        if own >= 0 or self._retention:
            found = [
                each for each in found if each[2] != own and not self._has_lapsed(each[2], lapsed)
            ]
        for distance, _, row in found[:MAX_COMPARED]:
            candidate = entries.candidate(row, distance)
            if (decided := decide(candidate)).is_same:
                return self._repeat(page, own, row, candidate, decided)._replace(lapsed=lapsed)
        # Of a crowd that says no: it wouldn't be among the nearest of any page like it, and
        # without it a look-up by distance stays bounded.
        crowded = len(found) > MAX_COMPARED and self._candidates.is_near(found[MAX_COMPARED][0])
        row = self._insert(arrived, by_distance=not crowded)
        if row < 0:
            self._overflowed += 1
            return IndexOutcome(Reason.OVERFLOW, lapsed=lapsed)
        if own >= 0:
            self._withdraw(own)
        self._pending[page.id] = row
        reason = Reason.UNMATCHED if own < 0 else Reason.CHANGED
        return IndexOutcome(reason, row, withdrawn=own, lapsed=lapsed)

    def confirm(self, page_id: int) -> int:
        """Make the pending entry of this page final; return its row, or -1."""
        return self._pending.pop(page_id, -1)

    def forget(self, page_id: int) -> tuple[int, int]:
        """Withdraw the pending entry of this page; return its row and number of duplicates.

        The row is to be released. (-1, 0) if there is none.
        """
        row = self._pending.get(page_id, -1)
        if row < 0:
            return -1, 0
        self._withdraw(row)
        return row, self._entries.duplicates[row]

    def release(self, row: int) -> None:
        """Free the row of a withdrawn entry."""
        self._entries.release(row)

    def load(self, chunks: Iterable[Chunk]) -> None:
        """Fill an empty index with kept entries; rows ascend over all chunks."""
        rows = self._entries.load(chunks)
        self._dropped = sum(self._entries.duplicates)
        self._overflowed = self._candidates.add_many(rows)

    def _repeat(
        self, page: Page, own: int, row: int, candidate: Candidate, decided: Decided
    ) -> IndexOutcome:
        """Count a page that repeats the entry at `row`."""
        if own >= 0:
            self._withdraw(own)
        self._entries.duplicates[row] += 1
        self._dropped += 1
        touched = self._touch(row)
        repeats = self._entries.duplicates[row]
        return IndexOutcome(
            near_reason(page), row, candidate, decided, repeats, own, is_touched=touched
        )

    def _insert(self, arrived: Arrival, *, by_distance: bool) -> int:
        """Store an entry and return its row, or -1 if its buckets are full."""
        row = self._entries.fill(arrived)
        is_added = False
        try:
            is_added = self._candidates.add(row, by_distance=by_distance)
        finally:
            if not is_added:
                self._entries.release(row)
        return row if is_added else -1

    def _has_lapsed(self, row: int, lapsed: list[tuple[int, int]]) -> bool:
        """Return whether an entry has lapsed; if so, withdraw it and add it to `lapsed`."""
        if not self._retention or self._entries.seen[row] + self._retention >= int(time.time()):
            return False
        self._withdraw(row)
        lapsed.append((row, self._entries.page_ids[row]))
        return True

    def _sweep(self, lapsed: list[tuple[int, int]]) -> None:
        """Withdraw lapsed entries among the next `_SWEPT` rows."""
        for _ in range(min(_SWEPT, len(self._entries))):
            self._swept = (self._swept + 1) % len(self._entries)
            if self._candidates.holds(self._swept):
                self._has_lapsed(self._swept, lapsed)

    def _touch(self, row: int) -> bool:
        """Restart an entry's time, at most sixteen times in a retention; return whether it did."""
        now = int(time.time())
        is_due = now - self._entries.seen[row] > self._retention / 16 > 0
        if is_due:
            self._entries.seen[row] = now
        return is_due

    def _withdraw(self, row: int) -> None:
        """Remove an entry from the search; its columns stay."""
        self._candidates.remove(row)
        self._pending.pop(self._entries.page_ids[row], None)
        self._dropped -= self._entries.duplicates[row]
