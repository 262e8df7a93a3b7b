"""A memory that many crawlers share: packed buckets in one Redis (6.2 or newer) or Valkey.

Every verb is one Lua script, so what it decides is atomic for all crawlers of the
namespace, and a page costs one round trip. The scripts and their format are in ``lua/``.

A pending entry has a lease, which its crawler renews while it lives; the entries of a
crawler that died stop matching when the lease ends and are cleared away.
"""

from __future__ import annotations

import asyncio
import contextlib
import math
from dataclasses import replace
from typing import Any

from scrapy_neardup.errors import StoreError
from scrapy_neardup.stores.base import Store, StoreOptions, StoreStats
from scrapy_neardup.stores.redis.background import Background
from scrapy_neardup.stores.redis.calls import Scripts
from scrapy_neardup.stores.redis.client import (
    RecordLostError,
    check_server,
    connect,
    disconnect,
    explaining,
)
from scrapy_neardup.stores.redis.layout import Layout, prefix
from scrapy_neardup.stores.redis.namespace import agree_on_parameters, counts, exchange, topic_key
from scrapy_neardup.stores.redis.scripts import script
from scrapy_neardup.stores.redis.values import arrival_words, id_bytes, read_verdict
from scrapy_neardup.verdict import Decision, Page, Verdict

LEASE = 60.0
"""Seconds that a pending entry outlives its crawler."""

_CLEARED = 2  # lapsed entries that a confirm clears away
_SWEEP_PAUSE = 0.2  # seconds between two steps of the sweep, over all crawlers
_SWEEP_FIELDS = 16
_MAX_SWEPT = 64  # entries that a step withdraws: about 3 ms of the server
_VERBS: dict[str, tuple[str, ...]] = {
    "check_and_add": ("single/pages", "single/bodies", "evidence"),
    **dict.fromkeys(("confirm", "forget", "sweep"), ("single/pages", "single/bodies")),
    "renew": ("single/pages",),
}
"""Verb -> parts of Lua that its script needs."""


class RedisStore(Store):
    """Fingerprints in Redis; see `scrapy_neardup.stores.base.Store` for what it does.

    Parameters
    ----------
    uri
        ``redis://``, ``rediss://``, ``unix://`` or ``redis+sentinel://``; see
        `scrapy_neardup.stores.redis.client.connect`.
    layout
        Table design for a namespace that doesn't exist yet.
    """

    def __init__(self, uri: str, options: StoreOptions, *, layout: Layout | None = None) -> None:
        self._uri = uri
        self._options = options
        layout = layout or Layout.choose(options.max_distance, options.expected_pages)
        self._layout = replace(layout, matching=options.matching)
        self._client = connect(uri)
        self._prefix = prefix(options.namespace)
        self._retention = math.ceil(options.retention)
        self._pending: set[int] = set()
        self._background = Background()
        self._opened = False
        self._scripts = Scripts(self._client, uri)
        self._agreed = 0
        self._agreeing = asyncio.Lock()

    async def open(self) -> None:
        """Connect, and agree on the parameters with the crawlers that use the namespace."""
        try:
            with explaining(self._uri):
                await check_server(self._client, self._uri)
                await self._agree()
        except StoreError:
            await disconnect(self._client)
            raise
        self._opened = True
        self._background.start(self._renew, LEASE / 3)
        if self._retention:
            self._background.start(self._sweep, _SWEEP_PAUSE)

    async def close(self) -> None:
        """Give up what is pending and disconnect."""
        await self._background.close()
        if self._opened:
            self._opened = False
            with contextlib.suppress(StoreError):
                for page_id in list(self._pending):
                    await self.forget(page_id)
            await self._scripts.close()
        await disconnect(self._client)

    async def check_and_add(self, page: Page) -> Verdict:
        """Judge `page` and remember it if it is new; see `Store.check_and_add`."""
        reply = await self._call("check_and_add", page, int(LEASE * 1000), self._retention)
        judged = read_verdict(page, reply, self._options.matching.bits)
        if judged.decision is Decision.NEW:
            self._pending.add(page.id)
        elif judged.decision is Decision.DUPLICATE:
            self._pending.discard(page.id)  # its old entry was withdrawn
        return judged

    async def confirm(self, page_id: int) -> None:
        """Make an entry final; see `Store.confirm`."""
        await self._call("confirm", id_bytes(page_id), _CLEARED)
        self._pending.discard(page_id)

    async def forget(self, page_id: int) -> int:
        """Withdraw a pending entry; see `Store.forget`."""
        self._pending.discard(page_id)
        return int(await self._call("forget", id_bytes(page_id)))

    async def stats(self) -> StoreStats:
        """Count what the namespace holds, for all crawlers."""
        with explaining(self._uri):
            return await counts(self._client, self._prefix)

    async def exchange(self, topic: str, member: str, value: bytes | None) -> list[bytes]:
        """Post a value and read those of all members; see `Store.exchange`."""
        with explaining(self._uri):
            return await exchange(self._client, topic_key(self._prefix, topic), member, value)

    async def _agree(self) -> None:
        """Agree on the parameters with the crawlers of the namespace; load scripts for them."""
        self._layout, record = await agree_on_parameters(
            self._client, f"{self._prefix}schema", self._uri, self._options, self._layout
        )
        await self._scripts.load(
            {
                verb: script(self._layout, *parts, f"single/{verb}", record=record)
                for verb, parts in _VERBS.items()
            }
        )
        self._agreed += 1

    async def _call(self, verb: str, word: Page | bytes | str, *shared: Any) -> Any:
        """Call a script; where the server was emptied, agree on the parameters anew first.

        Raises
        ------
        StoreMismatchError
            Another crawl came first, with other parameters.
        StoreError
            As `client.explained`.
        """
        agreed = self._agreed
        try:
            return await self._call_once(verb, word, shared)
        except RecordLostError:
            async with self._agreeing:
                if agreed == self._agreed:
                    with explaining(self._uri):
                        await self._agree()
            return await self._call_once(verb, word, shared)

    async def _call_once(
        self, verb: str, word: Page | bytes | str, shared: tuple[Any, ...]
    ) -> Any:
        if isinstance(word, Page):
            word = arrival_words(word, self._layout)
        return await self._scripts.call(verb, word, self._prefix, *shared)

    async def _renew(self) -> None:
        lease, ids = int(LEASE * 1000), map(id_bytes, tuple(self._pending))
        await asyncio.gather(*(self._call("renew", page_id, lease) for page_id in ids))

    async def _sweep(self) -> None:
        pause = int(_SWEEP_PAUSE * 1000)
        await self._call("sweep", str(_MAX_SWEPT), self._retention, pause, _SWEEP_FIELDS)
