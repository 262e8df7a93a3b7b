"""The store of a Redis Cluster whose pages are compared within a host or a domain.

All pages of a scope have one home, so its scripts see all that they may repeat: each is judged as
on one Redis, by the same scripts. A host is as fast as one master; hosts are spread over all.
"""

from __future__ import annotations

from scrapy_neardup.stores.base import Store, StoreOptions
from scrapy_neardup.stores.entryformat import partition
from scrapy_neardup.stores.redis.cluster.clusterstore import RedisClusterStore
from scrapy_neardup.stores.redis.cluster.nodecalls import ClusterCalls
from scrapy_neardup.stores.redis.store import RedisStore
from scrapy_neardup.verdict import Page


def cluster_store(uri: str, options: StoreOptions) -> Store:
    """Return the store of a cluster that suits ``NEARDUP_SCOPE``, which the schema records."""
    scopes = str(options.schema.get("scope", "")).split("+")
    kind = PartitionedStore if {"host", "domain"} & {*scopes} else RedisClusterStore
    return kind(uri, options)


class PartitionedStore(RedisStore):
    """Fingerprints in a Redis Cluster, those of a scope in one home."""

    calls_class = ClusterCalls
    parts = 64  # spread evenly, a home would have a 256th of the pages

    def _home(self, page: Page) -> str:
        return self._space.homes[partition(page.scope, exact=False, key=self.key).tag >> 56]
