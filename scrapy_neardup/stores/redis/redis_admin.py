"""The namespaces of a Redis or a cluster: their names, their size, and their removal.

The store isn't opened, so its parameters need not be known. Keys are found by SCAN; no call blocks
the server for long.
"""

from __future__ import annotations

import heapq
import re
from collections import Counter
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import Any
from urllib.parse import unquote

from redis.asyncio import Redis

from scrapy_neardup.decision.matching import Matching
from scrapy_neardup.stores.admin import BusyBucket, NamespaceReport
from scrapy_neardup.stores.keys import FIELDS
from scrapy_neardup.stores.redis.codec import TAG_BYTES
from scrapy_neardup.stores.redis.connection import connect, connect_cluster, disconnect, explaining
from scrapy_neardup.stores.redis.keyspace import prefix
from scrapy_neardup.stores.redis.namespace import DIGEST, URLS, cluster_counts, counts
from scrapy_neardup.stores.redis.scripts import WEIGH_SCRIPT

_BATCH = 500
"""Keys in one pipeline."""
_SAMPLES = 20
"""Fields of a hash that MEMORY USAGE looks at."""
_FIELDS = 200
"""Fields that a script reads in one call: a megabyte of buckets at most."""
_SHOWN = 5
"""Maximum number of busy buckets that are named."""
_KINDS = {
    "page": "identity",
    "f": "features",
    **dict.fromkeys(("body", "bodies", "free"), "sketches"),
}
"""Tree of keys -> its purpose, for trees other than tables."""


class RedisAdmin:
    """A view of all namespaces at one URI; see `redis_admin`."""

    def __init__(self, client: Any, *, clustered: bool) -> None:
        self._client = client
        self._clustered = clustered

    async def namespaces(self) -> list[str]:
        """Return the namespaces, sorted; costs a SCAN of all keys."""
        found = set()
        async for key in self._client.scan_iter(match="*nd:*:schema*", count=1000):
            if match := re.fullmatch(rb"\{?nd:([^:]*):schema\}?", key):
                found.add(unquote(match[1].decode(), errors="surrogatepass"))
        return sorted(found)

    async def report(self, namespace: str) -> NamespaceReport | None:
        """Count and measure a namespace; None if there is none. Reads its tables."""
        recorded = await self._client.hgetall(self._key(namespace, "schema"))
        if not recorded:
            return None
        for field in (DIGEST, URLS, FIELDS[1]):
            recorded.pop(field.encode(), None)
        parameters = {name.decode(): value.decode() for name, value in recorded.items()}
        memory = Counter(dict.fromkeys(("tables", "identity", "features", "sketches", "rest"), 0))
        busiest = []
        async for keys in self._batches(namespace):
            async with self._client.pipeline(transaction=False) as pipeline:
                for key in keys:
                    pipeline.memory_usage(key, samples=_SAMPLES)
                sizes = await pipeline.execute()
            for key, size in zip(keys, sizes, strict=True):
                tree = key.decode().strip("{}").split(":")[2]
                table = int(tree[1:]) if re.fullmatch(r"t\d+", tree) else 0
                if table:
                    weights, buckets = await self._weigh(key, table, parameters)
                    memory.update(_shares(size or 0, weights))
                    busiest += buckets
                else:
                    memory[_KINDS.get(tree, "rest")] += size or 0
        count: Any = cluster_counts if self._clustered else counts
        stats = await count(self._client, prefix(namespace))
        return NamespaceReport(
            stats=replace(stats, memory_bytes=sum(memory.values())),
            parameters=parameters,
            memory=dict(memory),
            busiest=sorted(busiest, key=lambda bucket: -bucket.entries)[:_SHOWN],
        )

    async def pages(self, namespace: str) -> None:
        """Return None: entries stand in buckets, without their URLs."""

    async def notices(self, namespace: str) -> list[tuple[str, bytes]]:
        """Return the topic and the value of each notice of a namespace; costs a SCAN."""
        found = []
        async for keys in self._batches(namespace):
            for key in keys:
                _, is_notice, topic = key.decode().strip("{}").partition(":notices:")
                if is_notice:
                    name = unquote(topic, errors="surrogatepass")
                    found += [(name, value) for value in await self._client.hvals(key)]
        return found

    async def clear(self, namespace: str) -> None:
        """Remove a namespace. No crawl may be using it."""
        async for keys in self._batches(namespace):
            async with self._client.pipeline(transaction=False) as pipeline:
                for key in keys:  # of a cluster, each is in a slot of its own
                    pipeline.execute_command("UNLINK", key)
                await pipeline.execute()

    def _key(self, namespace: str, name: str) -> str:
        key = f"{prefix(namespace)}{name}"
        return f"{{{key}}}" if self._clustered else key

    async def _batches(self, namespace: str) -> AsyncIterator[list[bytes]]:
        """Yield the keys of a namespace, some hundred at a time."""
        # A prefix holds nothing that means something in a pattern.
        pattern = f"{{{prefix(namespace)}*" if self._clustered else f"{prefix(namespace)}*"
        batch = []
        async for key in self._client.scan_iter(match=pattern, count=1000):
            batch.append(key)
            if len(batch) == _BATCH:
                yield batch
                batch = []
        if batch:
            yield batch

    def _width(self, table: int) -> int:
        """Return the bytes of an entry of a table."""
        if self._clustered:
            return 25 + TAG_BYTES if table == 1 else 10
        return 14 if table == 1 else 6

    async def _weigh(
        self, key: bytes, table: int, parameters: Mapping[str, str]
    ) -> tuple[dict[str, int], list[BusyBucket]]:
        """Return the bytes of a table's hash by purpose, and its longest buckets."""
        weights = dict.fromkeys(("tables", "sketches", "rest"), 0)
        lengths: dict[bytes, int] = {}
        matching = Matching(
            features=int(parameters.get("features", 0)),
            text_bits=int(parameters.get("text_bits", 0)),
            named_bits=int(parameters.get("named_bits", 0)),
        )
        sizes = 8 * matching.features, matching.evidence_size
        cursor = b"0"
        while True:
            reply = await self._client.eval(WEIGH_SCRIPT, 1, key, cursor, _FIELDS, _SHOWN, *sizes)
            cursor, entries, bodies, rest, *buckets = reply
            weights["tables"] += entries
            weights["sketches"] += bodies
            weights["rest"] += rest
            lengths.update(zip(buckets[1::2], buckets[::2], strict=True))
            if cursor == b"0":
                break
        width = self._width(table)
        first = key.decode().strip("{}").rpartition(":")[2]
        return weights, [
            BusyBucket(table=table, prefix=first + name[1:].hex(), entries=lengths[name] // width)
            for name in heapq.nlargest(_SHOWN, lengths, key=lengths.__getitem__)
        ]


def _shares(size: int, weights: Mapping[str, int]) -> dict[str, int]:
    """Divide `size` bytes of memory among the kinds; the shares add up to `size`."""
    whole = max(sum(weights.values()), 1)
    shares = {kind: size * weight // whole for kind, weight in weights.items()}
    shares["tables"] += size - sum(shares.values())
    return shares


@asynccontextmanager
async def redis_admin(uri: str) -> AsyncIterator[RedisAdmin]:
    """Yield the view of the Redis, or the cluster, at `uri`; for errors see `explained`."""
    clustered = uri.partition(":")[0].lower().endswith("+cluster")
    client: Any = connect_cluster(uri) if clustered else connect(uri, Redis)
    try:
        with explaining(uri):
            yield RedisAdmin(client, clustered=clustered)
    finally:
        await disconnect(client)
