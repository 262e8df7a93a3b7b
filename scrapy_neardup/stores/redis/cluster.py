"""A memory that many crawlers share, spread over a Redis Cluster.

Each (table, first byte) has its own slot, so no script sees all of a page, and what one
script decides on a single Redis takes a protocol here: claim, resolve, commit.
``docs/cluster.md`` states it step by step and proves that of two near-duplicates which
arrive together at two crawlers never both are kept and never both are dropped.
"""

from __future__ import annotations

import asyncio
import contextlib
import random
from dataclasses import replace

from scrapy_neardup.errors import StoreError, StoreMismatchError, StoreUnavailableError
from scrapy_neardup.stores.base import Store, StoreOptions, StoreStats
from scrapy_neardup.stores.redis import protocol
from scrapy_neardup.stores.redis.attempts import Attempts, scripts
from scrapy_neardup.stores.redis.background import Background
from scrapy_neardup.stores.redis.calls import ClusterCalls
from scrapy_neardup.stores.redis.client import connect_cluster, explaining
from scrapy_neardup.stores.redis.layout import Layout, prefix
from scrapy_neardup.stores.redis.namespace import (
    agree_on_parameters,
    cluster_counts,
    exchange,
    topic_key,
)
from scrapy_neardup.stores.redis.protocol import ClusterProtocol
from scrapy_neardup.stores.redis.turns import Turns
from scrapy_neardup.stores.redis.values import (
    Attempt,
    ClusterPage,
)
from scrapy_neardup.urls import redact_store
from scrapy_neardup.verdict import Page, Verdict

_SWEEP_PAUSE = 1.0
_SWEEP_FIELDS = 16


class RedisClusterStore(ClusterProtocol, Store):
    """Fingerprints in a Redis Cluster; see `scrapy_neardup.stores.base.Store`.

    Parameters
    ----------
    uri
        ``redis+cluster://`` or ``rediss+cluster://``, some of the nodes, comma-separated.
    layout
        Table design for a namespace that doesn't exist yet.

    Attributes
    ----------
    calls_class
        What makes calls of scripts; a subclass of the store may have another.
    """

    calls_class: type[ClusterCalls] = ClusterCalls

    def __init__(self, uri: str, options: StoreOptions, *, layout: Layout | None = None) -> None:
        self._uri = uri
        self._options = options
        layout = layout or Layout.choose(options.max_distance, options.expected_pages)
        self._layout = replace(layout, matching=options.matching)
        self._client = connect_cluster(uri)
        self._prefix = prefix(options.namespace)
        self._held: dict[int, Attempt] = {}
        self._background = Background()
        self._turns: Turns[ClusterPage, Attempt] = Turns(self._are_near)
        self._opened = False
        self._sweeping = random.randrange(256), 0

    # ---- life ------------------------------------------------------------------------------

    async def open(self) -> None:
        """Connect, and agree on the parameters with the crawlers that use the namespace."""
        try:
            with explaining(self._uri):
                await self._client.initialize()
                self._agreed = await self._agree()
        except StoreError:
            await self._client.aclose()
            raise
        self._layout, record = self._agreed
        texts = scripts(self._layout, record)
        self._calls = self.calls_class(self._client, self._uri, texts, self._check_record)
        self._attempts = Attempts(
            self._calls,
            prefix=self._prefix,
            layout=self._layout,
            retention=int(self._options.retention * 1000),
        )
        self._opened = True
        self._background.start(self._renew, protocol.LEASE / 3)
        self._background.start(self._sweep, _SWEEP_PAUSE)

    async def close(self) -> None:
        """Give up what is pending and disconnect."""
        await self._background.close()
        if self._opened:
            self._opened = False
            with contextlib.suppress(StoreError):
                for page_id in list(self._held):
                    await self.forget(page_id)
            await self._calls.close()
        await self._client.aclose()

    async def _agree(self) -> tuple[Layout, str]:
        return await agree_on_parameters(
            self._client, f"{{{self._prefix}schema}}", self._uri, self._options, self._layout
        )

    async def _check_record(self) -> None:
        """Write the record of the parameters again, if it was lost; refuse another one."""
        if await self._agree() != self._agreed:
            raise StoreMismatchError(
                f"NEARDUP_STORE: namespace {self._options.namespace!r} of "
                f"{redact_store(self._uri)} was lost and made anew with tables for another "
                "NEARDUP_EXPECTED_PAGES; start this crawl again"
            )

    # ---- verbs -----------------------------------------------------------------------------

    async def check_and_add(self, page: Page) -> Verdict:
        """Judge `page` and remember it if it is new; see `Store.check_and_add`.

        Costs two round trips for a new page, three where others have to be looked at. Where
        it is cancelled, what it has written lapses: before the commit after
        `protocol.ATTEMPT_LEASE`, from then on after `protocol.LEASE`.
        """
        lease, limit = protocol.ATTEMPT_LEASE, protocol.ATTEMPT_LIMIT
        arrived = ClusterPage.of(page, self._layout)
        try:
            async with (
                asyncio.timeout(limit),
                self._turns.of(arrived.key, arrived) as turn,
            ):
                judged = await self._repeat_equal(arrived, turn)
                while judged is None:
                    judged = await self._try(arrived, lease, turn)
                    lease = min(2 * lease, limit)
                return judged
        except TimeoutError as error:
            where = redact_store(self._uri)
            raise StoreUnavailableError(
                f"NEARDUP_STORE: {where} came to no decision in {limit:.0f} s"
            ) from error

    async def confirm(self, page_id: int) -> None:
        """Make an entry final; see `Store.confirm`."""
        attempt = self._held.get(page_id) or await self._attempts.attempt_of(page_id)
        if attempt:
            await self._attempts.settle(attempt, "confirm")
        self._held.pop(page_id, None)

    async def forget(self, page_id: int) -> int:
        """Withdraw a pending entry; see `Store.forget`."""
        attempt = self._held.pop(page_id, None) or await self._attempts.attempt_of(page_id)
        if attempt is None:
            return 0
        ended, collapsed, features = await self._attempts.settle(attempt, "forget")
        if ended:
            await self._attempts.clear(attempt, features, page_id)
        return collapsed

    async def stats(self) -> StoreStats:
        """Count what the namespace holds, for all crawlers; costs a pipeline a master."""
        with explaining(self._uri):
            return await cluster_counts(self._client, self._prefix)

    async def exchange(self, topic: str, member: str, value: bytes | None) -> list[bytes]:
        """Post a value and read those of all members; see `Store.exchange`."""
        key = f"{{{topic_key(self._prefix, topic)}}}"
        with explaining(self._uri):
            return await exchange(self._client, key, member, value)

    # ---- in the background -----------------------------------------------------------------

    async def _renew(self) -> None:
        await self._attempts.renew(list(self._held.values()), protocol.LEASE)

    async def _sweep(self) -> None:
        hash_, cursor = self._sweeping
        cursor = await self._attempts.sweep(hash_, cursor, _SWEEP_FIELDS)
        self._sweeping = (hash_ if cursor else (hash_ + 1) % 256), cursor
