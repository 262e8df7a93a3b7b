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
_KEY = re.compile(rb"\{?nd:[^:]*:(?:(?P<home>[0-9a-f]{2})\}:)?(?P<name>.*)", re.DOTALL)
"""A key: in a cluster those of a page's home have that in the hash tag, all others all but it."""


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
        recorded = await self._client.hgetall(
            key_of(prefix(namespace), "schema", clustered=self._clustered)
        )
        if not recorded:
            return None
        for field in (DIGEST, FIELDS[1]):
            recorded.pop(field.encode(), None)
        parameters = {name.decode(): value.decode() for name, value in recorded.items()}
        memory = Counter(dict.fromkeys(("tables", "identity", "features", "sketches", "rest"), 0))
        lengths: dict[bytes, int] = {}
        seen = 0
        async for keys in self._batches(namespace):
            stride = 1 + seen // _MEASURED
            seen += len(keys)
            measured = keys[::stride]
            names = {key: _name(key) for key in keys}
            tables = [key for key in keys if _TABLE.fullmatch(names[key])]
            async with self._client.pipeline(transaction=False) as pipeline:
                for key in measured:
                    pipeline.memory_usage(key, samples=_SAMPLES)
                for key in tables:
                    pipeline.strlen(key)
                found = await pipeline.execute()
            for key, size in zip(measured, found, strict=False):
                for kind, share in _shares(names[key], (size or 0) * stride, parameters).items():
                    memory[kind] += share
            for key, size in zip(tables, found[len(measured) :], strict=True):
                # An entry is a key and a page id, where each bucket has a slot its stamp, too.
                lengths[names[key]] = size // (20 if names[key][2:3] == b":" else 16)
            lengths = {
                each: lengths[each]
                for each in heapq.nlargest(_SHOWN, lengths, lengths.__getitem__)
            }
        stats = await counts(self._client, homes(prefix(namespace), clustered=self._clustered))
        busiest = [
            BusyBucket(table=int(name[1:2], 36), prefix=_prefix(name), entries=entries)
            for name, entries in lengths.items()
        ]
        return NamespaceReport(
            stats=replace(stats, memory_bytes=sum(memory.values())),
            parameters=parameters,
            memory=dict(memory),
            busiest=busiest,
        )

    async def notices(self, namespace: str) -> list[tuple[str, bytes]]:
        """Return the topic and the value of each notice of a namespace; costs a SCAN."""
        found = []
        async for keys in self._batches(namespace):
            for key in keys:
                if _name(key).startswith(_NOTICES):
                    topic = _name(key).removeprefix(_NOTICES).decode()
                    name = unquote(topic, errors="surrogatepass")
                    found += [(name, value) for value in await self._client.hvals(key)]
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


_NOTICES = b"notices:"
_IDENTITY = 110
"""Bytes of a page's id, stamp, partition and fingerprint, and what a server takes for a key."""
_TABLE = re.compile(rb"t[0-9a-f](?::[0-9a-f]{6}|.{3})", re.DOTALL)


def _name(key: bytes) -> bytes:
    """Return what is behind the prefix of the namespace, or of a home."""
    found = _KEY.fullmatch(key)
    name: bytes = found["name"] if found else b""
    return name if found is None or found["home"] else name.removesuffix(b"}")


def _prefix(table: bytes) -> str:
    """Return the name of a table's bucket, in hexadecimal digits."""
    return table[3:].decode() if table[2:3] == b":" and len(table) == 9 else table[2:].hex()


def _shares(name: bytes, size: int, parameters: Mapping[str, str]) -> dict[str, int]:
    """Divide the bytes of a key among the kinds; the shares add up to `size`.

    A page's string has features and evidence, as long as the parameters say, and what tells it.
    """
    if _TABLE.fullmatch(name):
        return {"tables": size}
    if not name.startswith(b"page:"):
        return {"features" if name[:1] == b"f" else "rest": size}
    matching = Matching(
        features=int(parameters.get("features", 0)),
        text_bits=int(parameters.get("text_bits", 0)),
        named_bits=int(parameters.get("named_bits", 0)),
    )
    features = min(FEATURE * matching.features, size)
    sketches = min(matching.evidence_size, size - features)
    identity = min(_IDENTITY, size - features - sketches)
    rest = size - features - sketches - identity
    return {"features": features, "sketches": sketches, "identity": identity, "rest": rest}


@asynccontextmanager
async def redis_admin(uri: str) -> AsyncIterator[RedisAdmin]:
    """Yield the view of the Redis, or the cluster, at `uri`; for errors see `explained`."""
    client = connect(uri)
    try:
        with explaining(uri):
            yield RedisAdmin(client)
    finally:
        await disconnect(client)
