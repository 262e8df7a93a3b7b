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
import time

from scrapy_neardup.errors import StoreError, StoreMismatchError, StoreUnavailableError
from scrapy_neardup.stores.base import Store, StoreOptions, StoreStats
from scrapy_neardup.stores.redis_attempts import Attempt, Attempts
from scrapy_neardup.stores.redis_background import Background
from scrapy_neardup.stores.redis_client import connect_cluster, explained, shown
from scrapy_neardup.stores.redis_counts import cluster_counts
from scrapy_neardup.stores.redis_layout import Layout, prefix
from scrapy_neardup.stores.redis_schema import agree
from scrapy_neardup.stores.redis_values import (
    contradict,
    id_bytes,
    key_and_evidence,
    matched,
    near_reason,
    refuse_matching,
    url_bytes,
    verdict,
)
from scrapy_neardup.verdict import Match, Page, Reason, Verdict

LEASE = 60.0
"""Seconds that a kept, not yet confirmed entry outlives its crawler."""

ATTEMPT_LEASE = 2.0
"""Seconds after which a pending attempt may be ended by others; shorter is safe and slow."""

ATTEMPT_LIMIT = 60.0
"""Seconds after which a page's attempts give up; tombstones live ten times as long."""

_LONGEST_PAUSE = 0.05
_SWEEP_PAUSE = 1.0
_SWEEP_FIELDS = 16


class RedisClusterStore(Store):
    """Fingerprints in a Redis Cluster; see `scrapy_neardup.stores.base.Store`.

    Parameters
    ----------
    uri
        ``redis+cluster://`` or ``rediss+cluster://``, some of the nodes, comma-separated.
    layout
        Table design for a namespace that doesn't exist yet.
    """

    def __init__(self, uri: str, options: StoreOptions, *, layout: Layout | None = None) -> None:
        refuse_matching(options)
        self._uri = uri
        self._options = options
        self._layout = layout or Layout.choose(options.max_distance, options.expected_pages)
        self._client = connect_cluster(uri)
        self._prefix = prefix(options.namespace)
        self._held: dict[int, Attempt] = {}
        self._background = Background()
        self._opened = False
        self._sweeping = random.randrange(256), 0

    attempts_class: type[Attempts] = Attempts

    # ---- life ------------------------------------------------------------------------------

    async def open(self) -> None:
        """Connect, and agree on the parameters with whoever uses the namespace already."""
        try:
            await self._client.initialize()
            self._agreed = await self._agree()
        except Exception as error:
            await self._client.aclose()
            raise explained(error, self._uri) from error
        retention = int(self._options.retention * 1000)
        layout, record = self._agreed
        self._attempts = self.attempts_class(
            self._client,
            uri=self._uri,
            prefix=self._prefix,
            layout=layout,
            record=record,
            retention=retention,
            check_record=self._check_record,
        )
        self._opened = True
        self._background.start(self._renew, LEASE / 3)
        self._background.start(self._sweep, _SWEEP_PAUSE)

    async def close(self) -> None:
        """Give up what is pending and disconnect."""
        await self._background.close()
        if self._opened:
            self._opened = False
            with contextlib.suppress(StoreError):
                for page_id in list(self._held):
                    await self.forget(page_id)
            await self._attempts.close()
        await self._client.aclose()

    async def _agree(self) -> tuple[Layout, str]:
        return await agree(
            self._client, f"{{{self._prefix}schema}}", self._uri, self._options, self._layout
        )

    async def _check_record(self) -> None:
        """Write the record of the parameters again, if it was lost; refuse another one."""
        if await self._agree() != self._agreed:
            raise StoreMismatchError(
                f"NEARDUP_STORE: namespace {self._options.namespace!r} of {shown(self._uri)} was "
                "lost and made anew with tables for another NEARDUP_EXPECTED_PAGES; start this "
                "crawl again"
            )

    # ---- verbs -----------------------------------------------------------------------------

    async def check_and_add(self, page: Page) -> Verdict:
        """Judge `page` and remember it if it is new; see `Store.check_and_add`.

        Costs t + 3 calls in three round trips for a new page, t tables. Where it is
        cancelled, what it has written lapses: before the commit after `ATTEMPT_LEASE`,
        from then on after `LEASE`.
        """
        lease = ATTEMPT_LEASE
        try:
            async with asyncio.timeout(ATTEMPT_LIMIT):
                while True:
                    judged = await self._try(page, lease)
                    if judged is not None:
                        return judged
                    lease = min(2 * lease, ATTEMPT_LIMIT)
        except TimeoutError as error:
            where = shown(self._uri)
            raise StoreUnavailableError(
                f"NEARDUP_STORE: {where} came to no decision in {ATTEMPT_LIMIT:.0f} s"
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
        ended, collapsed = await self._attempts.settle(attempt, "forget")
        if ended:
            await self._attempts.clear(attempt, page_id)
        return collapsed

    async def stats(self) -> StoreStats:
        """Count what the namespace holds, for all crawlers; costs a pipeline a master."""
        try:
            return await cluster_counts(self._client, self._prefix)
        except Exception as error:
            raise explained(error, self._uri) from error

    # ---- the protocol ----------------------------------------------------------------------

    async def _try(self, page: Page, lease: float) -> Verdict | None:
        """Claim, resolve, commit; None if the attempt was ended by another one."""
        key, evidence = key_and_evidence(page)
        mine, start = Attempt.new(key), time.monotonic()
        limit = 0 if page.exact else self._options.max_distance
        claims = await self._attempts.claim(mine, page.id, evidence, limit, lease)
        if time.monotonic() - start > ATTEMPT_LIMIT:
            raise TimeoutError  # held up: a tombstone may be gone that had buried this attempt
        if not claims.granted:
            await self._attempts.end(mine)
            return verdict(page, Reason.OVERFLOW) if claims.full else None
        match = await self._resolve(page, mine, evidence, claims.near)
        if match is not None:
            await self._attempts.end(mine)
            if match.page_id == page.id:
                return verdict(page, Reason.SAME_PAGE, match)
            self._held.pop(page.id, None)
            if claims.old:
                await self._attempts.end(claims.old, page.id)
            return verdict(page, near_reason(page), match)
        if not await self._attempts.commit(mine, LEASE, url_bytes(page)):
            await self._attempts.end(mine)
            return None
        # Whoever cancels this call leaves an entry that lapses, never a pointer half set.
        changed = await asyncio.shield(self._attempts.point(page.id, mine, claims.old))
        self._held[page.id] = mine
        return verdict(page, Reason.CHANGED if changed else Reason.UNMATCHED)

    async def _resolve(
        self, page: Page, mine: Attempt, evidence: bytes, near: set[Attempt]
    ) -> Match | None:
        """Return the kept entry that `page` repeats; None if nobody is in its way.

        Whoever is smaller, by key and page id, goes first: it ends the pending attempts of
        the others, and the others wait for it.
        """
        rank = (mine.key, page.id, mine.token)
        wounded: set[Attempt] = set()
        pause = 0.001
        while near:
            kept: list[tuple[bool, int, bytes, Attempt]] = []
            waiting = False
            for other, (state, *its) in (await self._attempts.look_at(near, wounded)).items():
                if state == b"gone":
                    near.discard(other)
                    await self._attempts.clear(other)
                elif contradict(evidence, its[1]):
                    near.discard(other)
                elif state == b"kept":
                    distance = (other.key ^ mine.key).bit_count()
                    kept.append((its[0] != id_bytes(page.id), distance, its[0], other))
                elif rank < (other.key, int.from_bytes(its[0], "big"), other.token):
                    wounded.add(other)
                else:
                    waiting = True
            match = await self._join(page, sorted(kept, key=lambda entry: entry[:3]))
            if match is not None:
                return match
            if waiting and not kept:
                await asyncio.sleep(pause * random.random())
                pause = min(2 * pause, _LONGEST_PAUSE)
        return None

    async def _join(
        self, page: Page, kept: list[tuple[bool, int, bytes, Attempt]]
    ) -> Match | None:
        """Count `page` on the first of these entries that is kept still."""
        for another, distance, page_id, entry in kept:
            if not another:
                if self._options.retention:
                    await self._attempts.settle(entry, "touch", self._options.retention)
                return Match(page_id=page.id, distance=distance, url=page.url)
            collapsed = await self._attempts.collapse(entry)
            if collapsed is not None:
                count, url = collapsed
                return matched(page_id, distance, url, count=count)
        return None

    # ---- in the background -----------------------------------------------------------------

    async def _renew(self) -> None:
        for attempt in list(self._held.values()):
            await self._attempts.settle(attempt, "renew", LEASE)

    async def _sweep(self) -> None:
        hash_, cursor = self._sweeping
        cursor = await self._attempts.sweep(hash_, cursor, _SWEEP_FIELDS)
        self._sweeping = (hash_ if cursor else (hash_ + 1) % 256), cursor
