"""Calls of scripts in a Redis Cluster, each on one hash.

Rule of this room: nothing here knows what a script does. Each call may be executed twice,
where its reply was lost or the cluster changed under it.
"""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from redis import exceptions
from redis.asyncio import RedisCluster

from scrapy_neardup.errors import StoreUnavailableError
from scrapy_neardup.stores.redis.errors import explaining
from scrapy_neardup.urls import redact_store

_CALLS_AT_ONCE = 64  # redis-py opens a connection for each call under way
_LONGEST_CLOSE = 5.0


class ClusterCalls:
    """The scripts of one namespace.

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
        self._turn = asyncio.Semaphore(_CALLS_AT_ONCE)
        self._closed = False

    async def call(self, verb: str, key: str, *arguments: Any) -> Any:
        """Call a script on one hash.

        Raises
        ------
        StoreError
            As `redis_errors.explained`.
        """
        self._check_open()
        sha, text = self._scripts[verb]
        with explaining(self._uri):
            async with self._turn:
                self._check_open()
                try:
                    return await self._client.evalsha(sha, 1, key, *arguments)
                except exceptions.NoScriptError:  # a node that is new, or was restarted
                    await self._check_record()
                    return await self._client.eval(text, 1, key, *arguments)

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
            raise StoreUnavailableError(f"NEARDUP_STORE: {redact_store(self._uri)} was closed")
