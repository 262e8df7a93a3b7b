"""A memory that many crawlers share, spread over a Redis Cluster: announce, then look.

Each bucket of each table has its own slot, so no script sees all of a page, and what one script
decides on a single Redis takes a protocol here. ``docs/cluster.md`` states it step by step and
shows that of two near-duplicates which arrive together at two crawlers never both are kept and
never both are dropped.
"""

from __future__ import annotations

import asyncio
import random
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from scrapy_neardup.errors import StoreUnavailableError
from scrapy_neardup.judge.comparison import deciding
from scrapy_neardup.stores.base import StoreOptions
from scrapy_neardup.stores.redis.cluster.nodecalls import ClusterCalls
from scrapy_neardup.stores.redis.cluster.rivals import ADDED, GONE, Rivals
from scrapy_neardup.stores.redis.cluster.turns import Turn, Turns
from scrapy_neardup.stores.redis.codec import STAMP, Asked, Name, id_bytes, listed, lists
from scrapy_neardup.stores.redis.keyspace import PLACE, Layout
from scrapy_neardup.stores.redis.metentries import Repeats
from scrapy_neardup.stores.redis.shared import SharedStore
from scrapy_neardup.urls import redact_store
from scrapy_neardup.verdict import Decide, Page, Reason, Verdict

_NAME = 8 + STAMP
ATTEMPT_LEASE = 2.0
"""Seconds after which an undecided attempt is over; shorter is safe and slow."""

ATTEMPT_LIMIT = 60.0
"""Seconds after which a page's attempts give up."""

_MAX_PAUSE = 0.05
"""Maximum seconds between two looks of one that waits."""


class Bucket(NamedTuple):
    """A key that lists attempts: of a table, or of a feature (its place among the page's)."""

    key: str
    feature: int | None = None
    what: bytes = b""
    """What an attempt is listed by: its key, or the end of the feature."""


class RedisClusterStore(SharedStore):
    """Fingerprints in a Redis Cluster; see `scrapy_neardup.stores.base.Store`.

    The URI, ``redis+cluster://`` or ``rediss+cluster://``, names some of the nodes,
    comma-separated.
    """

    calls_class: type[ClusterCalls] = ClusterCalls
    _calls: ClusterCalls

    def __init__(self, uri: str, options: StoreOptions, *, layout: Layout | None = None) -> None:
        super().__init__(uri, options, layout=layout)
        self._turns = Turns(self._are_near)

    # ---- announce, then look ---------------------------------------------------------------

    async def check_and_add(self, page: Page, decide: Decide | None = None) -> Verdict:
        """Look for what `page` repeats, or remember it; see `Store.check_and_add`.

        Costs four round trips for a new page, three where it repeats an added one. Where it is
        cancelled, what it has written lapses: before the commit after `ATTEMPT_LEASE`, from then
        on after `shared.LEASE`.
        """
        decide, lease = decide or deciding(page, self._options.matching), ATTEMPT_LEASE
        asked = Asked.of(page, self._layout, self.key)
        try:
            async with (
                asyncio.timeout(ATTEMPT_LIMIT),
                self._turns.of(asked.record.key, asked) as turn,
            ):
                judged = await self._repeat_equal(page, Rivals(asked, decide, self._layout), turn)
                while judged is None:
                    asked = Asked.of(page, self._layout, self.key)  # with a stamp of its own
                    rivals = Rivals(asked, decide, self._layout)
                    judged = await self._try(page, asked, rivals, lease, turn)
                    lease = min(2 * lease, ATTEMPT_LIMIT)
                return judged
        except TimeoutError as error:
            where = redact_store(self._uri)
            raise StoreUnavailableError(
                f"NEARDUP_STORE: {where} reached no decision in {ATTEMPT_LIMIT:.0f} s"
            ) from error

    def _are_near(self, page: Asked, other: Asked) -> bool:
        """Return whether two pages that are under way may be duplicates."""
        return page.record.distance(other.record) <= min(page.limit, other.limit) or (
            page.record.shared(other.record) >= self._options.matching.shared_features
        )

    async def _repeat_equal(self, page: Page, rivals: Rivals, turn: Turn) -> Verdict | None:
        """Count the page for the entry that an equal page found, without a look into buckets.

        None if it doesn't repeat that entry, or if the page has an entry of its own.
        """
        if turn.found is None:
            return None
        seen, own = await asyncio.gather(self._see(turn.found), self._see(id_bytes(page.id)))
        repeats = rivals.take({turn.found: seen}) if own == GONE else None
        return repeats and await self._repeats(page, self._of(turn.found), repeats, 0, b"")

    async def _try(
        self, page: Page, asked: Asked, rivals: Rivals, lease: float, turn: Turn
    ) -> Verdict | None:
        """Look, announce, look, commit; None if others have ended the attempt."""
        own, _ = await asyncio.gather(
            self._see(asked.page_id),
            self._meet(asked, rivals, "look", asked.places + asked.neighbours, asked.features),
        )
        is_old = own != GONE
        repeats = rivals.take({asked.page_id + own[1 : 1 + STAMP]: own}) if is_old else None
        if repeats is None and rivals.left:
            repeats = rivals.take(await self._seen(rivals))
        if repeats is None:
            try:
                repeats = await self._announce(asked, rivals, lease)
                added = repeats is None and await asyncio.shield(self._commit(asked, rivals))
            except BaseException:
                self._give_up(page, asked)
                raise
            if added:
                self._held[page.id] = self._home(page), asked.record.stored
                turn.found = asked.name
                return Verdict.on(page, Reason.CHANGED if is_old else Reason.UNMATCHED)
            self._background.soon(self._end(asked))  # the verdict doesn't wait for it
            if rivals.is_full:
                counters = self._of(asked.page_id) + "counters"
                await self._calls.command("HINCRBY", counters, "overflowed", 1)
                return Verdict.on(page, Reason.OVERFLOW)
            if repeats is None:
                return None
        name, candidate, _ = repeats.question
        verdict = await self._repeats(page, self._of(name), repeats, 0, own[1:])
        if verdict is not None and verdict.is_duplicate and not candidate.distance:
            turn.found = name
        return verdict

    async def _announce(self, asked: Asked, rivals: Rivals, lease: float) -> Repeats | None:
        """List the page in its buckets; return what it repeats, None if nothing is in its way."""
        stored, milliseconds = asked.record.stored, int(lease * 1000)
        key = self._attempt(asked.name)
        await self._calls.command("SET", key, stored, "PX", milliseconds, "NX")
        await self._meet(asked, rivals, "add", asked.places, asked.features)
        if asked.neighbours and not rivals.is_full:  # not before it is listed itself
            await self._meet(asked, rivals, "look", asked.neighbours)
        # The more wait, the longer each pauses, so that the rate of looks stays the same.
        pause, longest = 0.001, _MAX_PAUSE * max(1, len(rivals.left) / 8)
        while rivals.left and not rivals.is_full:
            seen = await self._seen(rivals)
            if (repeats := rivals.take(seen)) is not None:
                return repeats
            for name in list(rivals.wounded):
                await self._wound(name)
            if rivals.left and not rivals.wounded:
                await asyncio.sleep(pause * random.random())
                pause = min(2 * pause, longest)
        return None

    async def _commit(self, asked: Asked, rivals: Rivals) -> bool:
        """Add the attempt, unless it is over; take it out of lists that need not find it."""
        if rivals.is_full:
            return False
        words = asked.page_id, asked.name[8:]
        reply = await self._call("commit", self._of(asked.page_id), *words)
        if reply == GONE:
            return False
        boilerplate, crowded = rivals.boilerplate(), rivals.is_crowded
        buckets = self._buckets(*listed(asked.record.stored, self._layout))
        leave = [
            each
            for each in buckets
            if (crowded if each.feature is None else each.feature in boilerplate)
        ]
        await self._leave(asked.name, leave)
        if old := reply[1:]:
            await self._leave_all(asked.page_id, old)
        return True

    async def _wound(self, name: Name) -> None:
        """End another attempt; a late copy of the call that began it brings it back no more."""
        milliseconds = int(ATTEMPT_LIMIT * 1000)
        await self._calls.command("SET", self._attempt(name), b"", "PX", milliseconds, "XX")

    def _give_up(self, page: Page, asked: Asked) -> None:
        """End an attempt which may have been added, or others would wait for its lease."""
        self._unsure[page.id] = self._home(page), asked.record.stored
        self._background.soon(self._end(asked))

    async def _end(self, asked: Asked) -> None:
        await self._calls.command("DEL", self._attempt(asked.name))
        await self._leave_all(asked.page_id, asked.record.stored)

    # ---- buckets ---------------------------------------------------------------------------

    def _buckets(self, tables: Iterable[bytes], features: Iterable[bytes]) -> Iterator[Bucket]:
        """Yield buckets as `listed` names them."""
        for each in tables:
            digit, number = chr(each[0]), each[1:PLACE].hex()
            yield Bucket(f"{{{self._prefix}t{digit}:{number}}}", None, each[PLACE:])
        for place, each in enumerate(features):
            yield Bucket(f"{{{self._prefix}f:{each[1:5].hex()}}}", place, each[5:])

    async def _meet(
        self, asked: Asked, rivals: Rivals, verb: str, tables: bytes, features: bytes = b""
    ) -> None:
        """Note what buckets list near the page; with ``add`` list the page there."""
        cap = self._layout.cap
        buckets = list(self._buckets(*lists(tables, asked.record.key, features)))
        calls = (
            self._calls.bucket(
                "announce", key, verb, what, asked.limit if place is None else 0, asked.name, cap
            )
            for key, place, what in buckets
        )
        for bucket, reply in zip(buckets, await asyncio.gather(*calls), strict=True):
            if reply == b"o":
                rivals.is_full = True
                continue
            for at in range(0, len(reply), _NAME):
                rivals.meet(reply[at : at + _NAME], bucket)

    async def _seen(self, rivals: Rivals) -> dict[Name, bytes]:
        """See what has become of those in the way; take those that are gone out of their lists."""
        names = list(rivals.left)
        replies = await asyncio.gather(*map(self._see, names))
        for name, reply in zip(names, replies, strict=True):
            if reply == GONE:
                self._background.soon(self._leave(name, list(rivals.listing[name])))
        return dict(zip(names, replies, strict=True))

    async def _leave(self, name: Name, buckets: Iterable[Bucket]) -> None:
        await asyncio.gather(
            *(
                self._calls.bucket("announce", key, "leave", what, 0, name, 0)
                for key, _, what in buckets
            )
        )

    async def _leave_all(self, page_id: bytes, stored: bytes) -> None:
        """Take an attempt that is over out of all of its lists."""
        places, features = listed(stored, self._layout)
        await self._leave(page_id + stored[:STAMP], list(self._buckets(places, features)))

    # ---- homes of pages --------------------------------------------------------------------

    def _of(self, page_id: bytes) -> str:
        """Return the home of a page, by its id, or by a name that begins with it."""
        return self._homes[page_id[0]]

    def _home(self, page: Page) -> str:
        return self._of(id_bytes(page.id))

    def _attempt(self, name: Name) -> bytes:
        return self._of(name).encode() + b"try:" + name

    async def _see(self, name: Name) -> bytes:
        """Return the state of an attempt, or of a page's entry, and its record."""
        page_id, stamp, of = name[:8], name[8:], self._of(name)
        reply = await self._call("see", of, page_id, stamp)
        if reply[:1] == ADDED and self._was_withdrawn(of, page_id, reply[1:]):
            return GONE
        return reply

    async def _remove(self, home: str, page_id: bytes, stored: bytes, why: str) -> int:
        words = page_id, stored[:STAMP], why, b"", b""
        reply = await self._call("withdraw", home, *words)
        if reply:
            await self._leave_all(page_id, stored)
        return int.from_bytes(reply, "big")
