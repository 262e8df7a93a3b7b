"""``memory:``, a store that ends with its process, and the base of ``sqlite:PATH``.

The index in memory finds entries, and its keeper follows it (`entryindex.py`).
"""

from __future__ import annotations

from secrets import token_bytes

from scrapy_neardup.errors import ConfigurationError, StoreUnavailableError
from scrapy_neardup.judge.comparison import deciding
from scrapy_neardup.stores.base import Store, StoreOptions, StoreStats, matched
from scrapy_neardup.stores.embedded.entryindex import EmbeddedIndex
from scrapy_neardup.urls import redact_store
from scrapy_neardup.verdict import Decide, Page, Reason, Verdict


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
        reason, row, candidate, decided, repeats = index.check_and_add(
            page, decide or deciding(page, self._options.matching)
        )
        if candidate is None or decided is None:
            return Verdict.on(page, reason)
        is_own = reason is Reason.SAME_PAGE
        url = page.url if is_own else await index.keeper.url(row, candidate.page_id)
        return Verdict.on(page, reason, matched(candidate, decided, repeats, url))

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
