"""A memory that many crawlers share, spread over a Redis Cluster: announce, then look.

Each bucket of each table has its own slot, so no script sees all buckets of a page. One script
decides on a single Redis; here it takes a protocol. ``docs/cluster.md`` states it step by step,
and shows that two near-duplicates which arrive together at two crawlers are never both kept, and
never both dropped.
"""

from __future__ import annotations

import asyncio
import random
from collections.abc import Iterable
from functools import cache

from scrapy_neardup.errors import StoreUnavailableError
from scrapy_neardup.judge.comparison import deciding
from scrapy_neardup.stores.base import Store, StoreOptions
from scrapy_neardup.stores.entryformat import partition
from scrapy_neardup.stores.redis.calls import sha
from scrapy_neardup.stores.redis.cluster.nodecalls import ClusterCalls
from scrapy_neardup.stores.redis.cluster.rivals import Rivals, Turn, Turns
from scrapy_neardup.stores.redis.keyspace import PLACE, Layout
from scrapy_neardup.stores.redis.pages import ADDED, GONE, STAMP, Name, PageRecord, Repeats, cut
from scrapy_neardup.stores.redis.store import RedisStore
from scrapy_neardup.urls import redact_store
from scrapy_neardup.verdict import Decide, Page, Reason, Verdict

ATTEMPT_LEASE = 2.0
"""Seconds after which an undecided attempt is over; shorter times are safe, but slow."""

ATTEMPT_LIMIT = 60.0
"""Seconds after which a page's attempts give up."""

_MAX_PAUSE = 0.05
"""Maximum seconds between two looks of a waiting page."""


class RedisClusterStore(RedisStore):
    """Fingerprints in a Redis Cluster; the URI names some of its nodes."""

    calls_class = ClusterCalls

    def __init__(self, uri: str, options: StoreOptions, *, layout: Layout | None = None) -> None:
        super().__init__(uri, options, layout=layout)
        self._turns = Turns(lambda page, other: page.met(other.page_id, other.record.stored))

    # ---- announce, then look ---------------------------------------------------------------

    async def check_and_add(self, page: Page, decide: Decide | None = None) -> Verdict:
        """Look for an entry that `page` repeats, or add the page; see `Store.check_and_add`.

        Costs four round trips for a new page, three if it repeats an added one. If it is cancelled
        before the commit, its entries lapse after `ATTEMPT_LEASE`, otherwise after
        `namespace.LEASE`.
        """
        decide, lease = cache(decide or deciding(page, self.layout.matching)), ATTEMPT_LEASE

        def rivals() -> Rivals:  # with a new stamp
            return Rivals(page, decide, self.layout, self.key)

        first = rivals()
        try:
            async with (
                asyncio.timeout(ATTEMPT_LIMIT),
                self._turns.of(first.record.key, first) as turn,
            ):
                judged = await self._repeat_equal(page, first, turn)
                while judged is None:
                    judged = await self._try(page, rivals(), lease, turn)
                    lease = min(2 * lease, ATTEMPT_LIMIT)
                return judged
        except TimeoutError as error:
            where = redact_store(self._calls.uri)
            raise StoreUnavailableError(
                f"NEARDUP_STORE: {where} reached no decision in {ATTEMPT_LIMIT:.0f} s"
            ) from error

    async def _repeat_equal(self, page: Page, rivals: Rivals, turn: Turn) -> Verdict | None:
        """Count the page for the entry that an equal page found, without a look into buckets.

        Return None if it doesn't repeat that entry, or if the page has its own entry.
        """
        if turn.found is None:
            return None
        seen, own = await asyncio.gather(self._see(turn.found), self._see(rivals.page_id))
        repeats = rivals.take({turn.found: seen}) if own == GONE else None
        return repeats and await self._repeats(page, self._of(turn.found), repeats, b"")

    async def _try(self, page: Page, rivals: Rivals, lease: float, turn: Turn) -> Verdict | None:
        """Look, announce, look, commit; None if others have ended the attempt."""
        own, _ = await asyncio.gather(
            self._see(rivals.page_id),
            self._meet(rivals, "look", rivals.places + rivals.features + rivals.neighbours),
        )
        repeats = rivals.take({rivals.page_id + own[1 : 1 + STAMP]: own})
        repeats = repeats or rivals.take(await self._seen(rivals))
        if repeats is None:
            try:
                repeats = await self._announce(rivals, lease)
                if not (repeats or rivals.is_full) and await asyncio.shield(self._commit(rivals)):
                    self._held[page.id] = self._home(page), rivals.record.stored
                    turn.found = rivals.name
                    return Verdict.on(page, Reason.CHANGED if own[1:] else Reason.UNMATCHED)
            except BaseException:
                self._give_up(page, rivals)
                raise
            self._background.soon(self._end(rivals))  # the verdict doesn't wait for it
            if rivals.is_full:
                counters = self._home(page) + "counters"
                await self._calls.make(("HINCRBY", counters, "overflowed", 1))
                return Verdict.on(page, Reason.OVERFLOW)
            if repeats is None:
                return None
        name, candidate, _ = repeats[0]
        verdict = await self._repeats(page, self._of(name), repeats, own[1:])
        if verdict is not None and verdict.is_duplicate and not candidate.distance:
            turn.found = name
        return verdict

    async def _announce(self, rivals: Rivals, lease: float) -> Repeats | None:
        """List the page in its buckets; return the entry that it repeats, or None."""
        words = rivals.record.stored, "PX", int(lease * 1000), "NX"
        await self._calls.make(("SET", self._attempt(rivals.name), *words))
        await self._meet(rivals, "add", rivals.places + rivals.features)
        if rivals.neighbours and not rivals.is_full:  # only after it is listed itself
            await self._meet(rivals, "look", rivals.neighbours)
        # The more pages wait, the longer each pauses, so that the rate of looks stays the same.
        pause, longest = 0.001, _MAX_PAUSE * max(1, len(rivals.left) / 8)
        while rivals.left and not rivals.is_full:
            if repeats := rivals.take(await self._seen(rivals)):
                return repeats
            await asyncio.gather(*map(self._wound, rivals.wounded))
            if rivals.left and not rivals.wounded:
                await asyncio.sleep(pause * random.random())
                pause = min(2 * pause, longest)
        return None

    async def _commit(self, rivals: Rivals) -> bool:
        """Add the attempt, unless it is over; remove it from lists that needn't find it."""
        home, stamp = self._of(rivals.page_id), rivals.name[8:]
        reply = await self.call("commit", home, rivals.page_id, stamp)
        if reply == GONE:
            return False
        await self._leave(rivals.name, rivals.needless())
        if old := reply[1:]:
            await self._leave_all(rivals.page_id, old)
        return True

    async def _wound(self, name: Name) -> None:
        """End another attempt; a late copy of the call that began it can't bring it back."""
        words = b"", "PX", int(ATTEMPT_LIMIT * 1000), "XX"
        await self._calls.make(("SET", self._attempt(name), *words))

    def _give_up(self, page: Page, rivals: Rivals) -> None:
        """End an attempt that may have been added; otherwise others would wait for its lease."""
        self._unsure[page.id] = self._home(page), rivals.record.stored
        self._background.soon(self._end(rivals))

    async def _end(self, rivals: Rivals) -> None:
        """End an attempt, unless it was added."""
        is_gone = await self._calls.make(("DEL", self._attempt(rivals.name)))
        if is_gone or (await self._see(rivals.name))[:1] == GONE:
            await self._leave_all(rivals.page_id, rivals.record.stored)

    # ---- buckets ---------------------------------------------------------------------------

    async def _meet(self, rivals: Rivals, verb: str, joined: bytes) -> None:
        """Note the attempts that places list near the page; with ``add`` list the page there."""
        places = cut(joined, PLACE)
        key, limit = rivals.record.key, rivals.limit
        calls = (self._bucket(verb, each, rivals.name, key, limit) for each in places)
        for place, reply in zip(places, await asyncio.gather(*calls), strict=True):
            if reply == b"o":
                rivals.is_full = True
                continue
            for name in cut(reply, len(rivals.name)):
                rivals.meet(name, place)

    async def _seen(self, rivals: Rivals) -> dict[Name, bytes]:
        """Look again at the attempts in the way; remove those that are gone from their lists."""
        names = list(rivals.left)
        seen = dict(zip(names, await asyncio.gather(*map(self._see, names)), strict=True))
        for name, reply in seen.items():
            if reply == GONE:
                self._background.soon(self._leave(name, list(rivals.listing[name])))
        return seen

    async def _leave(self, name: Name, places: Iterable[bytes]) -> None:
        """Remove an attempt from lists."""
        await asyncio.gather(*(self._bucket("leave", place, name) for place in places))

    async def _bucket(
        self, verb: str, place: bytes, name: Name, key: bytes = bytes(8), limit: int = 0
    ) -> bytes:
        """Return the names that a bucket lists, of a table within a limit (``announce.lua``)."""
        bucket = f"{{{self.prefix}{chr(place[0])}:{place[1:5].hex()}}}"
        what = (key, limit) if place.startswith(b"t") else (place[5:], 0)
        words = "EVALSHA", sha("announce"), 1, bucket, verb, *what, name, self.layout.cap
        names: bytes = await self._calls.make(words)
        return names

    async def _leave_all(self, page_id: bytes, stored: bytes) -> None:
        """Remove an attempt that is over from all of its lists."""
        places = PageRecord.read(stored, self.layout).listed(self.layout)
        await self._leave(page_id + stored[:STAMP], cut(places, PLACE))

    # ---- homes of pages --------------------------------------------------------------------

    def _of(self, page_id: bytes) -> str:
        """Return the home of a page, by its id, or by a name that begins with it."""
        return self.homes[page_id[0]]

    def _home(self, page: Page) -> str:
        return self.homes[page.id >> 56]

    def _attempt(self, name: Name) -> bytes:
        return self._of(name).encode() + b"try:" + name

    async def _see(self, name: Name) -> bytes:
        """Return the state of an attempt, or of a page's entry, and its record."""
        home = self._of(name)
        reply = await self.call("see", home, name[:8], name[8:], b"")
        if reply[:1] == ADDED and self._was_withdrawn(home, name[:8], reply[1:]):
            return GONE
        return reply

    async def _remove(self, home: str, page_id: bytes, stored: bytes, why: str) -> bytes:
        reply = await self.call("withdraw", home, page_id, stored[:STAMP], why, b"")
        if reply:
            await self._leave_all(page_id, stored)
        return reply


class PartitionedStore(RedisStore):
    """Fingerprints in a Redis Cluster whose pages are compared within a host or a domain.

    All pages of a scope have one home, so a script there sees all pages that a page may repeat, as
    on one Redis. A host is as fast as one master; hosts are spread over all.
    """

    calls_class = ClusterCalls
    parts = 64  # of 256 homes: hosts differ in size, so a home may have four times the mean

    def _home(self, page: Page) -> str:
        return self.homes[partition(page.scope, exact=False, key=self.key).tag >> 56]


def cluster_store(uri: str, options: StoreOptions) -> Store:
    """Return the store of a cluster that suits ``NEARDUP_SCOPE``, which the schema records."""
    scopes = str(options.schema.get("scope", "")).split("+")
    kind = PartitionedStore if {"host", "domain"} & {*scopes} else RedisClusterStore
    return kind(uri, options)
