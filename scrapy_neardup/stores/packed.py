"""A store over a packed file: billions of old pages without a server.

The file, called the base, is searched first and never written to. A page that repeats one of its
pages is SEEN or a DUPLICATE, by the rules of `stores/base.py`, but the base counts nothing. All
other pages go to the store, as if there were no base. If both have an entry that a page repeats,
the base decides, and the store's entry of the page itself stays.

A page's record (`entryformat.PACKED`) has the same data as an entry of a store. Candidates are
the rows within k bits and those that share enough features. A packed file without records has only
fingerprints and page ids, and a page repeats any row within k bits. If pages are compared by host
or domain, a row has the host or domain of its URL.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from functools import lru_cache
from heapq import merge
from itertools import groupby, islice
from operator import itemgetter
from typing import Final, cast

from scrapy_neardup import errors
from scrapy_neardup.errors import ConfigurationError, StoreMismatchError
from scrapy_neardup.fingerprints.hashing import key_digest
from scrapy_neardup.judge.comparison import deciding
from scrapy_neardup.judge.parameters import Matching
from scrapy_neardup.stores import base
from scrapy_neardup.stores.base import MAX_COMPARED, Store, StoreStats, matched
from scrapy_neardup.stores.entryformat import PACKED
from scrapy_neardup.tables.packed import PackedIndex
from scrapy_neardup.urls import Extent, site
from scrapy_neardup.verdict import Candidate, Decide, Match, Page, Reason, Verdict


class PackedPages:
    """The packed file `name`, read like the kept entries of a store.

    Raises `ConfigurationError` if the file has no page ids, too few tables for `max_distance`, no
    records although `matching` needs them, or not the data by which pages are compared (languages,
    URLs for hosts); `StoreMismatchError` if it was made with other parameters, or doesn't record
    them.
    """

    def __init__(
        self,
        index: PackedIndex,
        name: str,
        *,
        max_distance: int,
        schema: Mapping[str, str | int | float],
        matching: Matching,
    ) -> None:
        extent = str(schema.get("scope", "all"))
        self._extent = None if extent == "all" else cast("Extent", extent)
        self._index = index
        self._max_distance = max_distance
        self.matching = matching
        self.key_digest = str((index.schema or {}).get("hash_key", ""))
        self._kept = lru_cache(base.MAX_EQUAL)(self._read)
        self._check(name, schema)

    def check(self, page: Page, decide: Decide) -> Verdict | None:
        """Return SEEN or DUPLICATE, or None; `InputError` if a part of the file is damaged."""
        own = self._index.rows.find_id(page.id)
        mine = (
            (self._distance(row, page), page.id, row) for row in own if self._may_be(row, page)
        )
        if match := self._first(mine, decide):
            return Verdict.on(page, Reason.SAME_PAGE, replace(match, url=page.url))
        if match := self._first(self._find(page, own)[:MAX_COMPARED], decide):
            return Verdict.on(page, base.near_reason(page), match)
        return None

    def _first(self, rows: Iterable[tuple[int, int, int]], decide: Decide) -> Match | None:
        """Return the first row that the page repeats, of rows with distance and page id."""
        for distance, page_id, row in rows:
            candidate = Candidate(page_id, distance, self._kept(row)[1])
            if (decided := decide(candidate)).is_same:
                return matched(candidate, decided, url=self._index.rows.url(row))
        return None

    def _may_be(self, row: int, page: Page) -> bool:
        """Return whether a row of the page's own id is a candidate."""
        return self._is_of_scope(row, page) and (
            self._distance(row, page) <= self._limit(page) or self._shares_enough(row, page)
        )

    def _find(self, page: Page, own: list[int]) -> list[tuple[int, int, int]]:
        """Return distance, page id and row of other pages that the page may repeat, ascending."""
        index, matching = self._index, self.matching
        found = {each[2]: each for each in islice(self._near(page, own), MAX_COMPARED)}
        if page.features and index.records is not None:
            shared: dict[int, int] = {}
            for column, feature in zip(index.records.postings, page.features, strict=False):
                for row in column.rows(feature, base.MAX_UNDER_FEATURE):
                    shared[row] = shared.get(row, 0) + 1
            for row, count in shared.items():
                if count >= matching.shared_features and self._is_another(row, page, own):
                    found[row] = self._distance(row, page), index.rows.page_id(row), row
        return sorted(found.values())

    def _near(self, page: Page, own: list[int]) -> Iterator[tuple[int, int, int]]:
        """Yield distance, page id and row of other pages found by distance, ascending.

        Of a crowd it reads few page ids: those of a fingerprint ascend.
        """
        limit, ids = self._limit(page), self._index.rows
        near: list[tuple[int, int, range]] = []
        if limit == 0:
            near = [(0, page.fingerprint, self._index.rows_of(page.fingerprint))]
        elif limit > 0:
            near = self._index.near(page.fingerprint, limit)
        for distance, alike in groupby(near, itemgetter(0)):
            rows = (equal[: base.MAX_EQUAL] for _, _, equal in alike)
            for row in merge(*rows, key=ids.page_id):
                if self._is_another(row, page, own):
                    yield distance, ids.page_id(row), row

    def _is_another(self, row: int, page: Page, own: list[int]) -> bool:
        return row not in own and self._is_of_scope(row, page)

    def _limit(self, page: Page) -> int:
        return base.limit_of(self.matching, self._max_distance, exact=page.exact)

    def _shares_enough(self, row: int, page: Page) -> bool:
        """Return whether a row shares enough features with a page, however frequent they are."""
        if self._index.records is None or not page.features:
            return False
        columns = zip(self._index.records.postings, page.features, strict=False)
        sharing = (row in column.rows(feature) for column, feature in columns)
        wanted = self.matching.shared_features
        return len(list(islice(filter(None, sharing), wanted))) == wanted

    def _is_of_scope(self, row: int, page: Page) -> bool:
        """Return whether a row has the page's scope."""
        extent, url = self._extent, self._index.rows.url
        return extent is None or site(url(row), extent) == page.scope

    def _distance(self, row: int, page: Page) -> int:
        return (self._kept(row)[0] ^ page.fingerprint).bit_count()

    def _read(self, row: int) -> tuple[int, bytes]:
        """Return fingerprint and evidence of a row's page."""
        if self._index.records is None:
            return self._index.fingerprint(row), b""
        record = self._index.records[row]
        return PACKED.unpack_from(record)[0], record[PACKED.size :]

    def _check(self, name: str, schema: Mapping[str, str | int | float]) -> None:
        index, matching = self._index, self.matching
        if not index.rows.has_ids:
            raise ConfigurationError(
                f"NEARDUP_BASE: {name} has no page ids, so a page fetched again would be a"
                " duplicate of itself; pack what scan prints, or give pack the --ids"
            )
        if matching.by_distance and index.max_distance < self._max_distance:
            raise ConfigurationError(
                f"NEARDUP_BASE: {name} can be searched for distances up to {index.max_distance},"
                f" and NEARDUP_MAX_DISTANCE is {self._max_distance}; pack it again with"
                f" --max-distance {self._max_distance}"
            )
        if (scope := schema.get("scope", "all")) not in ("all", "host", "domain"):
            raise ConfigurationError(
                f"NEARDUP_BASE: {name} doesn't record languages or categories of pages:"
                f" NEARDUP_SCOPE must be 'all', 'host' or 'domain', not {scope!r}"
            )
        if scope != "all" and not index.rows.has_urls:
            raise ConfigurationError(
                f"NEARDUP_BASE: {name} has no URLs to distinguish hosts: pack it again without"
                " --no-urls, or set NEARDUP_SCOPE to 'all', also for what is packed (scan --scope"
                " all)"
            )
        if index.schema is None:
            raise StoreMismatchError(
                f"NEARDUP_BASE: {name} doesn't record how its fingerprints were made, so they"
                " might never match; pack what scan prints"
            )
        wanted = {key: getattr(matching, key) for key in SHAPE}
        if index.records is None and any(wanted.values()):
            raise ConfigurationError(
                f"NEARDUP_BASE: {name} has only fingerprints, no features or sketches to"
                " find and confirm a match: pack what scan prints with the settings of the crawl,"
                " without --no-sketches, or set NEARDUP_PRESET to 'paper', also for what is packed"
                " (scan --preset paper)"
            )
        here, there = {**schema, **wanted}, {**index.schema, **wanted}
        # The key is compared when the store is open (`LayeredStore`).
        here["hash_key"] = there["hash_key"] = ""
        if index.records is not None:  # a file without features doesn't record their parameters
            there |= {key: value for key, value in index.records.shape.items() if key in SHAPE}
        if differing := base.differences(there, here):
            raise StoreMismatchError(
                f"NEARDUP_BASE: {name} was made with other parameters: {differing}. Use the same"
                " settings, or pack it again with the present ones"
            )


class LayeredStore(Store):
    """A store over the pages of a packed file.

    A probe of a file in the page cache takes some 100 microseconds. Otherwise it reads one or two
    pages a table from disk, while the event loop waits.
    """

    def __init__(self, store: Store, base: PackedPages) -> None:
        self._store = store
        self.is_private = store.is_private
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
        """Search the base, then the store; `StoreCorruptError` if the base is damaged."""
        decide = decide or deciding(page, self._base.matching)
        try:
            known = self._base.check(page, decide)
        except errors.InputError as error:
            raise errors.StoreCorruptError(f"NEARDUP_BASE: {error}") from error
        return known or await self._store.check_and_add(page, decide)

    async def confirm(self, page_id: int) -> None:
        """Make an entry of the store final."""
        await self._store.confirm(page_id)

    async def forget(self, page_id: int) -> int:
        """Withdraw a pending entry of the store."""
        return await self._store.forget(page_id)

    async def stats(self) -> StoreStats:
        """Return the counts of the store, without the base."""
        return await self._store.stats()

    async def exchange(self, topic: str, member: str, value: bytes | None) -> list[bytes]:
        """Post and read on the store's notice board."""
        return await self._store.exchange(topic, member, value)


SHAPE: Final = ("features", "feature_size", "text_bits", "named_bits")
"""Fields of a `Matching` that make records and features comparable."""
