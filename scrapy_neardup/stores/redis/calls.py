"""Calls of scripts that wait for others to share a request, and those in one Redis.

A script is a file of ``lua/``, one for each verb, which goes to the server as it is.
"""

from __future__ import annotations

import asyncio
import hashlib
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Iterable, Sequence
from functools import cache
from importlib.resources import files
from itertools import chain
from typing import Any, NamedTuple

from redis import exceptions

from scrapy_neardup.errors import StoreUnavailableError
from scrapy_neardup.stores.redis.codec import separate
from scrapy_neardup.stores.redis.connection import PatientRedis, explaining, refused
from scrapy_neardup.urls import redact_store

MAX_CALLS = 16
"""Maximum number of calls in one command, and of one Redis in one request: it bounds how long
scripts keep others waiting."""
_MIN_CALLS = 4
"""Minimum number of calls in a request that is sent while another one is under way."""
_UNDER_WAY = 2
"""Maximum number of requests under way: one is executed while replies of the other are read."""
_SLOW = 0.05
"""Seconds after which a request under way keeps no others waiting: its reply is slow, and calls
behind it would wait for two replies."""
_MAX_UNDER_WAY = 32
"""Maximum number of requests under way, slow ones included; each has a connection of its own."""
_MAX_CLOSE = 5.0
"""Maximum seconds that requests may go on while the store closes, and again to be cancelled."""

Words = tuple[Any, ...]


_TEXTS: dict[str, str] = {}


@cache
def text(verb: str) -> str:
    """Return the text of a script."""
    return files("scrapy_neardup.stores.redis").joinpath(f"lua/{verb}.lua").read_text("utf-8")


@cache
def sha(verb: str) -> str:
    """Return the name by which a server that knows the script calls it."""
    digest = hashlib.sha1(text(verb).encode(), usedforsecurity=False).hexdigest()
    _TEXTS[digest] = text(verb)
    return digest


def with_text(words: Words) -> Words:
    """Return an EVALSHA for a server that doesn't know the script: it is new, or was restarted."""
    return "EVAL", _TEXTS[words[1]], *words[2:]


class Call(NamedTuple):
    """A command up to the arguments that are a call's own, these, and its reply to come."""

    command: Words
    item: Words
    """If there are any, calls of one command share it, and its reply is all of theirs in one
    string, as redis-py takes .01 ms for each element of a reply."""
    reply: asyncio.Future[Any]

    def end(self, reply: Any) -> None:
        """Hand the reply, or an error, to the caller, unless it gave up waiting."""
        if self.reply.done():
            return
        if isinstance(reply, BaseException):
            self.reply.set_exception(reply)
        else:
            self.reply.set_result(reply)


class Calls(ABC):
    """Calls that wait for their turn, and their replies; the caller closes the client."""

    most_calls = MAX_CALLS

    def __init__(self, client: Any, uri: str) -> None:
        self._client = client
        self._uri = uri
        self._waiting: list[Call] = []
        self._requests: dict[asyncio.Task[None], float] = {}  # each with the time it was sent
        self._closed = False

    async def call(self, verb: str, home: str, constants: bytes, *item: Any) -> bytes:
        """Call a script, which is told the constants of its home; return its reply to `item`."""
        keys = self._keys(home)
        replied: bytes = await self._make(
            ("EVALSHA", sha(verb), len(keys), *keys, constants), item
        )
        return replied

    def _keys(self, home: str) -> tuple[str, ...]:  # noqa: ARG002
        """Return the keys that a call of a script of this home names."""
        return ()

    async def close(self) -> None:
        """Make no more calls, and let those under way end; the client may be closed afterwards.

        Closed under them, a cluster's client would connect again to repeat them.
        """
        self._closed = True
        for call in self._waiting:
            call.end(self._was_closed())
        self._waiting.clear()
        if self._requests:
            _, late = await asyncio.wait(self._requests, timeout=_MAX_CLOSE)
            for request in late:
                request.cancel()
            if late:  # one that is connecting would leave its connection open
                await asyncio.wait(late, timeout=_MAX_CLOSE)

    def require_open(self) -> None:
        """Raise `StoreUnavailableError` if `close` was called."""
        if self._closed:
            raise self._was_closed()

    @abstractmethod
    def _send_waiting(self) -> None:
        """Send what waits, as far as it may."""

    async def _make(self, command: Words, item: Words = ()) -> Any:
        """Queue a call and return its reply; for errors see `connection.explained`."""
        self.require_open()
        loop = asyncio.get_running_loop()
        if not self._waiting:
            loop.call_soon(self._send_waiting)
        self._waiting.append(call := Call(command, item, loop.create_future()))
        with explaining(self._uri):
            return await call.reply

    def _send(self, commands: Sequence[Sequence[Call]], node: str = "") -> None:
        """Send commands in one request."""
        task = asyncio.create_task(self._answer(commands, node))
        self._requests[task] = asyncio.get_running_loop().time()
        task.add_done_callback(self._sent)

    def _sent(self, request: asyncio.Task[None]) -> None:
        del self._requests[request]
        if self._waiting:
            self._send_waiting()

    async def _answer(self, commands: Sequence[Sequence[Call]], node: str) -> None:
        """Make a request; hand the replies, or the error, to those that wait."""
        replies: Sequence[Any] = [self._was_closed()] * len(commands)
        try:
            words = [
                tuple(chain(calls[0].command, *(call.item for call in calls)))
                for calls in commands
            ]
            replies = await self._replies(words, node)
        except Exception as error:  # noqa: BLE001, whoever waits must hear of any
            replies = [error] * len(commands)
        finally:
            for calls, reply in zip(commands, replies, strict=True):
                is_shared = calls[0].item and not isinstance(reply, BaseException)
                each = separate(reply) if is_shared else [reply] * len(calls)
                for call, its in zip(calls, each, strict=True):
                    call.end(its)

    @abstractmethod
    async def _replies(self, commands: Sequence[Words], node: str) -> Sequence[Any]:
        """Return the reply to each command, or the error that it ended with."""

    def _was_closed(self) -> StoreUnavailableError:
        return StoreUnavailableError(f"NEARDUP_STORE: {redact_store(self._uri)} was closed")


def together(calls: Iterable[Call], most: int) -> list[list[Call]]:
    """Return the calls that share a command, at most so many, for each command."""
    commands: dict[Any, list[Call]] = {}
    counts = Counter[Words]()
    for number, call in enumerate(calls):
        key = (call.command, counts[call.command] // most) if call.item else number
        counts[call.command] += 1
        commands.setdefault(key, []).append(call)
    return list(commands.values())


class Scripts(Calls):
    """Calls of scripts in one Redis; those of one process that are due at once share a request.

    While requests are under way, further calls wait and go together afterwards; where there are
    many, in two requests, so that the server isn't idle while the process is busy with replies.
    Behind a request whose reply is slow no call waits. A call whose reply is lost is not
    repeated, as it may have been executed.
    """

    def __init__(self, client: PatientRedis, uri: str) -> None:
        super().__init__(client, uri)
        connections = client.connection_pool.max_connections
        self._most_requests = max(_UNDER_WAY, min(_MAX_UNDER_WAY, connections - 1))

    def _send_waiting(self) -> None:
        """Send what waits, if there is enough of it for the requests that are under way."""
        loop = asyncio.get_running_loop()
        while count := len(self._waiting):
            now = loop.time()
            quick = sum(now - sent < _SLOW for sent in self._requests.values())
            if len(self._requests) >= self._most_requests or quick >= _UNDER_WAY:
                break
            if quick and count < _MIN_CALLS:
                break
            if not quick and count >= 2 * _MIN_CALLS:
                count = (count + 1) // 2
            count = min(count, self.most_calls)
            commands = together(self._waiting[:count], count)
            del self._waiting[:count]
            self._send(commands)
            loop.call_later(_SLOW, self._send_waiting)  # which may wait behind this one

    async def _replies(self, commands: Sequence[Words], node: str) -> Sequence[Any]:  # noqa: ARG002
        replies = await self._execute(commands)
        for place, reply in enumerate(replies):
            if isinstance(reply, exceptions.NoScriptError):
                [replies[place]] = await self._execute([with_text(commands[place])])
        if any(refused(reply, exceptions.ReadOnlyError, "READONLY") for reply in replies):
            # After a failover the connections lead to the old master: look it up again.
            await self._client.connection_pool.disconnect(inuse_connections=False)
        return replies

    async def _execute(self, commands: Sequence[Words]) -> list[Any]:
        if len(commands) == 1:  # a pipeline costs twice as much
            try:
                return [await self._client.execute_command(*commands[0])]
            except exceptions.ResponseError as error:
                return [error]
        async with (
            asyncio.timeout(self._client.patience),
            self._client.pipeline(transaction=False) as pipeline,
        ):
            for command in commands:
                pipeline.execute_command(*command)
            replies: list[Any] = await pipeline.execute(raise_on_error=False)
            return replies
