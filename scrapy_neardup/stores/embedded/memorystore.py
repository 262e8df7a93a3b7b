"""``memory:``, a store that ends with its process, and the base of ``sqlite:PATH``.

Its index holds entries, which `finding.py` finds, and notices. It is synchronous, and so atomic
for the tasks of an event loop, and has no I/O. If a call fails (MemoryError), the index doesn't
change. A keeper is told of every change of a row::

    check_and_add ─ NEW ──> held, with its URL
    confirm ─────────────────> to be written
    a duplicate is counted ──> to be written
    the entry is withdrawn ──> to be deleted
    the entry is replaced ───> stays until the new one is confirmed or withdrawn
"""

from __future__ import annotations

import time
from collections.abc import Iterable
from dataclasses import replace
from math import ceil
from secrets import token_bytes
from sys import getsizeof
from typing import Final, NamedTuple

from scrapy_neardup.errors import ConfigurationError, StoreUnavailableError
from scrapy_neardup.fingerprints import PUBLIC_KEY
from scrapy_neardup.judge.comparison import deciding
from scrapy_neardup.stores import base
from scrapy_neardup.stores.base import MAX_COMPARED, Store, StoreOptions, StoreStats
from scrapy_neardup.stores.embedded.finding import Arrival, Candidates, Entries
from scrapy_neardup.stores.entryformat import CROWD_BIT, Chunk, partition
from scrapy_neardup.urls import redact_store
from scrapy_neardup.verdict import Decide, Match, Page, Reason, Verdict

MAX_TOPICS: Final = 4096
"""Maximum number of topics; those used last stay. A topic is the knowledge about a site; if 4,096
others were used since, the site is no longer crawled."""


class Notice(NamedTuple):
    """A member's value of a topic; None for a removed one."""

    topic: str
    member: str
    value: bytes | None


class NoticeBoard:
    """Values by topic and member."""

    def __init__(self) -> None:
        # Both are in the order of the last use, or of the last change.
        self._topics: dict[str, dict[str, bytes]] = {}

    @property
    def nbytes(self) -> int:
        """Memory of the values in bytes."""
        return sum(len(value) for members in self._topics.values() for value in members.values())

    def post(
        self, topic: str, member: str, value: bytes | None
    ) -> tuple[list[bytes], list[Notice]]:
        """Post a value, if there is one; return all values of the topic, and the changes."""
        if value is None:
            return list(self._topics.get(topic, {}).values()), []
        members = self._topics.pop(topic, {})
        self._topics[topic] = members
        changed = []
        if members.get(member) != value:
            members.pop(member, None)
            members[member] = value
            changed.append(Notice(topic, member, value))
        if len(members) > base.MAX_MEMBERS:
            oldest = next(iter(members))
            del members[oldest]
            changed.append(Notice(topic, oldest, None))
        if len(self._topics) > MAX_TOPICS:
            unused = next(iter(self._topics))
            changed += [Notice(unused, each, None) for each in self._topics.pop(unused)]
        return list(members.values()), changed


_SWEPT: Final = 4
"""Number of rows in which each page looks for lapsed entries."""


class Keeper:
    """Keeps the URLs of rows, and the data that outlives the index: none for a store in memory."""

    def __init__(self) -> None:
        self._packed: list[bytes | None] = []  # in UTF-8: text may take four times its bytes
        self._bytes = 0

    @property
    def nbytes(self) -> int:
        """Memory in bytes."""
        return self._bytes + getsizeof(self._packed)

    def hold(self, row: int, url: str | None) -> None:
        """Keep the URL of a new, pending entry."""
        if url:
            self._packed += [None] * (row + 1 - len(self._packed))
            self._packed[row] = packed = url.encode("utf-8", "surrogatepass")
            self._bytes += getsizeof(packed)

    def write(self, row: int) -> None:
        """Note that the current entry at `row` is to be written."""

    def delete(self, row: int) -> None:
        """Note that the entry at `row` is to be deleted."""
        if row < len(self._packed) and (packed := self._packed[row]):
            self._bytes -= getsizeof(packed)
            self._packed[row] = None

    async def url(self, row: int, page_id: int) -> str | None:  # noqa: ARG002
        """Return the URL of the entry of `page_id` at `row`, or None."""
        packed = self._packed[row] if row < len(self._packed) else None
        return None if packed is None else packed.decode("utf-8", "surrogatepass")

    def post(self, notice: Notice) -> None:
        """Note a change of the notice board."""

    async def settle(self) -> None:
        """Wait until more changes may be noted; `StoreUnavailableError` if none may."""

    async def close(self) -> None:
        """Write what is due."""


class IndexOutcome(NamedTuple):
    """The outcome of `EmbeddedIndex.check_and_add`; a row of -1 means none.

    `row` is the entry that was added or is repeated, `match` the repeated one, without a URL
    unless it is the page's own.
    """

    reason: Reason
    row: int = -1
    match: Match | None = None


class EmbeddedIndex:
    """The entries of one namespace, whose pages are hashed with `key`, and its notice board.

    `keeper` may be replaced by another before entries are added.
    """

    def __init__(self, options: StoreOptions, key: bytes = PUBLIC_KEY) -> None:
        self.keeper, self.notices = Keeper(), NoticeBoard()
        self._key = key
        self._entries = Entries(options.matching)
        self._candidates = Candidates(self._entries, options)
        self._pending: dict[int, int] = {}  # page id -> row
        self._replaced: dict[int, int] = {}  # page id -> row of the kept entry before it
        self._dropped = 0
        self._overflowed = 0
        self._retention = ceil(options.retention)
        self._swept = 0  # rows before it were swept in this pass

    def stats(self) -> StoreStats:
        """Return the counts. Costs O(number of buckets)."""
        parts = self._entries, self._candidates, self.keeper, self.notices
        return StoreStats(
            pages=len(self._candidates),
            pending=len(self._pending),
            dropped=self._dropped,
            overflowed=self._overflowed,
            memory_bytes=sum(part.nbytes for part in parts),
        )

    def record(self, row: int) -> bytes:
        """Return the bytes of the entry at `row`; see `Entries.record`."""
        return self._entries.record(row)

    def check_and_add(self, page: Page, decide: Decide) -> IndexOutcome:
        """Look for an entry that `page` repeats, and add the page as pending if there is none.

        Costs O(entries in its buckets and under its features).
        """
        tag, mask = partition(page.scope, page.exact, self._key)
        features = tuple([feature ^ mask for feature in page.features])
        arrived = Arrival(page, tag & ~CROWD_BIT, page.fingerprint ^ mask, features)
        self._sweep()
        entries, own = self._entries, self._candidates.own(arrived)
        if own >= 0 and self._has_lapsed(own):
            own = -1
        if own >= 0 and self._candidates.is_candidate(own, arrived):
            candidate = entries.candidate(own, entries.distance(own, arrived))
            if (decided := decide(candidate)).is_same:
                self._meet(own, 0)
                match = base.matched(candidate, decided, url=page.url)
                return IndexOutcome(Reason.SAME_PAGE, own, match)
        found = self._candidates.find(arrived)
        if own >= 0 or self._retention:
            found = [each for each in found if each[2] != own and not self._has_lapsed(each[2])]
        for distance, _, row in found[:MAX_COMPARED]:
            candidate = entries.candidate(row, distance)
            if (decided := decide(candidate)).is_same:
                if own >= 0:
                    self._withdraw(own)
                match = base.matched(candidate, decided, self._meet(row, 1))
                return IndexOutcome(base.near_reason(page), row, match)
        # One of a crowd that the page doesn't repeat. It wouldn't be among the nearest of any page
        # like it, and without it a look-up by distance stays bounded.
        crowded = len(found) > MAX_COMPARED and found[MAX_COMPARED][0] <= self._candidates.limit
        crowd_bit = CROWD_BIT * (crowded and not page.exact)
        row = self._insert(arrived._replace(tag=arrived.tag | crowd_bit))
        if row < 0:
            self._overflowed += 1
            return IndexOutcome(Reason.OVERFLOW)
        if own >= 0:
            self._replace(own)
        self._pending[page.id] = row
        self.keeper.hold(row, page.url)
        return IndexOutcome(Reason.UNMATCHED if own < 0 else Reason.CHANGED, row)

    def confirm(self, page_id: int) -> bool:
        """Make the pending entry of this page final; return whether there is one."""
        row = self._pending.pop(page_id, -1)
        if row >= 0:
            self.keeper.write(row)
            self._drop(self._replaced.pop(page_id, -1))
        return row >= 0

    def forget(self, page_id: int) -> int:
        """Withdraw the pending entry of this page; return its number of duplicates, or 0."""
        row = self._pending.get(page_id, -1)
        if row < 0:
            return 0
        duplicates = self._entries.duplicates[row]
        self._withdraw(row)
        return duplicates

    def load(self, chunks: Iterable[Chunk]) -> None:
        """Fill an empty index with kept entries; rows ascend over all chunks."""
        rows = self._entries.load(chunks)
        self._dropped = sum(self._entries.duplicates)
        self._overflowed = self._candidates.add_many(rows)

    def _insert(self, arrived: Arrival) -> int:
        """Store an entry and return its row, or -1 if its buckets are full."""
        row = self._entries.fill(arrived)
        is_added = False
        try:
            is_added = self._candidates.add(row)
        finally:
            if not is_added:
                self._entries.release(row)
        return row if is_added else -1

    def _has_lapsed(self, row: int) -> bool:
        """Return whether no page has met an entry for the retention time; if so, withdraw it."""
        if not self._retention or self._entries.seen[row] + self._retention >= int(time.time()):
            return False
        self._withdraw(row)
        return True

    def _sweep(self) -> None:
        """Withdraw lapsed entries among the next `_SWEPT` rows."""
        for _ in range(min(_SWEPT, len(self._entries)) if self._retention else 0):
            self._swept = (self._swept + 1) % len(self._entries)
            if self._candidates.holds(self._swept):
                self._has_lapsed(self._swept)

    def _meet(self, row: int, repeats: int) -> int:
        """Add pages that repeat an entry to its count; return the count.

        Its time starts again, at most sixteen times in a retention.
        """
        now = int(time.time())
        is_due = now - self._entries.seen[row] > self._retention / 16 > 0
        if is_due:
            self._entries.seen[row] = now
        self._entries.duplicates[row] += repeats
        self._dropped += repeats
        if (is_due or repeats) and self._entries.page_ids[row] not in self._pending:
            self.keeper.write(row)
        return self._entries.duplicates[row]

    def _withdraw(self, row: int) -> None:
        """Withdraw an entry, and the entry that it has replaced."""
        self._remove(row)
        self._drop(row)
        self._drop(self._replaced.pop(self._entries.page_ids[row], -1))

    def _replace(self, row: int) -> None:
        """Replace a page's entry by a pending one; the row of a kept entry stays until the end."""
        if self._remove(row):
            self._drop(row)
        else:
            self._replaced[self._entries.page_ids[row]] = row

    def _remove(self, row: int) -> bool:
        """Remove an entry from the search; its columns stay. Return whether it was pending."""
        self._candidates.remove(row)
        self._dropped -= self._entries.duplicates[row]
        return self._pending.pop(self._entries.page_ids[row], -1) >= 0

    def _drop(self, row: int) -> None:
        """Free the row of a removed entry; -1 is ignored."""
        if row >= 0:
            self.keeper.delete(row)
            self._entries.release(row)


class EmbeddedStore(Store):
    """A store in the crawler's process; `name` is that in messages."""

    def __init__(self, name: str, options: StoreOptions) -> None:
        self._name = name
        self._options = options
        self._opened: EmbeddedIndex | None = None

    async def close(self) -> None:
        """Write confirmed entries, if they outlive the store, and drop all others."""
        opened, self._opened = self._opened, None
        if opened is not None:
            await opened.keeper.close()

    async def check_and_add(self, page: Page, decide: Decide | None = None) -> Verdict:
        """See `Store.check_and_add`; `StoreUnavailableError` if earlier changes can't be saved."""
        index = self._open()
        await index.keeper.settle()
        decide = decide or deciding(page, self._options.matching)
        reason, row, match = index.check_and_add(page, decide)
        if match is not None and reason is not Reason.SAME_PAGE:
            match = replace(match, url=await index.keeper.url(row, match.page_id) or None)
        return Verdict.on(page, reason, match)

    async def confirm(self, page_id: int) -> None:
        """Make an entry final; in a file it is durable within a second, if the disk allows."""
        index = self._open()
        if index.confirm(page_id):
            await index.keeper.settle()

    async def forget(self, page_id: int) -> int:
        """Withdraw a pending entry; return the number of pages that repeated it."""
        return self._open().forget(page_id)

    async def stats(self) -> StoreStats:
        """Return the counts. O(number of buckets)."""
        return self._open().stats()

    async def exchange(self, topic: str, member: str, value: bytes | None) -> list[bytes]:
        """See `Store.exchange`; in a file a value is durable within a second."""
        index = self._open()
        await index.keeper.settle()
        values, changed = index.notices.post(topic, member, value)
        for notice in changed:
            index.keeper.post(notice)
        return values

    def _open(self) -> EmbeddedIndex:
        if self._opened is None:
            raise StoreUnavailableError(f"NEARDUP_STORE: {self._name} isn't open")
        return self._opened


class MemoryStore(EmbeddedStore):
    """The embedded index alone; each opened store has its own."""

    is_private = True

    def __init__(self, uri: str, options: StoreOptions) -> None:
        if uri.partition(":")[2]:
            raise ConfigurationError(
                f"NEARDUP_STORE: {redact_store(uri)!r} names a place, and a store in memory has "
                "none; use 'memory:', or 'sqlite:PATH' for a store that outlives the crawl"
            )
        super().__init__("the store in memory", options)

    async def open(self) -> None:
        """Start with no entries."""
        if self._opened is None:
            asked = self._options.hash_key
            self.key = token_bytes(16) if asked is None else asked
            self._opened = EmbeddedIndex(self._options, self.key)
