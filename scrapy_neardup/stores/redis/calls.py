"""Calls of scripts and commands, which share requests.

A script is a file of ``lua/``, one for each verb, which goes to the server as it is.
"""

from __future__ import annotations

import asyncio
import hashlib
from collections import defaultdict
from collections.abc import Iterable, Sequence
from functools import cache, partial
from importlib.resources import files
from itertools import chain
from typing import Any, NamedTuple

from redis import exceptions
from redis.asyncio import Redis

from scrapy_neardup.errors import StoreUnavailableError
from scrapy_neardup.stores.redis.connection import disconnect, explained, refused, require_usable
from scrapy_neardup.stores.redis.pages import separate
from scrapy_neardup.urls import redact_store

MAX_CALLS = 16
"""Maximum number of calls in one command, and in one request to a single Redis, so that scripts
don't keep others waiting too long."""
_MIN_CALLS = 4
"""Minimum number of calls in a request that is sent while another one is under way."""
_UNDER_WAY = 2
"""Maximum number of requests under way: one is executed while replies of the other are read."""
_SLOW = 0.05
"""Seconds after which a request under way no longer delays others: otherwise calls after a slow
reply would wait for two replies."""
MAX_UNDER_WAY = 32
"""Maximum number of requests under way, including slow ones; each has its own connection."""
_MAX_CLOSE = 5.0
"""Maximum seconds that requests may go on while the store closes, and that cancelling them may
take."""

Words = tuple[Any, ...]


_TEXTS: dict[str, bytes] = {}
"""Digest -> text of each script that was used."""


@cache
def sha(verb: str) -> str:
    """Return the digest by which a server runs the script of a verb that it knows."""
    text = files("scrapy_neardup.stores.redis").joinpath(f"lua/{verb}.lua").read_bytes()
    digest = hashlib.sha1(text, usedforsecurity=False).hexdigest()
    _TEXTS[digest] = text
    return digest


def with_text(words: Words) -> Words:
    """Return an EVALSHA as an EVAL, for a server that is new or was restarted."""
    return "EVAL", _TEXTS[words[1]], *words[2:]


class Call(NamedTuple):
    """A command up to the call's own arguments, these arguments, and the reply to come."""

    command: Words
    item: Words
    """If there are any, calls with the same command share it. Its reply has all of their replies
    in one string, because redis-py takes .01 ms for each element of a reply."""
    reply: asyncio.Future[Any]

    def end(self, reply: Any, uri: str) -> None:
        """Hand the reply, or the explained error, to the caller, unless it gave up waiting."""
        if self.reply.done():
            return
        if isinstance(reply, BaseException):
            error = explained(reply, uri)
            error.__cause__ = reply if error is not reply else None
            self.reply.set_exception(error)
        else:
            self.reply.set_result(reply)


class Calls:
    """Calls to one Redis, through a client that `close` closes.

    Calls of a process that are due at once share a request. While requests are under way, further
    calls wait and then share one. If there are many, they go in two requests, so that the server
    isn't idle while the process reads replies. No call waits for a request whose reply is slow. A
    call whose reply is lost isn't repeated, because it may have been executed.
    """

    most_calls = MAX_CALLS
    _most_in_request = MAX_CALLS

    def __init__(self, client: Any, uri: str) -> None:
        self.client = client
        self.uri = uri
        self._most_requests = MAX_UNDER_WAY
        self._patience: float | None = None
        if isinstance(client, Redis):
            pool = client.connection_pool
            self._most_requests = min(MAX_UNDER_WAY, pool.max_connections)
            # Seconds for a whole request. redis-py limits each write and each read separately,
            # which takes almost as much of the crawler's time as the rest of a command.
            self._patience = pool.connection_kwargs["socket_timeout"]
            pool.connection_kwargs["socket_timeout"] = None
        self._waiting: dict[str, list[Call]] = defaultdict(list)
        self._requests: dict[str, dict[asyncio.Task[None], float]] = defaultdict(dict)
        self._closed = False

    async def open(self) -> None:
        """Take calls, also after `close`; for errors see `begin`."""
        self._closed = False
        await self.begin()

    async def begin(self) -> None:
        """Connect; for errors see `require_usable`."""
        require_usable(await self.make(("INFO",)), self.uri)

    async def make(self, command: Words, item: Words = ()) -> Any:
        """Return the reply to a command, which is shared if it has an `item`.

        For errors see `connection.explained`.
        """
        if self._closed:
            raise self._was_closed()
        loop, server = asyncio.get_running_loop(), self._server(command)
        waiting = self._waiting[server]
        if not waiting:
            loop.call_soon(self._send_waiting, server)
        waiting.append(call := Call(command, item, loop.create_future()))
        return await call.reply

    async def close(self) -> None:
        """Make no more calls, let those under way end, and close the client.

        If it were closed during calls, a cluster's client would connect again to repeat them.
        """
        self._closed = True
        for call in chain.from_iterable(self._waiting.values()):
            call.end(self._was_closed(), self.uri)
        self._waiting.clear()
        if requests := set(chain.from_iterable(self._requests.values())):
            _, late = await asyncio.wait(requests, timeout=_MAX_CLOSE)
            for request in late:
                request.cancel()
            if late:  # a call that is connecting would leave its connection open
                await asyncio.wait(late, timeout=_MAX_CLOSE)
        await disconnect(self.client)

    # ---- servers: one, or the nodes of a cluster -------------------------------------------

    def _server(self, command: Words) -> str:  # noqa: ARG002
        """Return the name of the server that is to execute a command."""
        return ""

    async def _replies(self, commands: Sequence[Words], server: str) -> Sequence[Any]:  # noqa: ARG002
        """Return the reply to each command of a request, or the error that it ended with."""
        replies = await self._execute(commands)
        for place, reply in enumerate(replies):
            if isinstance(reply, exceptions.NoScriptError):
                [replies[place]] = await self._execute([with_text(commands[place])])
        if any(refused(reply, exceptions.ReadOnlyError, "READONLY") for reply in replies):
            # After a failover the connections lead to the old master: look it up again.
            await self.client.connection_pool.disconnect(inuse_connections=False)
        return replies

    async def _execute(self, commands: Sequence[Words]) -> list[Any]:
        async with asyncio.timeout(self._patience):
            if len(commands) == 1:  # a pipeline costs twice as much
                try:
                    return [await self.client.execute_command(*commands[0])]
                except exceptions.ResponseError as error:
                    return [error]
            async with self.client.pipeline(transaction=False) as pipeline:
                for command in commands:
                    pipeline.execute_command(*command)
                replies: list[Any] = await pipeline.execute(raise_on_error=False)
                return replies

    # ---- requests --------------------------------------------------------------------------

    def _send_waiting(self, server: str) -> None:
        """Send the waiting calls, if there are enough of them, given the requests under way."""
        waiting, requests = self._waiting[server], self._requests[server]
        loop = asyncio.get_running_loop()
        while count := len(waiting):
            now = loop.time()
            quick = sum(now - sent < _SLOW for sent in requests.values())
            if len(requests) >= self._most_requests or quick >= _UNDER_WAY:
                break
            if quick and count < _MIN_CALLS:
                break
            if not quick and count >= 2 * _MIN_CALLS:
                count = (count + 1) // 2
            count = min(count, self._most_in_request)
            commands = together(waiting[:count], self.most_calls)
            del waiting[:count]
            request = asyncio.create_task(self._answer(commands, server))
            requests[request] = now
            request.add_done_callback(partial(self._sent, server))
            loop.call_later(_SLOW, self._send_waiting, server)  # calls may be waiting for this one

    def _sent(self, server: str, request: asyncio.Task[None]) -> None:
        del self._requests[server][request]
        self._send_waiting(server)

    async def _answer(self, commands: Sequence[Sequence[Call]], server: str) -> None:
        """Make a request; hand the replies, or the error, to the waiting calls."""
        every = [*chain.from_iterable(commands)]
        ended: Iterable[tuple[Call, Any]] = [(call, self._was_closed()) for call in every]
        try:
            words = [
                tuple(chain(calls[0].command, *(call.item for call in calls)))
                for calls in commands
            ]
            replies = await self._replies(words, server)
            ended = [
                each
                for calls, reply in zip(commands, replies, strict=True)
                for each in zip(calls, _separated(reply, calls), strict=True)
            ]
        except Exception as error:  # noqa: BLE001, whoever waits must hear of any
            ended = [(call, error) for call in every]
        finally:
            for call, reply in ended:
                call.end(reply, self.uri)

    def _was_closed(self) -> StoreUnavailableError:
        return StoreUnavailableError(f"NEARDUP_STORE: {redact_store(self.uri)} was closed")


def _separated(reply: Any, calls: Sequence[Call]) -> Sequence[Any]:
    """Return the reply to each of the calls that shared a command."""
    is_shared = calls[0].item and not isinstance(reply, BaseException)
    return separate(reply) if is_shared else [reply] * len(calls)


def together(calls: Iterable[Call], most: int) -> list[list[Call]]:
    """Return for each command the calls that share it, in groups of limited size."""
    commands: list[list[Call]] = []
    shared: dict[Words, list[Call]] = {}
    for call in calls:
        some = shared.get(call.command) if call.item else None
        if some is None or len(some) == most:
            commands.append(some := [])
            if call.item:
                shared[call.command] = some
        some.append(call)
    return commands
