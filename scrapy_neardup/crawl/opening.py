"""The store of a crawl: made from its settings, over its base.

Nothing is connected or read from a server before `Store.open`, so that unusable settings are
reported before anything has begun.
"""

from __future__ import annotations

import secrets
from contextlib import suppress
from datetime import UTC, datetime
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from scrapy.utils.job import job_dir

from scrapy_neardup.crawl.crawlsettings import resolve_namespace
from scrapy_neardup.errors import INSTALL, ConfigurationError, InputError, NeardupError
from scrapy_neardup.fingerprints import PUBLIC_KEY
from scrapy_neardup.stores import Store, open_store
from scrapy_neardup.urls import redact_store

if TYPE_CHECKING:
    from scrapy.crawler import Crawler

    from scrapy_neardup.crawl.crawlsettings import CrawlSettings
    from scrapy_neardup.judge.parameters import Parameters
    from scrapy_neardup.tables.packed import PackedIndex


NEEDED_LATER = ("bs4", "chardet")
"""Modules of dependencies that are imported when a page needs them."""


def check_needed() -> None:
    """Raise `ConfigurationError` if a module is missing that only some pages need."""
    for name in NEEDED_LATER:
        try:
            there = find_spec(name) is not None
        except ValueError:  # as of a module that was taken away
            there = False
        if not there:
            raise ConfigurationError(
                f"scrapy-neardup needs the module {name}, which isn't installed: "
                f"{INSTALL.format('')} installs it"
            )


def store_uri(crawler: Crawler, settings: CrawlSettings) -> str:
    """Return the store's URI; by default it lives as long as Scrapy's record of requests."""
    if settings.store is not None:
        return settings.store
    folder = job_dir(crawler.settings)
    return "memory:" if folder is None else f"sqlite:{Path(folder, 'neardup.sqlite').absolute()}"


def job_of(crawler: Crawler, uri: str) -> str | None:
    """Return the id of this crawl and of the run that resumes it; see `Detector`.

    An SQLite file has one crawl at a time, so the next crawl that opens it resumes this one; a
    store in memory is never resumed. On a server a crawl is known by a random name, which its
    ``JOBDIR`` holds.
    """
    match uri.partition(":")[0].lower():
        case "memory":
            return None
        case "sqlite":
            return "one at a time"
    if (folder := job_dir(crawler.settings)) is None:
        return None
    file = Path(folder, "neardup.job")
    try:
        with suppress(FileExistsError), file.open("x") as made:
            made.write(secrets.token_hex(8))
    except OSError as error:
        raise ConfigurationError(f"JOBDIR: can't write {str(file)!r} ({error.strerror})") from None
    return file.read_text()


def make_store(crawler: Crawler, settings: CrawlSettings) -> Store:
    """Return the store of a crawl, over its base if it has one.

    Raises `ConfigurationError` for a URI or namespace that can't be used, and as `over_base`.
    """
    uri, parameters = store_uri(crawler, settings), settings.parameters
    index = None if settings.base is None else _opened_base(settings.base)
    hash_key = parameters.hash_key
    if hash_key is None and index is not None and not (index.schema or {}).get("hash_key"):
        hash_key = PUBLIC_KEY
    namespace = resolve_namespace(
        settings.namespace,
        bot=crawler.settings["BOT_NAME"],
        spider=(crawler.spider or crawler.spidercls).name,
        now=datetime.now(UTC).strftime("%Y-%m-%dT%H-%M-%S"),
    )
    try:
        store = open_store(
            uri,
            namespace=namespace,
            max_distance=parameters.max_distance,
            expected_pages=settings.expected_pages,
            hash_key=hash_key,
            retention=settings.retention,
            schema=parameters.schema(),
            matching=parameters.matching,
        )
    except NeardupError:
        raise
    except Exception as error:  # of a store that isn't ours
        shown = redact_store(uri)
        raise ConfigurationError(
            f"NEARDUP_STORE: {shown} can't be used: {repr(error).replace(uri, shown)}"
        ) from error
    if settings.base is not None and index is not None:
        return _layered(store, index, settings.base, parameters)
    return store


# What only some crawls need is imported here, as that takes as long as importing numpy.


def _opened_base(base: str) -> PackedIndex:
    from scrapy_neardup.stores.packfile import open_packed  # noqa: PLC0415

    try:
        return open_packed(base)
    except InputError as error:
        raise InputError(f"NEARDUP_BASE: {error}") from error


def _layered(store: Store, index: PackedIndex, base: str, parameters: Parameters) -> Store:
    from scrapy_neardup.stores.packed import LayeredStore, PackedPages  # noqa: PLC0415

    pages = PackedPages(
        index,
        base,
        max_distance=parameters.max_distance,
        schema=parameters.schema(),
        matching=parameters.matching,
    )
    return LayeredStore(store, pages)
