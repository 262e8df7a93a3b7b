"""A memory that many crawlers share: a string a page in one Redis (6.2 or newer) or Valkey.

Every verb is one Lua script, atomic for all crawlers of the namespace. ``check_and_add`` finds
what a page may repeat, or adds the page; the crawler decides, and asks again until the page is
added or repeats something. The scripts are in ``lua/``, the layout of the keys in
``docs/redis.md``.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Sequence
from typing import TypeVar

from scrapy_neardup.judge.comparison import deciding
from scrapy_neardup.stores.base import (
    MAX_COMPARED,
    MAX_EQUAL,
    MAX_UNDER_FEATURE,
    StoreOptions,
    StoreStats,
    matched,
    near_reason,
)
from scrapy_neardup.stores.redis import shared
from scrapy_neardup.stores.redis.calls import MAX_CALLS, Scripts
from scrapy_neardup.stores.redis.codec import (
    STAMP,
    Asked,
    Question,
    Questions,
    Record,
    id_bytes,
    listed,
    read_count,
)
from scrapy_neardup.stores.redis.connection import (
    PatientRedis,
    RecordLostError,
    check_server,
    connect,
    explaining,
)
from scrapy_neardup.stores.redis.keyspace import Layout
from scrapy_neardup.stores.redis.namespace import Agreed, counts
from scrapy_neardup.stores.redis.scripts import text
from scrapy_neardup.stores.redis.shared import SharedStore
from scrapy_neardup.verdict import Decide, Decided, Page, Reason, Verdict

MAX_ASKED = 4
"""Maximum number of candidates in the first reply about a page. Of 233 duplicates on six sites all
but 6 repeat the first."""

MAX_ASKED_NEXT = 16
"""The same in any other reply. Each call looks for all candidates again."""

T = TypeVar("T")


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
        later one; one more, beside its verdict, where its content has changed.
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
            answers = [name + (b"c" if name == in_vain else b"r") for name in refused]
            reply = await self._check(asked, b"".join(answers))
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

    async def _check(self, asked: Asked, answers: bytes) -> bytes:
        tables = b"".join((bytes((asked.limit + 1,)), *asked.places, *asked.neighbours))
        item = asked.page_id, asked.record.stored, tables, asked.features, answers
        return await self._calls.call("check_and_add", self._constants, *item)

    async def _repeat(self, question: Question, by: int) -> int | None:
        """Return the count of an entry after adding to it; None if it is gone, or has changed."""
        words = self._prefix, self._agreed.digest, self._retention
        item = question.page_id, question.record.stamp, by
        reply = await self._calls.call("repeat", words, *item)
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
                text("over"), 0, self._prefix, self._retention, shared.AT_ONCE
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
        words = self._prefix, self._agreed.digest, int(shared.LEASE * 1000)
        held = [(id_bytes(page_id), stamp) for page_id, stamp in self._held.items()]
        await asyncio.gather(*(self._calls.call("renew", words, *each) for each in held))

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
            self._prefix, self._agreed.digest, int(shared.LEASE * 1000), self._retention,
            layout.matching.shared_features, MAX_COMPARED, MAX_EQUAL, MAX_UNDER_FEATURE,
            layout.cap, MAX_ASKED, MAX_ASKED_NEXT,
        )  # fmt: skip
        # A page that is looked up under many prefixes keeps others waiting as long as many pages.
        look_ups = len(layout.places(0, 1)) + len(layout.neighbours(0, 1))
        self._calls.most_calls = max(1, min(MAX_CALLS, 8 * MAX_CALLS // max(look_ups, 1)))
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
