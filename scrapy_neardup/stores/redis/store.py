"""A memory that many crawlers share: packed buckets in one Redis (6.2 or newer) or Valkey.

Every verb is one Lua script, atomic for all crawlers of the namespace. ``probe_and_add`` finds
what a page may repeat, or adds the page; the crawler decides, and asks again until the page is
added or repeats something. The scripts and their format are in ``lua/``.
"""

from __future__ import annotations

import asyncio
import contextlib
import math
from abc import abstractmethod
from collections.abc import Awaitable, Callable, Collection, Coroutine
from dataclasses import replace
from typing import Any

from scrapy_neardup.decision.comparison import deciding
from scrapy_neardup.errors import StoreError
from scrapy_neardup.stores.base import Store, StoreOptions, StoreStats, matched, near_reason
from scrapy_neardup.stores.keys import KeyRecord
from scrapy_neardup.stores.redis.calls import Calls, Scripts
from scrapy_neardup.stores.redis.codec import (
    Answers,
    id_bytes,
    page_words,
    read_count,
    read_questions,
)
from scrapy_neardup.stores.redis.connection import (
    PatientRedis,
    RecordLostError,
    check_server,
    connect,
    disconnect,
    explaining,
)
from scrapy_neardup.stores.redis.keyspace import Layout, prefix
from scrapy_neardup.stores.redis.namespace import (
    Agreed,
    agree_on_parameters,
    counts,
    exchange,
    topic_name,
)
from scrapy_neardup.stores.redis.scripts import script
from scrapy_neardup.urls import redact_store
from scrapy_neardup.verdict import Decide, Match, Page, Reason, Verdict

LEASE = 60.0
"""Seconds that an entry which isn't confirmed outlives its crawler."""


MAX_END = 10.0
"""Maximum seconds that a step may go on after `Background.close`: twice the time of a reply."""


class Background:
    """Periodic tasks, which run until `close`, and one-off tasks.

    A loop ends because an event is set. It is cancelled as well, to end at once, but redis-py may
    lose a cancellation that coincides with its own timeout.
    """

    def __init__(self) -> None:
        self._over = asyncio.Event()
        self._loops: list[asyncio.Task[None]] = []
        self._jobs: set[asyncio.Task[None]] = set()

    def start(self, step: Callable[[], Awaitable[None]], pause: float) -> None:
        """Run `step` after every pause of this many seconds."""
        self._loops.append(asyncio.create_task(self._repeat(step, pause)))

    def soon(self, job: Coroutine[Any, Any, Any]) -> None:
        """Run a task once, in the background; a `StoreError` ends it silently."""
        task = asyncio.create_task(_tried(job))
        self._jobs.add(task)
        task.add_done_callback(self._jobs.discard)

    async def close(self) -> None:
        """Stop all tasks; those under way may take another `MAX_END` seconds."""
        self._over.set()
        for loop in self._loops:
            loop.cancel()
        if self._loops or self._jobs:
            await asyncio.wait({*self._loops, *self._jobs}, timeout=MAX_END)
        self._loops.clear()

    async def _repeat(self, step: Callable[[], Awaitable[None]], pause: float) -> None:
        while True:
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(pause):
                    await self._over.wait()
            if self._over.is_set():
                return
            await _tried(step())


async def _tried(work: Awaitable[Any]) -> None:
    # While the server is away, or refuses, there is nothing to do; pages report it.
    with contextlib.suppress(StoreError):
        await work


class SharedStore(Store):
    """A store on servers, for all crawlers of a namespace.

    `client` isn't connected yet, and is closed with the store; `layout` is the table design for a
    namespace that doesn't exist yet, None: that for `options`. `_held` has the ids of the pages
    whose entries this crawler has to confirm or forget.
    """

    _held: Collection[int]
    _calls: Calls

    def __init__(
        self, uri: str, options: StoreOptions, client: Any, layout: Layout | None
    ) -> None:
        self._uri = uri
        self._options = options
        self._client = client
        layout = layout or Layout.choose(options.max_distance, options.expected_pages)
        self._layout = replace(layout, matching=options.matching)
        self._prefix = prefix(options.namespace)
        self._key_record = KeyRecord.new(options.hash_key)
        self._background = Background()
        self._opened = False

    async def open(self) -> None:
        """Connect, and agree on the parameters with the crawlers that use the namespace."""
        try:
            with explaining(self._uri):
                await self._begin()
        except StoreError:
            await disconnect(self._client)
            raise
        self._opened = True
        self._background.start(self._renew, LEASE / 3)

    async def close(self) -> None:
        """Give up what is pending and disconnect."""
        await self._background.close()
        if self._opened:
            self._opened = False
            with contextlib.suppress(StoreError):
                for page_id in list(self._held):
                    await self.forget(page_id)
            await self._calls.close()
        await disconnect(self._client)

    async def exchange(self, topic: str, member: str, value: bytes | None) -> list[bytes]:
        """Post a value and read those of all members; see `Store.exchange`."""
        with explaining(self._uri):
            return await exchange(self._client, self._key(topic_name(topic)), member, value)

    @abstractmethod
    async def _begin(self) -> None:
        """Connect, agree, and start what is done in the background besides `_renew`."""

    @abstractmethod
    async def _renew(self) -> None:
        """Renew the leases of what is held."""

    @abstractmethod
    def _key(self, name: str) -> str:
        """Return a key of the namespace."""

    async def _agree(self) -> Agreed:
        """Agree on the parameters; a namespace that was lost meanwhile gets its key again."""
        options, name = self._options, self._key("schema")
        agreed = await agree_on_parameters(
            self._client, name, self._uri, options, self._layout, self._key_record
        )
        where = f"namespace {options.namespace!r} of {redact_store(self._uri)}"
        self.key = agreed.key.key(self.key if self._opened else options.hash_key, where)
        self._key_record = agreed.key
        return agreed


_CLEARED = 2
"""Lapsed entries that a confirmation clears away."""
_SWEEP_PAUSE = 0.2
"""Seconds between two steps of the sweep, whatever the number of crawlers."""
_SWEEP_FIELDS = 16
"""Fields that a step looks at."""
_MAX_SWEPT = 64
"""Maximum number of entries that a step withdraws: some 3 ms of the server's time."""
_CHANGING = ("single/pages", "single/bodies", "buckets/changes", "single/changes")
_VERBS: dict[str, tuple[str, ...]] = {
    "probe_and_add": (
        "single/pages", "single/bodies", "changing", "probe/candidates", "probe/probe_and_add",
    ),
    **{verb: (*_CHANGING, f"single/{verb}") for verb in ("confirm", "forget", "sweep")},
    "renew": ("single/pages", "single/renew"),
}  # fmt: skip
"""Verb -> the parts of Lua that its script is made of."""


class RedisStore(SharedStore):
    """Fingerprints in Redis; see `scrapy_neardup.stores.base.Store`, and `connect` for the URI."""

    _calls: Scripts

    def __init__(self, uri: str, options: StoreOptions, *, layout: Layout | None = None) -> None:
        super().__init__(uri, options, connect(uri, PatientRedis), layout)
        self._retention = math.ceil(options.retention)
        self._held: set[int] = set()
        self._calls = Scripts(self._client, uri)
        self._agreed = 0
        self._agreeing = asyncio.Lock()

    async def check_and_add(self, page: Page, decide: Decide | None = None) -> Verdict:
        """Look for what `page` repeats, or remember it; see `Store.check_and_add`.

        Costs one round trip where the page has no candidates, or repeats the first one; one more
        for each reply's candidates that it doesn't repeat (`scripts.MAX_ASKED`), and for what is
        left to do where it repeats a later one or has an old entry.
        """
        decide = decide or deciding(page, self._options.matching)
        answers = Answers()
        while (reply := await self._probe(page, answers.words()))[:1] == b"q":
            for question in read_questions(reply):
                decided = decide(candidate := question.candidate())
                if not decided.is_same:
                    answers.refuse(question)
                    continue
                count, url = question.counted, question.url
                if not question.is_settled:
                    reply = await self._probe(page, answers.words(question))
                    if reply[:1] != b"d":  # it is gone, or changed: what else is there?
                        break
                    count, url = read_count(reply)
                return self._repeats(page, matched(candidate, decided, count, url))
        if reply[:1] == b"o":
            return Verdict.on(page, Reason.OVERFLOW)
        self._held.add(page.id)
        return Verdict.on(page, Reason.UNMATCHED if reply[:1] == b"n" else Reason.CHANGED)

    async def confirm(self, page_id: int) -> None:
        """Make an entry final; see `Store.confirm`."""
        await self._call("confirm", id_bytes(page_id), _CLEARED)
        self._held.discard(page_id)

    async def forget(self, page_id: int) -> int:
        """Withdraw a pending entry; see `Store.forget`."""
        self._held.discard(page_id)
        return int(await self._call("forget", id_bytes(page_id)))

    async def stats(self) -> StoreStats:
        """Count what the namespace holds, for all crawlers."""
        with explaining(self._uri):
            return await counts(self._client, self._prefix)

    async def _begin(self) -> None:
        await check_server(self._client, self._uri)
        await self._load_scripts()
        if self._retention:
            self._background.start(self._sweep, _SWEEP_PAUSE)

    def _key(self, name: str) -> str:
        return f"{self._prefix}{name}"

    async def _load_scripts(self) -> None:
        """Agree on the parameters with the crawlers of the namespace; load scripts for them."""
        agreed = await self._agree()
        self._layout = agreed.layout
        await self._calls.load(
            {
                verb: script(self._layout, *parts, record=agreed.digest)
                for verb, parts in _VERBS.items()
            }
        )
        self._agreed += 1

    def _repeats(self, page: Page, match: Match) -> Verdict:
        if match.page_id == page.id:
            return Verdict.on(page, Reason.SAME_PAGE, replace(match, url=page.url))
        self._held.discard(page.id)  # its old entry was withdrawn
        return Verdict.on(page, near_reason(page), match)

    async def _probe(self, page: Page, answers: bytes) -> bytes:
        lease = int(LEASE * 1000)
        return await self._call("probe_and_add", (page, answers), lease, self._retention)

    async def _call(self, verb: str, word: tuple[Page, bytes] | bytes, *common: Any) -> bytes:
        """Call a script; where the server was emptied, agree on the parameters again first.

        Raises `StoreMismatchError` if another crawl came first, with other parameters.
        """
        agreed = self._agreed
        try:
            return await self._calls.call(verb, self._packed(word), self._prefix, *common)
        except RecordLostError:
            async with self._agreeing:
                if agreed == self._agreed:
                    with explaining(self._uri):
                        await self._load_scripts()
            return await self._calls.call(verb, self._packed(word), self._prefix, *common)

    def _packed(self, word: tuple[Page, bytes] | bytes) -> bytes:
        return word if isinstance(word, bytes) else page_words(*word, self._layout, self.key)

    async def _renew(self) -> None:
        lease, ids = int(LEASE * 1000), map(id_bytes, tuple(self._held))
        await asyncio.gather(*(self._call("renew", page_id, lease) for page_id in ids))

    async def _sweep(self) -> None:
        pause = int(_SWEEP_PAUSE * 1000)
        await self._call("sweep", b"%d" % _MAX_SWEPT, self._retention, pause, _SWEEP_FIELDS)
