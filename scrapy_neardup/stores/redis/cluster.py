"""A memory that many crawlers share, spread over a Redis Cluster.

Each (table, first byte) has its own slot, so no script sees all of a page, and what one
script decides on a single Redis takes a protocol here: claim, resolve, commit.
``docs/cluster.md`` states it step by step and proves that of two near-duplicates which
arrive together at two crawlers never both are kept and never both are dropped.
"""

from __future__ import annotations

import asyncio
import random

from scrapy_neardup.errors import StoreMismatchError, StoreUnavailableError
from scrapy_neardup.stores.base import StoreOptions, StoreStats
from scrapy_neardup.stores.redis import protocol, shared
from scrapy_neardup.stores.redis.attempts import Attempts, scripts
from scrapy_neardup.stores.redis.client import connect_cluster, explaining
from scrapy_neardup.stores.redis.clustercalls import ClusterCalls
from scrapy_neardup.stores.redis.clustervalues import Attempt, ClusterPage
from scrapy_neardup.stores.redis.layout import Layout
from scrapy_neardup.stores.redis.namespace import cluster_counts
from scrapy_neardup.stores.redis.protocol import ClusterProtocol
from scrapy_neardup.stores.redis.turns import Turns
from scrapy_neardup.urls import redact_store
from scrapy_neardup.verdict import Decide, Page, Verdict

_SWEEP_PAUSE = 1.0
"""Seconds between two steps of a crawler's sweep."""
_SWEEP_FIELDS = 16
"""Buckets that a step looks at."""


class RedisClusterStore(ClusterProtocol):
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
        super().__init__(uri, options, connect_cluster(uri), layout)
        self._held: dict[int, Attempt] = {}
        self._turns: Turns[ClusterPage, Attempt] = Turns(self._are_near)
        self._sweeping = random.randrange(256), 0

    async def _begin(self) -> None:
        await self._client.initialize()
        self._agreed = await self._agree()
        self._layout = self._agreed.layout
        texts = scripts(self._layout, self._agreed.digest)
        self._calls = self.calls_class(self._client, self._uri, texts, self._check_record)
        self._attempts = Attempts(
            self._calls,
            prefix=self._prefix,
            layout=self._layout,
            retention=int(self._options.retention * 1000),
        )
        self._background.start(self._sweep, _SWEEP_PAUSE)

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

    # ---- verbs -----------------------------------------------------------------------------

    async def check_and_add(self, page: Page, decide: Decide | None = None) -> Verdict:
        """Look for what `page` repeats, or remember it; see `Store.check_and_add`.

        Costs two round trips for a new page, three where others have to be looked at. Where
        it is cancelled, what it has written lapses: before the commit after
        `protocol.ATTEMPT_LEASE`, from then on after `shared.LEASE`.
        """
        lease, limit = protocol.ATTEMPT_LEASE, protocol.ATTEMPT_LIMIT
        arrived = ClusterPage.of(page, self._layout, decide, store_key=self.key)
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

    # ---- in the background -----------------------------------------------------------------

    async def _renew(self) -> None:
        await self._attempts.renew(list(self._held.values()), shared.LEASE)

    async def _sweep(self) -> None:
        hash_, cursor = self._sweeping
        cursor = await self._attempts.sweep(hash_, cursor, _SWEEP_FIELDS)
        self._sweeping = (hash_ if cursor else (hash_ + 1) % 256), cursor
