"""A read-only base under a store: billions of old fingerprints without a server.

Rule of this room: the base is asked first and never written to. It knows fingerprints, page
ids and perhaps URLs, and nothing else of its pages:

1. The page's own entry in the base, within k: SEEN.
2. Any other fingerprint of the base within k (equal, for an exact page): DUPLICATE of the
   nearest, the one with the smallest page id among equals. There is no evidence of title
   and content to contradict it. Nothing is counted in the base.
3. Otherwise the store decides, as if there were no base.

The base itself decides by distance alone: it has neither features nor sketches, so that
what it finds isn't confirmed. The store has, where pages are matched so.

So the base wins where both know a page like it; and what the store holds of the page itself
stays there.
"""

from __future__ import annotations

from collections.abc import Mapping

from scrapy_neardup.errors import (
    ConfigurationError,
    InputError,
    StoreCorruptError,
    StoreMismatchError,
)
from scrapy_neardup.evidence.matching import Matching
from scrapy_neardup.stores.base import Store, StoreStats
from scrapy_neardup.tables.packed import PackedIndex
from scrapy_neardup.verdict import Decision, Match, Page, Reason, Verdict


class BasedStore(Store):
    """A store over a packed base.

    Parameters
    ----------
    store
        What decides and remembers where the base knows nothing.
    base
        Packed with page ids, for distances up to `max_distance` or more.
    name
        What to call the base in errors: its path.
    max_distance, schema, matching
        Those of `store`.

    Raises
    ------
    ConfigurationError
        The base has no page ids or too few tables, pages are compared by scope, or by more
        than fingerprints.
    StoreMismatchError
        Its fingerprints were made with other parameters, or it isn't known with which.

    Notes
    -----
    A probe of a file in the page cache takes tens of microseconds. From a disk it reads a
    page or two a table, while the event loop waits.
    """

    def __init__(
        self,
        store: Store,
        base: PackedIndex,
        name: str,
        *,
        max_distance: int,
        schema: Mapping[str, str | int | float],
        matching: Matching,
    ) -> None:
        _check(base, name, max_distance, schema, matching)
        self._store = store
        self._base = base
        self._max_distance = max_distance

    async def open(self) -> None:
        """Open the store."""
        await self._store.open()

    async def close(self) -> None:
        """Close the store."""
        await self._store.close()

    async def check_and_add(self, page: Page) -> Verdict:
        """Judge `page` by the base, and if it knows nothing like it by the store.

        Raises
        ------
        StoreCorruptError
            A part of the base that is read for this page is damaged.
        """
        try:
            known = self._known(page)
        except InputError as error:
            raise StoreCorruptError(f"NEARDUP_BASE: {error}") from error
        return known or await self._store.check_and_add(page)

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

    def _known(self, page: Page) -> Verdict | None:
        """Return what the base says of `page`, or None if it knows nothing like it."""
        base = self._base
        limit = 0 if page.exact else self._max_distance
        own = [
            (base.fingerprint(row) ^ page.fingerprint).bit_count() for row in base.find_id(page.id)
        ]
        if own and min(own) <= limit:
            match = Match(page_id=page.id, distance=min(own), url=page.url)
            return Verdict.on(page, Decision.SEEN, Reason.SAME_PAGE, match)
        if not (hits := base.query(page.fingerprint, limit)):
            return None
        distance = hits[0].distance
        page_id, row = min(
            (base.page_id(hit.row), hit.row) for hit in hits if hit.distance == distance
        )
        match = Match(page_id=page_id, distance=distance, url=base.url(row))
        reason = Reason.EQUAL if page.exact else Reason.NEAR
        return Verdict.on(page, Decision.DUPLICATE, reason, match)


def _check(
    base: PackedIndex,
    name: str,
    max_distance: int,
    schema: Mapping[str, str | int | float],
    matching: Matching,
) -> None:
    if matching != Matching():
        raise ConfigurationError(
            f"NEARDUP_BASE: {name} holds fingerprints, and neither features nor sketches to"
            " confirm a match: set NEARDUP_PRESET to 'paper', also for what is packed"
            " (scan --preset paper)"
        )
    if not base.rows.has_ids:
        raise ConfigurationError(
            f"NEARDUP_BASE: {name} has no page ids, so that a page fetched again would be a"
            " duplicate of itself; pack what scan prints, or give pack the --ids"
        )
    if base.max_distance < max_distance:
        raise ConfigurationError(
            f"NEARDUP_BASE: {name} can be searched for distances up to {base.max_distance}, and"
            f" NEARDUP_MAX_DISTANCE is {max_distance}; pack it again with --max-distance"
            f" {max_distance}"
        )
    if schema.get("scope", "all") != "all":
        raise ConfigurationError(
            f"NEARDUP_BASE: {name} doesn't say which host a page is of: NEARDUP_SCOPE must be"
            f" 'all', not {schema['scope']!r}"
        )
    if base.schema is None:
        raise StoreMismatchError(
            f"NEARDUP_BASE: {name} doesn't say how its fingerprints were made, so that they"
            " might never match; pack what scan prints"
        )
    differences = [
        f"{key} is {base.schema.get(key)!r} there and {schema.get(key)!r} here"
        for key in sorted({*base.schema, *schema})
        if base.schema.get(key) != schema.get(key)
    ]
    if differences:
        raise StoreMismatchError(
            f"NEARDUP_BASE: {name} was made with other parameters: {'; '.join(differences)}."
            " Take the same ones, or make it again with these"
        )
