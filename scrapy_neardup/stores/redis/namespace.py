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
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple
from urllib.parse import quote

from scrapy_neardup.errors import StoreMismatchError
from scrapy_neardup.stores.base import MAX_MEMBERS, StoreOptions, StoreStats
from scrapy_neardup.stores.keys import FIELDS, KeyRecord
from scrapy_neardup.stores.redis.keyspace import FORMAT, Layout
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

    record: dict[bytes, bytes]
    """All of it, as it is stored."""
    layout: Layout
    key: KeyRecord


async def agree(  # noqa: PLR0917
    client: Any, name: str, uri: str, options: StoreOptions, layout: Layout, key: KeyRecord
) -> Agreed:
    """Record the parameters under `name`, or compare them with what is recorded there.

    `layout` and `key` are those of a namespace that doesn't exist yet. Raises `StoreMismatchError`
    if it was made with other parameters; the message shows both.
    """
    ours = {"format": FORMAT, "max_distance": options.max_distance, **options.schema}
    design = {"blocks": layout.blocks, "parts": layout.parts, "bits": layout.bits}
    written = {name: str(value) for name, value in {**ours, **design, **key.fields()}.items()}
    words = "\0".join(word for pair in written.items() for word in pair)
    written[DIGEST] = hashlib.sha256(words.encode()).hexdigest()[:16]
    record = await write_record(client, name, written)
    theirs = {name.decode(): value.decode() for name, value in record.items()}
    where = f"NEARDUP_STORE: namespace {options.namespace!r} of {redact_store(uri)}"
    if theirs.get("format") != str(FORMAT):
        raise StoreMismatchError(
            f"{where} was made by another version: its format is {theirs.get('format')}, and this "
            f"one reads and writes {FORMAT}. Take another NEARDUP_NAMESPACE, or clear it"
        )
    differences = [
        f"{name} is {theirs.get(name, 'absent')} there and {ours.get(name, 'absent')} here"
        for name in dict.fromkeys([*ours, *theirs])
        if name not in {*design, *FIELDS, DIGEST} and theirs.get(name) != str(ours.get(name))
    ]
    if differences:
        raise StoreMismatchError(
            f"{where} was made with other parameters: {'; '.join(differences)}. Take the same "
            f"ones, another NEARDUP_NAMESPACE, or clear it"
        )
    blocks, parts, bits = (int(theirs[part]) for part in design)
    adopted = replace(layout, blocks=blocks, parts=parts, bits=bits)
    return Agreed(record, adopted, KeyRecord.read(theirs))


async def write_record(client: Any, key: str, record: Mapping[Any, Any]) -> dict[bytes, bytes]:
    """Write the record of a namespace, unless there is one; return the one that is there."""
    words = [word for pair in record.items() for word in pair]
    reply = await client.eval(text("open"), 1, key, *words)
    return dict(zip(reply[::2], reply[1::2], strict=True))


async def counts(client: Any, homes: Sequence[str]) -> StoreStats:
    """Return the counts of the homes of a namespace; costs a pipeline for each server."""
    names = ("pages", "dropped", "overflowed")
    sums = Counter[str]()
    async with client.pipeline(transaction=False) as pipeline:
        for home in homes:
            pipeline.hmget(f"{home}counters", *names)
            pipeline.zcard(f"{home}pending")
        replies = await pipeline.execute()
    for counters, pending in zip(replies[::2], replies[1::2], strict=True):
        sums.update(pending=pending)
        sums.update({name: int(value or 0) for name, value in zip(names, counters, strict=True)})
    return StoreStats(pending=sums["pending"], **{name: sums[name] for name in names})


async def exchange(
    client: Any, key: Callable[[str], str], topic: str, member: str, value: bytes | None
) -> list[bytes]:
    """Post a value and return all of the topic; see `Store.exchange`. `key` names keys."""
    name = key(f"notices:{quote(topic, safe='', errors='surrogatepass')}")
    if value is None:
        read: list[bytes] = await client.hvals(name)
        return read
    board = key("notices")  # when each topic was posted to
    words = member.encode("utf-8", "surrogatepass"), value, _DAY, MAX_MEMBERS
    posted: tuple[list[bytes], Any, int] = await asyncio.gather(
        client.eval(text("exchange"), 1, name, *words),
        client.zadd(board, {name: time.time()}),
        client.zcard(board),
    )
    if (more := posted[2] - MAX_TOPICS) > 0:
        for other, _ in await client.zpopmin(board, more):
            await client.unlink(other)
    return posted[0]
