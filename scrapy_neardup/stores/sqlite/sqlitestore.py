"""``sqlite:PATH``, a store that outlives its process and serves one crawl at a time.

The file holds only confirmed entries, so that after a crash no page is dropped for one that was
never processed. A row is written, or deleted, in one transaction with others: every 1,000 changed
rows, or a second after the first (`write_behind.py`). If a pending entry has replaced a kept one
when the store closes, the file still has the kept one.

`SQLiteAdmin` shows and removes namespaces. A file that a crawl has open is locked, even for
reading, which is an error. A missing file isn't created.
"""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import AsyncIterator, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import asynccontextmanager, closing, contextmanager
from pathlib import Path

import numpy as np

from scrapy_neardup.errors import ConfigurationError
from scrapy_neardup.stores.admin import NamespaceReport
from scrapy_neardup.stores.base import StoreOptions, StoreStats
from scrapy_neardup.stores.embedded.entryindex import EmbeddedIndex
from scrapy_neardup.stores.embedded.memorystore import EmbeddedStore
from scrapy_neardup.stores.entryformat import ENTRY, ENTRY_DTYPE
from scrapy_neardup.stores.keys import FIELDS
from scrapy_neardup.stores.sqlite import schema
from scrapy_neardup.stores.sqlite.file import SQLiteFile
from scrapy_neardup.stores.sqlite.schema import check_version, has_notices, places, recorded
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
            file, index = await asyncio.wrap_future(loading)
        except BaseException:
            # If this task was cancelled, the thread may be opening the file still.
            thread.submit(_close_late, loading)
            thread.shutdown(wait=False)
            raise
        self.key = file.key
        index.keeper = WriteBehind(file, thread, index.record)
        self._opened = index


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


def _load(path: Path, options: StoreOptions) -> tuple[SQLiteFile, EmbeddedIndex]:
    parameters = {"max_distance": options.max_distance, **options.schema}
    file = SQLiteFile(path, options.namespace, parameters, options.hash_key)
    try:
        index = EmbeddedIndex(options, file.key)
        index.load(file.entries(options.matching))
        index.notices.load(file.notices())
        file.begin_writing()
    except BaseException:
        file.close()
        raise
    return file, index


def _close_late(loading: Future[tuple[SQLiteFile, EmbeddedIndex]]) -> None:
    if not loading.cancelled() and loading.exception() is None:
        loading.result()[0].close()


_CHUNK = 1 << 14
"""Number of rows read at once."""


class SQLiteAdmin:
    """A view of all namespaces of one file; see `sqlite_admin`."""

    def __init__(self, path: Path) -> None:
        self._path = path

    async def namespaces(self) -> list[str]:
        """Return the namespaces, sorted."""
        with self._connected("ro") as connection:
            return sorted(name for (name,) in connection.execute("SELECT name FROM namespace"))

    async def report(self, namespace: str) -> NamespaceReport | None:
        """Count and measure a namespace; None if there is none. Reads all of it."""
        with self._connected("ro") as connection:
            found = recorded(connection, self._path, namespace)
            if found is None:
                return None
            number, parameters = found
            pages = dropped = 0
            rows = connection.execute(
                "SELECT substr(entry, 1, ?) FROM page WHERE place BETWEEN ? AND ?",
                (ENTRY.size, *places(number)),
            )
            while chunk := rows.fetchmany(_CHUNK):
                pages += len(chunk)
                try:
                    entries = np.frombuffer(b"".join(entry for (entry,) in chunk), ENTRY_DTYPE)
                except (TypeError, ValueError) as error:
                    raise schema.damaged(self._path, f"of a record: {error}") from error
                dropped += int(entries["duplicates"].sum(dtype=np.int64))
        files = (self._path, schema.beside(self._path, "-wal"))
        return NamespaceReport(
            stats=StoreStats(pages=pages, pending=0, dropped=dropped, overflowed=0),
            parameters={
                name: str(value) for name, value in parameters.items() if name != FIELDS[1]
            },
            file_bytes=sum(file.stat().st_size for file in files if file.exists()),
        )

    async def notices(self, namespace: str) -> list[tuple[str, bytes]]:
        """Return the topic and the value of each notice of a namespace."""
        with self._connected("ro") as connection:
            found = recorded(connection, self._path, namespace)
            if found is None or not has_notices(connection):
                return []
            query = "SELECT topic, value FROM notice WHERE number = ? ORDER BY rowid"
            rows = connection.execute(query, found[:1])
            return [(str(topic), bytes(value)) for topic, value in rows]

    async def clear(self, namespace: str) -> None:
        """Remove a namespace. The file keeps its size; new pages reuse the space."""
        with self._connected("rw") as connection:
            connection.execute("PRAGMA locking_mode = EXCLUSIVE")
            connection.execute("BEGIN EXCLUSIVE")
            query = "SELECT number FROM namespace WHERE name = ?"
            for number in connection.execute(query, (namespace,)).fetchall():
                connection.execute("DELETE FROM page WHERE place BETWEEN ? AND ?", places(*number))
                if has_notices(connection):
                    connection.execute("DELETE FROM notice WHERE number = ?", number)
                connection.execute("DELETE FROM namespace WHERE number = ?", number)
            connection.execute("COMMIT")

    @contextmanager
    def _connected(self, mode: str) -> Iterator[sqlite3.Connection]:
        with schema.opening(self._path):
            schema.register(self._path)
            try:
                schema.check_header(self._path)
                schema.check_after_crash(self._path)
                uri = f"{self._path.as_uri()}?mode={mode}"
                with closing(
                    sqlite3.connect(uri, timeout=0, uri=True, isolation_level=None)
                ) as connection:
                    check_version(connection, self._path)
                    yield connection
            finally:
                schema.release(self._path)


@asynccontextmanager
async def sqlite_admin(uri: str) -> AsyncIterator[SQLiteAdmin]:
    """Yield the view of the file at `uri`, or raise `ConfigurationError` if there is none.

    Its methods raise the errors of `scrapy_neardup.stores.sqlite.file.SQLiteFile`.
    """
    path = store_path(uri)
    if not path.exists():
        raise ConfigurationError(f"NEARDUP_STORE: there is no file {path}")
    yield SQLiteAdmin(path.resolve())
