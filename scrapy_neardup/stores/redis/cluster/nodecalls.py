"""Calls of scripts and commands in a cluster. Nothing here knows what a script does."""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Sequence
from functools import cache
from itertools import chain
from typing import Any, NamedTuple

from redis import exceptions
from redis.asyncio import RedisCluster
from redis.asyncio.cluster import ClusterNode, PipelineCommand

from scrapy_neardup.stores.redis.calls import Calls, separate
from scrapy_neardup.stores.redis.connection import FAILURES
from scrapy_neardup.stores.redis.scripts import text

_MAX_COMMANDS = 64
"""Maximum number of commands in one request to a node."""
_REQUESTS_AT_ONCE = 32
"""Maximum number of concurrent requests: redis-py opens a connection for each."""
_ALONE_AT_ONCE = 32
"""Maximum number of commands that are repeated at once, each as a request of its own."""
_PAUSE = 0.02
"""Seconds between two tries while a slot moves."""
_MAX_MOVING = 30.0
"""Maximum seconds that a call is repeated while its slot moves."""
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
"""Errors of a single command, whose slot has moved or whose node is another by now."""


class _KeyedCall(NamedTuple):
    key: Any
    command: tuple[Any, ...]
    """Up to the arguments that are its own."""
    item: tuple[Any, ...]
    """Its own, if it may share a command."""
    reply: asyncio.Future[Any]


_Together = Sequence[_KeyedCall]
"""Calls that share a command."""


class ClusterCalls(Calls):
    """Calls in a cluster, each on keys of one slot.

    Those that are made at once go to each node together, in one request, and those of one script
    and home in one command. Each may be executed twice, where its reply was lost or the cluster
    changed under it.
    """

    most_calls = 16
    """Maximum number of calls in one command."""

    def __init__(self, client: RedisCluster, uri: str) -> None:
        super().__init__(client, uri)
        self._requests: set[asyncio.Task[None]] = set()
        self._turn = asyncio.Semaphore(_REQUESTS_AT_ONCE)
        self._turn_alone = asyncio.Semaphore(_ALONE_AT_ONCE)

    async def call(self, verb: str, home: str, constants: bytes, *item: Any) -> bytes:
        """Call a script of a home, as `Scripts.call` does.

        One key of the two that it names is never there: while a slot moves, a node refuses a
        script of which it has some keys and not others, so that none begins then.
        """
        keys = f"{home}counters", f"{home}never"
        replied: bytes = await self._make(
            keys[0], ("EVALSHA", _sha(verb), 2, *keys, constants), *item
        )
        return replied

    async def bucket(self, verb: str, key: str, *words: Any) -> bytes:
        """Call a script of a bucket, which has a slot of its own."""
        replied: bytes = await self._make(key, ("EVALSHA", _sha(verb), 1, key, *words))
        return replied

    async def command(self, name: str, key: Any, *words: Any) -> Any:
        """Send a command on one key."""
        return await self._make(key, (name, key, *words))

    async def _make(self, key: Any, command: tuple[Any, ...], *item: Any) -> Any:
        return await self._replied(lambda reply: _KeyedCall(key, command, item, reply))

    async def close(self) -> None:
        """Let the requests under way end and make no more; the client may be closed afterwards.

        Closed under them, it would connect again to repeat them.
        """
        self._closed = True
        if self._requests:
            await asyncio.wait(self._requests, timeout=_MAX_CLOSE)

    async def request(self, name: str, commands: Sequence[_Together]) -> None:
        """Send commands to the node of this name in one request; without one, each to its own."""
        calls = [call for together in commands for call in together]
        await self._answer(calls, lambda _: self._in_turn(name, commands))

    def _send_waiting(self) -> None:
        calls, self._waiting = self._waiting, []
        commands: dict[Any, list[_KeyedCall]] = {}
        for number, call in enumerate(calls):
            alike = commands.setdefault(call.command if call.item else number, [])
            if len(alike) == self.most_calls:
                commands[number] = commands.pop(call.command)
                alike = commands.setdefault(call.command, [])
            alike.append(call)
        by_node: dict[str, list[_Together]] = {}
        for together in commands.values():
            name = self._node_of(together[0].key) if len(commands) > 1 else ""
            by_node.setdefault(name, []).append(together)
        for name, some in by_node.items():
            for start in range(0, len(some), _MAX_COMMANDS):
                task = asyncio.create_task(self.request(name, some[start : start + _MAX_COMMANDS]))
                self._requests.add(task)
                task.add_done_callback(self._requests.discard)

    def _node_of(self, key: Any) -> str:
        """Return the name of the node that has a key, or nothing."""
        try:
            node = self._client.get_node_from_key(key)
        except FAILURES:  # its slot has none at the moment
            return ""
        return node.name if node else ""

    def _node(self, name: str) -> ClusterNode | None:
        """Return the node that has a name now; redis-py 5 makes all anew when it is reset."""
        return self._client.get_node(node_name=name) if name else None

    async def _in_turn(self, name: str, commands: Sequence[_Together]) -> list[Any]:
        async with self._turn:
            if self._closed:
                return [self._was_closed()] * sum(map(len, commands))
            replies = await self._replies(name, [_words(together) for together in commands])
        each: list[Any] = []
        for together, reply in zip(commands, replies, strict=True):
            is_shared = together[0].item and not isinstance(reply, BaseException)
            each += separate(reply) if is_shared else [reply] * len(together)
        return each

    async def _replies(self, name: str, commands: Sequence[tuple[Any, ...]]) -> list[Any]:
        """Return the reply to each command, or its error."""
        replies: list[Any] = [None] * len(commands)
        alone = list(range(len(commands)))
        if len(commands) > 1 and (node := self._node(name)) is not None:
            # Not `RedisCluster.pipeline`: where one connection fails, that closes all of them.
            pipeline = [PipelineCommand(place, *words) for place, words in enumerate(commands)]
            try:
                await node.execute_pipeline(pipeline)
                replies = [command.result for command in pipeline]
            except FAILURES as error:
                replies = [exceptions.ConnectionError(str(error))] * len(commands)
            finally:
                if self._node(name) is not node:  # else nobody closes what it opened
                    await node.disconnect()
            alone = [n for n, reply in enumerate(replies) if isinstance(reply, _TO_REPEAT)]
        others = await asyncio.gather(
            *(self._alone(commands[n]) for n in alone), return_exceptions=True
        )
        for n, reply in zip(alone, others, strict=True):
            replies[n] = reply
        return replies

    async def _alone(self, words: tuple[Any, ...]) -> Any:
        """Make a command where its slot is now, again and again if need be."""
        async with self._turn_alone, asyncio.timeout(_MAX_MOVING):
            while True:
                try:
                    return await self._client.execute_command(*words)
                except exceptions.ClusterDownError:
                    raise
                except (exceptions.TryAgainError, exceptions.ClusterError):
                    # Some of the slot's keys have moved, others not; redis-py tries 16 times.
                    await asyncio.sleep(_PAUSE)
                except exceptions.NoScriptError:  # a node that is new, or was restarted
                    words = "EVAL", _TEXTS[words[1]], *words[2:]


def _words(together: _Together) -> tuple[Any, ...]:
    words = together[0].command
    return tuple(chain(words, *(call.item for call in together)))


_TEXTS: dict[str, str] = {}


@cache
def _sha(verb: str) -> str:
    script = text(verb)
    sha = hashlib.sha1(script.encode(), usedforsecurity=False).hexdigest()
    _TEXTS[sha] = script
    return sha
