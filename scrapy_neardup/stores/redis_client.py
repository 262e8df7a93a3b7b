"""Talking to Redis: connect, share pipelines, tell what went wrong.

Rule of this room: nothing here knows a fingerprint. Errors leave it as those of
`scrapy_neardup.errors`, and no message shows a password.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import Mapping
from typing import Any
from urllib.parse import parse_qsl, unquote, urlencode, urlsplit, urlunsplit

from redis import exceptions
from redis.asyncio import Redis, RedisCluster
from redis.asyncio.cluster import ClusterNode
from redis.asyncio.retry import Retry
from redis.asyncio.sentinel import Sentinel
from redis.backoff import ExponentialBackoff, NoBackoff

from scrapy_neardup.errors import ConfigurationError, StoreError, StoreUnavailableError
from scrapy_neardup.urls import redact

logger = logging.getLogger(__name__)

_SECRETS = {"password", "username", "sentinel_password", "sentinel_username"}
_MOST_CALLS = 64  # in one pipeline: bounds what is lost with it; more is no faster
_TIMEOUT = 5.0  # seconds for a connection and for a reply, where the URI names none
_OLDEST = (6, 2)
RECORD_LOST = "NEARDUPLOST"
"""What a script's error reply begins with where the namespace's record is another or none."""


def shown(uri: str) -> str:
    """Return a store's URI as it may be shown: no userinfo, no secret parameter."""
    parts = urlsplit(redact(uri))
    query = [(name, value) for name, value in parse_qsl(parts.query) if name not in _SECRETS]
    return urlunsplit(parts._replace(query=urlencode(query)))


FAILURES = (exceptions.RedisError, exceptions.RedisClusterException, OSError)
"""What redis-py raises; not all of it has one base."""


async def disconnect(client: Redis) -> None:
    """Close a client that `connect` returned, and what it asked sentinels with."""
    await client.aclose()
    manager = getattr(client.connection_pool, "sentinel_manager", None)
    for sentinel in manager.sentinels if manager else ():
        await sentinel.aclose()


def connect(uri: str) -> Redis:
    """Return a client for `uri`; no connection is made yet.

    ``redis://``, ``rediss://`` and ``unix://`` are read by redis-py, with its parameters;
    ``redis+sentinel://HOST[:PORT],HOST[:PORT]/SERVICE[/DB]`` asks sentinels for the master.
    A call whose reply is lost is not repeated, as it may have been executed; a connection
    that was lost before is made anew.

    Raises
    ------
    ConfigurationError
        The URI can't be read.
    """
    try:
        if uri.startswith("redis+sentinel:"):
            return _connect_by_sentinel(uri)
        return Redis.from_url(uri, **_patience())
    except (ValueError, TypeError, *FAILURES) as error:
        raise ConfigurationError(f"NEARDUP_STORE: can't read {shown(uri)}: {error}") from None


def _connect_by_sentinel(uri: str) -> Redis:
    parts = urlsplit(uri)
    user, _, hosts = parts.netloc.rpartition("@")
    service, _, database = parts.path.strip("/").partition("/")
    if not hosts or not service:
        raise ValueError("write redis+sentinel://HOST:PORT,HOST:PORT/SERVICE/DB")
    name, _, password = user.partition(":")
    options: dict[str, Any] = {"username": unquote(name) or None, "db": int(database or 0)}
    options |= _patience()
    options["password"] = unquote(password) or None
    parameters = dict(parse_qsl(parts.query))
    asked = {
        key.removeprefix("sentinel_"): parameters.pop(key)
        for key in list(parameters)
        if key.startswith("sentinel_")
    }
    if parameters:
        raise ValueError(f"unknown parameters: {', '.join(sorted(parameters))}")
    places = []
    for host in hosts.split(","):
        address, _, port = host.rpartition(":") if ":" in host else (host, "", "26379")
        places.append((address, int(port)))
    sentinel: Any = Sentinel(places, sentinel_kwargs=_patience() | asked)  # type: ignore[no-untyped-call]
    master: Redis = sentinel.master_for(service, **options)
    return master


def _patience() -> dict[str, Any]:
    return {
        # With 3, redis-py 8 hands out connections that the server has closed.
        "protocol": 2,
        "retry": Retry(NoBackoff(), 0),
        "socket_timeout": _TIMEOUT,
        "socket_connect_timeout": _TIMEOUT,
    }


def connect_cluster(uri: str) -> RedisCluster:
    """Return a client for ``redis+cluster://HOST[:PORT],HOST[:PORT]`` (``rediss+``: with TLS).

    Parameters that follow a ``?`` are those of `redis.asyncio.RedisCluster.from_url`.

    Raises
    ------
    ConfigurationError
        The URI can't be read.
    """
    parts = urlsplit(uri)
    if not parts.netloc or parts.path.strip("/"):
        wanted = "redis+cluster://HOST:PORT,HOST:PORT (a cluster has one database)"
        raise ConfigurationError(f"NEARDUP_STORE: {shown(uri)} must be written {wanted}")
    try:
        user, at, hosts = parts.netloc.rpartition("@")
        first, *others = hosts.split(",")
        scheme = parts.scheme.removesuffix("+cluster")
        plain = urlunsplit((scheme, user + at + first, "", parts.query, ""))
        nodes = [urlsplit(f"//{other}") for other in others]
        return RedisCluster.from_url(
            plain,
            startup_nodes=[ClusterNode(node.hostname or "", node.port or 6379) for node in nodes],
            # Repeated calls change nothing there, and a fail-over takes a moment.
            **_patience() | {"retry": Retry(ExponentialBackoff(base=0.01, cap=0.5), 6)},
        )
    except (ValueError, TypeError, *FAILURES) as error:
        raise ConfigurationError(f"NEARDUP_STORE: can't read {shown(uri)}: {error}") from None


async def check_server(client: Redis, uri: str) -> None:
    """Look at what kind of server this is.

    Raises
    ------
    StoreError
        It is too old, or part of a cluster.
    """
    about = await client.info()
    version = str(about.get("redis_version", "0"))
    if tuple(map(int, version.split(".")[:2])) < _OLDEST:
        raise StoreError(
            f"NEARDUP_STORE: {shown(uri)} is Redis {version}; 6.2 or newer, or Valkey, is needed"
        )
    if about.get("cluster_enabled"):
        raise StoreError(
            f"NEARDUP_STORE: {shown(uri)} is a node of a cluster: write redis+cluster://HOST:PORT"
        )
    policy = about.get("maxmemory_policy", "noeviction")
    if policy != "noeviction" and about.get("maxmemory"):
        logger.warning(
            "%s has maxmemory-policy %s: when it is full it forgets pages silently, and their "
            "duplicates are kept; noeviction reports it instead",
            shown(uri),
            policy,
        )


class RecordLostError(StoreUnavailableError):
    """The record of the namespace's parameters is not what was agreed on."""


def explained(error: BaseException, uri: str) -> StoreError:
    """Return the error to raise for one of redis-py's."""
    where = f"NEARDUP_STORE: {shown(uri)}"
    match error:
        case StoreError():
            return error
        case exceptions.AuthenticationError() | exceptions.NoPermissionError():
            return StoreError(f"{where} refused user or password: {error}")
        case exceptions.ResponseError() if _refused(error, exceptions.ReadOnlyError, "READONLY"):
            return StoreUnavailableError(f"{where} is a read-only replica: name the master")
        case exceptions.ResponseError() if _refused(error, exceptions.OutOfMemoryError, "OOM"):
            return StoreUnavailableError(f"{where} is full (maxmemory) and takes no more pages")
        case exceptions.ResponseError() if str(error).startswith(RECORD_LOST):
            return RecordLostError(f"{where} has lost what it held")
        case _:
            text = str(error) or type(error).__name__
            return StoreUnavailableError(f"{where} doesn't answer as it should: {text}")


def _refused(error: object, kind: type[Exception], code: str) -> bool:
    """Whether the server refused a write so, in a script too: Redis 6.2 words that by itself."""
    script = isinstance(error, exceptions.ResponseError) and f": -{code} " in str(error)
    return script or isinstance(error, kind)


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
            raise StoreUnavailableError(f"{shown(self._uri)} was closed")
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
                    future.set_exception(StoreUnavailableError(f"{shown(self._uri)} was closed"))

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
        if any(_refused(reply, exceptions.ReadOnlyError, "READONLY") for reply in replies):
            # After a failover the connections lead to the old master: look it up anew.
            await self._client.connection_pool.disconnect(inuse_connections=False)
        return replies

    async def _pipeline(self, calls: list[_Call]) -> list[Any]:
        async with self._client.pipeline(transaction=False) as pipeline:
            for sha, arguments, _ in calls:
                pipeline.execute_command("EVALSHA", sha, 0, *arguments)
            replies: list[Any] = await pipeline.execute(raise_on_error=False)
            return replies
