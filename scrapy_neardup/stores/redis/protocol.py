"""Claim, resolve, commit: how a page is judged where no script sees all of it.

Rule of this room: the steps of ``docs/cluster.md``, in its words. `attempts.py` makes the calls,
`rivals.py` decides what follows from them.
"""

from __future__ import annotations

import asyncio
import random
import time

from scrapy_neardup.stores.redis import shared
from scrapy_neardup.stores.redis.attempts import Attempts
from scrapy_neardup.stores.redis.clustervalues import Attempt, Claims, ClusterPage
from scrapy_neardup.stores.redis.rivals import Kept, Rivals
from scrapy_neardup.stores.redis.shared import SharedStore
from scrapy_neardup.stores.redis.turns import Turn
from scrapy_neardup.stores.redis.values import matched, near_reason
from scrapy_neardup.verdict import Reason, Verdict

ATTEMPT_LEASE = 2.0
"""Seconds after which a pending attempt may be ended by others; shorter is safe and slow."""

ATTEMPT_LIMIT = 60.0
"""Seconds after which a page's attempts give up; tombstones live ten times as long."""

_MAX_PAUSE = 0.05
"""Maximum seconds between two looks of one that waits."""


class ClusterProtocol(SharedStore):
    """The part of `RedisClusterStore` that judges pages.

    Attributes
    ----------
    _held
        The kept entries of this crawler that aren't confirmed, by page id.
    """

    _attempts: Attempts
    _held: dict[int, Attempt]

    def _are_near(self, page: ClusterPage, other: ClusterPage) -> bool:
        """Whether two pages that are under way may be duplicates."""
        if (page.key ^ other.key).bit_count() <= min(page.limit, other.limit):
            return True
        return len(page.features & other.features) >= self._options.matching.shared_features

    async def _repeat_equal(
        self, arrived: ClusterPage, turn: Turn[ClusterPage, Attempt]
    ) -> Verdict | None:
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

    async def _try(
        self, arrived: ClusterPage, lease: float, turn: Turn[ClusterPage, Attempt]
    ) -> Verdict | None:
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
            # Whoever cancels this leaves an entry that lapses, never a pointer half set.
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
        pause, longest = 0.001, _MAX_PAUSE * max(1, rivals.met / 8)
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
        """Let the page pass; there is no room for it."""
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
        leave = [self._attempts.leave_features(mine, rivals.furniture)]
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
