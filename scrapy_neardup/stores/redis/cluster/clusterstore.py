"""A memory that many crawlers share, spread over a Redis Cluster: announce, then look.

Each bucket of each table has its own slot, so no script sees all of a page, and what one script
decides on a single Redis takes a protocol here. ``docs/cluster.md`` states it step by step and
shows that of two near-duplicates which arrive together at two crawlers never both are kept and
never both are dropped.
"""

from __future__ import annotations

import asyncio
import random
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple

from scrapy_neardup.errors import StoreMismatchError, StoreUnavailableError
from scrapy_neardup.judge.comparison import deciding
from scrapy_neardup.stores.base import StoreOptions, StoreStats, matched, near_reason
from scrapy_neardup.stores.redis import shared
from scrapy_neardup.stores.redis.cluster.nodecalls import ClusterCalls
from scrapy_neardup.stores.redis.cluster.rivals import ADDED, ATTEMPT, GONE, Name, Repeats, Rivals
from scrapy_neardup.stores.redis.cluster.turns import Turn, Turns
from scrapy_neardup.stores.redis.codec import STAMP, Asked, Record, id_bytes, listed, read_count
from scrapy_neardup.stores.redis.connection import connect_cluster, explaining
from scrapy_neardup.stores.redis.keyspace import HOMES, NAME, Layout, home
from scrapy_neardup.stores.redis.namespace import cluster_counts
from scrapy_neardup.stores.redis.shared import SharedStore
from scrapy_neardup.urls import redact_store
from scrapy_neardup.verdict import Decide, Page, Reason, Verdict

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
    field: bytes = b""
    """What stands for the feature in its bucket."""


class RedisClusterStore(SharedStore):
    """Fingerprints in a Redis Cluster; see `scrapy_neardup.stores.base.Store`.

    The URI, ``redis+cluster://`` or ``rediss+cluster://``, names some of the nodes,
    comma-separated.
    """

    calls_class: type[ClusterCalls] = ClusterCalls
    _calls: ClusterCalls

    def __init__(self, uri: str, options: StoreOptions, *, layout: Layout | None = None) -> None:
        super().__init__(uri, options, connect_cluster(uri), layout)
        self._turns = Turns(self._are_near)
        self._sweeping = random.randrange(HOMES)

    async def stats(self) -> StoreStats:
        """Count what the namespace holds, for all crawlers; costs a pipeline a master."""
        with explaining(self._uri):
            return await cluster_counts(self._client, self._prefix)

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
                f"NEARDUP_STORE: {where} came to no decision in {ATTEMPT_LIMIT:.0f} s"
            ) from error

    def _are_near(self, page: Asked, other: Asked) -> bool:
        """Whether two pages that are under way may be duplicates."""
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
        if own != GONE:
            return None
        repeats = rivals.take({turn.found: seen})
        return repeats and await self._repeats(page, repeats, is_old=False)

    async def _try(
        self, page: Page, asked: Asked, rivals: Rivals, lease: float, turn: Turn
    ) -> Verdict | None:
        """Look, announce, look, commit; None if others have ended the attempt."""
        own, _ = await asyncio.gather(
            self._see(asked.page_id), self._meet(asked, rivals, "look", asked.neighbours)
        )
        is_old = own != GONE
        repeats = rivals.take({asked.page_id + own[1 : 1 + STAMP]: own}) if is_old else None
        if repeats is None and rivals.left():
            repeats = rivals.take(await self._seen(rivals))
        if repeats is None:
            try:
                repeats = await self._announce(asked, rivals, lease)
                added = repeats is None and await asyncio.shield(self._commit(asked, rivals))
            except BaseException:
                self._give_up(asked)
                raise
            if added:
                self._held[page.id], turn.found = asked.record.stamp, asked.name
                return Verdict.on(page, Reason.CHANGED if is_old else Reason.UNMATCHED)
            self._background.soon(self._end(asked))  # the verdict doesn't wait for it
            if rivals.is_full:
                counters = self._home(asked.page_id) + b"counters"
                await self._calls.command("HINCRBY", counters, "overflowed", 1)
                return Verdict.on(page, Reason.OVERFLOW)
            if repeats is None:
                return None
        verdict = await self._repeats(page, repeats, is_old=is_old)
        if verdict is not None and verdict.is_duplicate and not repeats.question.distance:
            turn.found = repeats.question.name
        return verdict

    async def _announce(self, asked: Asked, rivals: Rivals, lease: float) -> Repeats | None:
        """List the page in its buckets; return what it repeats, None if nothing is in its way."""
        stored, milliseconds = asked.record.stored, int(lease * 1000)
        key = self._attempt(asked.name)
        await self._calls.command("SET", key, stored, "PX", milliseconds, "NX")
        await self._meet(asked, rivals, "add", ())
        if asked.neighbours and not rivals.is_full:  # not before it is listed itself
            alone = asked._replace(places=[], features=b"")
            await self._meet(alone, rivals, "look", asked.neighbours)
        # The more wait, the longer each pauses, so that the rate of looks stays the same.
        pause, longest = 0.001, _MAX_PAUSE * max(1, len(rivals.left()) / 8)
        while rivals.left() and not rivals.is_full:
            seen = await self._seen(rivals)
            if (repeats := rivals.take(seen)) is not None:
                return repeats
            for name in list(rivals.wounded):
                await self._wound(name)
            if rivals.left() and not rivals.wounded:
                await asyncio.sleep(pause * random.random())
                pause = min(2 * pause, longest)
        return None

    async def _commit(self, asked: Asked, rivals: Rivals) -> bool:
        """Add the attempt, unless it is over; take it out of lists that need not find it."""
        if rivals.is_full:
            return False
        words = asked.page_id, asked.record.stamp, int(shared.LEASE * 1000)
        reply = await self._call_home(
            "commit", asked.page_id, self._retention, *words, attempt=asked.name
        )
        if reply == GONE:
            return False
        boilerplate, crowded = rivals.boilerplate(), rivals.is_crowded
        buckets = self._buckets(*listed(asked.record, self._layout))
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

    def _give_up(self, asked: Asked) -> None:
        """End an attempt whose page can't be judged now, or others would wait for its lease."""
        self._background.soon(self._end(asked))

    async def _end(self, asked: Asked) -> None:
        await self._calls.command("DEL", self._attempt(asked.name))
        await self._leave_all(asked.page_id, asked.record.stored)

    async def _repeats(self, page: Page, repeats: Repeats, *, is_old: bool) -> Verdict | None:
        """Return the verdict on a page that repeats an added one, None if that is gone."""
        question, decided = repeats
        candidate, record = question.candidate(), question.record
        is_own = candidate.page_id == page.id
        words = self._retention, question.page_id, record.stamp, 0 if is_own else 1
        reply = await self._call_home("repeat", question.page_id, *words)
        if reply[4:5] != b"d":
            return None
        if is_own:
            match = matched(candidate, decided, url=page.url)
            return Verdict.on(page, Reason.SAME_PAGE, match)
        if is_old:
            await self._withdraw([page.id], "a")
        match = matched(candidate, decided, read_count(reply[4:]), record.url)
        return Verdict.on(page, near_reason(page), match)

    # ---- buckets ---------------------------------------------------------------------------

    def _buckets(self, places: Iterable[bytes], features: Iterable[bytes]) -> Iterator[Bucket]:
        """Yield buckets as `listed` names them."""
        for place in places:
            yield Bucket(f"{{{self._prefix}t{chr(place[0])}:{place[1:].hex()}}}")
        for number, each in enumerate(features):
            yield Bucket(f"{{{self._prefix}f:{each[:NAME].hex()}}}", number, each[NAME:])

    async def _meet(
        self, asked: Asked, rivals: Rivals, verb: str, others: Sequence[bytes]
    ) -> None:
        """Note what the page's buckets, and others, list; with ``add`` list the page there."""
        mine, cap = asked.name if verb == "add" else b"", self._layout.cap
        _, features = listed(asked.record, self._layout) if asked.features else ((), ())
        buckets = list(self._buckets([*asked.places, *others], features))
        calls = [
            self._calls.call("announce", [key], asked.record.key, asked.limit, mine, cap)
            if place is None
            else self._calls.call("feature", [key], field, verb, mine, cap)
            for key, place, field in buckets
        ]
        for bucket, reply in zip(buckets, await asyncio.gather(*calls), strict=True):
            if reply == b"o":
                rivals.is_full = True
                continue
            head = 1 if bucket.feature is None else 0  # the distance
            for at in range(head, len(reply), head + ATTEMPT):
                rivals.meet(reply[at : at + ATTEMPT], bucket)

    async def _seen(self, rivals: Rivals) -> dict[Name, bytes]:
        """See what has become of those in the way; take those that are gone out of their lists."""
        names = rivals.left()
        replies = await asyncio.gather(*map(self._see, names))
        for name, reply in zip(names, replies, strict=True):
            if reply == GONE:
                self._background.soon(self._leave(name, rivals.listing(name)))
        return dict(zip(names, replies, strict=True))

    async def _leave(self, name: Name, buckets: Iterable[Bucket]) -> None:
        await asyncio.gather(
            *(
                self._calls.command("HDEL", key, name)
                if place is None
                else self._calls.call("feature", [key], field, "leave", name, 0)
                for key, place, field in buckets
            )
        )

    async def _leave_all(self, page_id: bytes, stored: bytes) -> None:
        """Take an attempt that is over out of all of its lists."""
        places, features = listed(Record.read(stored, self._layout.matching), self._layout)
        await self._leave(page_id + stored[:STAMP], list(self._buckets(places, features)))

    # ---- homes of pages --------------------------------------------------------------------

    def _home(self, page_id: bytes) -> bytes:
        return home(self._prefix, page_id[0]).encode()

    def _attempt(self, name: Name) -> bytes:
        return self._home(name) + b"try:" + name

    async def _call_home(self, verb: str, page_id: bytes, *words: Any, attempt: Name = b"") -> Any:
        """Call a script on the keys of a page: its entry, an attempt, and what its home shares."""
        prefix = self._home(page_id)
        keys = [prefix + b"page:" + page_id, *(prefix + each for each in _SHARED)]
        if attempt:
            keys.append(self._attempt(attempt))
        checked = (
            () if verb in {"see", "commit"} else (b"",)
        )  # the namespace's record is elsewhere
        return await self._calls.call(verb, keys, prefix, *checked, *words)

    async def _see(self, name: Name) -> bytes:
        """Return the state of an attempt, or of a page's entry, and its record."""
        page_id, stamp = name[:8], name[8:]
        attempt = name if stamp else b""
        reply: bytes = await self._call_home(
            "see", page_id, self._retention, page_id, stamp, attempt=attempt
        )
        if reply[:1] == ADDED and self._was_withdrawn(page_id, reply[1:]):
            return GONE
        return reply

    async def _confirm(self, page_id: bytes, stamp: bytes) -> None:
        await self._call_home("confirm", page_id, page_id, stamp)

    async def _stored(self, page_ids: Sequence[bytes]) -> list[bytes]:
        keys = [self._home(each) + b"page:" + each for each in page_ids]
        found = await asyncio.gather(*(self._calls.command("GET", key) for key in keys))
        return [record or b"" for record in found]

    async def _remove(self, page_id: bytes, stored: bytes, why: str) -> int | None:
        words = self._retention, page_id, stored[:STAMP], why, b"", b""
        reply = (await self._call_home("withdraw", page_id, *words))[4:]
        if not reply:
            return None
        await self._leave_all(page_id, stored)
        return int.from_bytes(reply, "big")

    async def _renew(self) -> None:
        """Renew leases; while a master is away, those on the other masters."""
        lease = int(shared.LEASE * 1000)
        held = [(id_bytes(page_id), stamp) for page_id, stamp in self._held.items()]
        for start in range(0, len(held), shared.AT_ONCE):
            calls = (
                self._call_home("renew", page_id, lease, page_id, stamp)
                for page_id, stamp in held[start : start + shared.AT_ONCE]
            )
            await asyncio.gather(*calls, return_exceptions=True)

    async def _over(self) -> bytes:
        prefix = home(self._prefix, self._sweeping).encode()
        keys = [prefix + b"pending", prefix + b"seen"]
        over: bytes = await self._calls.call("over", keys, prefix, self._retention, shared.AT_ONCE)
        if len(over) < 8 * shared.AT_ONCE:
            self._sweeping = (self._sweeping + 1) % HOMES
        return over

    # ---- the namespace ---------------------------------------------------------------------

    async def _begin(self) -> None:
        await self._client.initialize()
        self._agreed = await self._agree()
        self._layout = self._agreed.layout
        self._calls = self.calls_class(self._client, self._uri, self._check_record)

    def _key(self, name: str) -> str:
        return f"{{{self._prefix}{name}}}"

    async def _check_record(self) -> None:
        """Write the record of the parameters again, if it was lost; refuse another one."""
        if await self._agree() != self._agreed:
            raise StoreMismatchError(
                f"NEARDUP_STORE: namespace {self._options.namespace!r} of "
                f"{redact_store(self._uri)} was lost and made again with tables for another "
                "NEARDUP_EXPECTED_PAGES; start this crawl again"
            )


_SHARED = (b"pending", b"seen", b"count", b"counters")
"""Keys that the pages of a home share."""
