"""A memory that many crawlers share: packed buckets in one Redis (6.2 or newer) or Valkey.

Every verb is one Lua script, atomic for all crawlers of the namespace. ``probe_and_add`` finds
what a page may repeat, or adds the page; the crawler decides, and asks again until the page is
added or repeats something. The scripts and their format are in ``lua/``.
"""

from __future__ import annotations

import asyncio
import math
from dataclasses import replace
from typing import Any

from scrapy_neardup.evidence.decision import deciding
from scrapy_neardup.stores.base import StoreOptions, StoreStats
from scrapy_neardup.stores.redis import shared
from scrapy_neardup.stores.redis.calls import Scripts
from scrapy_neardup.stores.redis.client import (
    PatientRedis,
    RecordLostError,
    check_server,
    connect,
    explaining,
)
from scrapy_neardup.stores.redis.layout import Layout
from scrapy_neardup.stores.redis.namespace import counts
from scrapy_neardup.stores.redis.questions import (
    Answers,
    page_words,
    read_count,
    read_questions,
)
from scrapy_neardup.stores.redis.scripts import script
from scrapy_neardup.stores.redis.shared import SharedStore
from scrapy_neardup.stores.redis.values import id_bytes, matched, near_reason
from scrapy_neardup.verdict import Decide, Match, Page, Reason, Verdict

_CLEARED = 2
"""Lapsed entries that a confirmation clears away."""
_SWEEP_PAUSE = 0.2
"""Seconds between two steps of the sweep, whatever the number of crawlers."""
_SWEEP_FIELDS = 16
"""Fields that a step looks at."""
_MAX_SWEPT = 64
"""Maximum number of entries that a step withdraws: some 3 ms of the server's time."""
_VERBS: dict[str, tuple[str, ...]] = {
    "probe_and_add": ("single/pages", "single/bodies", "changing", "single/candidates"),
    **dict.fromkeys(
        ("confirm", "forget", "sweep"),
        ("single/pages", "single/bodies", "changes", "single/changes"),
    ),
    "renew": ("single/pages",),
}
"""Verb -> parts of Lua that its script needs."""


class RedisStore(SharedStore):
    """Fingerprints in Redis; see `scrapy_neardup.stores.base.Store` for what it does.

    Parameters
    ----------
    uri
        ``redis://``, ``rediss://``, ``unix://`` or ``redis+sentinel://``; see
        `scrapy_neardup.stores.redis.client.connect`.
    layout
        Table design for a namespace that doesn't exist yet.
    """

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
                verb: script(self._layout, *parts, f"single/{verb}", record=agreed.digest)
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
        lease = int(shared.LEASE * 1000)
        return await self._call("probe_and_add", (page, answers), lease, self._retention)

    async def _call(self, verb: str, word: tuple[Page, bytes] | bytes, *common: Any) -> bytes:
        """Call a script; where the server was emptied, agree on the parameters again first.

        Raises
        ------
        StoreMismatchError
            Another crawl came first, with other parameters.
        StoreError
            As `client.explained`.
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
        lease, ids = int(shared.LEASE * 1000), map(id_bytes, tuple(self._held))
        await asyncio.gather(*(self._call("renew", page_id, lease) for page_id in ids))

    async def _sweep(self) -> None:
        pause = int(_SWEEP_PAUSE * 1000)
        await self._call("sweep", b"%d" % _MAX_SWEPT, self._retention, pause, _SWEEP_FIELDS)
