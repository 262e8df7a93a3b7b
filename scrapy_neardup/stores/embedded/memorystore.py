"""``memory:``, a store that lives and dies with its process, and what ``sqlite:PATH`` does alike.

The index in memory finds entries, and its keeper follows it. The life of a row there::

    check_and_add ─ NEW ──> held, with its URL
    confirm ─────────────────> to be written
    a duplicate is counted ──> to be written
    the entry is withdrawn ──> to be deleted
    the entry is replaced ───> stays until the new one is confirmed or withdrawn
"""

from __future__ import annotations

from dataclasses import dataclass, field
from sys import getsizeof

from scrapy_neardup.errors import ConfigurationError, StoreUnavailableError
from scrapy_neardup.judge.comparison import deciding
from scrapy_neardup.stores.base import Store, StoreOptions, StoreStats
from scrapy_neardup.stores.embedded.entryindex import EmbeddedIndex
from scrapy_neardup.stores.embedded.notices import Notice, NoticeBoard
from scrapy_neardup.stores.keys import random_key
from scrapy_neardup.urls import redact_store
from scrapy_neardup.verdict import Decide, Page, Verdict


class Keeper:
    """What keeps the URLs of rows, and whatever outlives the index: in memory, nothing does."""

    def __init__(self) -> None:
        self._packed: list[bytes | None] = []  # in UTF-8, as text may take four times its bytes
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
        """Wait until more may be noted; `StoreUnavailableError` if nothing may."""

    async def close(self) -> None:
        """Write what is due."""


@dataclass(frozen=True, slots=True)
class OpenedStore:
    """The parts of an open store."""

    index: EmbeddedIndex
    notices: NoticeBoard
    keeper: Keeper
    replaced: dict[int, int] = field(default_factory=dict)
    """Page id -> row of a kept entry that a pending one of the same page replaces."""

    def drop(self, row: int) -> None:
        """Free the row of a withdrawn entry; -1 is ignored."""
        if row >= 0:
            self.keeper.delete(row)
            self.index.release(row)


class EmbeddedStore(Store):
    """A store in the crawler's process; `name` is that in messages."""

    def __init__(self, name: str, options: StoreOptions) -> None:
        self._name = name
        self._options = options
        self._opened: OpenedStore | None = None

    async def close(self) -> None:
        """Write confirmed entries, as far as they outlive the store, and drop all others."""
        opened, self._opened = self._opened, None
        if opened is not None:
            await opened.keeper.close()

    async def check_and_add(self, page: Page, decide: Decide | None = None) -> Verdict:
        """See `Store.check_and_add`; `StoreUnavailableError` if earlier changes can't be saved."""
        opened = self._open()
        index, keeper, replaced = opened.index, opened.keeper, opened.replaced
        await keeper.settle()
        was_pending = index.is_pending(page.id)
        outcome = index.check_and_add(page, decide or deciding(page, self._options.matching))
        for row, page_id in outcome.lapsed:
            opened.drop(row)
            opened.drop(replaced.pop(page_id, -1))
        if outcome.withdrawn >= 0:
            if outcome.is_new and not was_pending:
                replaced[page.id] = outcome.withdrawn
            else:
                opened.drop(outcome.withdrawn)
            if not outcome.is_new:
                opened.drop(replaced.pop(page.id, -1))
        if outcome.is_new:
            keeper.hold(outcome.row, page.url)
        if not outcome.is_repeat or outcome.candidate is None:
            if outcome.is_touched and not was_pending:
                keeper.write(outcome.row)
            return outcome.verdict(page, page.url)
        if not index.is_pending(other := outcome.candidate.page_id):
            keeper.write(outcome.row)
        return outcome.verdict(page, await keeper.url(outcome.row, other))

    async def confirm(self, page_id: int) -> None:
        """Make an entry final; in a file it is durable within a second, if the disk allows."""
        opened = self._open()
        row = opened.index.confirm(page_id)
        if row >= 0:
            opened.keeper.write(row)
            opened.drop(opened.replaced.pop(page_id, -1))
            await opened.keeper.settle()

    async def forget(self, page_id: int) -> int:
        """Withdraw a pending entry; return the number of pages that repeated it."""
        opened = self._open()
        row, dropped = opened.index.forget(page_id)
        if row >= 0:
            opened.drop(row)
            opened.drop(opened.replaced.pop(page_id, -1))
        return dropped

    async def stats(self) -> StoreStats:
        """Return the counts. O(number of buckets)."""
        opened = self._open()
        return opened.index.stats(other_bytes=opened.keeper.nbytes + opened.notices.nbytes)

    async def exchange(self, topic: str, member: str, value: bytes | None) -> list[bytes]:
        """See `Store.exchange`; in a file a value is durable within a second."""
        opened = self._open()
        await opened.keeper.settle()
        values, changed = opened.notices.post(topic, member, value)
        for notice in changed:
            opened.keeper.post(notice)
        return values

    def _open(self) -> OpenedStore:
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
        """Start empty."""
        if self._opened is None:
            self.key = random_key(self._options.hash_key)
            index = EmbeddedIndex(self._options, self.key)
            self._opened = OpenedStore(index, NoticeBoard(), Keeper())
