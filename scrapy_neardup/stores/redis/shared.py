"""What the stores of one Redis and of a cluster have in common: how they open, close, and post.

Rule of this room: an entry that isn't confirmed has a lease, which its crawler renews while it
lives; those of a crawler that died stop matching when the lease ends.
"""

from __future__ import annotations

import contextlib
from abc import abstractmethod
from collections.abc import Collection
from dataclasses import replace
from typing import Any

from scrapy_neardup.errors import StoreError
from scrapy_neardup.stores.base import Store, StoreOptions
from scrapy_neardup.stores.keys import KeyRecord
from scrapy_neardup.stores.redis.background import Background
from scrapy_neardup.stores.redis.calls import Scripts
from scrapy_neardup.stores.redis.client import disconnect, explaining
from scrapy_neardup.stores.redis.clustercalls import ClusterCalls
from scrapy_neardup.stores.redis.layout import Layout, prefix
from scrapy_neardup.stores.redis.namespace import Agreed, agree_on_parameters, exchange, topic_name
from scrapy_neardup.urls import redact_store

LEASE = 60.0
"""Seconds that an entry which isn't confirmed outlives its crawler."""


class SharedStore(Store):
    """A store on servers, for all crawlers of a namespace.

    Parameters
    ----------
    client
        Not connected yet; closed with the store.
    layout
        Table design for a namespace that doesn't exist yet; None: the one for `options`.

    Attributes
    ----------
    _held
        Ids of the pages whose entries this crawler has to confirm or forget.
    _calls
        There once the store is open.
    """

    _held: Collection[int]
    _calls: Scripts | ClusterCalls

    def __init__(
        self, uri: str, options: StoreOptions, client: Any, layout: Layout | None
    ) -> None:
        self._uri = uri
        self._options = options
        self._client = client
        layout = layout or Layout.choose(options.max_distance, options.expected_pages)
        self._layout = replace(layout, matching=options.matching)
        self._prefix = prefix(options.namespace)
        self._key_record = KeyRecord.new(options.hash_key)
        self._background = Background()
        self._opened = False

    async def open(self) -> None:
        """Connect, and agree on the parameters with the crawlers that use the namespace."""
        try:
            with explaining(self._uri):
                await self._begin()
        except StoreError:
            await disconnect(self._client)
            raise
        self._opened = True
        self._background.start(self._renew, LEASE / 3)

    async def close(self) -> None:
        """Give up what is pending and disconnect."""
        await self._background.close()
        if self._opened:
            self._opened = False
            with contextlib.suppress(StoreError):
                for page_id in list(self._held):
                    await self.forget(page_id)
            await self._calls.close()
        await disconnect(self._client)

    async def exchange(self, topic: str, member: str, value: bytes | None) -> list[bytes]:
        """Post a value and read those of all members; see `Store.exchange`."""
        with explaining(self._uri):
            return await exchange(self._client, self._key(topic_name(topic)), member, value)

    @abstractmethod
    async def _begin(self) -> None:
        """Connect, agree, and start what is done in the background besides `_renew`."""

    @abstractmethod
    async def _renew(self) -> None:
        """Renew the leases of what is held."""

    @abstractmethod
    def _key(self, name: str) -> str:
        """Return a key of the namespace."""

    async def _agree(self) -> Agreed:
        """Agree on the parameters; a namespace that was lost meanwhile gets its key again."""
        options, name = self._options, self._key("schema")
        agreed = await agree_on_parameters(
            self._client, name, self._uri, options, self._layout, self._key_record
        )
        where = f"namespace {options.namespace!r} of {redact_store(self._uri)}"
        self.key = agreed.key.key(self.key if self._opened else options.hash_key, where)
        self._key_record = agreed.key
        return agreed
