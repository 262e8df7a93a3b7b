"""Calls of scripts and commands in a cluster. Nothing here knows what a script does."""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
from collections.abc import Awaitable, Callable, Sequence
from functools import cache, partial
from typing import Any, NamedTuple

from redis import exceptions
from redis.asyncio import RedisCluster
from redis.asyncio.cluster import ClusterNode, PipelineCommand

from scrapy_neardup.stores.redis.calls import Calls
from scrapy_neardup.stores.redis.connection import FAILURES
from scrapy_neardup.stores.redis.scripts import text

_MAX_CALLS = 64
"""Maximum number of calls in one request to a node of a cluster."""
_REQUESTS_AT_ONCE = 32
"""Maximum number of concurrent requests: redis-py opens a connection for each."""
_ALONE_AT_ONCE = 32
"""Maximum number of calls that are repeated at once, each as a request of its own."""
_PAUSE = 0.02
"""Seconds between two tries while a slot moves."""
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


class _KeyedCall(NamedTuple):
    key: Any
    command: tuple[Any, ...]
    script: str
    """Its text, if it is a script's call."""
    reply: asyncio.Future[Any]


class ClusterCalls(Calls):
    """Calls in a cluster, each on keys of one slot.

    Those that are made at once go to each node together, in one request. Each may be executed
    twice, where its reply was lost or the cluster changed under it. `check_record` is called where
    a node lacks a script: it may have been emptied, and the record of the namespace's parameters
    with it.
    """

    def __init__(
        self,
        client: RedisCluster,
        uri: str,
        check_record: Callable[[], Awaitable[None]],
    ) -> None:
        super().__init__(client, uri)
        self._check_record = check_record
        self._requests: set[asyncio.Task[None]] = set()
        self._turn = asyncio.Semaphore(_REQUESTS_AT_ONCE)
        self._turn_alone = asyncio.Semaphore(_ALONE_AT_ONCE)

    async def call(self, verb: str, keys: Sequence[Any], *arguments: Any) -> Any:
        """Call a script; `keys` are all that it uses, so that none is on its way elsewhere."""
        sha, script = _script(verb)
        command = ("EVALSHA", sha, len(keys), *keys, *arguments)
        return await self._replied(lambda reply: _KeyedCall(keys[0], command, script, reply))

    async def command(self, name: str, key: Any, *arguments: Any) -> Any:
        """Send a command on one key."""
        command = (name, key, *arguments)
        return await self._replied(lambda reply: _KeyedCall(key, command, "", reply))

    async def close(self) -> None:
        """Let the requests under way end and make no more; the client may be closed afterwards.

        Closed under them, it would connect again to repeat them.
        """
        self._closed = True
        if self._requests:
            await asyncio.wait(self._requests, timeout=_MAX_CLOSE)

    async def request(self, name: str, calls: Sequence[_KeyedCall]) -> None:
        """Send calls to the node of this name in one request; without a name, each to its own."""
        await self._answer(calls, partial(self._in_turn, name))

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

    async def _in_turn(self, name: str, calls: Sequence[_KeyedCall]) -> Sequence[Any]:
        async with self._turn:
            if self._closed:
                return [self._was_closed()] * len(calls)
            return await self._replies(name, calls)

    async def _replies(self, name: str, calls: Sequence[_KeyedCall]) -> Sequence[Any]:
        """Return replies, or errors."""
        replies: list[Any] = [None] * len(calls)
        alone = list(range(len(calls)))
        if len(calls) > 1 and (node := self._node(name)) is not None:
            # Not `RedisCluster.pipeline`: where one connection fails, that closes all of them.
            commands = [PipelineCommand(place, *call.command) for place, call in enumerate(calls)]
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
        """Make a call where its slot is now, again and again if need be."""
        async with self._turn_alone:
            while True:
                try:
                    return await self._client.execute_command(*call.command)
                except exceptions.TryAgainError:  # some of the slot's keys have moved, others not
                    await asyncio.sleep(_PAUSE)
                except exceptions.NoScriptError:  # a node that is new, or was restarted
                    await self._check_record()
                    _, _, *rest = call.command
                    return await self._client.execute_command("EVAL", call.script, *rest)


@cache
def _script(verb: str) -> tuple[str, str]:
    script = text(verb)
    return hashlib.sha1(script.encode(), usedforsecurity=False).hexdigest(), script
