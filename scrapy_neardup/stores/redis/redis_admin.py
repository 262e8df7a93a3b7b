"""The namespaces of a Redis or a cluster: their names, their size, and their removal.

The store isn't opened, so its parameters need not be known. Keys are found by SCAN; no call blocks
the server for long.
"""

from __future__ import annotations

import heapq
import re
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from operator import attrgetter
from typing import Any
from urllib.parse import unquote

from redis.asyncio import RedisCluster

from scrapy_neardup.judge.parameters import Matching
from scrapy_neardup.stores.admin import BusyBucket, NamespaceReport
from scrapy_neardup.stores.keys import FIELDS
from scrapy_neardup.stores.redis.connection import connect, disconnect, explaining
from scrapy_neardup.stores.redis.keyspace import FEATURE, homes, key_of, prefix
from scrapy_neardup.stores.redis.namespace import DIGEST, counts

_BATCH = 500
"""Keys in one pipeline."""
_MEASURED = 20_000
"""Number of keys up to which each is measured, and of so many more every second, third, …."""
_SAMPLES = 20
"""Fields of a hash that MEMORY USAGE looks at."""
_SHOWN = 5
"""Maximum number of busy buckets that are named."""
_IDENTITY = 110
"""Bytes of a page's id, stamp, partition and fingerprint, and what a server takes for a key."""
_KEY = re.compile(
    rb"\{?nd:[^:]*:(?:[0-9a-f]{2}\}:)?(?:(?P<page>page:.{8})|(?P<feature>f.{4}|f:[0-9a-f]{8}\})"
    rb"|t(?P<table>[1-9a])(?:(?P<raw>.{3})|:(?P<hex>[0-9a-f]{6})\})|notices:(?P<topic>[^}]*)\}?)",
    re.DOTALL,
)
"""A key of a page, of what leads to pages, or of notices: in a home, or with a slot of its own."""


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
        """Count and measure a namespace; None if there is none. Reads its tables."""
        name = key_of(prefix(namespace), "schema", clustered=self._clustered)
        recorded = await self._client.hgetall(name)
        if not recorded:
            return None
        parameters = {name.decode(): value.decode() for name, value in recorded.items()}
        for hidden in (DIGEST, FIELDS[1]):
            parameters.pop(hidden, None)
        names = ("features", "text_bits", "named_bits")
        sizes: dict[str, Any] = {each: int(parameters.get(each, 0)) for each in names}
        matching = Matching(**sizes)
        memory = Counter(dict.fromkeys(("tables", "identity", "features", "sketches", "rest"), 0))
        busiest: list[BusyBucket] = []
        seen = 0
        async for keys in self._batches(namespace):
            measured = keys[:: 1 + seen // _MEASURED]
            found = {key: _KEY.fullmatch(key) for key in keys}
            tables = [match for match in found.values() if match and match["table"]]
            async with self._client.pipeline(transaction=False) as pipeline:
                for key in measured:
                    pipeline.memory_usage(key, samples=_SAMPLES)
                for match in tables:
                    pipeline.strlen(match[0])
                replies = await pipeline.execute()
            for key, size in zip(measured, replies, strict=False):
                bytes_of_such = (size or 0) * (1 + seen // _MEASURED)
                memory.update(_shares(found[key], bytes_of_such, matching))
            busiest += map(_busy, tables, replies[len(measured) :])
            busiest = heapq.nlargest(_SHOWN, busiest, key=attrgetter("entries"))
            seen += len(keys)
        stats = await counts(self._client, homes(prefix(namespace), clustered=self._clustered))
        stats = replace(stats, memory_bytes=memory.total())
        return NamespaceReport(
            stats=stats, parameters=parameters, memory=dict(memory), busiest=busiest
        )

    async def notices(self, namespace: str) -> list[tuple[str, bytes]]:
        """Return the topic and the value of each notice of a namespace; costs a SCAN."""
        found = []
        async for keys in self._batches(namespace):
            for match in filter(None, map(_KEY.fullmatch, keys)):
                if match["topic"] is not None:
                    topic = unquote(match["topic"].decode(), errors="surrogatepass")
                    found += [(topic, value) for value in await self._client.hvals(match[0])]
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


def _busy(table: re.Match[bytes], size: int) -> BusyBucket:
    """Return the bucket of so many bytes: of keys, each with a page id or an attempt's name."""
    leading = table["raw"].hex() if table["raw"] else table["hex"].decode()
    entries = size // (16 if table["raw"] else 20)
    return BusyBucket(table=int(table["table"], 16), prefix=leading, entries=entries)


def _shares(found: re.Match[bytes] | None, size: int, matching: Matching) -> dict[str, int]:
    """Divide the bytes of a key among the kinds; the shares add up to `size`."""
    if found is None or not found["page"]:
        kind = "tables" if found and found["table"] else "rest"
        return {"features" if found and found["feature"] else kind: size}
    shares: dict[str, int] = {}
    for kind, most in (
        ("features", FEATURE * matching.features),
        ("sketches", matching.evidence_size),
        ("identity", _IDENTITY),
        ("rest", size),
    ):
        shares[kind] = min(most, size - sum(shares.values()))
    return shares


@asynccontextmanager
async def redis_admin(uri: str) -> AsyncIterator[RedisAdmin]:
    """Yield the view of the Redis, or the cluster, at `uri`; for errors see `explained`."""
    client = connect(uri)
    try:
        with explaining(uri):
            yield RedisAdmin(client)
    finally:
        await disconnect(client)
