"""Calls of scripts: in one Redis, and in a cluster.

Rule of this room: nothing here knows what a script does.
"""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping, Sequence
from itertools import repeat
from struct import Struct
from typing import Any, Final, NamedTuple

from redis import exceptions
from redis.asyncio import RedisCluster
from redis.asyncio.cluster import ClusterNode, PipelineCommand

from scrapy_neardup.errors import StoreUnavailableError
from scrapy_neardup.stores.redis.client import FAILURES, PatientRedis, explaining, refused
from scrapy_neardup.urls import redact_store

_MAX_WORDS = 16
"""Maximum number of calls in one request: it bounds how long scripts keep others waiting."""
_MIN_WORDS = 4
"""Minimum number of calls in a request that is sent while another one is under way."""
_UNDER_WAY = 2
"""Maximum number of requests under way: one is executed while replies of the other are read."""
_MAX_CALLS = 64
"""Maximum number of calls in one request to a node of a cluster."""
_REQUESTS_AT_ONCE = 32
"""Maximum number of concurrent requests: redis-py opens a connection for each."""
_ALONE_AT_ONCE = 32
"""Maximum number of calls that are repeated at once, each as a request of its own."""
_MAX_CLOSE = 5.0
"""Maximum seconds that requests may go on while the store closes."""

_TO_REPEAT = (
    exceptions.ConnectionError,
    exceptions.TimeoutError,
    exceptions.AskError,  # and MOVED, which is one
    exceptions.TryAgainError,
    exceptions.ClusterDownError,
    exceptions.NoScriptError,
    OSError,
)
"""Errors of a single call of a request, whose slot has moved or whose node is another by now."""

_Key = tuple[str, tuple[Any, ...]]
"""Digest of a script, and the arguments that its calls share."""


class _Call(NamedTuple):
    key: _Key
    word: bytes
    reply: asyncio.Future[bytes]


class _KeyedCall(NamedTuple):
    verb: str
    key: str
    arguments: tuple[Any, ...]
    reply: asyncio.Future[Any]


def _answer(calls: Sequence[_Call | _KeyedCall], replies: Sequence[Any]) -> None:
    """Hand replies, or errors, to those that wait for them."""
    for call, reply in zip(calls, replies, strict=True):
        if call.reply.done():  # its caller gave up waiting
            continue
        if isinstance(reply, BaseException):
            call.reply.set_exception(reply)
        else:
            call.reply.set_result(reply)


class Scripts:
    """Calls of scripts in one Redis; those of one process that are due at once share a request.

    While requests are under way, further calls wait and go together afterwards; where there are
    many, in two requests, so that the server isn't idle while the process is busy with replies.
    Calls of one script are one command: its last argument holds the words of all of them, and its
    reply all replies (`_joined`), as redis-py takes .01 ms for each element of a reply. A call
    whose reply is lost is not repeated, as it may have been executed.

    Parameters
    ----------
    client
        Open; closed by the caller.
    """

    def __init__(self, client: PatientRedis, uri: str) -> None:
        self._client = client
        self._uri = uri
        self._texts: dict[str, str] = {}
        self._shas: dict[str, str] = {}
        self._waiting: list[_Call] = []
        self._requests: set[asyncio.Task[None]] = set()
        self._closed = False

    async def load(self, texts: Mapping[str, str]) -> None:
        """Make scripts known to the server, verb -> text; later calls of a verb mean these."""
        for verb, text in texts.items():
            self._shas[verb] = await self._client.script_load(text)
            self._texts[self._shas[verb]] = text

    async def call(self, verb: str, word: bytes, *shared: Any) -> bytes:
        """Call a script and return its reply to `word`.

        Parameters
        ----------
        shared
            Arguments that calls have in common, which precede what they don't.

        Raises
        ------
        StoreError
            As `client.explained`.
        """
        if self._closed:
            raise self._was_closed()
        loop = asyncio.get_running_loop()
        reply: asyncio.Future[bytes] = loop.create_future()
        if not self._waiting:
            loop.call_soon(self._send_waiting)
        self._waiting.append(_Call((self._shas[verb], shared), word, reply))
        with explaining(self._uri):
            return await reply

    async def close(self) -> None:
        """Give up all calls; the client may be closed afterwards."""
        self._closed = True
        for request in self._requests:
            request.cancel()
        await asyncio.gather(*self._requests, return_exceptions=True)
        _answer(self._waiting, [self._was_closed()] * len(self._waiting))
        self._waiting.clear()

    def _send_waiting(self) -> None:
        """Send what waits, if there is enough of it for the requests that are under way."""
        while (count := len(self._waiting)) and len(self._requests) < _UNDER_WAY:
            if self._requests and count < _MIN_WORDS:
                return
            if not self._requests and count >= 2 * _MIN_WORDS:
                count = (count + 1) // 2
            calls = self._waiting[:count][:_MAX_WORDS]
            del self._waiting[: len(calls)]
            request = asyncio.create_task(self._request(calls))
            self._requests.add(request)
            request.add_done_callback(self._sent)

    def _sent(self, request: asyncio.Task[None]) -> None:
        self._requests.discard(request)
        if not self._closed:
            self._send_waiting()

    async def _request(self, calls: Sequence[_Call]) -> None:
        replies: Sequence[Any] = [self._was_closed()] * len(calls)
        try:
            replies = await self._execute(calls)
        except Exception as error:  # noqa: BLE001, whoever waits must hear of any
            replies = [error] * len(calls)
        finally:
            _answer(calls, replies)

    def _was_closed(self) -> StoreUnavailableError:
        return StoreUnavailableError(f"NEARDUP_STORE: {redact_store(self._uri)} was closed")

    async def _execute(self, calls: Sequence[_Call]) -> list[Any]:
        words: dict[_Key, list[bytes]] = {}
        for call in calls:
            words.setdefault(call.key, []).append(call.word)
        replies = await self._evaluate(words)
        lost = {
            key: words[key]
            for key, reply in replies.items()
            if isinstance(reply, exceptions.NoScriptError)
        }
        if lost:  # the server was restarted, or its scripts were flushed
            for text in self._texts.values():
                await self._client.script_load(text)
            replies |= await self._evaluate(lost)
        if any(refused(reply, exceptions.ReadOnlyError, "READONLY") for reply in replies.values()):
            # After a failover the connections lead to the old master: look it up again.
            await self._client.connection_pool.disconnect(inuse_connections=False)
        each = {
            key: repeat(reply) if isinstance(reply, BaseException) else _separate(reply)
            for key, reply in replies.items()
        }
        return [next(each[call.key]) for call in calls]

    async def _evaluate(self, words: Mapping[_Key, list[bytes]]) -> dict[_Key, Any]:
        """Return the reply of each script, or the error that it ended with."""
        commands = [(sha, 0, *shared, _joined(some)) for (sha, shared), some in words.items()]
        if len(commands) == 1:  # a pipeline costs twice as much
            try:
                return dict.fromkeys(words, await self._client.evalsha(*commands[0]))
            except exceptions.ResponseError as error:
                return dict.fromkeys(words, error)
        async with (
            asyncio.timeout(self._client.patience),
            self._client.pipeline(transaction=False) as pipeline,
        ):
            for command in commands:
                pipeline.evalsha(*command)
            return dict(zip(words, await pipeline.execute(raise_on_error=False), strict=True))


_LENGTH: Final = Struct(">I")


def _joined(words: Iterable[bytes]) -> bytes:
    """Return words in one, each behind its length."""
    return b"".join([part for word in words for part in (_LENGTH.pack(len(word)), word)])


def _separate(joined: bytes) -> Iterator[bytes]:
    """Yield the words that `joined` was made of."""
    at = 0
    while at < len(joined):
        start = at + _LENGTH.size
        at = start + _LENGTH.unpack_from(joined, at)[0]
        yield joined[start:at]


class ClusterCalls:
    """Calls of one namespace's scripts in a cluster, each on one hash.

    Those that are made at once go to each node together, in one request. Each may be executed
    twice, where its reply was lost or the cluster changed under it.

    Parameters
    ----------
    client
        Open; closed by the caller.
    texts
        Verb -> script.
    check_record
        Called where a node lacks a script: it may have been emptied, and the record of the
        namespace's parameters with it.
    """

    def __init__(
        self,
        client: RedisCluster,
        uri: str,
        texts: Mapping[str, str],
        check_record: Callable[[], Awaitable[None]],
    ) -> None:
        self._client = client
        self._uri = uri
        self._check_record = check_record
        self._scripts = {
            verb: (hashlib.sha1(text.encode(), usedforsecurity=False).hexdigest(), text)
            for verb, text in texts.items()
        }
        self._waiting: list[_KeyedCall] = []
        self._requests: set[asyncio.Task[None]] = set()
        self._turn = asyncio.Semaphore(_REQUESTS_AT_ONCE)
        self._turn_alone = asyncio.Semaphore(_ALONE_AT_ONCE)
        self._closed = False

    async def call(self, verb: str, key: str, *arguments: Any) -> Any:
        """Call a script on one hash.

        Raises
        ------
        StoreError
            As `client.explained`.
        """
        if self._closed:
            raise self._was_closed()
        loop = asyncio.get_running_loop()
        if not self._waiting:
            loop.call_soon(self._send_waiting)
        call = _KeyedCall(verb, key, arguments, loop.create_future())
        self._waiting.append(call)
        with explaining(self._uri):
            return await call.reply

    async def close(self) -> None:
        """Let the requests under way end and make no more; the client may be closed afterwards.

        Closed under them, it would connect again to repeat them.
        """
        self._closed = True
        if self._requests:
            await asyncio.wait(self._requests, timeout=_MAX_CLOSE)

    async def request(self, name: str, calls: Sequence[_KeyedCall]) -> None:
        """Send calls to the node of this name in one request; without a name, each to its own."""
        replies: Sequence[Any] = [self._was_closed()] * len(calls)
        try:
            async with self._turn:
                if not self._closed:
                    replies = await self._replies(name, calls)
        except Exception as error:  # noqa: BLE001, whoever waits must hear of any
            replies = [error] * len(calls)
        finally:
            _answer(calls, replies)

    def _send_waiting(self) -> None:
        calls, self._waiting = self._waiting, []
        by_node: dict[str, list[_KeyedCall]] = {}
        for call in calls:
            by_node.setdefault(self._node_of(call, calls), []).append(call)
        for name, some in by_node.items():
            for start in range(0, len(some), _MAX_CALLS):
                task = asyncio.create_task(self.request(name, some[start : start + _MAX_CALLS]))
                self._requests.add(task)
                task.add_done_callback(self._requests.discard)

    def _node_of(self, call: _KeyedCall, calls: Sequence[_KeyedCall]) -> str:
        """Return the name of the node that a call goes to, or nothing."""
        if len(calls) == 1:
            return ""
        try:
            node = self._client.get_node_from_key(call.key)
        except FAILURES:  # its slot has none at the moment
            return ""
        return node.name if node else ""

    def _node(self, name: str) -> ClusterNode | None:
        """Return the node that has a name now; redis-py 5 makes all anew when it is reset."""
        return self._client.get_node(node_name=name) if name else None

    async def _replies(self, name: str, calls: Sequence[_KeyedCall]) -> Sequence[Any]:
        """Return replies, or errors."""
        replies: list[Any] = [None] * len(calls)
        alone = list(range(len(calls)))
        if len(calls) > 1 and (node := self._node(name)) is not None:
            # Not `RedisCluster.pipeline`: where one connection fails, that closes all of them.
            commands = [
                PipelineCommand(place, "EVALSHA", self._scripts[verb][0], 1, key, *arguments)
                for place, (verb, key, arguments, _) in enumerate(calls)
            ]
            with contextlib.suppress(*FAILURES):
                try:
                    await node.execute_pipeline(commands)
                finally:
                    if self._node(name) is not node:  # else nobody closes what it opened
                        await node.disconnect()
                replies = [command.result for command in commands]
                alone = [n for n, reply in enumerate(replies) if isinstance(reply, _TO_REPEAT)]
        others = (self._call_alone(calls[n]) for n in alone)
        for n, reply in zip(
            alone, await asyncio.gather(*others, return_exceptions=True), strict=True
        ):
            replies[n] = reply
        return replies

    async def _call_alone(self, call: _KeyedCall) -> Any:
        """Call a script where its slot is now, again and again if need be."""
        verb, key, arguments, _ = call
        sha, text = self._scripts[verb]
        async with self._turn_alone:
            try:
                return await self._client.evalsha(sha, 1, key, *arguments)
            except exceptions.NoScriptError:  # a node that is new, or was restarted
                await self._check_record()
                return await self._client.eval(text, 1, key, *arguments)

    def _was_closed(self) -> StoreUnavailableError:
        return StoreUnavailableError(f"NEARDUP_STORE: {redact_store(self._uri)} was closed")
