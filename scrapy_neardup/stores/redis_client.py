"""How a Redis is reached: alone, by sentinels, in a cluster.

Rule of this room: nothing here knows what is stored there.
"""

from __future__ import annotations

import logging
from typing import Any
from urllib.parse import parse_qsl, unquote, urlsplit, urlunsplit

from redis.asyncio import Redis, RedisCluster
from redis.asyncio.cluster import ClusterNode
from redis.asyncio.retry import Retry
from redis.asyncio.sentinel import Sentinel
from redis.backoff import ExponentialBackoff, NoBackoff

from scrapy_neardup.errors import ConfigurationError, StoreError
from scrapy_neardup.stores.redis_errors import FAILURES, shown

logger = logging.getLogger(__name__)

_TIMEOUT = 5.0  # seconds for a connection and for a reply, where the URI names none
_OLDEST = (6, 2)


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
