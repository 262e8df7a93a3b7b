"""The namespaces of an SQLite file, and their removal.

A file that a crawl has open is locked, even for reading, which is an error. A missing file isn't
created.
"""

from __future__ import annotations

import sqlite3
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, closing, contextmanager
from pathlib import Path

import numpy as np

from scrapy_neardup.errors import ConfigurationError
from scrapy_neardup.stores.admin import NamespaceReport
from scrapy_neardup.stores.base import StoreStats
from scrapy_neardup.stores.entryformat import ENTRY, ENTRY_DTYPE
from scrapy_neardup.stores.keys import FIELDS
from scrapy_neardup.stores.sqlite import safety
from scrapy_neardup.stores.sqlite.schema import check_version, has_notices, places, recorded
from scrapy_neardup.stores.sqlite.sqlitestore import store_path

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
                    raise safety.damaged(self._path, f"of a record: {error}") from error
                dropped += int(entries["duplicates"].sum(dtype=np.int64))
        files = (self._path, safety.beside(self._path, "-wal"))
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
        with safety.opening(self._path):
            safety.register(self._path)
            try:
                safety.check_header(self._path)
                safety.check_after_crash(self._path)
                uri = f"{self._path.as_uri()}?mode={mode}"
                with closing(
                    sqlite3.connect(uri, timeout=0, uri=True, isolation_level=None)
                ) as connection:
                    check_version(connection, self._path)
                    yield connection
            finally:
                safety.release(self._path)


@asynccontextmanager
async def sqlite_admin(uri: str) -> AsyncIterator[SQLiteAdmin]:
    """Yield the view of the file at `uri`, or raise `ConfigurationError` if there is none.

    Its methods raise the errors of `scrapy_neardup.stores.sqlite.file.SQLiteFile`.
    """
    path = store_path(uri)
    if not path.exists():
        raise ConfigurationError(f"NEARDUP_STORE: there is no file {path}")
    yield SQLiteAdmin(path.resolve())
