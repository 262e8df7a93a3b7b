"""The calls on what a Redis Cluster stores of attempts (`values.py`).

Table 1 holds the entry of an attempt, the only place where its fate is decided; the other
tables, and the lists of those that have a feature, hold claims, which only say where to look.

Every method here is safe to be called again: after a lost reply, or at a second crawler.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from typing import Any, Final

from scrapy_neardup.bounded import BoundedDict
from scrapy_neardup.stores.redis.cluster.nodecalls import ClusterCalls
from scrapy_neardup.stores.redis.cluster.values import (
    TOKEN,
    Attempt,
    AttemptEntry,
    Claims,
    ClusterPage,
    Features,
    Seen,
    separate,
)
from scrapy_neardup.stores.redis.codec import id_bytes
from scrapy_neardup.stores.redis.keyspace import Layout
from scrapy_neardup.stores.redis.scripts import script
from scrapy_neardup.tables.design import masks_within

_CLEARED = 4096
"""Maximum number of attempts of others that are remembered as cleared: those cleared last."""
_RENEWED = 32
"""Leases renewed at once: half of the calls of one request to a node."""
_VERBS: Final[Mapping[str, tuple[str, ...]]] = {
    "begin": ("entries", "claims"),
    **dict.fromkeys(("look", "commit", "collapse", "settle", "sweep"), ("entries",)),
    "claim": ("claims",),
    **dict.fromkeys(("peek", "feature", "release", "page"), ()),
}
"""Verb -> parts of Lua that its script needs."""


class Attempts:
    """The attempts of the namespace of a prefix; `retention` in milliseconds, 0: none."""

    def __init__(
        self, calls: ClusterCalls, *, prefix: str, layout: Layout, retention: int
    ) -> None:
        self._call = calls.call
        self._prefix = prefix
        self._layout = layout
        self._retention = retention
        self._cleared: BoundedDict[Attempt, None] = BoundedDict(_CLEARED)

    # ---- a page's way ----------------------------------------------------------------------

    async def claim(self, mine: Attempt, arrived: ClusterPage, lease: float) -> Claims:
        """Claim a place in every list, and look up the page's own old entry."""
        first, *others = self._layout.permuted(mine.key)
        # Equal keys meet in table 1.
        tables = list(enumerate(others, 2)) if arrived.limit > 0 else []
        features = list(arrived.features)
        name = id_bytes(arrived.page.id)
        begin = (first, mine.token, arrived.limit, name, arrived.tag, int(lease * 1000))
        *replies, pointer = await asyncio.gather(
            self._call("begin", self.entry_key(mine), *begin, arrived.body),
            *(
                self._call("claim", self.key(f"t{i}", f), f, mine.token, arrived.limit)
                for i, f in tables
            ),
            *(self._call("feature", self.key("f", f), f, mine.name) for f in features),
            self._call("page", self.key("page", name), name, "get"),
        )
        words = {reply[0] for reply in replies}
        near = {
            Attempt(permutation.invert(int.from_bytes(f, "big")), token[:TOKEN])
            for permutation, reply in zip(
                self._layout.permutations, replies[: len(tables) + 1], strict=False
            )
            for f, token in zip(reply[1::2], reply[2::2], strict=True)
        }
        if words == {b"claimed"} and arrived.limit > 0:
            near |= await self._peeked(mine, arrived.limit)
        seen = zip(replies[0][1::2], replies[0][2::2], strict=True)
        lists = zip(features, replies[len(tables) + 1 :], strict=True)
        return Claims(
            granted=words == {b"claimed"},
            full=b"full" in words,
            near=near,
            sharing={f: set(map(Attempt.named, reply[1:])) for f, reply in lists},
            old=Attempt.named(pointer) if pointer else None,
            equal={
                Attempt(mine.key, words[:TOKEN]): Seen.read(words[TOKEN:])
                for f, words in seen
                if f == first
            },
        )

    async def _peeked(self, mine: Attempt, limit: int) -> set[Attempt]:
        """Return the attempts within `limit` bits in tables that are probed within a radius.

        Costs a call for each hash that may list one: 9 or 37 a table.
        """
        keys = self._layout.permuted(mine.key)
        calls = []
        for number, (table, f) in enumerate(zip(self._layout.tables, keys, strict=True), 1):
            radius = min(table.radius, limit)
            for mask in masks_within(0xFF, radius) if radius else ():
                g, bits = bytes([f[0] ^ mask]) + f[1:], mask.bit_count()
                words = (number, g, radius - bits, limit - bits)
                calls.append((number, self._call("peek", self.key(f"t{number}", g), *words)))
        replies = await asyncio.gather(*(call for _, call in calls))
        return {
            Attempt(self._layout.permutations[number - 1].invert(int.from_bytes(f, "big")), token)
            for (number, _), reply in zip(calls, replies, strict=True)
            for f, token in zip(reply[::2], reply[1::2], strict=True)
        }

    async def look_at(self, attempt: Attempt, *, wound: bool, body: bool) -> AttemptEntry:
        """Return the state of another attempt, after ending it if it is over.

        `wound` ends it if it is pending; `body` returns features and evidence as well.
        """
        asked = ("wound" if wound else "", "body" if body else "")
        reply = await self._call(
            "look", self.entry_key(attempt), *attempt.words, self._retention, *asked
        )
        return (
            AttemptEntry(*reply) if len(reply) > 2 else AttemptEntry(reply[0], features=reply[1])
        )

    async def collapse(self, entry: Attempt) -> tuple[int, bytes] | None:
        """Count a page for `entry`: pages dropped for it, and its URL; None if it isn't kept."""
        reply = await self._call("collapse", self.entry_key(entry), *entry.words, self._retention)
        return reply and (reply[0], reply[1])

    async def commit(self, mine: Attempt, lease: float, *, beside: bool = False) -> bool:
        """Keep the entry of `mine`, for `lease` seconds; False if others ended it before.

        `beside`: from now on no page finds it by its key.
        """
        words = (int(lease * 1000), "beside" if beside else "")
        return bool(await self._call("commit", self.entry_key(mine), *mine.words, *words))

    # ---- pointers --------------------------------------------------------------------------

    async def attempt_of(self, page_id: int) -> Attempt | None:
        """Return the attempt that is the entry of this page."""
        return await self._pointer(page_id, "get")

    async def point(self, page_id: int, mine: Attempt) -> Attempt | None:
        """Make `mine` the entry of its page; return which one was."""
        return await self._pointer(page_id, "swap", mine.name)

    async def point_back(self, page_id: int, mine: Attempt, other: Attempt | None) -> None:
        """Make another one the entry of the page, or none, if `mine` is."""
        name = other.name if other and other != mine else b""
        await self._pointer(page_id, "clear", mine.name, name)

    async def _pointer(self, page_id: int, *words: Any) -> Attempt | None:
        name = id_bytes(page_id)
        pointer = await self._call("page", self.key("page", name), name, *words)
        return Attempt.named(pointer) if pointer else None

    # ---- ends ------------------------------------------------------------------------------

    async def end(self, attempt: Attempt, page_id: int | None = None) -> bool:
        """End an entry, kept or pending, then take its claims and its pointer away."""
        ended, _, features = await self.settle(attempt, "end")
        await self.clear(attempt, features, page_id)
        return ended

    async def clear(
        self, attempt: Attempt, features: Features, page_id: int | None = None
    ) -> None:
        """Take away the claims, and of a page the pointer, of an attempt that has ended."""
        if page_id is not None:
            await self.point_back(page_id, attempt, None)
        await asyncio.gather(self.leave_tables(attempt), self.leave_features(attempt, features))

    async def clear_seen(self, gone: Mapping[Attempt, Features]) -> None:
        """Take away the claims of others that were seen, once: many meet one before they go."""
        seen = {each: found for each, found in gone.items() if each not in self._cleared}
        for each in seen:
            self._cleared[each] = None
        await asyncio.gather(*(self.clear(each, features) for each, features in seen.items()))

    async def leave_tables(self, attempt: Attempt) -> None:
        """Take away the claims in the tables 2 .. t."""
        _, *others = self._layout.permuted(attempt.key)
        await asyncio.gather(
            *(
                self._call("release", self.key(f"t{i}", f), f, attempt.token)
                for i, f in enumerate(others, 2)
            )
        )

    async def leave_features(self, attempt: Attempt, features: Features) -> None:
        """Take away the claims under these features."""
        await asyncio.gather(
            *(self._call("release", self.key("f", f), f, attempt.name) for f in features)
        )

    async def settle(
        self, attempt: Attempt, verb: str, time: float = 0
    ) -> tuple[bool, int, Features]:
        """Confirm, renew, touch, forget or end an entry (``lua/cluster.lua``).

        Returns whether this call ended it; if so, the pages dropped for it and the features to
        leave.
        """
        milliseconds = int(time * 1000)
        ended, collapsed, features = await self._call(
            "settle", self.entry_key(attempt), *attempt.words, verb, milliseconds
        )
        return bool(ended), collapsed, separate(features)

    async def renew(self, attempts: Sequence[Attempt], lease: float) -> None:
        """Renew leases; while a master is away, those on the other masters."""
        for start in range(0, len(attempts), _RENEWED):
            some = attempts[start : start + _RENEWED]
            renewals = (self.settle(attempt, "renew", lease) for attempt in some)
            await asyncio.gather(*renewals, return_exceptions=True)

    async def sweep(self, hash_: int, cursor: int, fields: int) -> int:
        """Clear away what is over in `fields` buckets of a hash; return the next cursor."""
        first = bytes([hash_])
        after, ended = await self._call(
            "sweep", self.key("t1", first), self._retention, cursor, fields, first
        )
        for key, token, page_id, features in zip(*[iter(ended)] * 4, strict=True):
            attempt = Attempt.named(key + token)
            await self.clear(attempt, separate(features), int.from_bytes(page_id, "big"))
        return int(after)

    # ---- places ----------------------------------------------------------------------------

    def key(self, tree: str, f: bytes) -> str:
        """Return the name of a hash; all of it is the hash tag, so each has a slot of its own."""
        return f"{{{self._prefix}{tree}:{f[0]:02x}}}"

    def entry_key(self, attempt: Attempt) -> str:
        """Return the name of the hash that holds the entry of `attempt`."""
        return self.key("t1", attempt.words[0])


def scripts(layout: Layout, record: str) -> dict[str, str]:
    """Return the scripts that `Attempts` calls, verb -> text; see `scripts.script`."""
    return {
        verb: script(
            layout,
            "buckets/changes",
            *(f"cluster/{part}" for part in (*parts, verb)),
            record=record,
        )
        for verb, parts in _VERBS.items()
    }
