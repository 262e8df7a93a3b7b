"""``sqlite:PATH``, a store that outlives its process and serves one crawl at a time.

The file holds only confirmed entries, so that after a crash no page is dropped for one that was
never processed. A row is written, or deleted, in one transaction with others: every 1,000 changed
rows, or a second after the first (`write_behind.py`). If a pending entry has replaced a kept one
when the store closes, the file still has the kept one.
"""

from __future__ import annotations

import asyncio
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path

from scrapy_neardup.errors import ConfigurationError
from scrapy_neardup.stores.base import StoreOptions
from scrapy_neardup.stores.embedded.entryindex import EmbeddedIndex
from scrapy_neardup.stores.embedded.memorystore import EmbeddedStore, OpenedStore
from scrapy_neardup.stores.embedded.notices import NoticeBoard
from scrapy_neardup.stores.sqlite.file import SQLiteFile
from scrapy_neardup.stores.sqlite.write_behind import WriteBehind
from scrapy_neardup.urls import redact_store


class SQLiteStore(EmbeddedStore):
    """The embedded index, with all kept pages in a file.

    In ``sqlite:PATH`` a relative path starts at the working directory, and ``~`` is the home
    directory; an ambiguous path is a `ConfigurationError`. Namespaces share a file, but not at the
    same time.
    """

    def __init__(self, uri: str, options: StoreOptions) -> None:
        self._path = store_path(uri)
        super().__init__(f"sqlite:{self._path}", options)

    async def open(self) -> None:
        """Lock the file and read the namespace into memory; `SQLiteFile` lists the errors."""
        if self._opened is not None:
            return
        thread = ThreadPoolExecutor(1, thread_name_prefix="neardup-sqlite")
        loading = thread.submit(_load, self._path, self._options)
        try:
            file, index, notices = await asyncio.wrap_future(loading)
        except BaseException:
            # If this task was cancelled, the thread may be opening the file still.
            thread.submit(_close_late, loading)
            thread.shutdown(wait=False)
            raise
        self.key = file.key
        index.keeper = WriteBehind(file, thread, index.record)
        self._opened = OpenedStore(index, notices)


def store_path(uri: str) -> Path:
    """Return the path in a store URI."""
    path = uri.partition(":")[2]
    if not path or path.endswith("/"):
        raise ConfigurationError(f"NEARDUP_STORE: {uri!r} names no file; write sqlite:PATH")
    if path == ":memory:":
        raise ConfigurationError(f"NEARDUP_STORE: {uri!r}: for a store in memory write 'memory:'")
    if path.startswith("//"):
        raise ConfigurationError(
            f"NEARDUP_STORE: {redact_store(uri)!r} is relative to some programs and absolute to "
            "others; write sqlite:relative/path or sqlite:/absolute/path, without further slashes"
        )
    try:
        return Path(path).expanduser()
    except RuntimeError as error:
        raise ConfigurationError(f"NEARDUP_STORE: {uri!r}: {error}; name the directory") from error


def _load(path: Path, options: StoreOptions) -> tuple[SQLiteFile, EmbeddedIndex, NoticeBoard]:
    parameters = {"max_distance": options.max_distance, **options.schema}
    file = SQLiteFile(path, options.namespace, parameters, options.hash_key)
    try:
        index = EmbeddedIndex(options, file.key)
        index.load(file.entries(options.matching))
        notices = NoticeBoard()
        notices.load(file.notices())
        file.begin_writing()
    except BaseException:
        file.close()
        raise
    return file, index, notices


def _close_late(loading: Future[tuple[SQLiteFile, EmbeddedIndex, NoticeBoard]]) -> None:
    if not loading.cancelled() and loading.exception() is None:
        loading.result()[0].close()
