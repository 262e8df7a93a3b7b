"""A namespace: what its crawlers have agreed on, its scripts, its counters, its notice board.

The first crawl writes the record of the parameters; a later one adopts the table design
that it names and refuses to work with other parameters. Counters are kept by the scripts;
nothing here walks over pages. A topic of the notice board is one hash, and posting is one script
on it; a topic is gone a day after the last post, or when `MAX_TOPICS` others were posted to since.

A *home* is a prefix of keys, of one slot in a cluster, whose scripts see all that it holds: one
Redis is one home, a cluster has `HOMES`.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple
from urllib.parse import quote

from redis.asyncio import RedisCluster

from scrapy_neardup.errors import StoreMismatchError
from scrapy_neardup.stores.base import (
    MAX_MEMBERS,
    MAX_UNDER_FEATURE,
    StoreOptions,
    StoreStats,
    differences,
)
from scrapy_neardup.stores.keys import FIELDS, KeyRecord
from scrapy_neardup.stores.redis.calls import MAX_CALLS, Calls, Words, sha, text
from scrapy_neardup.stores.redis.connection import RecordLostError, explaining
from scrapy_neardup.stores.redis.keyspace import FORMAT, PLACE, Layout, homes, key_of, prefix
from scrapy_neardup.urls import redact_store

LEASE = 60.0
"""Seconds that an entry which isn't confirmed outlives its crawler."""

DIGEST = "digest"
"""Name of the field that stands for all others, for scripts to compare."""

MAX_TOPICS = 16_384
"""Maximum number of topics: those posted to last. A topic is what was learnt of a site; a broad
crawl meets more sites a day, and what is learnt of them might take more memory than their
pages."""

_DAY = 86_400
"""Seconds."""


class Agreed(NamedTuple):
    """What the crawlers of a namespace have agreed on, or what the first one proposes."""

    layout: Layout
    key: KeyRecord
    record: Mapping[bytes, bytes] = {}
    """All of it, as it is stored."""

    async def recorded(self, client: Any, name: str, where: str, options: StoreOptions) -> Agreed:
        """Record what is proposed under `name`, or return what is recorded there.

        Raises `StoreMismatchError` if the namespace was made with other parameters; the message
        calls it `where`, and shows both.
        """
        ours = {"format": FORMAT, "max_distance": options.max_distance, **options.schema}
        design = {part: getattr(self.layout, part) for part in ("blocks", "parts", "bits")}
        here = {name: str(value) for name, value in ours.items()}
        written = here | {part: str(it) for part, it in design.items()} | self.key.fields()
        words = "\0".join(word for pair in written.items() for word in pair)
        written[DIGEST] = hashlib.sha256(words.encode()).hexdigest()[:16]
        record = await write_record(client, name, written)
        theirs = {name.decode(): value.decode() for name, value in record.items()}
        there = {name: theirs[name] for name in theirs.keys() - {*design, *FIELDS, DIGEST}}
        if there.get("format") != here["format"]:
            raise StoreMismatchError(
                f"NEARDUP_STORE: {where} was made by another version: its format is "
                f"{there.get('format')}, and this one reads and writes {FORMAT}. Take another "
                "NEARDUP_NAMESPACE, or clear it"
            )
        if differing := differences(there, here):
            raise StoreMismatchError(
                f"NEARDUP_STORE: {where} was made with other parameters: {differing}. Take the "
                "same ones, another NEARDUP_NAMESPACE, or clear it"
            )
        adopted: dict[str, Any] = {part: int(theirs[part]) for part in design}
        return Agreed(replace(self.layout, **adopted), KeyRecord.read(theirs), record)


async def write_record(client: Any, key: str, record: Mapping[Any, Any]) -> dict[bytes, bytes]:
    """Write the record of a namespace, unless there is one; return the one that is there."""
    words = [word for pair in record.items() for word in pair]
    reply = await client.eval(text("open"), 1, key, *words)
    return dict(zip(reply[::2], reply[1::2], strict=True))


class Namespace:
    """The namespace of `options`, with the table design `layout` if it doesn't exist yet.

    `homes` are the prefixes of its homes, `prefix` that of all keys.
    """

    def __init__(
        self, client: Any, calls: Calls, uri: str, options: StoreOptions, layout: Layout
    ) -> None:
        self._client = client
        self._calls = calls
        self._uri = uri
        self._options = options
        self._where = f"namespace {options.namespace!r} of {redact_store(uri)}"
        self._clustered = isinstance(client, RedisCluster)
        self.prefix = prefix(options.namespace)
        self.homes = homes(self.prefix, clustered=self._clustered)
        layout = replace(layout, matching=options.matching)
        self._agreed = Agreed(layout, KeyRecord.new(options.hash_key))
        self._key: bytes | None = None
        self._agreeing = asyncio.Lock()
        self._commands: dict[tuple[str, str], Words] = {}

    @property
    def layout(self) -> Layout:
        """The tables, and what finds candidates beside them."""
        return self._agreed.layout

    async def call(self, verb: str, home: str, *item: Any) -> bytes:
        """Call a script of a home; where that was emptied, agree on the parameters first.

        Raises `RecordLostError` if the tables are others since, as `item` may name their buckets.
        """
        agreed = self._agreed
        try:
            reply: bytes = await self._calls.make(self.command(verb, home), item)
        except RecordLostError:
            async with self._agreeing:
                self._calls.require_open()
                if agreed is self._agreed or home != self.prefix:
                    await self.agree(home)
            if agreed.layout != self.layout:
                raise
            reply = await self._calls.make(self.command(verb, home), item)
        return reply

    async def close(self) -> None:
        """Make no more calls, and let those under way end, and what is being agreed on."""
        await self._calls.close()
        async with self._agreeing:
            pass

    async def agree(self, home: str = "") -> bytes:
        """Agree on the parameters, record them in a home of a cluster, and return the key.

        A namespace that was lost meanwhile gets its key again. Raises `StoreMismatchError` if
        another crawl came first, with other parameters.
        """
        client, options, where = self._client, self._options, self._where
        with explaining(self._uri):
            agreed = await self._agreed.recorded(client, self._named("schema"), where, options)
            key = agreed.key.key(options.hash_key if self._key is None else self._key, where)
            if home not in ("", self.prefix):
                copied = await write_record(client, f"{home}schema", agreed.record)
                if copied != agreed.record or (self._key is not None and agreed != self._agreed):
                    raise StoreMismatchError(
                        f"NEARDUP_STORE: {where} was lost in part and made again otherwise; clear "
                        "it, or take another NEARDUP_NAMESPACE"
                    )
        self._key, self._agreed = key, agreed
        self._commands.clear()
        # A page that is looked up under many prefixes keeps others waiting as long as many pages.
        look_ups = len(self.layout.places(0, 1) + self.layout.neighbours(0, 1)) // PLACE
        self._calls.most_calls = max(1, min(MAX_CALLS, 8 * MAX_CALLS // max(look_ups, 1)))
        return key

    def command(self, verb: str, home: str) -> Words:
        """Return the command that calls a script of a home: its keys, and constants as JSON."""
        if (verb, home) not in self._commands:
            constants = {
                "prefix": home,
                "digest": self._agreed.record[DIGEST.encode()].decode(),
                "lease": int(LEASE * 1000),
                "retention": int(self._options.retention * 1000),
                "shared": self.layout.matching.shared_features,
                "under": MAX_UNDER_FEATURE,
                "cap": self.layout.cap,
                "unseen": list(self.layout.unseen),
            }
            # While a slot moves, a node refuses a script of which it has some keys and not
            # others, so that none begins then. One of these keys is never there.
            keys = (f"{home}counters", f"{home}never") if self._clustered else ()
            words = "EVALSHA", sha(verb), len(keys), *keys, json.dumps(constants).encode()
            self._commands[verb, home] = words
        return self._commands[verb, home]

    async def exchange(self, topic: str, member: str, value: bytes | None) -> list[bytes]:
        """Post a value and return all of the topic; see `Store.exchange`."""
        quoted = quote(topic, safe="", errors="surrogatepass")
        client, name = self._client, self._named(f"notices:{quoted}")
        board = self._named("notices")  # when each topic was posted to
        with explaining(self._uri):
            if value is None:
                read: list[bytes] = await client.hvals(name)
                return read
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

    def _named(self, name: str) -> str:
        """Return a key of the namespace that belongs to no home."""
        return key_of(self.prefix, name, clustered=self._clustered)


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
