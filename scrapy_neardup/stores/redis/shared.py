"""What the stores on servers share: homes, leases, sweeps, and who agrees on what.

A *home* is a prefix of keys, of one slot in a cluster, whose scripts see all that it holds: one
Redis is one home, a cluster has `HOMES`.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
from abc import abstractmethod
from collections.abc import Awaitable, Callable, Coroutine
from dataclasses import replace
from typing import Any

from redis.asyncio import RedisCluster

from scrapy_neardup.bounded import BoundedDict
from scrapy_neardup.errors import StoreError, StoreMismatchError
from scrapy_neardup.stores.base import (
    MAX_UNDER_FEATURE,
    Store,
    StoreOptions,
    StoreStats,
    matched,
    near_reason,
)
from scrapy_neardup.stores.keys import KeyRecord
from scrapy_neardup.stores.redis import connection, namespace
from scrapy_neardup.stores.redis.calls import MAX_CALLS, Calls
from scrapy_neardup.stores.redis.codec import STAMP, entries, id_bytes, read_count
from scrapy_neardup.stores.redis.connection import RecordLostError, explaining
from scrapy_neardup.stores.redis.keyspace import PLACE, Layout, homes, key_of, prefix
from scrapy_neardup.stores.redis.metentries import Repeats
from scrapy_neardup.stores.redis.namespace import DIGEST, Agreed, agree, write_record
from scrapy_neardup.urls import redact_store
from scrapy_neardup.verdict import Page, Reason, Verdict

LEASE = 60.0
"""Seconds that an entry which isn't confirmed outlives its crawler."""

MAX_END = 10.0
"""Maximum seconds that a step may go on after `Background.close`: twice the time of a reply."""

SWEEP_PAUSE = 0.5
"""Seconds between two steps of a crawler's sweep."""

_SWEEP_STEPS = 8
"""Maximum number of times that a step goes on where there is more than `AT_ONCE`."""

AT_ONCE = 64
"""Maximum number of entries that are withdrawn at once: some 3 ms of the server's time."""

_REMEMBERED = 65_536
"""Number of entries that a crawler remembers as withdrawn, or as unsure: the last ones."""


class Background:
    """Periodic tasks, which run until `close`, and one-off tasks.

    A loop ends because an event is set. It is cancelled as well, to end at once, but redis-py may
    lose a cancellation that coincides with its own timeout.
    """

    def __init__(self) -> None:
        self._over = asyncio.Event()
        self._loops: list[asyncio.Task[None]] = []
        self._jobs: set[asyncio.Task[None]] = set()

    def start(self, step: Callable[[], Awaitable[None]], pause: float) -> None:
        """Run `step` after every pause of this many seconds."""
        self._loops.append(asyncio.create_task(self._repeat(step, pause)))

    def soon(self, job: Coroutine[Any, Any, Any]) -> None:
        """Run a task once, in the background; a `StoreError` ends it silently."""
        task = asyncio.create_task(_tried(job))
        self._jobs.add(task)
        task.add_done_callback(self._jobs.discard)

    async def close(self) -> None:
        """Stop all tasks; those under way may take another `MAX_END` seconds."""
        self._over.set()
        for loop in self._loops:
            loop.cancel()
        if self._loops or self._jobs:
            await asyncio.wait({*self._loops, *self._jobs}, timeout=MAX_END)
        self._loops.clear()

    async def _repeat(self, step: Callable[[], Awaitable[None]], pause: float) -> None:
        while True:
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(pause):
                    await self._over.wait()
            if self._over.is_set():
                return
            await _tried(step())


async def _tried(work: Awaitable[Any]) -> None:
    # While the server is away, or refuses, there is nothing to do; pages report it.
    with contextlib.suppress(StoreError):
        await work


class SharedStore(Store):
    """A store on servers, for all crawlers of a namespace.

    `layout` is the table design for a namespace that doesn't exist yet, None: that for `options`.
    `_held` has the home and the record of the entries that this crawler has to confirm or forget,
    by page id; `_unsure` those that it may have to, as the call that was to add them has failed.
    """

    calls_class: type[Calls]
    _agreed: Agreed

    def __init__(self, uri: str, options: StoreOptions, *, layout: Layout | None = None) -> None:
        self._uri = uri
        self._options = options
        self._client = connection.connect(uri)
        self._clustered = isinstance(self._client, RedisCluster)
        self._calls: Any = self.calls_class(self._client, uri)
        layout = layout or Layout.choose(options.max_distance, options.expected_pages)
        self._layout = replace(layout, matching=options.matching)
        self._prefix = prefix(options.namespace)
        self._homes = homes(self._prefix, clustered=self._clustered)
        self._key_record = KeyRecord.new(options.hash_key)
        self._agreeing = asyncio.Lock()
        self._constants: dict[str, bytes] = {}
        self._held: dict[int, tuple[str, bytes]] = {}
        self._unsure: BoundedDict[int, tuple[str, bytes]] = BoundedDict(_REMEMBERED)
        self._withdrawn: BoundedDict[bytes, None] = BoundedDict(_REMEMBERED)
        self._sweeping = 0
        self._background = Background()
        self._opened = False

    async def open(self) -> None:
        """Connect, and agree on the parameters with the crawlers that use the namespace."""
        try:
            with explaining(self._uri):
                await connection.begin(self._client, self._uri)
                await self._agree(self._prefix)
        except StoreError:
            await connection.disconnect(self._client)
            raise
        self._opened = True
        self._background.start(self._renew, LEASE / 3)
        self._background.start(self._sweep, SWEEP_PAUSE)

    async def close(self) -> None:
        """Give up what is pending and disconnect."""
        await self._background.close()
        if self._opened:
            self._opened = False
            with contextlib.suppress(StoreError):
                while some := list(self._held)[:AT_ONCE]:
                    await asyncio.gather(*map(self.forget, some))
            await self._calls.close()
        await connection.disconnect(self._client)

    async def confirm(self, page_id: int) -> None:
        """Make an entry final; see `Store.confirm`."""
        for mine in (self._held, self._unsure):
            if entry := mine.get(page_id):
                await self._call("lease", entry[0], id_bytes(page_id), entry[1][:STAMP], "confirm")
                if mine.get(page_id) == entry:
                    del mine[page_id]

    async def forget(self, page_id: int) -> int:
        """Withdraw a pending entry, as the content that this crawler holds; see `Store.forget`."""
        found = [mine.get(page_id) for mine in (self._held, self._unsure)]
        return sum([await self._withdraw(*each, page_id, "p") for each in found if each])

    async def stats(self) -> StoreStats:
        """Count what the namespace holds, for all crawlers."""
        with explaining(self._uri):
            return await namespace.counts(self._client, self._homes)

    async def exchange(self, topic: str, member: str, value: bytes | None) -> list[bytes]:
        """Post a value and read those of all members; see `Store.exchange`."""
        with explaining(self._uri):
            return await namespace.exchange(self._client, self._key, topic, member, value)

    # ---- entries ---------------------------------------------------------------------------

    async def _repeats(
        self, page: Page, home: str, repeats: Repeats, count: int, own: bytes
    ) -> Verdict | None:
        """Return the verdict on a page that repeats a candidate, None if that is gone.

        `count` is 0 if the page isn't counted for it yet; `own` is the record of its old entry.
        """
        (name, candidate, url), decided = repeats
        is_own = candidate.page_id == page.id
        if not count:
            reply = await self._call("repeat", home, name[:8], name[8:], 0 if is_own else 1)
            if reply[:1] != b"d":
                return None
            count = read_count(reply)
        if is_own:
            return Verdict.on(page, Reason.SAME_PAGE, matched(candidate, decided, url=page.url))
        if own:
            await self._withdraw(self._home(page), own, page.id, "a")
        match = matched(candidate, decided, count, url)
        return Verdict.on(page, near_reason(page), match)

    async def _withdraw(self, home: str, stored: bytes, page_id: int, why: str) -> int:
        """Remove an entry with all that leads to it; return the pages dropped for it.

        The crawler remembers which of its own it withdrew: a server that comes back from an older
        snapshot brings them back. One that can't be withdrawn may be forgotten later.
        """
        entry = home, stored
        mine = [each for each in (self._held, self._unsure) if each.get(page_id) == entry]
        for each in mine:
            del each[page_id]
            self._withdrawn[id_bytes(page_id) + stored[:STAMP]] = None
        try:
            return await self._remove(home, id_bytes(page_id), stored, why)
        except BaseException:
            if mine:
                self._unsure[page_id] = entry
            raise

    def _was_withdrawn(self, home: str, page_id: bytes, stored: bytes) -> bool:
        """Whether this crawler has withdrawn an entry, which an older snapshot brought back.

        It is withdrawn once more.
        """
        if page_id + stored[:STAMP] not in self._withdrawn:
            return False
        self._background.soon(self._remove(home, page_id, stored, "p"))
        return True

    async def _sweep(self) -> None:
        """Withdraw some of what is over: lapsed, or not seen for the retention."""
        for _ in range(_SWEEP_STEPS):
            home = self._homes[self._sweeping % len(self._homes)]
            found = entries(await self._call("over", home, AT_ONCE))
            await asyncio.gather(
                *(self._remove(home, each, stored, "o") for each, stored in found)
            )
            if len(found) < AT_ONCE:
                self._sweeping += 1
                break

    async def _renew(self) -> None:
        """Renew the leases of what is held; while a master is away, those on other masters."""
        held = [(home, id_bytes(each), it[:STAMP]) for each, (home, it) in self._held.items()]
        for start in range(0, len(held), AT_ONCE):
            some = held[start : start + AT_ONCE]
            calls = (self._call("lease", *each, "renew") for each in some)
            await asyncio.gather(*calls, return_exceptions=True)

    async def _call(self, verb: str, home: str, *item: Any) -> bytes:
        """Call a script of a home; where that was emptied, agree on the parameters first.

        Raises `RecordLostError` if the tables are others since, as `item` may name their buckets.
        """
        agreed, layout = self._agreed, self._layout
        try:
            reply: bytes = await self._calls.call(verb, home, self._told(home), *item)
        except RecordLostError:
            async with self._agreeing:
                if agreed is self._agreed or home != self._prefix:
                    with explaining(self._uri):
                        await self._agree(home)
            if layout != self._layout:
                raise
            reply = await self._calls.call(verb, home, self._told(home), *item)
        return reply

    def _home(self, page: Page) -> str:  # noqa: ARG002
        """Return the home of a page's entry."""
        return self._prefix

    @abstractmethod
    async def _remove(self, home: str, page_id: bytes, stored: bytes, why: str) -> int:
        """Remove an entry, if `why` holds; return the pages dropped for it (``withdraw.lua``)."""

    def _key(self, name: str) -> str:
        """Return a key of the namespace that belongs to no home."""
        return key_of(self._prefix, name, clustered=self._clustered)

    # ---- the namespace ---------------------------------------------------------------------

    async def _agree(self, home: str) -> None:
        """Agree on the parameters, and record them in a home.

        A namespace that was lost meanwhile gets its key again. Raises `StoreMismatchError` if
        another crawl came first, with other parameters.
        """
        options = self._options
        agreed = await agree(
            self._client, self._key("schema"), self._uri, options, self._layout, self._key_record
        )
        where = f"namespace {options.namespace!r} of {redact_store(self._uri)}"
        self.key = agreed.key.key(self.key if self._opened else options.hash_key, where)
        if home != self._prefix:
            copied = await write_record(self._client, f"{home}schema", agreed.record)
            if copied != agreed.record or (self._opened and agreed != self._agreed):
                raise StoreMismatchError(
                    f"NEARDUP_STORE: {where} was lost in part and made again otherwise; clear it, "
                    "or take another NEARDUP_NAMESPACE"
                )
        self._agreed, self._layout, self._key_record = agreed, agreed.layout, agreed.key
        self._constants.clear()
        # A page that is looked up under many prefixes keeps others waiting as long as many pages.
        look_ups = len(self._layout.places(0, 1) + self._layout.neighbours(0, 1)) // PLACE
        self._calls.most_calls = max(1, min(MAX_CALLS, 8 * MAX_CALLS // max(look_ups, 1)))

    def _told(self, home: str) -> bytes:
        """Return the constants that each script of a home is told, as JSON."""
        if home not in self._constants:
            constants = {
                "prefix": home,
                "digest": self._agreed.record[DIGEST.encode()].decode(),
                "lease": int(LEASE * 1000),
                "retention": int(self._options.retention * 1000),
                "shared": self._layout.matching.shared_features,
                "under": MAX_UNDER_FEATURE,
                "cap": self._layout.cap,
                "unseen": list(self._layout.unseen),
            }
            self._constants[home] = json.dumps(constants).encode()
        return self._constants[home]
