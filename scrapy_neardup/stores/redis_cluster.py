"""A memory that many crawlers share, spread over a Redis Cluster.

Each (table, first byte) has its own slot, so no script sees all of a page, and what one
script decides on a single Redis takes a protocol here: claim, resolve, commit.
``docs/cluster.md`` states it step by step and proves that of two near-duplicates which
arrive together at two crawlers never both are kept and never both are dropped.

An *attempt* is one try of one crawler to keep one page: a key and four random bytes. It is
never used again. Table 1 holds its entry, the only place where its fate is decided; the
other tables hold claims, which only say where to look.
"""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import os
import random
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from types import TracebackType
from typing import Any, NamedTuple, Self

from redis import exceptions

from scrapy_neardup.errors import StoreError, StoreUnavailableError
from scrapy_neardup.stores.base import StoreOptions, StoreStats
from scrapy_neardup.stores.records import partition
from scrapy_neardup.stores.redis_client import connect_cluster, explained
from scrapy_neardup.stores.redis_layout import Layout, prefix
from scrapy_neardup.stores.redis_schema import agree
from scrapy_neardup.verdict import Decision, Match, Page, Reason, Verdict

LEASE = 60.0
"""Seconds that a kept, not yet confirmed entry outlives its crawler."""

ATTEMPT_LEASE = 2.0
"""Seconds after which a pending attempt may be ended by others; shorter is safe and slow."""

ATTEMPT_LIMIT = 60.0
"""Seconds after which a page's attempts give up; tombstones live ten times as long."""

_LONGEST_PAUSE = 0.05
_CALLS_AT_ONCE = 64  # redis-py opens a connection for each call under way
_SWEEP_PAUSE = 1.0
_SWEEP_FIELDS = 16


@dataclass(frozen=True, slots=True)
class Attempt:
    """One try to keep one page: its key and four bytes of its own."""

    key: int
    token: bytes

    @property
    def words(self) -> tuple[bytes, bytes]:
        """What scripts call it by."""
        return self.key.to_bytes(8, "big"), self.token

    @property
    def name(self) -> bytes:
        """Both in one, 12 bytes."""
        return b"".join(self.words)

    @classmethod
    def named(cls, name: bytes) -> Self:
        """Return the attempt of this name."""
        return cls(int.from_bytes(name[:8], "big"), name[8:])


class Claims(NamedTuple):
    """What came of claiming a place in every table."""

    granted: bool
    full: bool
    """A bucket takes no more entries."""
    near: set[Attempt]
    """All others within k bits."""
    old: Attempt | None
    """The entry that the page has from an earlier time."""


class RedisClusterStore:
    """Fingerprints in a Redis Cluster; see `scrapy_neardup.stores.base.Store`.

    Parameters
    ----------
    uri
        ``redis+cluster://`` or ``rediss+cluster://``, some of the nodes, comma-separated.
    layout
        Table design for a namespace that doesn't exist yet.
    """

    def __init__(self, uri: str, options: StoreOptions, *, layout: Layout | None = None) -> None:
        self._uri = uri
        self._options = options
        self._layout = layout or Layout.choose(options.max_distance, options.expected_pages)
        self._client = connect_cluster(uri)
        self._prefix = prefix(options.namespace)
        self._retention = int(options.retention * 1000)
        self._held: dict[int, Attempt] = {}
        self._tasks: list[asyncio.Task[None]] = []
        self._sweeping = random.randrange(256), 0
        self._turn = asyncio.Semaphore(_CALLS_AT_ONCE)

    # ---- life ------------------------------------------------------------------------------

    async def open(self) -> None:
        """Connect, and agree on the parameters with whoever uses the namespace already."""
        try:
            await self._client.initialize()
            self._layout = await agree(
                self._client, f"{{{self._prefix}schema}}", self._uri, self._options, self._layout
            )
        except StoreError:
            await self._client.aclose()
            raise
        except Exception as error:
            await self._client.aclose()
            raise explained(error, self._uri) from error
        self._tasks = [
            asyncio.create_task(self._repeat(self._renew, LEASE / 3)),
            asyncio.create_task(self._repeat(self._sweep, _SWEEP_PAUSE)),
        ]

    async def close(self) -> None:
        """Give up what is pending and disconnect."""
        tasks, self._tasks = self._tasks, []
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        with contextlib.suppress(StoreError):
            for page_id in list(self._held):
                await self.forget(page_id)
        await self._client.aclose()

    # ---- verbs -----------------------------------------------------------------------------

    async def check_and_add(self, page: Page) -> Verdict:
        """Judge `page` and remember it if it is new; see `Store.check_and_add`.

        Costs t + 3 calls in three round trips for a new page, t tables.
        """
        _, mask = partition(page.scope, page.exact)
        lease = ATTEMPT_LEASE
        try:
            async with asyncio.timeout(ATTEMPT_LIMIT):
                while True:
                    attempt = Attempt(page.fingerprint ^ mask, os.urandom(4))
                    verdict = await self._try(page, attempt, lease)
                    if verdict is not None:
                        return verdict
                    lease = min(2 * lease, ATTEMPT_LIMIT)
        except TimeoutError as error:
            raise StoreUnavailableError(f"no decision within {ATTEMPT_LIMIT:.0f} s") from error

    async def confirm(self, page_id: int) -> None:
        """Make an entry final; see `Store.confirm`."""
        attempt = self._held.get(page_id) or await self._attempt_of(page_id)
        if attempt:
            await self._settle(attempt, "confirm")
        self._held.pop(page_id, None)

    async def forget(self, page_id: int) -> int:
        """Withdraw a pending entry; see `Store.forget`."""
        attempt = self._held.pop(page_id, None) or await self._attempt_of(page_id)
        if attempt is None:
            return 0
        ended, collapsed = await self._settle(attempt, "forget")
        if ended:
            await self._clear(attempt, page_id)
        return collapsed

    async def stats(self) -> StoreStats:
        """Count what the namespace holds, for all crawlers; costs 256 calls."""
        keys = [self._key("t1", bytes([first])) for first in range(256)]
        try:
            rows = await asyncio.gather(*(self._client.hmget(k, "P", "L", "D", "O") for k in keys))
        except Exception as error:
            raise explained(error, self._uri) from error
        pages, pending, dropped, overflowed = (
            sum(int(value or 0) for value in column) for column in zip(*rows, strict=True)
        )
        return StoreStats(pages=pages, pending=pending, dropped=dropped, overflowed=overflowed)

    # ---- the protocol ----------------------------------------------------------------------

    async def _try(self, page: Page, mine: Attempt, lease: float) -> Verdict | None:
        """Claim, resolve, commit; None if the attempt was ended by another one."""
        limit = 0 if page.exact else self._options.max_distance
        claims = await self._claim(page, mine, limit, lease)
        if not claims.granted:
            await self._end(mine)
            return self._verdict(page, Reason.OVERFLOW) if claims.full else None
        match = await self._resolve(page, mine, claims.near)
        if match is not None:
            await self._end(mine)
            if match.page_id == page.id:
                return self._verdict(page, Reason.SAME_PAGE, match)
            if claims.old:
                await self._end(claims.old, page.id)
            return self._verdict(page, Reason.EQUAL if page.exact else Reason.NEAR, match)
        lease_ms = int(LEASE * 1000)
        if not await self._call(
            "commit", self._entry(mine), *mine.words, lease_ms, page.url or ""
        ):
            await self._end(mine)
            return None
        self._held[page.id] = mine
        old = await self._call(
            "page", self._pages(page.id), page.id.to_bytes(8, "big"), "swap", mine.name
        )
        changed = False
        if old and old != mine.name:
            changed = await self._end(Attempt.named(old))
        return self._verdict(page, Reason.CHANGED if changed else Reason.UNMATCHED)

    async def _claim(self, page: Page, mine: Attempt, limit: int, lease: float) -> Claims:
        """Claim a place in every table, and look up the page's own old entry."""
        tag, _ = partition(page.scope, page.exact)
        first, *others = self._layout.permuted(mine.key)
        page_id = page.id.to_bytes(8, "big")
        begin = (first, mine.token, limit, page_id, _evidence(tag, page), int(lease * 1000))
        *replies, pointer = await asyncio.gather(
            self._call("begin", self._entry(mine), *begin),
            *(
                self._call("claim", self._key(f"t{i}", f), f, mine.token, limit, i)
                for i, f in enumerate(others, 2)
            ),
            self._call("page", self._pages(page.id), page_id, "get"),
        )
        words = {reply[0] for reply in replies}
        near = {
            Attempt(permutation.invert(int.from_bytes(f, "big")), token)
            for permutation, reply in zip(self._layout.permutations, replies, strict=True)
            for f, token in zip(reply[1::2], reply[2::2], strict=True)
        }
        return Claims(
            granted=words == {b"claimed"},
            full=b"full" in words,
            near=near,
            old=Attempt.named(pointer) if pointer else None,
        )

    async def _resolve(self, page: Page, mine: Attempt, near: set[Attempt]) -> Match | None:
        """Return the kept entry that `page` repeats; None if nobody is in its way.

        Whoever is smaller, by key and page id, goes first: it ends the pending attempts of
        the others, and the others wait for it.
        """
        tag, _ = partition(page.scope, page.exact)
        evidence, rank = _evidence(tag, page), (mine.key, page.id, mine.token)
        wounded: set[Attempt] = set()
        pause = 0.001
        while near:
            kept: list[tuple[bool, int, int, Attempt]] = []
            waiting = False
            for other, (state, *its) in (await self._look_at(near, wounded)).items():
                if state == b"gone" or not _alike(evidence, its[1]):
                    near.discard(other)
                    if state == b"gone":
                        await self._release(other)
                    continue
                page_id = int.from_bytes(its[0], "big")
                if state == b"kept":
                    distance = (other.key ^ mine.key).bit_count()
                    kept.append((page_id != page.id, distance, page_id, other))
                elif rank < (other.key, page_id, other.token):
                    wounded.add(other)
                else:
                    waiting = True
            match = await self._join(page, sorted(kept, key=lambda entry: entry[:3]))
            if match is not None:
                return match
            if waiting and not kept:
                await asyncio.sleep(pause * random.random())
                pause = min(2 * pause, _LONGEST_PAUSE)
        return None

    async def _join(self, page: Page, kept: list[tuple[bool, int, int, Attempt]]) -> Match | None:
        """Count `page` on the first of these entries that is kept still."""
        for another, distance, page_id, entry in kept:
            if not another:
                await self._settle(entry, "touch", self._retention)
                return Match(page_id=page_id, distance=distance, url=page.url)
            url = await self._call("collapse", self._entry(entry), *entry.words, self._retention)
            if url is not None:
                return Match(page_id=page_id, distance=distance, url=url.decode() or None)
        return None

    async def _look_at(
        self, near: Iterable[Attempt], wounded: set[Attempt]
    ) -> dict[Attempt, list[Any]]:
        others = list(near)
        replies = await asyncio.gather(
            *(
                self._call(
                    "look", self._entry(other), *other.words, self._retention,
                    "wound" if other in wounded else "",
                )
                for other in others
            )
        )  # fmt: skip
        return dict(zip(others, replies, strict=True))

    # ---- ends ------------------------------------------------------------------------------

    async def _end(self, attempt: Attempt, page_id: int | None = None) -> bool:
        """End an entry, kept or pending, then take its claims and its pointer away."""
        ended, _ = await self._settle(attempt, "end")
        await self._clear(attempt, page_id)
        return bool(ended)

    async def _clear(self, attempt: Attempt, page_id: int | None) -> None:
        if page_id is not None:
            key, name = self._pages(page_id), page_id.to_bytes(8, "big")
            await self._call("page", key, name, "clear", attempt.name)
        await self._release(attempt)

    async def _release(self, ended: Attempt) -> None:
        """Take away the claims of an attempt that has ended, and so can't commit any more."""
        _, *others = self._layout.permuted(ended.key)
        await asyncio.gather(
            *(
                self._call("release", self._key(f"t{i}", f), f, ended.token)
                for i, f in enumerate(others, 2)
            )
        )

    async def _settle(self, attempt: Attempt, verb: str, milliseconds: int = 0) -> tuple[int, int]:
        key = self._entry(attempt)
        ended, collapsed = await self._call("settle", key, *attempt.words, verb, milliseconds)
        return ended, collapsed

    async def _attempt_of(self, page_id: int) -> Attempt | None:
        name = await self._call("page", self._pages(page_id), page_id.to_bytes(8, "big"), "get")
        return Attempt.named(name) if name else None

    # ---- in the background -----------------------------------------------------------------

    async def _renew(self) -> None:
        for attempt in list(self._held.values()):
            await self._settle(attempt, "renew", int(LEASE * 1000))

    async def _sweep(self) -> None:
        hash_, cursor = self._sweeping
        first = bytes([hash_])
        cursor, ended = await self._call(
            "sweep", self._key("t1", first), self._retention, cursor, _SWEEP_FIELDS, first
        )
        cursor = int(cursor)
        self._sweeping = (hash_ if cursor else (hash_ + 1) % 256), cursor
        for key, token, page_id in zip(ended[::3], ended[1::3], ended[2::3], strict=True):
            await self._clear(Attempt.named(key + token), int.from_bytes(page_id, "big"))

    @staticmethod
    async def _repeat(step: Any, pause: float) -> None:
        while True:
            await asyncio.sleep(pause)
            # While the cluster is away there is nothing to do; pages report it.
            with contextlib.suppress(StoreUnavailableError):
                await step()

    # ---- calls -----------------------------------------------------------------------------

    @cached_property
    def _scripts(self) -> dict[str, tuple[str, str]]:
        """Verb -> (sha, text)."""
        entries = {"begin", "look", "commit", "collapse", "settle", "sweep"}
        texts = {
            verb: self._layout.script(
                *(["cluster_entries"] if verb in entries else []), f"cluster_{verb}"
            )
            for verb in (*entries, "claim", "release", "page")
        }
        return {
            verb: (hashlib.sha1(text.encode(), usedforsecurity=False).hexdigest(), text)
            for verb, text in texts.items()
        }

    async def _call(self, verb: str, key: str, *arguments: Any) -> Any:
        sha, text = self._scripts[verb]
        try:
            async with self._turn:
                try:
                    return await self._client.evalsha(sha, 1, key, *arguments)
                except exceptions.NoScriptError:  # a node that is new, or was restarted
                    return await self._client.eval(text, 1, key, *arguments)
        except (exceptions.RedisError, OSError) as error:
            raise explained(error, self._uri) from error

    def _key(self, tree: str, f: bytes) -> str:
        """Return the name of a hash; all of it is the hash tag, so each has a slot of its own."""
        return f"{{{self._prefix}{tree}:{f[0]:02x}}}"

    def _entry(self, attempt: Attempt) -> str:
        return self._key("t1", attempt.words[0])

    def _pages(self, page_id: int) -> str:
        return self._key("page", page_id.to_bytes(8, "big"))

    @staticmethod
    def _verdict(page: Page, reason: Reason, match: Match | None = None) -> Verdict:
        decisions = {
            Reason.OVERFLOW: Decision.UNJUDGED,
            Reason.SAME_PAGE: Decision.SEEN,
            Reason.NEAR: Decision.DUPLICATE,
            Reason.EQUAL: Decision.DUPLICATE,
        }
        return Verdict(
            decision=decisions.get(reason, Decision.NEW),
            reason=reason,
            page_id=page.id,
            match=match,
            fingerprint=page.fingerprint,
            tokens=page.tokens,
        )

    async def __aenter__(self) -> Self:
        await self.open()
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self.close()


def _evidence(tag: int, page: Page) -> bytes:
    values = (tag, page.title, page.content)
    return b"".join((value & 0xFFFF).to_bytes(2, "big") for value in values)


def _alike(ours: bytes, theirs: bytes) -> bool:
    """Whether two pages' evidence lets them be duplicates; see `stores.base.contradicts`."""
    differs = ours[2:4] != theirs[2:4] and ours[4:] != theirs[4:]
    return ours[:2] == theirs[:2] and not differs
