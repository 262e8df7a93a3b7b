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
from dataclasses import replace

from scrapy_neardup.errors import StoreError, StoreMismatchError, StoreUnavailableError
from scrapy_neardup.stores.base import Store, StoreOptions, StoreStats
from scrapy_neardup.stores.redis.attempts import Attempts, scripts
from scrapy_neardup.stores.redis.background import Background
from scrapy_neardup.stores.redis.client import connect_cluster
from scrapy_neardup.stores.redis.cluster_calls import ClusterCalls
from scrapy_neardup.stores.redis.cluster_values import Arrival, Attempt, Claims
from scrapy_neardup.stores.redis.counts import cluster_counts
from scrapy_neardup.stores.redis.errors import explaining
from scrapy_neardup.stores.redis.layout import MOST_CONTRADICTED, Layout, prefix
from scrapy_neardup.stores.redis.notices import exchange, topic_key
from scrapy_neardup.stores.redis.rivals import Kept, Rivals
from scrapy_neardup.stores.redis.schema import agree
from scrapy_neardup.stores.redis.turns import Turn, Turns
from scrapy_neardup.stores.redis.values import matched, near_reason, verdict
from scrapy_neardup.urls import redact_store
from scrapy_neardup.verdict import Match, Page, Reason, Verdict

LEASE = 60.0
"""Seconds that a kept, not yet confirmed entry outlives its crawler."""

ATTEMPT_LEASE = 2.0
"""Seconds after which a pending attempt may be ended by others; shorter is safe and slow."""

ATTEMPT_LIMIT = 60.0
"""Seconds after which a page's attempts give up; tombstones live ten times as long."""

_LONGEST_PAUSE = 0.05  # seconds between two looks of one that waits
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
        self._turns: Turns[Attempt] = Turns()
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
            await self._calls.close()
        await self._client.aclose()

    async def _agree(self) -> tuple[Layout, str]:
        return await agree(
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
        `ATTEMPT_LEASE`, from then on after `LEASE`.
        """
        lease = ATTEMPT_LEASE
        arrived = Arrival.of(page, self._layout)
        try:
            async with asyncio.timeout(ATTEMPT_LIMIT), self._turns.of(arrived.key) as turn:
                judged = await self._repeat_equal(arrived, turn)
                while judged is None:
                    judged = await self._try(arrived, lease, turn)
                    lease = min(2 * lease, ATTEMPT_LIMIT)
                return judged
        except TimeoutError as error:
            where = redact_store(self._uri)
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

    # ---- the protocol ----------------------------------------------------------------------

    async def _repeat_equal(self, arrived: Arrival, turn: Turn[Attempt]) -> Verdict | None:
        """Count the page on the entry that another of the same key found kept; claim nothing.

        None if that isn't to be repeated, or if the page has an entry of its own.
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
        return await self._collapse(arrived, match, rivals.witness)

    async def _try(self, arrived: Arrival, lease: float, turn: Turn[Attempt]) -> Verdict | None:
        """Claim, resolve, commit; None if the attempt was ended by another one."""
        page = arrived.page
        mine, start = Attempt.new(arrived.key), time.monotonic()
        try:
            claims = await self._attempts.claim(mine, arrived, lease)
            if time.monotonic() - start > ATTEMPT_LIMIT:
                # Held up: a tombstone may be gone that had buried this attempt.
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
                turn.found = match.attempt if match.distance == 0 else None
                return await self._repeat(arrived, mine, match, claims.old, rivals.witness)
            if match is not None:
                return await self._see(arrived, mine, match)
            if rivals.contradicted >= MOST_CONTRADICTED:
                return await self._overflow(arrived, mine)
            # Whoever cancels this leaves an entry that lapses, never a pointer half set.
            reason = await asyncio.shield(self._keep(arrived, mine, claims, rivals))
            if reason is not None:
                self._held[page.id] = turn.found = mine
                return verdict(page, reason, witness=rivals.witness)
        await self._attempts.settle(mine, "end")
        self._leave(arrived, mine)
        return None

    async def _resolve(self, rivals: Rivals) -> Kept | None:
        """Return the kept entry that the page repeats; None if no attempt is in its way.

        Whoever is smaller, by key and page id, goes first: it ends the pending attempts of
        the others, and the others wait for it.
        """
        # However many wait, together they ask as often.
        pause, longest = 0.001, _LONGEST_PAUSE * max(1, rivals.met / 8)
        while others := rivals.left():
            looks = (
                self._attempts.look_at(
                    other, wound=other in rivals.wounded, body=rivals.needs_body(other)
                )
                for other in others
            )
            found = rivals.take(dict(zip(others, await asyncio.gather(*looks), strict=True)))
            if found.gone:
                self._background.soon(self._attempts.clear_met(found.gone))
            if found.match is not None:
                return found.match
            if found.must_wait:
                await asyncio.sleep(pause * random.random())
                pause = min(2 * pause, longest)
        return None

    async def _repeat(
        self,
        arrived: Arrival,
        mine: Attempt,
        kept: Kept,
        old: Attempt | None,
        witness: bytes,
    ) -> Verdict | None:
        """Count the page on the entry that it repeats; None if that is kept no more."""
        page = arrived.page
        judged, _ = await asyncio.gather(
            self._collapse(arrived, kept, witness), self._attempts.settle(mine, "end")
        )
        self._leave(arrived, mine)
        if judged is not None:
            self._held.pop(page.id, None)
            if old:
                await self._attempts.end(old, page.id)
        return judged

    async def _collapse(self, arrived: Arrival, kept: Kept, witness: bytes) -> Verdict | None:
        collapsed = await self._attempts.collapse(kept.attempt)
        if collapsed is None:
            return None
        count, url = collapsed
        likeness, page = kept.resemblance(self._options.matching.bits), arrived.page
        match = matched(kept.page_id, kept.distance, url, count=count, resemblance=likeness)
        return verdict(page, near_reason(page), match, kept.decided.rule, witness)

    async def _see(self, arrived: Arrival, mine: Attempt, own: Kept) -> Verdict:
        """Let the page's own entry stand."""
        page = arrived.page
        await self._attempts.settle(mine, "end")
        if self._options.retention:
            await self._attempts.settle(own.attempt, "touch", self._options.retention)
        self._leave(arrived, mine)
        likeness = own.resemblance(self._options.matching.bits)
        match = Match(page_id=page.id, distance=own.distance, url=page.url, resemblance=likeness)
        return verdict(page, Reason.SAME_PAGE, match, own.decided.rule)

    async def _overflow(self, arrived: Arrival, mine: Attempt) -> Verdict:
        """Let the page pass; there is no room for it."""
        await self._attempts.settle(mine, "overflow")
        self._leave(arrived, mine)
        return verdict(arrived.page, Reason.OVERFLOW)

    async def _keep(
        self, arrived: Arrival, mine: Attempt, claims: Claims, rivals: Rivals
    ) -> Reason | None:
        """Make the attempt the entry of its page; None if others ended it before.

        Lists that need not lead to it are left together with the commit.
        """
        page_id, crowded = arrived.page.id, rivals.is_crowded
        leave = [self._attempts.leave_features(mine, rivals.furniture)]
        if crowded:
            leave.append(self._attempts.leave_tables(mine))
        commit = asyncio.gather(self._attempts.commit(mine, LEASE, beside=crowded), *leave)
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

    def _leave(self, arrived: Arrival, mine: Attempt) -> None:
        """Take the claims of an attempt that has ended away; the verdict doesn't wait."""
        self._background.soon(self._attempts.clear(mine, arrived.features))

    def _give_up(self, arrived: Arrival, mine: Attempt) -> None:
        """End an attempt whose page can't be judged now; others would wait for its lease."""
        self._background.soon(self._attempts.settle(mine, "end"))
        self._leave(arrived, mine)

    # ---- in the background -----------------------------------------------------------------

    async def _renew(self) -> None:
        await self._attempts.renew(list(self._held.values()), LEASE)

    async def _sweep(self) -> None:
        hash_, cursor = self._sweeping
        cursor = await self._attempts.sweep(hash_, cursor, _SWEEP_FIELDS)
        self._sweeping = (hash_ if cursor else (hash_ + 1) % 256), cursor
