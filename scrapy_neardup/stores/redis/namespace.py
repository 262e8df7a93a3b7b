"""A namespace: the record that its crawlers agree on, its scripts, its counters, its notice board.

The first crawl writes the record of the parameters. A later one adopts its table design, and
refuses to work with other parameters. Scripts keep the counters; nothing here walks over pages. A
topic of the notice board is one hash; it is removed a day after the last post, or when
`MAX_TOPICS` others were posted to since.

A *home* is a prefix of keys, all in one slot of a cluster, so that a script there sees all of
them. One Redis is one home, a cluster has `HOMES`.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import time
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import chain
from typing import Any
from urllib.parse import quote

from redis.asyncio import RedisCluster

from scrapy_neardup.errors import StoreMismatchError
from scrapy_neardup.stores import base
from scrapy_neardup.stores.entryformat import FIELDS, KeyRecord
from scrapy_neardup.stores.redis.calls import MAX_CALLS, Calls, Words, sha
from scrapy_neardup.stores.redis.connection import RecordLostError
from scrapy_neardup.stores.redis.keyspace import FORMAT, PLACE, Layout, homes, key_of, prefix
from scrapy_neardup.urls import redact_store

LEASE = 60.0
"""Seconds that a pending entry outlives its crawler."""

DIGEST = "digest"
"""Name of the field with the digest of all others, which scripts compare."""
_DESIGN = ("blocks", "parts", "bits")
"""Names of the fields of `Layout` that the first crawl decides, and later ones adopt."""

MAX_TOPICS = 16_384
"""Maximum number of topics; those posted to last stay. A topic is the knowledge about a site; a
broad crawl meets more sites a day, and the knowledge might take more memory than their pages."""

_DAY = 86_400
"""Seconds."""

POSTED = 8
"""Bytes before a notice that say when it was posted (ms), because a hash has no order."""


class Namespace(base.Store):
    """A store's view of its namespace; `layout` is the design if the namespace is new.

    Later `layout` is the design that its crawlers have agreed on. `homes` are the prefixes of its
    homes, `prefix` is that of all keys.
    """

    def __init__(self, calls: Calls, options: base.StoreOptions, layout: Layout) -> None:
        self._calls = calls
        self._options = options
        self._where = f"namespace {options.namespace!r} of {redact_store(calls.uri)}"
        self._clustered = isinstance(calls.client, RedisCluster)
        self.prefix = prefix(options.namespace)
        self.homes = homes(self.prefix, clustered=self._clustered)
        self.layout = replace(layout, matching=options.matching)
        self._record = _proposed(options, layout)
        self._agreed = False
        self._agreeing = asyncio.Lock()
        self._commands: dict[tuple[str, str], Words] = {}

    async def call(self, verb: str, home: str, *item: Any) -> bytes:
        """Call a script of a home; if the home was emptied, agree on the parameters first.

        Raises `RecordLostError` if the tables have changed, because `item` may name their buckets.
        """
        record, layout = self._record, self.layout
        try:
            reply: bytes = await self._calls.make(self.command(verb, home), item)
        except RecordLostError:
            async with self._agreeing:
                if record is self._record or home != self.prefix:
                    await self.agree(home)
            if layout != self.layout:
                raise
            reply = await self._calls.make(self.command(verb, home), item)
        return reply

    async def agree(self, home: str = "") -> None:
        """Agree on the parameters and the key, and record them in a home of a cluster.

        A namespace that was lost meanwhile gets its key and its tables again. Raises
        `StoreMismatchError` if another crawl came first, with other parameters.
        """
        asked = self.key if self._agreed else self._options.hash_key
        record = await self._recorded(self._named("schema"), self._record)
        self._require_ours(record)
        key = KeyRecord.read(record).key(asked, self._where)
        if home not in ("", self.prefix):
            copied = await self._recorded(f"{home}schema", record)
            if copied != record or (self._agreed and record != self._record):
                raise StoreMismatchError(
                    f"NEARDUP_STORE: {self._where} was partly lost, and made again with other"
                    " settings; clear it, or use another NEARDUP_NAMESPACE"
                )
        adopted: dict[str, Any] = {part: int(record[part]) for part in _DESIGN}
        self.key, self._record, self.layout = key, record, replace(self.layout, **adopted)
        self._agreed = True
        self._commands.clear()
        # A page that is looked up under many prefixes takes as long as many pages.
        look_ups = len(self.layout.places(0, 1) + self.layout.neighbours(0, 1)) // PLACE
        self._calls.most_calls = max(1, min(MAX_CALLS, 8 * MAX_CALLS // max(look_ups, 1)))

    async def _recorded(self, key: str, record: Mapping[str, str]) -> dict[str, str]:
        """Write a record, unless one exists; return the existing one."""
        command = "EVALSHA", sha("open"), 1, key, *chain(*record.items())
        words = [word.decode() for word in await self._calls.make(command)]
        return dict(zip(words[::2], words[1::2], strict=True))

    def _require_ours(self, record: Mapping[str, str]) -> None:
        """Raise `StoreMismatchError` if a namespace was made with other parameters than ours."""
        adopted = {*_DESIGN, *FIELDS, DIGEST}
        there, here = (
            {name: it for name, it in each.items() if name not in adopted}
            for each in (record, self._record)
        )
        if differing := base.differences(there, here):
            made = "by another version" if "format is" in differing else "with other parameters"
            raise StoreMismatchError(
                f"NEARDUP_STORE: {self._where} was made {made}: {differing}. Use the same"
                " settings or another NEARDUP_NAMESPACE, or clear this one"
            )

    def command(self, verb: str, home: str) -> Words:
        """Return the ``EVALSHA`` of a script, with a home's keys and constants."""
        if (verb, home) not in self._commands:
            constants = {
                "prefix": home,
                "digest": self._record[DIGEST],
                "lease": int(LEASE * 1000),
                "retention": int(self._options.retention * 1000),
                "shared": self.layout.matching.shared_features,
                "compared": base.MAX_COMPARED,
                "under": base.MAX_UNDER_FEATURE,
                "cap": self.layout.cap,
                "unseen": self.layout.unseen,
            }
            # While a slot moves, a node refuses a script if it has only some of its keys. One of
            # these keys never exists, so no script begins then.
            keys = (f"{home}counters", f"{home}never") if self._clustered else ()
            words = "EVALSHA", sha(verb), len(keys), *keys, json.dumps(constants).encode()
            self._commands[verb, home] = words
        return self._commands[verb, home]

    async def stats(self) -> base.StoreStats:
        """Return the counts of the namespace, for all crawlers."""
        commands = map(self._calls.make, counting(self.homes))
        return counts(await asyncio.gather(*commands))

    async def exchange(self, topic: str, member: str, value: bytes | None) -> list[bytes]:
        """Post a value and read those of all members; see `Store.exchange`. Two round trips."""
        make, quoted = self._calls.make, quote(topic, safe="", errors="surrogatepass")
        name = self._named(f"notices:{quoted}")
        board = self._named("notices")  # when each topic was posted to
        if value is None:
            posted = await make(("HGETALL", name))
            return [each[POSTED:] for each in posted.values()]
        mine, now = member.encode("utf-8", "surrogatepass"), time.time()
        _, _, oldest, posted = await asyncio.gather(
            make(("HSET", name, mine, int(1000 * now).to_bytes(POSTED) + value)),
            make(("ZADD", board, now, name)),
            make(("ZRANGE", board, 0, -MAX_TOPICS - 1)),
            make(("HGETALL", name)),
        )
        others = sorted((each, other) for other, each in posted.items() if other != mine)
        ends: list[Words] = [("EXPIRE", name, _DAY)]
        for other in oldest:
            ends += [("UNLINK", other), ("ZREM", board, other)]
        if gone := [other for _, other in others[: 1 - base.MAX_MEMBERS]]:
            ends.append(("HDEL", name, *gone))
        await asyncio.gather(*map(make, ends))
        return [value, *(each[POSTED:] for each, _ in others[1 - base.MAX_MEMBERS :])]

    def _named(self, name: str) -> str:
        """Return a key of the namespace that belongs to no home."""
        return key_of(self.prefix, name, clustered=self._clustered)


def _proposed(options: base.StoreOptions, layout: Layout) -> dict[str, str]:
    """Return the record of a namespace that doesn't exist yet."""
    record = {"format": FORMAT, "max_distance": options.max_distance, **options.schema}
    record |= {part: getattr(layout, part) for part in _DESIGN}
    record |= KeyRecord.new(options.hash_key).fields()
    written = {name: str(value) for name, value in record.items()}
    words = "\0".join(chain(*written.items()))
    return written | {DIGEST: hashlib.sha256(words.encode()).hexdigest()[:16]}


_COUNTERS = ("pages", "dropped", "overflowed")


def counting(homes: Iterable[str]) -> list[Words]:
    """Return the commands that read the counts of the homes of a namespace."""
    return [
        words
        for home in homes
        for words in (("HMGET", f"{home}counters", *_COUNTERS), ("ZCARD", f"{home}pending"))
    ]


def counts(replies: Sequence[Any]) -> base.StoreStats:
    """Return the counts of a namespace, from the replies to the commands of `counting`."""
    sums = Counter[str](pending=sum(replies[1::2]))
    for counters in replies[::2]:
        sums.update({n: int(value or 0) for n, value in zip(_COUNTERS, counters, strict=True)})
    return base.StoreStats(pending=sums["pending"], **{name: sums[name] for name in _COUNTERS})
