"""Stores of pages: ``open_store(uri)``, and the schemes of their URIs."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pkgutil import resolve_name
from typing import Any

from scrapy_neardup.errors import INSTALL, ConfigurationError
from scrapy_neardup.fingerprints import PUBLIC_KEY
from scrapy_neardup.fingerprints.hashing import key_digest
from scrapy_neardup.judge.parameters import Matching
from scrapy_neardup.settings.catalogue import OPTIONS
from scrapy_neardup.stores.base import Store, StoreOptions, StoreStats
from scrapy_neardup.urls import redact_store

__all__ = ["SCHEMES", "Matching", "Store", "StoreOptions", "StoreStats", "open_store"]

StoreFactory = Callable[[str, StoreOptions], Store]

SCHEMES: dict[str, str | StoreFactory] = {
    "memory": "scrapy_neardup.stores.embedded.memorystore:MemoryStore",
    "sqlite": "scrapy_neardup.stores.sqlite.sqlitestore:SQLiteStore",
    "redis": "scrapy_neardup.stores.redis.store:RedisStore",
    "rediss": "scrapy_neardup.stores.redis.store:RedisStore",
    "unix": "scrapy_neardup.stores.redis.store:RedisStore",
    "redis+sentinel": "scrapy_neardup.stores.redis.store:RedisStore",
    "redis+cluster": "scrapy_neardup.stores.redis.cluster.clusterstore:cluster_store",
    "rediss+cluster": "scrapy_neardup.stores.redis.cluster.clusterstore:cluster_store",
}
"""URI scheme -> factory that takes (uri, options), or its ``"module:name"``. Add your own."""


def open_store(
    uri: str,
    *,
    namespace: str = "default",
    max_distance: int = 3,
    expected_pages: int = 1_000_000,
    hash_key: bytes | None = PUBLIC_KEY,
    retention: float = 0.0,
    schema: Mapping[str, str | int | float] | None = None,
    matching: Matching | None = None,
) -> Store:
    """Return the store at `uri`, to be opened with ``async with`` or `Store.open`.

    Parameters are those of `StoreOptions`. Raises `ConfigurationError` for an unknown scheme,
    parameters that no store accepts, or a missing package.
    """
    scheme, colon, _ = uri.partition(":")
    try:
        factory = SCHEMES[scheme.lower()]
    except KeyError:
        known = ", ".join(f"{name}:" for name in sorted(SCHEMES))
        shown = redact_store(uri) if colon else repr(redact_store(uri))
        raise ConfigurationError(
            f"NEARDUP_STORE: no store for {shown}; its scheme must be one of {known}"
        ) from None
    if isinstance(factory, str):
        factory = imported(factory, uri)
    recorded = dict(schema or {}) | (matching or Matching()).record()
    digest = recorded.pop("hash_key", "")
    if digest and hash_key is not None and digest != key_digest(hash_key):
        raise ConfigurationError("the schema is that of another hash_key than the store's")
    options = StoreOptions(
        namespace=namespace,
        max_distance=OPTIONS["max_distance"].read(max_distance),
        expected_pages=OPTIONS["expected_pages"].read(expected_pages),
        hash_key=hash_key,
        retention=retention,
        schema=recorded,
        matching=matching or Matching(),
    )
    return factory(uri, options)


def imported(place: str, uri: str) -> Any:
    """Return the object at ``"module:name"``; `ConfigurationError` if redis-py is missing."""
    try:
        return resolve_name(place)
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] != "redis":
            raise
        raise ConfigurationError(
            f"NEARDUP_STORE: {redact_store(uri)} needs the package redis, which isn't installed:"
            f" {INSTALL.format('[redis]')}"
        ) from None
