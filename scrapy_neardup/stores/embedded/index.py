"""The rule of `stores/base.py`, in memory: what the memory and SQLite stores share.

Rule of this room: synchronous, and so atomic for the tasks of one event loop; no I/O.
Where a call fails (MemoryError), the index is as it was before.

An entry is a row (`entries.py`); `candidates.py` finds it, and the table of
`scrapy_neardup.evidence.decision` says whether it is repeated. What is decided from that is
decided here.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from scrapy_neardup.errors import ConfigurationError
from scrapy_neardup.evidence.matching import Matching
from scrapy_neardup.stores.base import MAX_COMPARED, MAX_CONTRADICTED, StoreOptions, StoreStats
from scrapy_neardup.stores.confirming import Candidate, Confirmed, first_confirmed
from scrapy_neardup.stores.embedded.candidates import Candidates
from scrapy_neardup.stores.embedded.entries import Arrival, Entries, arrival
from scrapy_neardup.stores.records import Chunk
from scrapy_neardup.verdict import Decision, Match, Page, Reason, Verdict


def refuse_retention(options: StoreOptions) -> None:
    """Raise `ConfigurationError` if entries should lapse: nothing here keeps times."""
    if options.retention:
        raise ConfigurationError(
            "NEARDUP_RETENTION needs a Redis store, 'redis://HOST': 'memory:' and 'sqlite:PATH'"
            " keep no times"
        )


class IndexVerdict(NamedTuple):
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
    resemblance, repeats
        Of a match: `Match.resemblance` and `Match.count`.
    rule
        Name of the rule that decided.
    witness
        What is kept of another page at the same path.
    withdrawn
        The page's own old entry, which is no longer found. Its columns stay until
        `EmbeddedIndex.release`.
    """

    decision: Decision
    reason: Reason
    row: int = -1
    page_id: int = 0
    distance: int = 0
    resemblance: float | None = None
    rule: str = ""
    repeats: int = 0
    withdrawn: int = -1
    witness: bytes = b""

    def verdict(self, page: Page, url: str | None = None) -> Verdict:
        """Return the verdict on `page`; `url` is that of a duplicate's match."""
        match = None
        if self.decision in (Decision.DUPLICATE, Decision.SEEN):
            match = Match(
                page_id=self.page_id,
                distance=self.distance,
                url=url if self.decision is Decision.DUPLICATE else page.url,
                resemblance=self.resemblance,
                count=self.repeats,
            )
        return Verdict(
            decision=self.decision,
            reason=self.reason,
            page_id=page.id,
            match=match,
            rule=self.rule,
            witness=self.witness,
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
    matching
        What else leads to an entry, and what confirms it.
    """

    def __init__(
        self, max_distance: int, expected_pages: int, matching: Matching | None = None
    ) -> None:
        matching = matching or Matching()
        self._matching = matching
        self._entries = Entries(matching)
        self._candidates = Candidates(self._entries, max_distance, expected_pages, matching)
        self._pending: dict[int, int] = {}  # page id -> row
        self._dropped = 0
        self._overflowed = 0

    def stats(self, other_bytes: int) -> StoreStats:
        """Count what is held; `other_bytes` of memory are the caller's.

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
        """Whether there is a pending entry of this page."""
        return page_id in self._pending

    def record(self, row: int) -> bytes:
        """Return the entry at `row` as it is written; see `Entries.record`."""
        return self._entries.record(row)

    def check_and_add(self, page: Page) -> IndexVerdict:
        """Judge `page`, and store it as pending if it is new.

        Costs O(entries in its buckets and under its features).
        """
        arrived = arrival(page)
        own = self._candidates.own(arrived)
        if own >= 0 and self._candidates.is_candidate(own, arrived):
            candidate = (self._entries.distance(own, arrived), page.id, own)
            if match := self._confirmed(page, [candidate]):
                return IndexVerdict(Decision.SEEN, Reason.SAME_PAGE, *match)
        found, rejected = self._candidates.find(arrived)
        if own >= 0:
            found = [candidate for candidate in found if candidate[2] != own]
        witness = self._witness(arrived, own, found)
        if match := self._confirmed(page, found[:MAX_COMPARED]):
            return self._repeat(page, match, own)._replace(witness=witness)
        # Of a crowd that says no: it wouldn't be among the nearest of any page like it, and
        # without it a look-up by distance stays bounded.
        crowded = len(found) > MAX_COMPARED and self._candidates.is_near(found[MAX_COMPARED][0])
        row = -1
        if rejected < MAX_CONTRADICTED:
            row = self._insert(arrived, by_distance=not crowded)
        if row < 0:
            self._overflowed += 1
            return IndexVerdict(Decision.UNJUDGED, Reason.OVERFLOW)
        if own >= 0:
            self._withdraw(own)
        self._pending[page.id] = row
        reason = Reason.UNMATCHED if own < 0 else Reason.CHANGED
        return IndexVerdict(Decision.NEW, reason, row, page.id, withdrawn=own, witness=witness)

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
        return row, self._entries.duplicates[row]

    def release(self, row: int) -> None:
        """Let the row of a withdrawn entry be used again."""
        self._entries.release(row)

    def load(self, chunks: Iterable[Chunk]) -> None:
        """Fill an empty index with kept entries; rows ascend over all chunks."""
        rows = self._entries.load(chunks)
        self._dropped = sum(self._entries.duplicates)
        self._overflowed = self._candidates.add_many(rows)

    def _confirmed(self, page: Page, candidates: list[Candidate]) -> Confirmed | None:
        """Return the first candidate that the page repeats."""
        return first_confirmed(page, candidates, self._matching, self._kept)

    def _kept(self, row: int) -> tuple[bytes, int]:
        return self._entries.sketches.get(row), self._entries.contents[row]

    def _witness(self, arrived: Arrival, own: int, found: list[tuple[int, int, int]]) -> bytes:
        """Return what is kept of the nearest other page at the path of this one, or of any."""
        at_path = [
            (self._entries.distance(row, arrived), self._entries.page_ids[row], row)
            for row in self._candidates.at_path(arrived)
            if row != own and self._entries.tags[row] == arrived.tag
        ]
        others = at_path or found
        return self._entries.sketches.get(min(others)[2]) if others else b""

    def _repeat(self, page: Page, match: Confirmed, own: int) -> IndexVerdict:
        """Count a page that repeats an entry."""
        if own >= 0:
            self._withdraw(own)
        row = match.row
        self._entries.duplicates[row] += 1
        self._dropped += 1
        reason = Reason.EQUAL if page.exact else Reason.NEAR
        repeats = self._entries.duplicates[row]
        return IndexVerdict(Decision.DUPLICATE, reason, *match, repeats=repeats, withdrawn=own)

    def _insert(self, arrived: Arrival, *, by_distance: bool) -> int:
        """Store an entry and return its row, or -1 if its buckets are full."""
        row = self._entries.fill(arrived)
        if not self._candidates.add(row, by_distance=by_distance):
            return -1
        try:
            self._entries.take(row, arrived.page.evidence)
        except MemoryError:
            self._candidates.remove(row)
            raise
        return row

    def _withdraw(self, row: int) -> None:
        """Let an entry be found no more; its columns stay."""
        self._candidates.remove(row)
        self._pending.pop(self._entries.page_ids[row], None)
        self._dropped -= self._entries.duplicates[row]
