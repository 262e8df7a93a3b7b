"""``memory:``, a store that lives and dies with its process."""

from __future__ import annotations

from array import array
from dataclasses import dataclass
from typing import Final

from scrapy_neardup.errors import ConfigurationError, StoreUnavailableError
from scrapy_neardup.judge.comparison import deciding
from scrapy_neardup.stores.base import Store, StoreOptions, StoreStats
from scrapy_neardup.stores.embedded.entryindex import EmbeddedIndex
from scrapy_neardup.stores.embedded.notices import NoticeBoard
from scrapy_neardup.stores.keys import random_key
from scrapy_neardup.urls import redact_store
from scrapy_neardup.verdict import Decide, Page, Verdict

_LENGTH_BITS: Final = 24
"""Bits of a place that hold the length of the URL."""
_MAX_LENGTH: Final = (1 << _LENGTH_BITS) - 1
_MIN_HOLES: Final = 1 << 16
"""Minimum bytes of holes that are worth copying the heap for."""


class UrlHeap:
    """A growing map from row numbers to URLs.

    Removed URLs leave holes. When more than half of the heap is holes it is copied without them,
    so that a removal costs O(its length) on average.
    """

    def __init__(self) -> None:
        self._heap = bytearray()
        # By row: offset << 24 | length in bytes; 0 where there is none.
        self._places = array("Q")
        self._holes = 0

    @property
    def nbytes(self) -> int:
        """Bytes of memory held."""
        return len(self._heap) + self._places.itemsize * len(self._places)

    def get(self, row: int) -> str | None:
        """Return the URL of `row`, or None."""
        place = self._places[row] if row < len(self._places) else 0
        if not place:
            return None
        offset, length = place >> _LENGTH_BITS, place & _MAX_LENGTH
        return self._heap[offset : offset + length].decode("utf-8", "surrogatepass")

    def set(self, row: int, url: str | None) -> None:
        """Keep `url` for `row`, in place of its earlier one.

        None, and what is longer than 16 MiB, is not kept.
        """
        if row < len(self._places):
            self._holes += self._places[row] & _MAX_LENGTH
            self._places[row] = 0
        packed = (url or "").encode("utf-8", "surrogatepass")
        if 0 < len(packed) <= _MAX_LENGTH:
            if row >= len(self._places):
                self._places.frombytes(bytes(8 * (row + 1 - len(self._places))))
            offset = len(self._heap)
            self._heap += packed
            self._places[row] = offset << _LENGTH_BITS | len(packed)
        if self._holes > max(_MIN_HOLES, len(self._heap) // 2):
            self._compact()

    def _compact(self) -> None:
        heap = bytearray()
        for row, place in enumerate(self._places):
            if place:
                offset, length = place >> _LENGTH_BITS, place & _MAX_LENGTH
                self._places[row] = len(heap) << _LENGTH_BITS | length
                heap += self._heap[offset : offset + length]
        self._heap = heap
        self._holes = 0


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
