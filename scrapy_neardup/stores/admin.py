"""The content of a store, seen from outside: ``store_admin(uri)``.

The store isn't opened, so its parameters needn't be known. Only `Admin.clear` changes anything.
"""

from __future__ import annotations

from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field
from typing import Protocol

from scrapy_neardup.errors import ConfigurationError
from scrapy_neardup.stores import imported
from scrapy_neardup.stores.base import StoreStats
from scrapy_neardup.urls import redact_store


@dataclass(slots=True, kw_only=True)
class NamespaceReport:
    """The content of a namespace, counted and measured."""

    stats: StoreStats
    parameters: dict[str, str]
    memory: dict[str, int] = field(default_factory=dict)
    """Bytes by purpose: pages, tables, features, the rest (what is pending, counts, notices)."""
    file_bytes: int | None = None
    """Size in bytes of the file with all of its namespaces, if there is one."""


class Admin(Protocol):
    """A view of all namespaces of one store."""

    async def namespaces(self) -> list[str]:
        """Return the namespaces, sorted."""

    async def report(self, namespace: str) -> NamespaceReport | None:
        """Count and measure a namespace; None if there is none."""

    async def notices(self, namespace: str) -> list[tuple[str, bytes]]:
        """Return the topic and the value of each notice of a namespace (`Store.exchange`)."""

    async def clear(self, namespace: str) -> None:
        """Remove a namespace, which no crawl may use."""


ADMINS = {
    "sqlite": "scrapy_neardup.stores.sqlite.sqlitestore:sqlite_admin",
    **dict.fromkeys(
        ("redis", "rediss", "unix", "redis+sentinel", "redis+cluster", "rediss+cluster"),
        "scrapy_neardup.stores.redis.redis_admin:redis_admin",
    ),
}
"""URI scheme -> ``"module:name"`` of a function that yields an `Admin` for a URI."""


def store_admin(uri: str) -> AbstractAsyncContextManager[Admin]:
    """Return a view of the store at `uri`, to be entered with ``async with``.

    Raises `ConfigurationError` if such a store has no view from outside. On entering, and from the
    view's methods, raises `StoreError` if the store can't be read.
    """
    scheme = uri.partition(":")[0].lower()
    if scheme not in ADMINS:
        known = ", ".join(f"{name}:" for name in sorted(ADMINS))
        raise ConfigurationError(
            f"NEARDUP_STORE: {redact_store(uri)} can't be examined by a command, which needs one"
            f" of {known}"
        )
    view: AbstractAsyncContextManager[Admin] = imported(ADMINS[scheme], uri)(uri)
    return view


def is_store(source: str) -> bool:
    """Return whether this is the URI of a store that an `Admin` can view, and not a file."""
    scheme, colon, _ = source.partition(":")
    return bool(colon) and scheme.lower() in ADMINS
