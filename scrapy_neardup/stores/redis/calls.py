"""Calls of scripts that wait for others to share a request, and those in one Redis."""

from __future__ import annotations

import asyncio
from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from itertools import repeat
from struct import Struct
from typing import Any, Final, NamedTuple

from redis import exceptions

from scrapy_neardup.errors import StoreUnavailableError
from scrapy_neardup.stores.redis.connection import PatientRedis, explaining, refused
from scrapy_neardup.stores.redis.scripts import VERBS, text
from scrapy_neardup.urls import redact_store

MAX_CALLS = 16
"""Maximum number of calls in one request: it bounds how long scripts keep others waiting."""
_MIN_CALLS = 4
"""Minimum number of calls in a request that is sent while another one is under way."""
_UNDER_WAY = 2
"""Maximum number of requests under way: one is executed while replies of the other are read."""
_SLOW = 0.05
"""Seconds after which a request under way keeps no others waiting: its reply is slow, and calls
behind it would wait for two replies."""
_MAX_UNDER_WAY = 32
"""Maximum number of requests under way, slow ones included; each has a connection of its own."""

_Key = tuple[str, bytes]
"""Name of a script, and the constants that its calls share."""


class _Call(NamedTuple):
    key: _Key
    item: tuple[Any, ...]
    reply: asyncio.Future[bytes]


_Request = Callable[[Sequence[Any]], Awaitable[Sequence[Any]]]


class Calls(ABC):
    """Calls that wait for their turn, and their replies; the caller closes the client."""

    def __init__(self, client: Any, uri: str) -> None:
        self._client = client
        self._uri = uri
        self._waiting: list[Any] = []  # each with a future `reply`
        self._closed = False

    @abstractmethod
    async def close(self) -> None:
        """Make no more calls; the client may be closed afterwards."""

    @abstractmethod
    def _send_waiting(self) -> None:
        """Send what waits, as far as it may."""

    async def _replied(self, make: Callable[[asyncio.Future[Any]], Any]) -> Any:
        """Queue a call and return its reply; for errors see `connection.explained`."""
        if self._closed:
            raise self._was_closed()
        loop = asyncio.get_running_loop()
        reply: asyncio.Future[Any] = loop.create_future()
        if not self._waiting:
            loop.call_soon(self._send_waiting)
        self._waiting.append(make(reply))
        with explaining(self._uri):
            return await reply

    async def _answer(self, calls: Sequence[Any], request: _Request) -> None:
        """Hand the replies that `request` returns, or its error, to those that wait for them."""
        replies: Sequence[Any] = [self._was_closed()] * len(calls)
        try:
            replies = await request(calls)
        except Exception as error:  # noqa: BLE001, whoever waits must hear of any
            replies = [error] * len(calls)
        finally:
            hand_out(calls, replies)

    def _was_closed(self) -> StoreUnavailableError:
        return StoreUnavailableError(f"NEARDUP_STORE: {redact_store(self._uri)} was closed")


def hand_out(calls: Sequence[Any], replies: Sequence[Any]) -> None:
    """Set the result or the error of the future ``reply`` of each call."""
    for call, reply in zip(calls, replies, strict=True):
        if call.reply.done():  # its caller gave up waiting
            continue
        if isinstance(reply, BaseException):
            call.reply.set_exception(reply)
        else:
            call.reply.set_result(reply)


class Scripts(Calls):
    """Calls of scripts in one Redis; those of one process that are due at once share a request.

    While requests are under way, further calls wait and go together afterwards; where there are
    many, in two requests, so that the server isn't idle while the process is busy with replies.
    Calls of one script are one command, behind the arguments that they share, and its reply is all
    of theirs in one string, as redis-py takes .01 ms for each element of a reply. Behind a request
    whose reply is slow no call waits. A call whose reply is lost is not repeated, as it may have
    been executed.
    """

    def __init__(self, client: PatientRedis, uri: str) -> None:
        super().__init__(client, uri)
        self._shas: dict[str, str] = {}
        self._requests: dict[asyncio.Task[None], float] = {}  # each with the time it was sent
        connections = client.connection_pool.max_connections
        self._most_requests = max(_UNDER_WAY, min(_MAX_UNDER_WAY, connections - 1))
        self._timer: asyncio.TimerHandle | None = None
        self.most_calls = MAX_CALLS

    async def load(self) -> None:
        """Make all scripts known to the server."""
        for verb in VERBS:
            self._shas[verb] = await self._client.script_load(text(verb))

    async def call(self, verb: str, home: str, constants: bytes, *item: Any) -> bytes:  # noqa: ARG002
        """Call a script, which is told the constants of its home; return its reply to `item`."""
        replied: bytes = await self._replied(lambda reply: _Call((verb, constants), item, reply))
        return replied

    async def close(self) -> None:
        """Give up all calls; the client may be closed afterwards."""
        self._closed = True
        if self._timer is not None:
            self._timer.cancel()
        for request in self._requests:
            request.cancel()
        await asyncio.gather(*self._requests, return_exceptions=True)
        hand_out(self._waiting, [self._was_closed()] * len(self._waiting))
        self._waiting.clear()

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
            calls = self._waiting[:count][: self.most_calls]
            del self._waiting[: len(calls)]
            request = asyncio.create_task(self._answer(calls, self._execute))
            self._requests[request] = now
            request.add_done_callback(self._sent)
        if self._waiting and self._timer is None:
            self._timer = loop.call_later(_SLOW, self._look_again)

    def _look_again(self) -> None:
        self._timer = None
        self._send_waiting()

    def _sent(self, request: asyncio.Task[None]) -> None:
        del self._requests[request]
        if not self._closed:
            self._send_waiting()

    async def _execute(self, calls: Sequence[_Call]) -> list[Any]:
        items: dict[_Key, list[Any]] = {}
        for call in calls:
            items.setdefault(call.key, []).extend(call.item)
        replies = await self._evaluate(items)
        lost = {
            key: items[key]
            for key, reply in replies.items()
            if isinstance(reply, exceptions.NoScriptError)
        }
        if lost:  # the server was restarted, or its scripts were flushed
            await self.load()
            replies |= await self._evaluate(lost)
        if any(refused(reply, exceptions.ReadOnlyError, "READONLY") for reply in replies.values()):
            # After a failover the connections lead to the old master: look it up again.
            await self._client.connection_pool.disconnect(inuse_connections=False)
        each = {
            key: repeat(reply) if isinstance(reply, BaseException) else separate(reply)
            for key, reply in replies.items()
        }
        return [next(each[call.key]) for call in calls]

    async def _evaluate(self, items: Mapping[_Key, list[Any]]) -> dict[_Key, Any]:
        """Return the reply of each script, or the error that it ended with."""
        commands = [
            (self._shas[verb], 0, constants, *each) for (verb, constants), each in items.items()
        ]
        if len(commands) == 1:  # a pipeline costs twice as much
            try:
                return dict.fromkeys(items, await self._client.evalsha(*commands[0]))
            except exceptions.ResponseError as error:
                return dict.fromkeys(items, error)
        async with (
            asyncio.timeout(self._client.patience),
            self._client.pipeline(transaction=False) as pipeline,
        ):
            for command in commands:
                pipeline.evalsha(*command)
            return dict(zip(items, await pipeline.execute(raise_on_error=False), strict=True))


_LENGTH: Final = Struct(">I")


def separate(joined: bytes) -> Iterator[bytes]:
    """Yield the replies in one, each behind its length."""
    at = 0
    while at < len(joined):
        start = at + _LENGTH.size
        at = start + _LENGTH.unpack_from(joined, at)[0]
        yield joined[start:at]
