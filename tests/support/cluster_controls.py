"""Protocols that are simpler than that of the cluster store, and wrong: the judge sees it."""

from scrapy_neardup.stores.base import matched
from scrapy_neardup.stores.redis.cluster.clusterstore import RedisClusterStore
from scrapy_neardup.stores.redis.cluster.rivals import Kept, Rivals
from scrapy_neardup.stores.redis.cluster.values import Attempt
from scrapy_neardup.verdict import Candidate, Decided, Reason, Verdict


class Control(RedisClusterStore):
    """Claim, look once, drop or keep."""

    async def _try(self, arrived, lease, turn):
        mine = Attempt.new(arrived.key)
        claims = await self._attempts.claim(mine, arrived, lease)
        if not claims.granted:
            return None
        kept = await self._in_the_way(arrived, mine, claims)
        if kept is None:
            return await self._keep_it(arrived, mine)
        await self._attempts.end(mine)
        return self._repeats(arrived, kept)

    async def _in_the_way(self, arrived, mine, claims):
        """Return what the page is dropped for, or None."""
        rivals = Rivals(arrived, mine, claims, self._options.matching)
        return rivals.take(await self._entries(claims)).match

    async def _entries(self, claims):
        near = claims.near.union(*claims.sharing.values())
        return {
            other: await self._attempts.look_at(other, wound=False, body=True) for other in near
        }

    def _repeats(self, arrived, kept):
        return Verdict.on(arrived.page, Reason.NEAR, matched(kept.candidate, kept.decided))

    async def _keep_it(self, arrived, mine):
        await self._attempts.commit(mine, 60)
        self._held[arrived.page.id] = mine
        return Verdict.on(arrived.page, Reason.UNMATCHED)


class ProbeThenAdd(Control):
    """Look first, claim afterwards. Two that arrive together are both kept."""

    async def _try(self, arrived, lease, turn):
        probe = Attempt.new(arrived.key)
        claims = await self._attempts.claim(probe, arrived, lease)
        await self._attempts.end(probe)
        if kept := await self._in_the_way(arrived, probe, claims):
            return self._repeats(arrived, kept)
        mine = Attempt.new(arrived.key)
        await self._attempts.claim(mine, arrived, lease)
        return await self._keep_it(arrived, mine)


class DropIfAnythingWasSeen(Control):
    """Drop if anybody else has claimed. Two may both be dropped."""

    async def _in_the_way(self, arrived, mine, claims):
        for other, entry in (await self._entries(claims)).items():
            if entry.state != b"gone" and int.from_bytes(entry.page_id, "big") != arrived.page.id:
                candidate = Candidate(int.from_bytes(entry.page_id, "big"), 0)
                return Kept(other, candidate, Decided(is_same=True, rule=""), is_another=True)
        return None


class NeverWound(Control):
    """Whoever meets a pending page lets it be, as if its sketch had said no."""
