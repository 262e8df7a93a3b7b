"""Calls of scripts and commands in a cluster. Nothing here knows what a script does."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from typing import Any

from redis import exceptions
from redis.asyncio import RedisCluster
from redis.asyncio.cluster import ClusterNode, PipelineCommand

from scrapy_neardup.stores.redis.calls import MAX_UNDER_WAY, Calls, Words, with_text
from scrapy_neardup.stores.redis.connection import FAILURES, explaining, require_usable

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
"""Errors of a single command whose slot or node has changed."""


class ClusterCalls(Calls):
    """Calls in a cluster, each on keys of one slot; each node has its own requests.

    A call may be executed twice if its reply was lost or the cluster changed meanwhile.
    """

    _most_in_request = 64  # a script of a bucket takes a tenth of the time of one of a home

    def __init__(self, client: RedisCluster, uri: str) -> None:
        super().__init__(client, uri)
        self._turn_alone = asyncio.Semaphore(MAX_UNDER_WAY)

    async def begin(self) -> None:
        """Ask nodes of the URI where slots are; for errors see `require_usable`."""
        with explaining(self.uri):
            await self.client.initialize()
        asked = (node.execute_command("INFO") for node in self.client.get_primaries())
        for about in await asyncio.gather(*asked, return_exceptions=True):
            if isinstance(about, Mapping):  # others are away, or may not be asked
                require_usable(about, self.uri, clustered=True)
                break  # nodes of a cluster are alike

    def _server(self, command: Words) -> str:
        """Return the name of the node that has the key of a command, or nothing."""
        try:
            key = command[3 if command[0] == "EVALSHA" else 1]
            node = self.client.get_node_from_key(key)
        except FAILURES:  # its slot has no node at the moment
            return ""
        return node.name if node else ""

    async def _replies(self, commands: Sequence[Words], server: str) -> Sequence[Any]:
        replies: list[Any] = [exceptions.ConnectionError()] * len(commands)
        if server and len(commands) > 1:
            replies = await self._at(server, commands)
        alone = [n for n, reply in enumerate(replies) if isinstance(reply, _TO_REPEAT)]
        each = (self._alone(commands[n]) for n in alone)
        for n, reply in zip(
            alone, await asyncio.gather(*each, return_exceptions=True), strict=True
        ):
            replies[n] = reply
        return replies

    async def _at(self, name: str, commands: Sequence[Words]) -> list[Any]:
        """Return the replies of a node.

        Not by `RedisCluster.pipeline`, which closes all connections if one fails.
        """
        pipeline = [PipelineCommand(place, *words) for place, words in enumerate(commands)]
        node: ClusterNode | None = self.client.get_node(node_name=name)
        try:
            if node is None:
                raise exceptions.ConnectionError(name)
            await node.execute_pipeline(pipeline)
            return [command.result for command in pipeline]
        except FAILURES as error:
            return [exceptions.ConnectionError(str(error))] * len(commands)
        finally:
            # redis-py 5 makes all nodes again when it is reset, and doesn't close the old ones.
            if node is not None and self.client.get_node(node_name=name) is not node:
                await node.disconnect()

    async def _alone(self, words: Words) -> Any:
        """Make a command at its slot's node, and repeat it if necessary."""
        async with self._turn_alone, asyncio.timeout(_MAX_MOVING):
            while not self._closed:
                try:
                    return await self.client.execute_command(*words)
                except exceptions.ClusterDownError:
                    raise
                except (exceptions.TryAgainError, exceptions.ClusterError):
                    # Only some of the slot's keys have moved; redis-py tries 16 times.
                    await asyncio.sleep(_PAUSE)
                except exceptions.NoScriptError:  # a node that is new, or was restarted
                    words = with_text(words)
        raise self._was_closed()
