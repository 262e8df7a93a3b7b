"""A store over a read-only base: billions of old pages without a server.

The base is asked first and never written to: a page that repeats one of its pages is SEEN or a
DUPLICATE, by the rules of `stores/base.py`, but that nothing is counted in the base. Otherwise the
store goes on, as if there were no base. Where both know a page like it, the base wins, and an
entry that the store holds of the page itself stays there.
"""

from __future__ import annotations

from scrapy_neardup.decision.comparison import deciding
from scrapy_neardup.errors import InputError, StoreCorruptError, StoreMismatchError
from scrapy_neardup.fingerprints.hashing import key_digest
from scrapy_neardup.stores.base import Store, StoreStats
from scrapy_neardup.stores.packed import PackedPages
from scrapy_neardup.verdict import Decide, Page, Verdict


class LayeredStore(Store):
    """A store over the pages of a packed file.

    A probe of a file in the page cache takes some 100 microseconds. From a disk it reads a page or
    two a table, while the event loop waits.
    """

    def __init__(self, store: Store, base: PackedPages) -> None:
        self._store = store
        self._base = base

    async def open(self) -> None:
        """Open the store; `StoreMismatchError` if its key isn't that of the base."""
        await self._store.open()
        self.key = self._store.key
        if key_digest(self.key) != self._base.key_digest:
            await self._store.close()
            raise StoreMismatchError(
                "NEARDUP_BASE: its pages were hashed with another key than those of the store. Set"
                " NEARDUP_HASH_KEY to the one that it was made with (scan --hash-key), or pack"
                " what scan prints of these pages without a --store"
            )

    async def close(self) -> None:
        """Close the store."""
        await self._store.close()

    async def check_and_add(self, page: Page, decide: Decide | None = None) -> Verdict:
        """Ask the base, then the store; `StoreCorruptError` if a part of the base is damaged."""
        decide = decide or deciding(page, self._base.matching)
        try:
            known = self._base.check(page, decide)
        except InputError as error:
            raise StoreCorruptError(f"NEARDUP_BASE: {error}") from error
        return known or await self._store.check_and_add(page, decide)

    async def confirm(self, page_id: int) -> None:
        """Make an entry of the store final."""
        await self._store.confirm(page_id)

    async def forget(self, page_id: int) -> int:
        """Withdraw a pending entry of the store."""
        return await self._store.forget(page_id)

    async def stats(self) -> StoreStats:
        """Count what the store holds; the base isn't counted."""
        return await self._store.stats()

    async def exchange(self, topic: str, member: str, value: bytes | None) -> list[bytes]:
        """Post and read on the store's notice board."""
        return await self._store.exchange(topic, member, value)
