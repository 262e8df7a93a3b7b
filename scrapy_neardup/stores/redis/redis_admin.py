"""The namespaces of a Redis or a cluster: their names, their size, and their removal.

The store isn't opened, so its parameters need not be known. Keys are found by SCAN; no call blocks
the server for long.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import Any
from urllib.parse import unquote

from redis.asyncio import RedisCluster

from scrapy_neardup.stores.admin import NamespaceReport
from scrapy_neardup.stores.entryformat import FIELDS
from scrapy_neardup.stores.redis.connection import connect, disconnect, explaining
from scrapy_neardup.stores.redis.keyspace import homes, key_of, prefix
from scrapy_neardup.stores.redis.namespace import DIGEST, POSTED, counting, counts

_BATCH = 500
"""Keys in one pipeline."""
_MEASURED = 20_000
"""Number of keys of which each is measured; of the next as many every second, then every third."""
_SAMPLES = 20
"""Entries of a hash or sorted set that MEMORY USAGE looks at."""
KEY = re.compile(
    rb"\{?nd:[^:]*:(?:[0-9a-f]{2}\}:)?"
    rb"(?:(?P<pages>p:)|(?P<tables>t[1-9a:])|(?P<features>f)|(?P<rest>))"
)
"""The start of a key, in a home or with its own slot, and what the key is for."""


class RedisAdmin:
    """A view of all namespaces at one URI; see `redis_admin`."""

    def __init__(self, client: Any) -> None:
        self._client = client
        self._clustered = isinstance(client, RedisCluster)

    async def namespaces(self) -> list[str]:
        """Return the namespaces, sorted; costs a SCAN of all keys."""
        found = set()
        async for key in self._client.scan_iter(match="*nd:*:schema*", count=1000):
            if match := re.fullmatch(rb"\{?nd:([^:]*):schema\}?", key):
                found.add(unquote(match[1].decode(), errors="surrogatepass"))
        return sorted(found)

    async def report(self, namespace: str) -> NamespaceReport | None:
        """Count and measure a namespace; None if there is none. Costs a SCAN of all keys."""
        recorded = await self._client.hgetall(self._named(namespace, "schema"))
        if not recorded:
            return None
        parameters = {name.decode(): value.decode() for name, value in recorded.items()}
        for hidden in (DIGEST, FIELDS[1]):
            parameters.pop(hidden, None)
        memory = Counter(dict.fromkeys(KEY.groupindex, 0))
        seen = 0
        async for keys in self._batches(namespace):
            step = 1 + seen // _MEASURED
            seen += len(keys)
            async with self._client.pipeline(transaction=False) as pipeline:
                for key in keys[::step]:
                    pipeline.memory_usage(key, samples=_SAMPLES)
                sizes = await pipeline.execute()
            for key, size in zip(keys[::step], sizes, strict=True):
                if match := KEY.match(key):
                    memory[str(match.lastgroup)] += step * (size or 0)
        async with self._client.pipeline(transaction=False) as pipeline:
            for words in counting(homes(prefix(namespace), clustered=self._clustered)):
                pipeline.execute_command(*words)
            stats = replace(counts(await pipeline.execute()), memory_bytes=memory.total())
        return NamespaceReport(stats=stats, parameters=parameters, memory=dict(memory))

    async def notices(self, namespace: str) -> list[tuple[str, bytes]]:
        """Return the topic and the value of each notice of a namespace."""
        found = []
        for name in await self._client.zrange(self._named(namespace, "notices"), 0, -1):
            topic = name.rstrip(b"}").rpartition(b":")[2].decode()
            values = await self._client.hvals(name)
            found += [(unquote(topic, errors="surrogatepass"), value[POSTED:]) for value in values]
        return found

    async def clear(self, namespace: str) -> None:
        """Remove a namespace. No crawl may be using it."""
        async for keys in self._batches(namespace):
            async with self._client.pipeline(transaction=False) as pipeline:
                for key in keys:  # of a cluster, in any slot
                    pipeline.execute_command("UNLINK", key)
                await pipeline.execute()

    async def _batches(self, namespace: str) -> AsyncIterator[list[bytes]]:
        """Yield the keys of a namespace, some hundred at a time."""
        # A prefix has no character with a meaning in patterns.
        pattern = f"{{{prefix(namespace)}*" if self._clustered else f"{prefix(namespace)}*"
        batch = []
        async for key in self._client.scan_iter(match=pattern, count=1000):
            batch.append(key)
            if len(batch) == _BATCH:
                yield batch
                batch = []
        if batch:
            yield batch

    def _named(self, namespace: str, name: str) -> str:
        return key_of(prefix(namespace), name, clustered=self._clustered)


@asynccontextmanager
async def redis_admin(uri: str) -> AsyncIterator[RedisAdmin]:
    """Yield the view of the Redis, or the cluster, at `uri`; for errors see `explained`."""
    client = connect(uri)
    try:
        with explaining(uri):
            yield RedisAdmin(client)
    finally:
        await disconnect(client)
