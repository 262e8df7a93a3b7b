"""The store of a crawl, made from its settings.

Rule of this module: nothing is connected or read from a server here, so that what can't be
used is told before anything has begun; `GuardedStore.open` does the rest.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from scrapy.utils.job import job_dir

from scrapy_neardup.crawl.guard import GuardedStore, StoreCallFailedError
from scrapy_neardup.crawl.settings import resolve_namespace
from scrapy_neardup.offline.packfile import open_packed
from scrapy_neardup.stores import open_store
from scrapy_neardup.stores.based import BasedStore

if TYPE_CHECKING:
    from scrapy.crawler import Crawler

    from scrapy_neardup.crawl.settings import CrawlSettings


def store_uri(crawler: Crawler, settings: CrawlSettings) -> str:
    """Return where fingerprints live: by default as long as Scrapy's own seen requests."""
    if settings.store is not None:
        return settings.store
    folder = job_dir(crawler.settings)
    return "memory:" if folder is None else f"sqlite:{Path(folder, 'neardup.sqlite').absolute()}"


def make_store(
    crawler: Crawler,
    settings: CrawlSettings,
    on_failure: Callable[[StoreCallFailedError], None],
) -> GuardedStore:
    """Return the store of a crawl, over its base if it has one, behind a guard.

    Raises
    ------
    ConfigurationError
        For a store URI, namespace or base that can't be used.
    InputError, StoreMismatchError
        The base can't be read, or its fingerprints aren't comparable.
    """
    uri, parameters = store_uri(crawler, settings), settings.parameters
    schema, matching = parameters.schema(), parameters.matching
    store = open_store(
        uri,
        namespace=resolve_namespace(
            settings.namespace,
            bot=crawler.settings["BOT_NAME"],
            spider=(crawler.spider or crawler.spidercls).name,
            now=datetime.now(UTC).strftime("%Y-%m-%dT%H-%M-%S"),
        ),
        max_distance=parameters.max_distance,
        expected_pages=settings.expected_pages,
        retention=settings.retention,
        schema=schema,
        matching=matching,
    )
    if settings.base is not None:
        store = BasedStore(
            store,
            open_packed(settings.base),
            settings.base,
            max_distance=parameters.max_distance,
            schema=schema,
            matching=matching,
        )
    return GuardedStore(store, uri, timeout=settings.timeout, on_failure=on_failure)
