"""A memory that many crawlers share: a string a page in one Redis (6.2 or newer) or Valkey.

Every verb is one Lua script, atomic for all crawlers of the namespace. ``check_and_add`` finds
what a page may repeat, or adds the page; the crawler decides, and asks again until the page is
added or repeats something. The scripts are in ``lua/``, the layout of the keys in
``docs/redis.md``.
"""

from __future__ import annotations

import asyncio
import contextlib
from abc import abstractmethod
from collections.abc import Awaitable, Callable, Coroutine, Iterable, Sequence
from dataclasses import replace
from typing import Any, TypeVar

from scrapy_neardup.bounded import BoundedDict
from scrapy_neardup.decision.comparison import deciding
from scrapy_neardup.errors import StoreError
from scrapy_neardup.stores.base import (
    MAX_COMPARED,
    MAX_EQUAL,
    MAX_UNDER_FEATURE,
    Store,
    StoreOptions,
    StoreStats,
    matched,
    near_reason,
)
from scrapy_neardup.stores.keys import KeyRecord
from scrapy_neardup.stores.redis.calls import Calls, Scripts
from scrapy_neardup.stores.redis.codec import (
    STAMP,
    Asked,
    Question,
    Questions,
    Record,
    id_bytes,
    ids_in,
    listed,
    read_count,
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
from scrapy_neardup.stores.redis.scripts import text
from scrapy_neardup.urls import redact_store
from scrapy_neardup.verdict import Decide, Decided, Page, Reason, Verdict

LEASE = 60.0
"""Seconds that an entry which isn't confirmed outlives its crawler."""

MAX_END = 10.0
"""Maximum seconds that a step may go on after `Background.close`: twice the time of a reply."""

MAX_ASKED = 4
"""Maximum number of candidates in the first reply about a page. Of 233 duplicates on six sites all
but 6 repeat the first."""

MAX_ASKED_NEXT = 16
"""The same in any other reply. Each call looks for all candidates again."""

SWEEP_PAUSE = 0.5
"""Seconds between two steps of a crawler's sweep."""
AT_ONCE = 64
"""Maximum number of entries that are withdrawn at once: some 3 ms of the server's time."""
_WITHDRAWN = 65_536
"""Number of withdrawn entries that a crawler remembers: those that went last."""

T = TypeVar("T")


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
    namespace that doesn't exist yet, None: that for `options`. `_held` has the stamps of the
    entries that this crawler has to confirm or forget, by page id.
    """

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
        self._retention = int(options.retention * 1000)
        self._held: dict[int, bytes] = {}
        self._withdrawn: BoundedDict[bytes, None] = BoundedDict(_WITHDRAWN)
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
        self._background.start(self._sweep, SWEEP_PAUSE)

    async def close(self) -> None:
        """Give up what is pending and disconnect."""
        await self._background.close()
        if self._opened:
            self._opened = False
            with contextlib.suppress(StoreError):
                while some := list(self._held)[:AT_ONCE]:
                    await self._withdraw(some, "p")
            await self._calls.close()
        await disconnect(self._client)

    async def confirm(self, page_id: int) -> None:
        """Make an entry final; see `Store.confirm`."""
        stamp = self._held.get(page_id, b"")
        await self._confirm(id_bytes(page_id), stamp)
        if self._held.get(page_id) == stamp:
            del self._held[page_id]

    async def forget(self, page_id: int) -> int:
        """Withdraw a pending entry; see `Store.forget`."""
        [dropped] = await self._withdraw([page_id], "p")
        return dropped

    async def exchange(self, topic: str, member: str, value: bytes | None) -> list[bytes]:
        """Post a value and read those of all members; see `Store.exchange`."""
        with explaining(self._uri):
            return await exchange(self._client, self._key(topic_name(topic)), member, value)

    async def _sweep(self) -> None:
        """Withdraw some of what is over: lapsed, or not seen for the retention."""
        over = await self._over()
        await self._withdraw([int.from_bytes(each, "big") for each in ids_in(over)], "o")

    async def _withdraw(self, page_ids: Sequence[int], why: str) -> list[int]:
        """Remove entries (``lua/withdraw.lua``); return the pages dropped for each.

        An entry that this crawler holds goes only as what it is held for. The crawler remembers
        what it withdrew: a server that comes back from an older snapshot brings it back.
        """
        ids = list(map(id_bytes, page_ids))
        held = [self._held.pop(each, b"") if why != "o" else b"" for each in page_ids]
        for page_id, stamp in zip(ids, held, strict=True):
            if stamp:
                self._withdrawn[page_id + stamp] = None
        stored = await self._stored(ids)
        dropped = [0] * len(ids)
        removals = []
        for n, (page_id, record, stamp) in enumerate(zip(ids, stored, held, strict=True)):
            if stamp in {b"", record[:STAMP]} and (record or why == "o"):
                removals.append((n, self._remove(page_id, record, why)))
        for (n, _), reply in zip(
            removals, await asyncio.gather(*(each for _, each in removals)), strict=True
        ):
            dropped[n] = reply or 0
        return dropped

    def _was_withdrawn(self, page_id: bytes, stored: bytes) -> bool:
        """Whether this crawler has withdrawn an entry, which an older snapshot brought back.

        It is withdrawn once more.
        """
        if page_id + stored[:STAMP] not in self._withdrawn:
            return False
        self._background.soon(self._remove(page_id, stored, "p"))
        return True

    @abstractmethod
    async def _begin(self) -> None:
        """Connect, agree, and start what is done in the background besides `_renew`."""

    @abstractmethod
    async def _renew(self) -> None:
        """Renew the leases of what is held."""

    @abstractmethod
    async def _confirm(self, page_id: bytes, stamp: bytes) -> None:
        """Make an entry final if it has this stamp; ``b""``: any."""

    @abstractmethod
    async def _over(self) -> bytes:
        """Return the ids of some entries that are over (``lua/over.lua``)."""

    @abstractmethod
    async def _stored(self, page_ids: Sequence[bytes]) -> list[bytes]:
        """Return the stored records of pages, ``b""`` where there is none."""

    @abstractmethod
    async def _remove(self, page_id: bytes, stored: bytes, why: str) -> int | None:
        """Remove an entry with all that leads to it; return the pages dropped for it.

        None if it stays, as it has another content, or `why` doesn't hold (``lua/withdraw.lua``).
        """

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


class RedisStore(SharedStore):
    """Fingerprints in Redis; see `scrapy_neardup.stores.base.Store`, and `connect` for the URI."""

    _calls: Scripts
    _agreed: Agreed
    _constants: tuple[bytes, ...]
    """What ``check_and_add.lua`` takes for all pages."""

    def __init__(self, uri: str, options: StoreOptions, *, layout: Layout | None = None) -> None:
        super().__init__(uri, options, connect(uri, PatientRedis), layout)
        self._calls = Scripts(self._client, uri)
        self._agreeing = asyncio.Lock()

    async def check_and_add(self, page: Page, decide: Decide | None = None) -> Verdict:
        """Look for what `page` repeats, or remember it; see `Store.check_and_add`.

        Costs one round trip where the page has no candidates, or repeats the first one; one more
        for each reply's candidates that it doesn't repeat (`MAX_ASKED`) and where it repeats a
        later one; two more to withdraw its old entry.
        """
        decide = decide or deciding(page, self._options.matching)
        return await self._with_record(lambda: self._judge(page, decide))

    async def stats(self) -> StoreStats:
        """Count what the namespace holds, for all crawlers."""
        with explaining(self._uri):
            return await counts(self._client, self._prefix)

    async def _judge(self, page: Page, decide: Decide) -> Verdict:
        asked = Asked.of(page, self._layout, self.key)
        refused: list[bytes] = []
        in_vain = b""
        while True:
            kinds = ((b"c" if name == in_vain else b"r") for name in refused)
            answers = b"".join(
                [part for pair in zip(refused, kinds, strict=True) for part in pair]
            )
            reply = await self._check(asked, answers)
            kind = reply[:1]
            if kind == b"o":
                return Verdict.on(page, Reason.OVERFLOW)
            if kind != b"q":
                self._held[page.id] = asked.record.stamp
                if kind == b"c":
                    await self._clean(asked, reply[2:])
                was_alive = reply[:2] == b"c1"
                return Verdict.on(page, Reason.CHANGED if was_alive else Reason.UNMATCHED)
            questions = Questions.read(reply, self._layout.matching)
            in_vain = b""
            for question in questions.asked:
                gone = self._was_withdrawn(question.page_id, question.record.stored)
                decided = decide(question.candidate())
                if gone or not decided.is_same:
                    refused.append(question.name)
                    in_vain = question.name if question.counted else in_vain
                    continue
                verdict = await self._repeats(page, question, questions, decided)
                if verdict is None:  # it is gone, or has changed: what else is there?
                    break
                if in_vain:
                    await self._repeat(questions.asked[0], -1)
                return verdict

    async def _repeats(
        self, page: Page, question: Question, questions: Questions, decided: Decided
    ) -> Verdict | None:
        """Return the verdict on a page that repeats a candidate, None if that is gone."""
        candidate, count = question.candidate(), question.counted
        if candidate.page_id == page.id:
            if questions.is_due and await self._repeat(question, 0) is None:
                return None
            match = matched(candidate, decided, url=page.url)
            return Verdict.on(page, Reason.SAME_PAGE, match)
        if not count:
            counted = await self._repeat(question, 1)
            if counted is None:
                return None
            count = counted
        if questions.is_old:
            await self._withdraw([page.id], "a")
        match = matched(candidate, decided, count, question.record.url)
        return Verdict.on(page, near_reason(page), match)

    # ---- calls -----------------------------------------------------------------------------

    async def _check(self, asked: Asked, refused: bytes) -> bytes:
        tables = b"".join((bytes((asked.limit + 1,)), *asked.places, *asked.neighbours))
        item = asked.page_id, asked.record.stored, tables, asked.features, refused
        return await self._calls.call("check_and_add", self._constants, *item)

    async def _repeat(self, question: Question, by: int) -> int | None:
        """Return the count of an entry after adding to it; None if it is gone, or has changed."""
        shared = self._prefix, self._agreed.digest, self._retention
        item = question.page_id, question.record.stamp, by
        reply = await self._calls.call("repeat", shared, *item)
        return read_count(reply) if reply[:1] == b"d" else None

    async def _confirm(self, page_id: bytes, stamp: bytes) -> None:
        await self._with_record(
            lambda: self._calls.call(
                "confirm", (self._prefix, self._agreed.digest), page_id, stamp
            )
        )

    async def _over(self) -> bytes:
        with explaining(self._uri):
            over: bytes = await self._client.eval(
                text("over"), 0, self._prefix, self._retention, AT_ONCE
            )
        return over

    async def _stored(self, page_ids: Sequence[bytes]) -> list[bytes]:
        prefix = self._prefix.encode()
        with explaining(self._uri):
            found = await self._client.mget([prefix + b"page:" + each for each in page_ids])
        return [record or b"" for record in found]

    async def _remove(self, page_id: bytes, stored: bytes, why: str) -> int | None:
        places: list[bytes] = []
        features: list[bytes] = []
        if stored:
            places, features = listed(Record.read(stored, self._layout.matching), self._layout)
        return await self._withdraw_from(page_id, stored[:STAMP], why, places, features)

    async def _clean(self, asked: Asked, old: bytes) -> None:
        """Take a page that was added out of buckets that list what it has replaced."""
        places, features = listed(Record.read(old, self._layout.matching), self._layout)
        _, new_features = listed(asked.record, self._layout)
        places = [each for each in places if each not in asked.places]
        features = [each for each in features if each not in new_features]
        await self._withdraw_from(asked.page_id, asked.record.stamp, "r", places, features)

    async def _withdraw_from(
        self,
        page_id: bytes,
        stamp: bytes,
        why: str,
        places: Iterable[bytes],
        features: Iterable[bytes],
    ) -> int | None:
        item = page_id, stamp, why, b"".join(places), b"".join(features)
        reply = await self._with_record(
            lambda: self._calls.call(
                "withdraw", (self._prefix, self._agreed.digest, self._retention), *item
            )
        )
        return int.from_bytes(reply, "big") if reply else None

    async def _renew(self) -> None:
        shared = self._prefix, self._agreed.digest, int(LEASE * 1000)
        held = [(id_bytes(page_id), stamp) for page_id, stamp in self._held.items()]
        await asyncio.gather(*(self._calls.call("renew", shared, *each) for each in held))

    # ---- the namespace ---------------------------------------------------------------------

    async def _begin(self) -> None:
        await check_server(self._client, self._uri)
        await self._calls.load()
        await self._adopt()

    def _key(self, name: str) -> str:
        return f"{self._prefix}{name}"

    async def _adopt(self) -> None:
        self._agreed = await self._agree()
        self._layout = layout = self._agreed.layout
        constants = (
            self._prefix, self._agreed.digest, int(LEASE * 1000), self._retention,
            layout.matching.shared_features, MAX_COMPARED, MAX_EQUAL, MAX_UNDER_FEATURE,
            layout.cap, MAX_ASKED, MAX_ASKED_NEXT,
        )  # fmt: skip
        self._constants = (*(str(each).encode() for each in constants), layout.unseen)

    async def _with_record(self, call: Callable[[], Awaitable[T]]) -> T:
        """Make calls; where the server was emptied, agree on the parameters again first.

        Raises `StoreMismatchError` if another crawl came first, with other parameters.
        """
        agreed = self._agreed
        try:
            return await call()
        except RecordLostError:
            async with self._agreeing:
                if agreed is self._agreed:
                    with explaining(self._uri):
                        await self._adopt()
            return await call()
