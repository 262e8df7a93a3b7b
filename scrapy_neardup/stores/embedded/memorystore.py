"""``memory:``, a store that lives and dies with its process."""

from __future__ import annotations

from dataclasses import dataclass

from scrapy_neardup.errors import ConfigurationError, StoreUnavailableError
from scrapy_neardup.judge.comparison import deciding
from scrapy_neardup.stores.base import Store, StoreOptions, StoreStats
from scrapy_neardup.stores.embedded.entryindex import EmbeddedIndex
from scrapy_neardup.stores.embedded.heaps import UrlHeap
from scrapy_neardup.stores.embedded.notices import NoticeBoard
from scrapy_neardup.stores.keys import random_key
from scrapy_neardup.urls import redact_store
from scrapy_neardup.verdict import Decide, Page, Verdict


@dataclass(frozen=True, slots=True)
class _Opened:
    index: EmbeddedIndex
    urls: UrlHeap
    notices: NoticeBoard

    def drop(self, row: int) -> None:
        """Free the row of a withdrawn entry; -1 is ignored."""
        if row >= 0:
            self.urls.set(row, None)
            self.index.release(row)


class MemoryStore(Store):
    """The embedded index alone; each opened store has its own."""

    is_private = True

    def __init__(self, uri: str, options: StoreOptions) -> None:
        if uri.partition(":")[2]:
            raise ConfigurationError(
                f"NEARDUP_STORE: {redact_store(uri)!r} names a place, and a store in memory has "
                "none; use 'memory:', or 'sqlite:PATH' for a store that outlives the crawl"
            )
        self._options = options
        self._opened: _Opened | None = None

    async def open(self) -> None:
        """Start empty."""
        if self._opened is None:
            self.key = random_key(self._options.hash_key)
            index = EmbeddedIndex(self._options, self.key)
            self._opened = _Opened(index, UrlHeap(), NoticeBoard())

    async def close(self) -> None:
        """Drop all entries."""
        self._opened = None

    async def check_and_add(self, page: Page, decide: Decide | None = None) -> Verdict:
        """Look for an entry that `page` repeats, and add the page if there is none."""
        opened = self._open()
        index, urls = opened.index, opened.urls
        outcome = index.check_and_add(page, decide or deciding(page, self._options.matching))
        for row, _ in outcome.lapsed:
            opened.drop(row)
        opened.drop(outcome.withdrawn)
        if outcome.is_new:
            urls.set(outcome.row, page.url)
        url = urls.get(outcome.row) if outcome.is_repeat else page.url
        return outcome.verdict(page, url)

    async def confirm(self, page_id: int) -> None:
        """Make an entry final."""
        self._open().index.confirm(page_id)

    async def forget(self, page_id: int) -> int:
        """Withdraw a pending entry; return the number of pages that repeated it."""
        opened = self._open()
        row, dropped = opened.index.forget(page_id)
        opened.drop(row)
        return dropped

    async def stats(self) -> StoreStats:
        """Return the counts. O(number of buckets)."""
        opened = self._open()
        return opened.index.stats(other_bytes=opened.urls.nbytes + opened.notices.nbytes)

    async def exchange(self, topic: str, member: str, value: bytes | None) -> list[bytes]:
        """Post `value`, and return the values of all members, which are of this process."""
        return self._open().notices.post(topic, member, value)[0]

    def _open(self) -> _Opened:
        if self._opened is None:
            raise StoreUnavailableError("the store in memory isn't open")
        return self._opened
