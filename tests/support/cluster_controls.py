"""Protocols that are simpler than that of the cluster store, and wrong: the judge sees it."""

from __future__ import annotations

from scrapy_neardup.stores.redis_cluster import RedisClusterStore
from scrapy_neardup.stores.redis_cluster_values import Attempt
from scrapy_neardup.stores.redis_rivals import Kept, Rivals
from scrapy_neardup.stores.redis_values import matched, verdict
from scrapy_neardup.verdict import Reason


class ProbeThenAdd(RedisClusterStore):
    """A control: look first, claim afterwards. Two that arrive together are both kept."""

    async def _try(self, arrived, lease):
        probe = Attempt.new(arrived.key)
        claims = await self._attempts.claim(probe, arrived, lease)
        await self._attempts.end(probe)
        if kept := (await look(self, arrived, probe, claims)).match:
            return found(arrived, kept)
        mine = Attempt.new(arrived.key)
        await self._attempts.claim(mine, arrived, lease)
        return await keep(self, arrived, mine)


class DropIfAnythingWasSeen(RedisClusterStore):
    """A control: claim, and drop if anybody else has claimed. Two may both be dropped."""

    async def _try(self, arrived, lease):
        mine = Attempt.new(arrived.key)
        claims = await self._attempts.claim(mine, arrived, lease)
        if not claims.granted:
            return None
        others = await entries(self, claims)
        for other, entry in others.items():
            if entry.state != b"gone" and int.from_bytes(entry.page_id, "big") != arrived.page.id:
                await self._attempts.end(mine)
                distance = (other.key ^ mine.key).bit_count()
                return found(arrived, Kept(True, distance, entry.page_id, other, None))
        return await keep(self, arrived, mine)


class NeverWound(RedisClusterStore):
    """A control: whoever meets a pending page lets it be, as if its sketch had said no."""

    async def _try(self, arrived, lease):
        mine = Attempt.new(arrived.key)
        claims = await self._attempts.claim(mine, arrived, lease)
        if not claims.granted:
            return None
        if kept := (await look(self, arrived, mine, claims)).match:
            await self._attempts.end(mine)
            return found(arrived, kept)
        return await keep(self, arrived, mine)


async def entries(store, claims):
    near = claims.near.union(*claims.sharing.values())
    return {other: await store._attempts.look_at(other, wound=False, body=True) for other in near}


async def look(store, arrived, mine, claims):
    rivals = Rivals(arrived, mine, claims, store._options.matching)
    return rivals.take(await entries(store, claims))


def found(arrived, kept):
    match = matched(kept.page_id, kept.distance, b"", count=0)
    return verdict(arrived.page, Reason.NEAR, match)


async def keep(store, arrived, mine):
    await store._attempts.commit(mine, 60)
    store._held[arrived.page.id] = mine
    return verdict(arrived.page, Reason.UNMATCHED)
