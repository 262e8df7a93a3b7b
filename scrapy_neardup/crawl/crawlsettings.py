"""The ``NEARDUP_*`` settings of a crawl, read and checked, and the store that they name.

An unknown name and a value that can't be used stop the crawl at its start, with a message that
says what would be right. As in Scrapy, strings are accepted for every setting, as the command line
and the environment give them (``-s NEARDUP_MAX_DISTANCE=3``). No server is contacted before
`Store.open`, so unusable settings are reported before anything has begun.
"""

from __future__ import annotations

import secrets
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from difflib import get_close_matches
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import quote

from scrapy.utils.job import job_dir

from scrapy_neardup.crawl import KEEP_KEY
from scrapy_neardup.errors import ConfigurationError, InputError, NeardupError
from scrapy_neardup.fingerprints import PUBLIC_KEY
from scrapy_neardup.judge.parameters import Parameters
from scrapy_neardup.settings.catalogue import OPTIONS, Crawling, options_of
from scrapy_neardup.stores import Store, open_store
from scrapy_neardup.urls import redact_store

if TYPE_CHECKING:
    from scrapy import Request
    from scrapy.crawler import Crawler
    from scrapy.settings import BaseSettings

    from scrapy_neardup.tables.packed import PackedIndex


@dataclass(frozen=True, slots=True, kw_only=True)
class CrawlSettings(Crawling):
    """The options of a crawl; `parameters` has those that decide what a near-duplicate is."""

    parameters: Parameters

    def __post_init__(self) -> None:
        Crawling.__post_init__(self)
        if self.audit_text and not self.audit:
            raise ConfigurationError(
                "NEARDUP_AUDIT_TEXT needs an audit file: set NEARDUP_AUDIT to its path"
            )
        if self.base and self.group_budget > 1:
            raise ConfigurationError(
                "NEARDUP_GROUP_BUDGET can't be used with NEARDUP_BASE, which doesn't count the"
                " pages of a group; load the base into the store instead: scrapy-neardup load"
            )

    @property
    def withholds(self) -> bool:
        """Whether requests are withheld under claims about URLs."""
        return self.urls == "skip" or self.pattern_budget > 0

    def keeps(self, request: Request) -> bool:
        """Whether the page of a request is delivered even if it is a near-duplicate."""
        # Spiders that copy `response.meta` mark every request as a start request; hence `depth`.
        meta = request.meta
        depth = meta.get("depth", 0)
        if meta.get(KEEP_KEY) or 0 < depth <= self.start_depth:
            return True
        return bool(self.keep_start and meta.get("is_start_request") and not depth)


def read_settings(settings: BaseSettings) -> CrawlSettings:
    """Return the checked settings; `ConfigurationError` if one is unknown, or can't be used."""
    _reject_unknown(settings)
    given = {
        name: value
        for name, option in OPTIONS.items()
        if (value := settings.get(option.setting)) is not None
    }
    own = {name: given.pop(name) for name in options_of(Crawling) if name in given}
    preset = OPTIONS["preset"].read(own.get("preset", OPTIONS["preset"].default))
    return CrawlSettings(parameters=Parameters.of_preset(preset, **given), **own)


def resolve_namespace(template: str | None, *, bot: str, spider: str, now: str) -> str:
    """Return the namespace: ``BOT.SPIDER`` unless ``NEARDUP_NAMESPACE`` is set.

    ``%(time)s`` becomes `now`, and another placeholder is a `ConfigurationError`; characters
    outside ``[A-Za-z0-9._-]`` are percent-encoded.
    """
    if template is None:
        name = f"{bot}.{spider}"
    else:
        name = template.replace("%(time)s", now)
        if "%(" in name:
            raise ConfigurationError(
                f"NEARDUP_NAMESPACE: the only placeholder is '%(time)s', not as in {template!r}"
            )
    return quote(name, safe="").replace("~", "%7E")


_MEANT = {
    "THRESHOLD": "NEARDUP_MIN_RESEMBLANCE",
    "SIMILAR": "NEARDUP_MIN_RESEMBLANCE",
    "JACCARD": "NEARDUP_MIN_RESEMBLANCE",
    "HAMMING": "NEARDUP_MAX_DISTANCE",
    "BITS": "NEARDUP_MAX_DISTANCE",
    "EXCLUDE": "NEARDUP_DENY",
    "NGRAM": "NEARDUP_SHINGLE_SIZE",
    "REDIS": "NEARDUP_STORE",
    "SITEMAP": "NEARDUP_KEEP_SITEMAP",
    "LOG": "NEARDUP_AUDIT",
}
"""Part of a misspelt name -> the setting that is probably meant."""


def _reject_unknown(settings: BaseSettings) -> None:
    known = [option.setting for option in OPTIONS.values()]
    for key in map(str, settings):
        if key.startswith("NEARDUP_") and key not in known:
            meant = next((name for word, name in _MEANT.items() if word in key), None)
            close = [meant] if meant else get_close_matches(key, known, n=1, cutoff=0.75)
            hint = f"did you mean {close[0]}?" if close else "docs/settings.md has them all"
            raise ConfigurationError(f"{key} is not a setting of scrapy-neardup; {hint}")


def store_uri(crawler: Crawler, settings: CrawlSettings) -> str:
    """Return the store's URI; by default it lives as long as Scrapy's record of requests."""
    if settings.store is not None:
        return settings.store
    folder = job_dir(crawler.settings)
    return "memory:" if folder is None else f"sqlite:{Path(folder, 'neardup.sqlite').absolute()}"


def job_of(crawler: Crawler, uri: str) -> str | None:
    """Return the id of this crawl and of the run that resumes it; see `Detector`.

    An SQLite file has one crawl at a time, so the next crawl that opens it resumes this one; a
    store in memory is never resumed. On a server a crawl has a random name, which its ``JOBDIR``
    keeps.
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

    Raises `ConfigurationError` for a URI, a namespace or a base that can't be used.
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
    except Exception as error:  # raised by another package's store
        shown = redact_store(uri)
        raise ConfigurationError(
            f"NEARDUP_STORE: {shown} can't be used: {repr(error).replace(uri, shown)}"
        ) from error
    if settings.base is not None and index is not None:
        return _layered(store, index, settings.base, parameters)
    return store


# Imported here, because only some crawls need it, and it takes as long as importing numpy.


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
