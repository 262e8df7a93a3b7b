"""A memory that many crawlers share, spread over a Redis Cluster.

Each (table, first byte) has its own slot, so no script sees all of a page, and what one
script decides on a single Redis takes a protocol here: claim, resolve, commit.
``docs/cluster.md`` states it step by step and proves that of two near-duplicates which
arrive together at two crawlers never both are kept and never both are dropped.
"""

from __future__ import annotations

import asyncio
import random
import time

from scrapy_neardup.errors import StoreMismatchError, StoreUnavailableError
from scrapy_neardup.stores.base import StoreOptions, StoreStats, matched, near_reason
from scrapy_neardup.stores.redis import store as shared
from scrapy_neardup.stores.redis.cluster.attempts import Attempts, scripts
from scrapy_neardup.stores.redis.cluster.nodecalls import ClusterCalls
from scrapy_neardup.stores.redis.cluster.rivals import Kept, Rivals
from scrapy_neardup.stores.redis.cluster.turns import Turn, Turns
from scrapy_neardup.stores.redis.cluster.values import Attempt, Claims, ClusterPage
from scrapy_neardup.stores.redis.connection import connect_cluster, explaining
from scrapy_neardup.stores.redis.keyspace import Layout
from scrapy_neardup.stores.redis.namespace import cluster_counts
from scrapy_neardup.stores.redis.store import SharedStore
from scrapy_neardup.urls import redact_store
from scrapy_neardup.verdict import Decide, Page, Reason, Verdict

ATTEMPT_LEASE = 2.0
"""Seconds after which a pending attempt may be ended by others; shorter is safe and slow."""

ATTEMPT_LIMIT = 60.0
"""Seconds after which a page's attempts give up; tombstones live ten times as long."""

_MAX_PAUSE = 0.05
"""Maximum seconds between two looks of one that waits."""


_SWEEP_PAUSE = 1.0
"""Seconds between two steps of a crawler's sweep."""
_SWEEP_FIELDS = 16
"""Buckets that a step looks at."""


class RedisClusterStore(SharedStore):
    """Fingerprints in a Redis Cluster; see `scrapy_neardup.stores.base.Store`.

    The URI, ``redis+cluster://`` or ``rediss+cluster://``, names some of the nodes,
    comma-separated. `_held` has the kept entries of this crawler that aren't confirmed, by page
    id.
    """

    _attempts: Attempts

    calls_class: type[ClusterCalls] = ClusterCalls

    def __init__(self, uri: str, options: StoreOptions, *, layout: Layout | None = None) -> None:
        super().__init__(uri, options, connect_cluster(uri), layout)
        self._held: dict[int, Attempt] = {}
        self._turns = Turns(self._are_near)
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
        `ATTEMPT_LEASE`, from then on after `shared.LEASE`.
        """
        lease, limit = ATTEMPT_LEASE, ATTEMPT_LIMIT
        arrived = ClusterPage.of(page, self._layout, decide, store_key=self.key)
        try:
            async with asyncio.timeout(limit), self._turns.of(arrived.key, arrived) as turn:
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

    # ---- claim, resolve, commit ---------------------------------------------------------

    def _are_near(self, page: ClusterPage, other: ClusterPage) -> bool:
        """Whether two pages that are under way may be duplicates."""
        if (page.key ^ other.key).bit_count() <= min(page.limit, other.limit):
            return True
        return len(page.features & other.features) >= self._options.matching.shared_features

    async def _repeat_equal(self, arrived: ClusterPage, turn: Turn) -> Verdict | None:
        """Count the page as a duplicate of the entry that an equal page found; claim nothing.

        None if it doesn't repeat that entry, or if the page has an entry of its own.
        """
        if (kept := turn.found) is None:
            return None
        entry, own = await asyncio.gather(
            self._attempts.look_at(kept, wound=False, body=True),
            self._attempts.attempt_of(arrived.page.id),
        )
        if own is not None:
            return None
        claims = Claims(granted=False, full=False, near={kept}, sharing={}, old=None)
        rivals = Rivals(arrived, Attempt.new(arrived.key), claims, self._options.matching)
        match = rivals.take({kept: entry}).match
        if match is None or not match.is_another:
            return None
        return await self._collapse(arrived, match)

    async def _try(self, arrived: ClusterPage, lease: float, turn: Turn) -> Verdict | None:
        """Claim, resolve, commit; None if the attempt was ended by another one."""
        page = arrived.page
        mine, start = Attempt.new(arrived.key), time.monotonic()
        try:
            claims = await self._attempts.claim(mine, arrived, lease)
            if time.monotonic() - start > ATTEMPT_LIMIT:
                # It was held up: the tombstone that had buried this attempt may be gone.
                raise TimeoutError  # noqa: TRY301
            rivals = Rivals(arrived, mine, claims, self._options.matching)
            match = await self._resolve(rivals) if claims.granted else None
        except BaseException:
            self._give_up(arrived, mine)
            raise
        if claims.full:
            return await self._overflow(arrived, mine)
        if claims.granted:
            if match is not None and match.is_another:
                turn.found = match.attempt if match.candidate.distance == 0 else None
                return await self._repeat(arrived, mine, match, claims.old)
            if match is not None:
                return await self._see(arrived, mine, match)
            # A cancellation leaves an entry that lapses, never a half-written pointer.
            reason = await asyncio.shield(self._keep(arrived, mine, claims, rivals))
            if reason is not None:
                self._held[page.id] = turn.found = mine
                return Verdict.on(page, reason)
        await self._attempts.settle(mine, "end")
        self._leave(arrived, mine)
        return None

    async def _resolve(self, rivals: Rivals) -> Kept | None:
        """Return the kept entry that the page repeats; None if no attempt is in its way.

        The attempt of the smaller key and page id goes first: it ends the pending attempts of
        the others, and the others wait for it.
        """
        # The more wait, the longer each pauses, so that the rate of looks stays the same.
        pause, longest = 0.001, _MAX_PAUSE * max(1, rivals.seen / 8)
        while others := rivals.left():
            looks = (
                self._attempts.look_at(
                    other, wound=other in rivals.wounded, body=rivals.needs_body(other)
                )
                for other in others
            )
            found = rivals.take(dict(zip(others, await asyncio.gather(*looks), strict=True)))
            if found.gone:
                self._background.soon(self._attempts.clear_seen(found.gone))
            if found.match is not None:
                return found.match
            if found.must_wait:
                await asyncio.sleep(pause * random.random())
                pause = min(2 * pause, longest)
        return None

    async def _repeat(
        self, arrived: ClusterPage, mine: Attempt, kept: Kept, old: Attempt | None
    ) -> Verdict | None:
        """Count the page as a duplicate of an entry; None if that is no longer kept."""
        page = arrived.page
        judged, _ = await asyncio.gather(
            self._collapse(arrived, kept), self._attempts.settle(mine, "end")
        )
        self._leave(arrived, mine)
        if judged is not None:
            self._held.pop(page.id, None)
            if old:
                await self._attempts.end(old, page.id)
        return judged

    async def _collapse(self, arrived: ClusterPage, kept: Kept) -> Verdict | None:
        collapsed = await self._attempts.collapse(kept.attempt)
        if collapsed is None:
            return None
        page, match = arrived.page, matched(kept.candidate, kept.decided, *collapsed)
        return Verdict.on(page, near_reason(page), match)

    async def _see(self, arrived: ClusterPage, mine: Attempt, own: Kept) -> Verdict:
        """Let the page's own entry stand."""
        page = arrived.page
        await self._attempts.settle(mine, "end")
        if self._options.retention:
            await self._attempts.settle(own.attempt, "touch", self._options.retention)
        self._leave(arrived, mine)
        match = matched(own.candidate, own.decided, url=page.url)
        return Verdict.on(page, Reason.SAME_PAGE, match)

    async def _overflow(self, arrived: ClusterPage, mine: Attempt) -> Verdict:
        """Keep the page without storing it, as its buckets are full."""
        await self._attempts.settle(mine, "overflow")
        self._leave(arrived, mine)
        return Verdict.on(arrived.page, Reason.OVERFLOW)

    async def _keep(
        self, arrived: ClusterPage, mine: Attempt, claims: Claims, rivals: Rivals
    ) -> Reason | None:
        """Make the attempt the entry of its page; None if others ended it before.

        Claims in lists that need not find it are released together with the commit.
        """
        page_id, crowded = arrived.page.id, rivals.is_crowded
        leave = [self._attempts.leave_features(mine, rivals.boilerplate)]
        if crowded:
            leave.append(self._attempts.leave_tables(mine))
        commit = asyncio.gather(self._attempts.commit(mine, shared.LEASE, beside=crowded), *leave)
        if claims.old is None:
            point = self._attempts.point(page_id, mine)
            (is_kept, *_), before = await asyncio.gather(commit, point)
            if not is_kept:
                await self._attempts.point_back(page_id, mine, before)
                return None
        else:
            is_kept, *_ = await commit
            if not is_kept:
                return None
            before = await self._attempts.point(page_id, mine)
        # Where a first call of `point` had succeeded without a reply, the second doesn't
        # return what was before.
        olds = {old for old in (before, claims.old) if old and old != mine}
        ended = [await self._attempts.end(old) for old in olds]
        return Reason.CHANGED if any(ended) else Reason.UNMATCHED

    def _leave(self, arrived: ClusterPage, mine: Attempt) -> None:
        """Release the claims of an attempt that has ended; the verdict doesn't wait for it."""
        self._background.soon(self._attempts.clear(mine, arrived.features))

    def _give_up(self, arrived: ClusterPage, mine: Attempt) -> None:
        """End an attempt whose page can't be judged now, or others would wait for its lease."""
        self._background.soon(self._attempts.settle(mine, "end"))
        self._leave(arrived, mine)

    # ---- in the background -----------------------------------------------------------------

    async def _renew(self) -> None:
        await self._attempts.renew(list(self._held.values()), shared.LEASE)

    async def _sweep(self) -> None:
        hash_, cursor = self._sweeping
        cursor = await self._attempts.sweep(hash_, cursor, _SWEEP_FIELDS)
        self._sweeping = (hash_ if cursor else (hash_ + 1) % 256), cursor
