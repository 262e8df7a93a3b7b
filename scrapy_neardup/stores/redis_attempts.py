"""Attempts in a Redis Cluster, and the calls on what is stored of them.

An *attempt* is one try of one crawler to keep one page: a key and four random bytes. It is
never used again. Table 1 holds its entry, the only place where its fate is decided; the
other tables hold claims, which only say where to look.

Every method here is safe to be called again: after a lost reply, or at a second crawler.
"""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import os
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple, Self

from redis import exceptions
from redis.asyncio import RedisCluster

from scrapy_neardup.errors import StoreUnavailableError
from scrapy_neardup.stores.redis_client import FAILURES, explained, shown
from scrapy_neardup.stores.redis_layout import Layout
from scrapy_neardup.stores.redis_values import id_bytes

_CALLS_AT_ONCE = 64  # redis-py opens a connection for each call under way
_LONGEST_CLOSE = 5.0
_VERBS: dict[str, tuple[str, ...]] = {
    "begin": ("entries", "claims"),
    **dict.fromkeys(("look", "commit", "collapse", "settle", "sweep"), ("entries",)),
    "claim": ("claims",),
    "release": (),
    "page": (),
}
"""Verb -> the parts of Lua that its script stands on."""


@dataclass(frozen=True, slots=True)
class Attempt:
    """One try to keep one page: its key and four bytes of its own."""

    key: int
    token: bytes

    @classmethod
    def new(cls, key: int) -> Self:
        """Return an attempt that nobody made before."""
        return cls(key, os.urandom(4))

    @classmethod
    def named(cls, name: bytes) -> Self:
        """Return the attempt of this name."""
        return cls(int.from_bytes(name[:8], "big"), name[8:])

    @property
    def words(self) -> tuple[bytes, bytes]:
        """What scripts call it by."""
        return self.key.to_bytes(8, "big"), self.token

    @property
    def name(self) -> bytes:
        """Both in one, 12 bytes."""
        return b"".join(self.words)


class Claims(NamedTuple):
    """What came of claiming a place in every table."""

    granted: bool
    full: bool
    """A bucket takes no more entries."""
    near: set[Attempt]
    """All others within k bits."""
    old: Attempt | None
    """The entry that the page has from an earlier time."""


class Attempts:
    """The attempts of one namespace.

    Parameters
    ----------
    client
        Open; closed by the caller.
    prefix
        What all keys of the namespace begin with.
    record
        The digest of the namespace's parameters.
    retention
        Milliseconds, 0: none.
    check_record
        Called where a node lacks a script: it may have been emptied, and the record with it.
    """

    def __init__(
        self,
        client: RedisCluster,
        *,
        uri: str,
        prefix: str,
        layout: Layout,
        record: str,
        retention: int,
        check_record: Callable[[], Awaitable[None]],
    ) -> None:
        self._client = client
        self._uri = uri
        self._prefix = prefix
        self._layout = layout
        self._record = record
        self._check_record = check_record
        self._retention = retention
        self._turn = asyncio.Semaphore(_CALLS_AT_ONCE)
        self._closed = False

    # ---- a page's way ----------------------------------------------------------------------

    async def claim(
        self, mine: Attempt, page_id: int, evidence: bytes, limit: int, lease: float
    ) -> Claims:
        """Claim a place in every table, and look up the page's own old entry."""
        first, *others = self._layout.permuted(mine.key)
        name = id_bytes(page_id)
        begin = (first, mine.token, limit, name, evidence, int(lease * 1000))
        *replies, pointer = await asyncio.gather(
            self.call("begin", self._entry(mine), *begin),
            *(
                self.call("claim", self.key(f"t{i}", f), f, mine.token, limit, i)
                for i, f in enumerate(others, 2)
            ),
            self.call("page", self.key("page", name), name, "get"),
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

    async def look_at(
        self, near: Iterable[Attempt], wounded: set[Attempt]
    ) -> dict[Attempt, list[Any]]:
        """Return the states of others' attempts, ending those that are `wounded` or over."""
        others = list(near)
        look = (
            self.call("look", self._entry(other), *other.words, self._retention, word)
            for other in others
            for word in ("wound" if other in wounded else "",)
        )
        return dict(zip(others, await asyncio.gather(*look), strict=True))

    async def collapse(self, entry: Attempt) -> tuple[int, bytes] | None:
        """Count a page as dropped for `entry`, unless that is kept no more.

        Returns
        -------
        count, url
            How many pages were dropped for it, this one included; its URL.
        """
        reply = await self.call("collapse", self._entry(entry), *entry.words, self._retention)
        return reply and (reply[0], reply[1])

    async def commit(self, mine: Attempt, lease: float, url: bytes) -> bool:
        """Keep the entry of `mine`; False if others ended it before."""
        return bool(
            await self.call("commit", self._entry(mine), *mine.words, int(lease * 1000), url)
        )

    async def point(self, page_id: int, mine: Attempt, old: Attempt | None) -> bool:
        """Make `mine` the entry of its page; return whether that ended another one.

        `old` is what the pointer was before: where a first call of "swap" had succeeded
        without a reply, the second doesn't return it.
        """
        name = id_bytes(page_id)
        before = await self.call("page", self.key("page", name), name, "swap", mine.name)
        others = {Attempt.named(before)} if before else set()
        ended = [await self.end(each) for each in (others | {old or mine}) - {mine}]
        return any(ended)

    async def attempt_of(self, page_id: int) -> Attempt | None:
        """Return the attempt that is the entry of this page."""
        name = id_bytes(page_id)
        pointer = await self.call("page", self.key("page", name), name, "get")
        return Attempt.named(pointer) if pointer else None

    # ---- ends ------------------------------------------------------------------------------

    async def end(self, attempt: Attempt, page_id: int | None = None) -> bool:
        """End an entry, kept or pending, then take its claims and its pointer away."""
        ended, _ = await self.settle(attempt, "end")
        await self.clear(attempt, page_id)
        return ended

    async def clear(self, attempt: Attempt, page_id: int | None = None) -> None:
        """Take away the claims, and of a page the pointer, of an attempt that has ended."""
        if page_id is not None:
            name = id_bytes(page_id)
            await self.call("page", self.key("page", name), name, "clear", attempt.name)
        _, *others = self._layout.permuted(attempt.key)
        await asyncio.gather(
            *(
                self.call("release", self.key(f"t{i}", f), f, attempt.token)
                for i, f in enumerate(others, 2)
            )
        )

    async def settle(self, attempt: Attempt, verb: str, time: float = 0) -> tuple[bool, int]:
        """Confirm, renew, touch, forget or end an entry (``cluster_settle.lua``).

        Returns
        -------
        ended, collapsed
            Whether it ended by this call, and how many pages had been dropped for it.
        """
        milliseconds = int(time * 1000)
        key = self._entry(attempt)
        ended, collapsed = await self.call("settle", key, *attempt.words, verb, milliseconds)
        return bool(ended), collapsed

    async def sweep(self, hash_: int, cursor: int, fields: int) -> int:
        """Clear away what is over in `fields` buckets of a hash; return the next cursor."""
        first = bytes([hash_])
        after, ended = await self.call(
            "sweep", self.key("t1", first), self._retention, cursor, fields, first
        )
        for key, token, page_id in zip(ended[::3], ended[1::3], ended[2::3], strict=True):
            await self.clear(Attempt.named(key + token), int.from_bytes(page_id, "big"))
        return int(after)

    # ---- calls -----------------------------------------------------------------------------

    @cached_property
    def _scripts(self) -> dict[str, tuple[str, str]]:
        """Verb -> (sha, text)."""
        texts = {
            verb: self._layout.script(
                *(f"cluster_{part}" for part in (*parts, verb)), record=self._record
            )
            for verb, parts in _VERBS.items()
        }
        return {
            verb: (hashlib.sha1(text.encode(), usedforsecurity=False).hexdigest(), text)
            for verb, text in texts.items()
        }

    async def call(self, verb: str, key: str, *arguments: Any) -> Any:
        """Call a script on one hash.

        Raises
        ------
        StoreError
            As `redis_client.explained`.
        """
        self._check_open()
        sha, text = self._scripts[verb]
        try:
            async with self._turn:
                self._check_open()
                try:
                    return await self._client.evalsha(sha, 1, key, *arguments)
                except exceptions.NoScriptError:  # a node that is new, or was restarted
                    await self._check_record()
                    return await self._client.eval(text, 1, key, *arguments)
        except FAILURES as error:
            raise explained(error, self._uri) from error

    async def close(self) -> None:
        """Let the calls under way end and make no more; the client may be closed afterwards.

        Closed under them, it would connect anew to repeat them.
        """
        self._closed = True
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(_LONGEST_CLOSE):
                for _ in range(_CALLS_AT_ONCE):
                    await self._turn.acquire()

    def _check_open(self) -> None:
        if self._closed:
            raise StoreUnavailableError(f"NEARDUP_STORE: {shown(self._uri)} was closed")

    def key(self, tree: str, f: bytes) -> str:
        """Return the name of a hash; all of it is the hash tag, so each has a slot of its own."""
        return f"{{{self._prefix}{tree}:{f[0]:02x}}}"

    def _entry(self, attempt: Attempt) -> str:
        return self.key("t1", attempt.words[0])
