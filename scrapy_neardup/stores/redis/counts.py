"""What a namespace counts of itself, on one Redis and in a cluster.

Rule of this room: counters are kept by the scripts; nothing here walks over pages.
"""

from __future__ import annotations

from redis.asyncio import Redis, RedisCluster

from scrapy_neardup.stores.base import StoreStats


async def counts(client: Redis, prefix: str) -> StoreStats:
    """Return the counts of a namespace on one Redis (``lua/pages.lua``)."""
    counters = await client.hgetall(f"{prefix}counters")
    pending = await client.zcard(f"{prefix}pending")
    collapsed = await client.hvals(f"{prefix}collapsed")
    return StoreStats(
        pages=int(counters.get(b"confirmed", 0)) + pending,
        pending=pending,
        dropped=sum(map(int, collapsed)),
        overflowed=int(counters.get(b"overflowed", 0)),
    )


async def cluster_counts(client: RedisCluster, prefix: str) -> StoreStats:
    """Return the counts of a namespace in a cluster; costs a pipeline a master."""
    async with client.pipeline() as pipeline:
        for first in range(256):
            pipeline.hmget(f"{{{prefix}t1:{first:02x}}}", "P", "L", "D", "O")
        rows = await pipeline.execute()
    pages, pending, dropped, overflowed = (
        sum(int(value or 0) for value in column) for column in zip(*rows, strict=True)
    )
    return StoreStats(pages=pages, pending=pending, dropped=dropped, overflowed=overflowed)
