"""Connections to a Redis: alone, by sentinels, in a cluster; and their errors.

Nothing here knows what is stored there. Each message names the server and
what to do, and none shows a password.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from redis import exceptions
from redis.asyncio import Redis, RedisCluster
from redis.asyncio.cluster import ClusterNode
from redis.asyncio.retry import Retry
from redis.asyncio.sentinel import Sentinel
from redis.backoff import ExponentialBackoff, NoBackoff

from scrapy_neardup.errors import ConfigurationError, StoreError, StoreUnavailableError
from scrapy_neardup.stores.redis.uri import RedisURI
from scrapy_neardup.urls import redact_store

logger = logging.getLogger(__name__)

_TIMEOUT = 5.0
"""Seconds for a connection and for a reply, if the URI names none."""
_PATIENCE: dict[str, Any] = {
    # With 3, redis-py 8 hands out connections that the server has closed.
    "protocol": 2,
    "retry": Retry(NoBackoff(), 0),
    "socket_timeout": _TIMEOUT,
    "socket_connect_timeout": _TIMEOUT,
}
_PATIENCE_OF_CLUSTER: dict[str, Any] = {
    **_PATIENCE,
    # Calls can be repeated safely there, and a fail-over takes a moment.
    "retry": Retry(ExponentialBackoff(base=0.01, cap=0.5), 6),
    # The reply names the new place of a slot that has moved. To read the whole map again, redis-py
    # closes every connection, and until it has the map it sends commands to random nodes, which
    # answer MOVED, so that it starts over.
    "reinitialize_steps": 0,
}
_OLDEST = (6, 2)
"""Oldest supported version of Redis."""

FAILURES = (exceptions.RedisError, exceptions.RedisClusterException, OSError)
"""Exceptions that redis-py raises, which have no common base."""

RECORD_LOST = "NEARDUPLOST"
"""Start of a script's error reply if the namespace's record is missing, or is another crawl's."""


async def disconnect(client: Redis | RedisCluster) -> None:
    """Close a client, and its connections to sentinels."""
    await client.aclose()
    pool = getattr(client, "connection_pool", None)  # a cluster has one for each node
    manager = getattr(pool, "sentinel_manager", None)
    for sentinel in manager.sentinels if manager else ():
        await sentinel.aclose()


class _Cluster(RedisCluster):
    """A client that can always ask the nodes of its URI where slots are.

    Before 8.0, redis-py forgets each node that doesn't answer, until none is left.
    """

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self._of_uri = tuple(self.nodes_manager.startup_nodes.values())

    async def initialize(self, *arguments: Any, **options: Any) -> RedisCluster:
        for node in self._of_uri:
            self.nodes_manager.startup_nodes.setdefault(node.name, node)
        return await super().initialize(*arguments, **options)


def connect(uri: str) -> Any:
    """Return a client for `uri`; no connection is made yet.

    It is a `RedisCluster`, or a `Redis`, whose address may come from sentinels. With one Redis a
    call whose reply is lost isn't repeated, because it may have been executed; a connection that
    was lost before the call is made again. Raises `ConfigurationError` if the URI can't be read.
    """
    scheme, hosts, name, parameters = RedisURI.read(uri)
    options, is_tls = _PATIENCE | parameters, scheme.startswith("rediss")
    try:
        if scheme == "unix":
            return Redis(unix_socket_path=name, **options)
        if scheme == "redis+sentinel":
            names = [each for each in options if each.startswith("sentinel_")]
            asked = {each.removeprefix("sentinel_"): options.pop(each) for each in names}
            places = [(host, port or 26379) for host, port in hosts]
            ask_for: Any = Sentinel
            sentinel = ask_for(places, sentinel_kwargs=_PATIENCE | asked)
            return sentinel.master_for(name, **options)
        if scheme.endswith("+cluster"):
            nodes = [ClusterNode(host, port or 6379) for host, port in hosts]
            options = _PATIENCE_OF_CLUSTER | parameters
            return _Cluster(startup_nodes=nodes, ssl=is_tls, **options)
        host, port = hosts[0] if hosts else ("localhost", None)
        return Redis(host=host, port=port or 6379, ssl=is_tls, **options)
    except (ValueError, TypeError, *FAILURES) as error:
        # Its message may quote the URI.
        raise ConfigurationError(
            "NEARDUP_STORE: the installed redis-py doesn't accept the parameters of"
            f" {redact_store(uri)} ({type(error).__name__})"
        ) from None


def require_usable(about: Mapping[str, Any], uri: str, *, clustered: bool = False) -> None:
    """Raise `StoreError` if a server is too old, or a node of a cluster; warn if it evicts."""
    where, version = redact_store(uri), str(about.get("redis_version", "0"))
    if tuple(map(int, version.split(".")[:2])) < _OLDEST:
        raise StoreError(
            f"NEARDUP_STORE: {where} is Redis {version}; 6.2 or newer, or Valkey, is needed"
        )
    if about.get("cluster_enabled") and not clustered:
        raise StoreError(
            f"NEARDUP_STORE: {where} is a node of a cluster: write redis+cluster://HOST:PORT"
        )
    policy = about.get("maxmemory_policy", "noeviction")
    if policy != "noeviction" and about.get("maxmemory"):
        logger.warning(
            "%s has maxmemory-policy %s: when it is full it forgets pages silently, and their "
            "duplicates are kept; noeviction reports it instead",
            where,
            policy,
        )


# ---- errors ----------------------------------------------------------------------------


class RecordLostError(StoreUnavailableError):
    """The record of the namespace's parameters is missing, or another one."""


def explained(error: BaseException, uri: str) -> StoreError:
    """Return the error to raise for an error of redis-py; errors of this package are unchanged."""
    where = f"NEARDUP_STORE: {redact_store(uri)}"
    match error:
        case StoreError():
            return error
        case exceptions.AuthenticationError() | exceptions.NoPermissionError():
            return StoreError(f"{where} refused user or password: {error}")
        case exceptions.ResponseError() if refused(error, exceptions.ReadOnlyError, "READONLY"):
            return StoreUnavailableError(f"{where} is a read-only replica: name the master")
        case exceptions.ResponseError() if refused(error, exceptions.OutOfMemoryError, "OOM"):
            return StoreUnavailableError(f"{where} is full (maxmemory) and takes no more pages")
        case exceptions.ResponseError() if str(error).startswith(RECORD_LOST):
            return RecordLostError(f"{where} has lost its content")
        case _:
            text = str(error) or type(error).__name__
            return StoreUnavailableError(f"{where} doesn't answer as it should: {text}")


@contextmanager
def explaining(uri: str) -> Iterator[None]:
    """Let errors of redis-py leave a ``with`` block as `explained`."""
    try:
        yield
    except StoreError:
        raise
    except Exception as error:
        raise explained(error, uri) from error


def refused(error: object, kind: type[Exception], code: str) -> bool:
    """Whether the server refused a write for this reason, which Redis 6.2 words differently."""
    script = isinstance(error, exceptions.ResponseError) and f": -{code} " in str(error)
    return script or isinstance(error, kind)
