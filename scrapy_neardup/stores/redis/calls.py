"""Calls of scripts in one Redis, those of a process that are due at once in one pipeline.

Rule of this room: nothing here knows what a script does. A call whose reply is lost is not
repeated, as it may have been executed.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Mapping
from typing import Any

from redis import exceptions
from redis.asyncio import Redis

from scrapy_neardup.errors import StoreUnavailableError
from scrapy_neardup.stores.redis.errors import explained, refused
from scrapy_neardup.urls import redact_store

_MOST_CALLS = 64  # in one pipeline: bounds what is lost with it; more is no faster

_Call = tuple[str, tuple[Any, ...], asyncio.Future[Any]]  # sha, arguments, reply


class Scripts:
    """Calls of scripts; those of one process that are due at once share a pipeline.

    While a pipeline is under way, further calls wait and go together with the next one:
    a lone page costs one round trip, many pages at a time share it.

    Parameters
    ----------
    client
        Open; closed by the caller.
    """

    def __init__(self, client: Redis, uri: str) -> None:
        self._client = client
        self._uri = uri
        self._texts: dict[str, str] = {}
        self._shas: dict[str, str] = {}
        self._waiting: list[_Call] = []
        self._sender: asyncio.Task[None] | None = None
        self._closed = False

    async def load(self, texts: Mapping[str, str]) -> None:
        """Make scripts known to the server, verb -> text; later calls of a verb mean these."""
        for verb, text in texts.items():
            self._shas[verb] = await self._client.script_load(text)
            self._texts[self._shas[verb]] = text

    async def call(self, verb: str, *arguments: Any) -> Any:
        """Call a script and return its reply.

        Raises
        ------
        StoreError
            As `explained`.
        """
        if self._closed:
            raise self._was_closed()
        loop = asyncio.get_running_loop()
        reply: asyncio.Future[Any] = loop.create_future()
        self._waiting.append((self._shas[verb], arguments, reply))
        if self._sender is None:
            self._sender = loop.create_task(self._send())
        return await reply

    async def close(self) -> None:
        """Give up calls that wait; the client may be closed afterwards."""
        self._closed = True
        if self._sender is not None:
            self._sender.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await self._sender

    async def _send(self) -> None:
        calls: list[_Call] = []
        try:
            while self._waiting:
                calls = self._waiting[:_MOST_CALLS]
                del self._waiting[:_MOST_CALLS]
                try:
                    replies = await self._execute(calls)
                except Exception as error:  # noqa: BLE001, whoever waits must hear of any
                    replies = [error] * len(calls)
                for (_, _, future), reply in zip(calls, replies, strict=True):
                    if future.done():  # its caller gave up waiting
                        continue
                    if isinstance(reply, BaseException):
                        future.set_exception(explained(reply, self._uri))
                    else:
                        future.set_result(reply)
        finally:
            self._sender = None
            for _, _, future in calls + self._waiting:  # closed meanwhile
                if not future.done():
                    future.set_exception(self._was_closed())

    def _was_closed(self) -> StoreUnavailableError:
        return StoreUnavailableError(f"NEARDUP_STORE: {redact_store(self._uri)} was closed")

    async def _execute(self, calls: list[_Call]) -> list[Any]:
        replies = await self._pipeline(calls)
        lost = [
            n for n, reply in enumerate(replies) if isinstance(reply, exceptions.NoScriptError)
        ]
        if lost:  # the server was restarted, or its scripts were flushed
            for text in self._texts.values():
                await self._client.script_load(text)
            for n, reply in zip(lost, await self._pipeline([calls[n] for n in lost]), strict=True):
                replies[n] = reply
        if any(refused(reply, exceptions.ReadOnlyError, "READONLY") for reply in replies):
            # After a failover the connections lead to the old master: look it up anew.
            await self._client.connection_pool.disconnect(inuse_connections=False)
        return replies

    async def _pipeline(self, calls: list[_Call]) -> list[Any]:
        async with self._client.pipeline(transaction=False) as pipeline:
            for sha, arguments, _ in calls:
                pipeline.execute_command("EVALSHA", sha, 0, *arguments)
            replies: list[Any] = await pipeline.execute(raise_on_error=False)
            return replies
