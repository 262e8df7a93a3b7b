"""Calls of scripts and commands in a cluster. Nothing here knows what a script does."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any

from redis import exceptions
from redis.asyncio import RedisCluster
from redis.asyncio.cluster import ClusterNode, PipelineCommand

from scrapy_neardup.stores.redis.calls import Call, Calls, Words, sha, together, with_text
from scrapy_neardup.stores.redis.connection import FAILURES

_MAX_COMMANDS = 64
"""Maximum number of commands in one request to a node."""
_REQUESTS_AT_ONCE = 32
"""Maximum number of concurrent requests, and of commands that are repeated at once beside them:
redis-py opens a connection for each."""
_PAUSE = 0.02
"""Seconds between two tries while a slot moves."""
_MAX_MOVING = 30.0
"""Maximum seconds that a call is repeated while its slot moves."""

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


class ClusterCalls(Calls):
    """Calls in a cluster, each on keys of one slot.

    Those that are made at once go to each node together, in one request. Each may be executed
    twice, where its reply was lost or the cluster changed under it.
    """

    def __init__(self, client: RedisCluster, uri: str) -> None:
        super().__init__(client, uri)
        self._turn = asyncio.Semaphore(_REQUESTS_AT_ONCE)
        self._turn_alone = asyncio.Semaphore(_REQUESTS_AT_ONCE)

    def _keys(self, home: str) -> tuple[str, ...]:
        """Return two keys of a home, of which one is never there.

        While a slot moves, a node refuses a script of which it has some keys and not others, so
        that none begins then.
        """
        return f"{home}counters", f"{home}never"

    async def bucket(self, verb: str, key: str, *words: Any) -> bytes:
        """Call a script of a bucket, which has a slot of its own."""
        replied: bytes = await self._make(("EVALSHA", sha(verb), 1, key, *words))
        return replied

    async def command(self, name: str, key: Any, *words: Any) -> Any:
        """Send a command on one key."""
        return await self._make((name, key, *words))

    def _send_waiting(self) -> None:
        calls, self._waiting = self._waiting, []
        commands = together(calls, self.most_calls)
        by_node: dict[str, list[list[Call]]] = {}
        for each in commands:
            name = self._node_of(each[0].command) if len(commands) > 1 else ""
            by_node.setdefault(name, []).append(each)
        for name, some in by_node.items():
            for start in range(0, len(some), _MAX_COMMANDS):
                self._send(some[start : start + _MAX_COMMANDS], name)

    def _node_of(self, command: Words) -> str:
        """Return the name of the node that has the key of a command, or nothing."""
        try:
            key = command[3 if command[0] == "EVALSHA" else 1]
            node = self._client.get_node_from_key(key)
        except FAILURES:  # its slot has none at the moment
            return ""
        return node.name if node else ""

    async def _replies(self, commands: Sequence[Words], node: str) -> Sequence[Any]:
        replies: list[Any] = [exceptions.ConnectionError()] * len(commands)
        if node and len(commands) > 1:
            async with self._turn:
                replies = await self._at(node, commands)
        alone = [n for n, reply in enumerate(replies) if isinstance(reply, _TO_REPEAT)]
        each = (self._alone(commands[n]) for n in alone)
        for n, reply in zip(
            alone, await asyncio.gather(*each, return_exceptions=True), strict=True
        ):
            replies[n] = reply
        return replies

    async def _at(self, name: str, commands: Sequence[Words]) -> list[Any]:
        """Return the replies of a node.

        Not by `RedisCluster.pipeline`: where one connection fails, that closes all of them.
        """
        pipeline = [PipelineCommand(place, *words) for place, words in enumerate(commands)]
        node: ClusterNode | None = self._client.get_node(node_name=name)
        try:
            if node is None:
                raise exceptions.ConnectionError(name)
            await node.execute_pipeline(pipeline)
            return [command.result for command in pipeline]
        except FAILURES as error:
            return [exceptions.ConnectionError(str(error))] * len(commands)
        finally:
            # redis-py 5 makes all nodes anew when it is reset; nobody else closes what it opened.
            if node is not None and self._client.get_node(node_name=name) is not node:
                await node.disconnect()

    async def _alone(self, words: Words) -> Any:
        """Make a command where its slot is now, again and again if need be."""
        async with self._turn_alone, asyncio.timeout(_MAX_MOVING):
            while not self._closed:
                try:
                    return await self._client.execute_command(*words)
                except exceptions.ClusterDownError:
                    raise
                except (exceptions.TryAgainError, exceptions.ClusterError):
                    # Some of the slot's keys have moved, others not; redis-py tries 16 times.
                    await asyncio.sleep(_PAUSE)
                except exceptions.NoScriptError:  # a node that is new, or was restarted
                    words = with_text(words)
        raise self._was_closed()
