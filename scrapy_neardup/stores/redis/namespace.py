"""A namespace's record of its parameters, its counters and its notice board.

The first crawl writes the record; a later one adopts the table design
that it names and refuses to work with other parameters. Counters are kept by the scripts;
nothing here walks over pages. A topic of the notice board is one hash, and posting is one script
on it; a topic is gone a day after the last post, or when `MAX_TOPICS` others were posted to since.
"""

from __future__ import annotations

import asyncio
import hashlib
import time
from dataclasses import replace
from typing import Any, NamedTuple
from urllib.parse import quote

from redis.asyncio import Redis, RedisCluster

from scrapy_neardup.errors import StoreMismatchError
from scrapy_neardup.stores.base import MAX_MEMBERS, StoreOptions, StoreStats
from scrapy_neardup.stores.keys import FIELDS, KeyRecord
from scrapy_neardup.stores.redis.keyspace import FORMAT, HOMES, Layout, home
from scrapy_neardup.stores.redis.scripts import text
from scrapy_neardup.urls import redact_store

DIGEST = "digest"
"""Name of the field that stands for all others, for scripts to compare."""

MAX_TOPICS = 16_384
"""Maximum number of topics: those posted to last. A topic is what was learnt of a site; a broad
crawl meets more sites a day, and what is learnt of them might take more memory than their
pages."""

_DAY = 86_400
"""Seconds."""


class Agreed(NamedTuple):
    """What the crawlers of a namespace have agreed on."""

    layout: Layout
    key: KeyRecord
    digest: str
    """Of all of the record, for scripts to compare."""


async def agree_on_parameters(  # noqa: PLR0917
    client: Any, name: str, uri: str, options: StoreOptions, layout: Layout, key: KeyRecord
) -> Agreed:
    """Record the parameters under `name`, or compare them with what is recorded there.

    `layout` and `key` are those of a namespace that doesn't exist yet. Raises `StoreMismatchError`
    if it was made with other parameters; the message shows both.
    """
    ours = {"format": FORMAT, "max_distance": options.max_distance, **options.schema}
    design = {"blocks": layout.blocks, "parts": layout.parts, "bits": layout.bits}
    words = [str(word) for pair in {**ours, **design, **key.fields()}.items() for word in pair]
    words += [DIGEST, hashlib.sha256("\0".join(words).encode()).hexdigest()[:16]]
    reply = [word.decode() for word in await client.eval(text("open"), 1, name, *words)]
    theirs = dict(zip(reply[::2], reply[1::2], strict=True))
    where = f"NEARDUP_STORE: namespace {options.namespace!r} of {redact_store(uri)}"
    if theirs.get("format") != str(FORMAT):
        raise StoreMismatchError(
            f"{where} was made by another version: its format is {theirs.get('format')}, and this "
            f"one reads and writes {FORMAT}. Take another NEARDUP_NAMESPACE, or clear it"
        )
    compared = dict.fromkeys([*ours, *theirs])
    differences = [
        f"{name} is {theirs.get(name, 'absent')} there and {ours.get(name, 'absent')} here"
        for name in compared
        if name not in {*design, *FIELDS, DIGEST} and theirs.get(name) != str(ours.get(name))
    ]
    if differences:
        raise StoreMismatchError(
            f"{where} was made with other parameters: {'; '.join(differences)}. Take the same "
            f"ones, another NEARDUP_NAMESPACE, or clear it"
        )
    adopted = replace(
        layout,
        blocks=int(theirs["blocks"]),
        parts=int(theirs["parts"]),
        bits=int(theirs["bits"]),
    )
    return Agreed(adopted, KeyRecord.read(theirs), theirs[DIGEST])


async def counts(client: Redis, prefix: str) -> StoreStats:
    """Return the counts of a namespace on one Redis."""
    counters = await client.hgetall(f"{prefix}counters")
    return StoreStats(
        pages=int(counters.get(b"pages", 0)),
        pending=await client.zcard(f"{prefix}pending"),
        dropped=int(counters.get(b"dropped", 0)),
        overflowed=int(counters.get(b"overflowed", 0)),
    )


async def cluster_counts(client: RedisCluster, prefix: str) -> StoreStats:
    """Return the counts of a namespace in a cluster; costs a pipeline a master."""
    names = (b"pages", b"dropped", b"overflowed")
    async with client.pipeline() as pipeline:
        for first in range(HOMES):
            pipeline.hmget(home(prefix, first) + "counters", *names)
        rows = await pipeline.execute()
        for first in range(HOMES):
            pipeline.zcard(home(prefix, first) + "pending")
        pending = sum(await pipeline.execute())
    pages, dropped, overflowed = (
        sum(int(value or 0) for value in column) for column in zip(*rows, strict=True)
    )
    return StoreStats(pages=pages, pending=pending, dropped=dropped, overflowed=overflowed)


def topic_name(topic: str) -> str:
    """Return the name of a topic's hash, behind the prefix of the namespace."""
    return f"notices:{quote(topic, safe='', errors='surrogatepass')}"


async def exchange(client: Any, key: str, member: str, value: bytes | None) -> list[bytes]:
    """Post a value and return all of the topic; see `Store.exchange`."""
    if value is None:
        read: list[bytes] = await client.hvals(key)
        return read
    name = member.encode("utf-8", "surrogatepass")
    # Beside the topics: when each was posted to.
    head, _, _ = key.rpartition("notices:")
    board = f"{head}notices" + "}" * head.startswith("{")
    posted: tuple[list[bytes], Any, int] = await asyncio.gather(
        client.eval(text("exchange"), 1, key, name, value, _DAY, MAX_MEMBERS),
        client.zadd(board, {key: time.time()}),
        client.zcard(board),
    )
    if (more := posted[2] - MAX_TOPICS) > 0:
        for topic, _ in await client.zpopmin(board, more):
            await client.unlink(topic)
    return posted[0]
