"""What the stores of one Redis and of a cluster share: leases, sweeps, and who agrees on what."""

from __future__ import annotations

import asyncio
import contextlib
from abc import abstractmethod
from collections.abc import Awaitable, Callable, Coroutine, Sequence
from dataclasses import replace
from typing import Any

from scrapy_neardup.bounded import BoundedDict
from scrapy_neardup.errors import StoreError
from scrapy_neardup.stores.base import Store, StoreOptions
from scrapy_neardup.stores.keys import KeyRecord
from scrapy_neardup.stores.redis.calls import Calls
from scrapy_neardup.stores.redis.codec import STAMP, id_bytes, ids_in
from scrapy_neardup.stores.redis.connection import disconnect, explaining
from scrapy_neardup.stores.redis.keyspace import Layout, prefix
from scrapy_neardup.stores.redis.namespace import (
    Agreed,
    agree_on_parameters,
    exchange,
    topic_name,
)
from scrapy_neardup.urls import redact_store

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

_WITHDRAWN = 65_536
"""Number of withdrawn entries that a crawler remembers: those that went last."""


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

    `client` isn't connected yet, and is closed with the store; `layout` is the table design for a
    namespace that doesn't exist yet, None: that for `options`. `_held` has the stamps of the
    entries that this crawler has to confirm or forget, by page id.
    """

    _calls: Calls

    def __init__(
        self, uri: str, options: StoreOptions, client: Any, layout: Layout | None
    ) -> None:
        self._uri = uri
        self._options = options
        self._client = client
        layout = layout or Layout.choose(options.max_distance, options.expected_pages)
        self._layout = replace(layout, matching=options.matching)
        self._prefix = prefix(options.namespace)
        self._key_record = KeyRecord.new(options.hash_key)
        self._retention = int(options.retention * 1000)
        self._held: dict[int, bytes] = {}
        self._withdrawn: BoundedDict[bytes, None] = BoundedDict(_WITHDRAWN)
        self._background = Background()
        self._opened = False

    async def open(self) -> None:
        """Connect, and agree on the parameters with the crawlers that use the namespace."""
        try:
            with explaining(self._uri):
                await self._begin()
        except StoreError:
            await disconnect(self._client)
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
                    await self._withdraw(some, "p")
            await self._calls.close()
        await disconnect(self._client)

    async def confirm(self, page_id: int) -> None:
        """Make an entry final; see `Store.confirm`."""
        stamp = self._held.get(page_id, b"")
        await self._confirm(id_bytes(page_id), stamp)
        if self._held.get(page_id) == stamp:
            del self._held[page_id]

    async def forget(self, page_id: int) -> int:
        """Withdraw a pending entry; see `Store.forget`."""
        [dropped] = await self._withdraw([page_id], "p")
        return dropped

    async def exchange(self, topic: str, member: str, value: bytes | None) -> list[bytes]:
        """Post a value and read those of all members; see `Store.exchange`."""
        with explaining(self._uri):
            return await exchange(self._client, self._key(topic_name(topic)), member, value)

    async def _sweep(self) -> None:
        """Withdraw some of what is over: lapsed, or not seen for the retention."""
        for _ in range(_SWEEP_STEPS):
            ids = ids_in(await self._over())
            await self._withdraw([int.from_bytes(each, "big") for each in ids], "o")
            if len(ids) < AT_ONCE:
                break

    async def _withdraw(self, page_ids: Sequence[int], why: str) -> list[int]:
        """Remove entries (``lua/withdraw.lua``); return the pages dropped for each.

        A pending entry goes only as the content that this crawler holds it for. The crawler
        remembers what it withdrew: a server that comes back from an older snapshot brings it back.
        """
        ids = list(map(id_bytes, page_ids))
        held = [self._held.pop(each, b"") if why != "o" else b"" for each in page_ids]
        for page_id, stamp in zip(ids, held, strict=True):
            if stamp:
                self._withdrawn[page_id + stamp] = None
        stored = await self._stored(ids)
        dropped = [0] * len(ids)
        removals = []
        for n, (page_id, record, stamp) in enumerate(zip(ids, stored, held, strict=True)):
            is_it = why != "p" or stamp in {b"", record[:STAMP]}
            if is_it and (record or why == "o"):
                removals.append((n, self._remove(page_id, record, why)))
        for (n, _), reply in zip(
            removals, await asyncio.gather(*(each for _, each in removals)), strict=True
        ):
            dropped[n] = reply or 0
        return dropped

    def _was_withdrawn(self, page_id: bytes, stored: bytes) -> bool:
        """Whether this crawler has withdrawn an entry, which an older snapshot brought back.

        It is withdrawn once more.
        """
        if page_id + stored[:STAMP] not in self._withdrawn:
            return False
        self._background.soon(self._remove(page_id, stored, "p"))
        return True

    @abstractmethod
    async def _begin(self) -> None:
        """Connect, agree, and start what is done in the background besides `_renew`."""

    @abstractmethod
    async def _renew(self) -> None:
        """Renew the leases of what is held."""

    @abstractmethod
    async def _confirm(self, page_id: bytes, stamp: bytes) -> None:
        """Make an entry final if it has this stamp; ``b""``: any."""

    @abstractmethod
    async def _over(self) -> bytes:
        """Return the ids of some entries that are over (``lua/over.lua``)."""

    @abstractmethod
    async def _stored(self, page_ids: Sequence[bytes]) -> list[bytes]:
        """Return the stored records of pages, ``b""`` where there is none."""

    @abstractmethod
    async def _remove(self, page_id: bytes, stored: bytes, why: str) -> int | None:
        """Remove an entry with all that leads to it; return the pages dropped for it.

        None if it stays, as it has another content, or `why` doesn't hold (``lua/withdraw.lua``).
        """

    @abstractmethod
    def _key(self, name: str) -> str:
        """Return a key of the namespace."""

    async def _agree(self) -> Agreed:
        """Agree on the parameters; a namespace that was lost meanwhile gets its key again."""
        options, name = self._options, self._key("schema")
        agreed = await agree_on_parameters(
            self._client, name, self._uri, options, self._layout, self._key_record
        )
        where = f"namespace {options.namespace!r} of {redact_store(self._uri)}"
        self.key = agreed.key.key(self.key if self._opened else options.hash_key, where)
        self._key_record = agreed.key
        return agreed
