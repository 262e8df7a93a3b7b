"""Filling a Redis for a benchmark: millions of kept pages in a minute.

The pages are uniform, no two are near-duplicates, and each was confirmed. What lies in Redis
afterwards is byte for byte what as many calls of ``check_and_add`` and ``confirm`` leave: a
bucket's place depends on what it holds, not on the order in which that came
(``tests/stores/test_redis_benchmark.py`` compares the two).
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import chain

import numpy as np
from numpy.typing import NDArray
from redis import Redis

from scrapy_neardup.stores.redis.codec import DIGEST_BYTES
from scrapy_neardup.stores.redis.keyspace import PAGE_DEPTH, Layout

Words = NDArray[np.uint64]
Bytes = NDArray[np.uint8]

TIME = 4
_MEMBERS = 10_000  # of a sorted set that are added at once


def big_endian(words: Words) -> Bytes:
    """Return words as scripts see them: shape (n, 8), most significant byte first."""
    return words.astype(">u8").view(np.uint8).reshape(-1, 8)


def fill_packed(client: Redis, prefix: str, layout: Layout, keys: Words, ids: Words) -> None:
    """Store pages as the Redis store does; digests are those of pages without title or data."""
    named = np.hstack([big_endian(ids), np.zeros((len(keys), DIGEST_BYTES), np.uint8)])
    for number, permutation in enumerate(layout.permutations, 1):
        payload = named if number == 1 else np.empty((len(keys), 0), np.uint8)
        words = permutation.apply_many(keys)
        _Tree(f"{prefix}t{number}", layout.split, layout.depth).fill(client, words, payload)
    fill_identity(client, f"{prefix}page", layout, keys, ids, with_time=True)
    client.hset(f"{prefix}counters", "confirmed", len(keys))


def fill_identity(
    client: Redis, name: str, layout: Layout, keys: Words, ids: Words, *, with_time: bool
) -> None:
    """Store the records of pages; without their times only to see what these weigh."""
    columns = [big_endian(keys)[:, :5]]
    if with_time:
        now = np.full(len(keys), int(time.time()), ">u4")
        columns.append(now.view(np.uint8).reshape(-1, TIME))
    _Tree(name, layout.split, PAGE_DEPTH).fill(client, ids, np.hstack(columns))


def fill_sorted_sets(client: Redis, prefix: str, layout: Layout, keys: Words, ids: Words) -> None:
    """Store permuted fingerprints in a sorted set a table, and by page id a record in a hash.

    Page ids follow the fingerprints of the first set.
    """
    records = np.hstack([big_endian(keys), np.zeros((len(keys), DIGEST_BYTES + TIME), np.uint8)])
    names, width, joined = big_endian(ids).tobytes(), records.shape[1], records.tobytes()
    for start in range(0, len(keys), _MEMBERS):
        pages = range(start, min(start + _MEMBERS, len(keys)))
        pairs = (
            (names[8 * page : 8 * page + 8], joined[width * page : width * page + width])
            for page in pages
        )
        client.execute_command("HSET", f"{prefix}pages", *chain.from_iterable(pairs))
    for number, permutation in enumerate(layout.permutations, 1):
        members = big_endian(permutation.apply_many(keys))
        if number == 1:
            members = np.hstack([members, big_endian(ids)])
        size, joined = members.shape[1], members.tobytes()
        for start in range(0, len(joined), size * _MEMBERS):
            part = joined[start : start + size * _MEMBERS]
            words = (part[at : at + size] for at in range(0, len(part), size))
            client.execute_command(
                "ZADD", f"{prefix}{number}", *chain.from_iterable((b"0", word) for word in words)
            )


@dataclass(frozen=True)
class _Tree:
    """Buckets below 256 hashes, as ``lua/buckets.lua`` describes them."""

    name: str
    split: int
    depth: int

    def fill(self, client: Redis, words: Words, payload: Bytes) -> None:
        order = np.argsort(words)
        words = words[order]
        entries = np.hstack([big_endian(words)[:, 2:], payload[order]])
        width, joined = entries.shape[1], entries.tobytes()
        bounds = np.searchsorted(words >> np.uint64(48), np.arange((1 << 16) + 1)).tolist()
        for first in range(256):
            fields: list[bytes] = []
            for prefix in range(first << 8, (first + 1) << 8):
                start, stop = bounds[prefix], bounds[prefix + 1]
                bucket = words[start:stop], joined[start * width : stop * width]
                fields += self._below(0, prefix << 48, *bucket)
            if fields:
                client.execute_command("HSET", f"{self.name}:{first:02x}", *fields)

    def _below(self, level: int, prefix: int, words: Words, value: bytes) -> Iterator[bytes]:
        """Yield fields and values of a bucket and what it was split into."""
        if not value:
            return
        name = bytes([level]) + prefix.to_bytes(8, "big")[1 : 2 + -(-level // 8)]
        if len(words) <= self.split or level >= self.depth:
            yield from (name, value)
            return
        yield from (name, b"\x01")
        middle = prefix | 1 << 47 - level
        cut = int(np.searchsorted(words, np.uint64(middle)))
        end = cut * (len(value) // len(words))
        yield from self._below(level + 1, prefix, words[:cut], value[:end])
        yield from self._below(level + 1, middle, words[cut:], value[end:])
