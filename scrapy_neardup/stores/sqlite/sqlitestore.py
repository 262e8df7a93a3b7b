"""``sqlite:PATH``, a store that outlives its process and serves one crawl at a time.

The file holds only confirmed entries, so that after a crash no page is dropped for one that was
never processed. If a pending entry has replaced a kept one when the store closes, the file still
has the kept one.

The event loop never waits for the disk: transactions run one after another in one thread, one for
every 1,000 changed rows, or a second after the first (`WriteBehind`). A change is noted as *write
this row* or *delete this row*; records are read from the index when a transaction begins. Only the
last value of a member is noted. So the file always reaches the last state, whatever the order of
events between two transactions, and even if a transaction fails and is repeated.

`SQLiteAdmin` shows and removes namespaces. A file that a crawl has open is locked, even for
reading, which is an error. A missing file isn't created.
"""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import AsyncIterator, Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import asynccontextmanager, closing, contextmanager
from pathlib import Path
from typing import Final, ParamSpec, TypeVar, cast

import numpy as np

from scrapy_neardup.errors import ConfigurationError, StoreError, StoreUnavailableError
from scrapy_neardup.stores.admin import NamespaceReport
from scrapy_neardup.stores.base import StoreOptions, StoreStats
from scrapy_neardup.stores.embedded import memorystore
from scrapy_neardup.stores.embedded.memorystore import Keeper, Notice
from scrapy_neardup.stores.entryformat import ENTRY, ENTRY_DTYPE, FIELDS
from scrapy_neardup.stores.sqlite import schema
from scrapy_neardup.stores.sqlite.file import Changes, SQLiteFile
from scrapy_neardup.stores.sqlite.schema import check_version, has_notices, places, recorded
from scrapy_neardup.urls import redact_store

COMMIT_ROWS: Final = 1000
"""Number of changed rows that are written without waiting for `COMMIT_SECONDS`."""
COMMIT_SECONDS: Final = 1.0
"""Seconds that a change waits for others; ``kill -9`` may lose as much."""

_P = ParamSpec("_P")
_T = TypeVar("_T")


class WriteBehind(Keeper):
    """The changes of an open file, which only `thread` (one worker) uses.

    `record` returns the current record of a row.
    """

    def __init__(
        self, file: SQLiteFile, thread: ThreadPoolExecutor, record: Callable[[int], bytes]
    ) -> None:
        self._file = file
        self._thread = thread
        self._record = record
        self._loop = asyncio.get_running_loop()
        # Row -> whether it is written or deleted; topic and member -> the last posted value.
        self._due: dict[int | tuple[str, str], bool | Notice] = {}
        self._since = 0.0  # time when the first change was noted
        self._urls: dict[int, str | None] = {}  # URLs of entries that the file doesn't have
        self._urls_being_written: dict[int, str | None] = {}
        self._timer: asyncio.TimerHandle | None = None
        self._transaction: asyncio.Task[None] | None = None
        self._failure: Exception | None = None

    @property
    def nbytes(self) -> int:
        """Memory in bytes: nothing, because URLs are in the file."""
        return 0

    def hold(self, row: int, url: str | None) -> None:
        """Keep the URL of a new entry until the entry is written."""
        self._urls[row] = url

    def write(self, row: int) -> None:
        """Note that the current entry at `row` must be written."""
        self._note(row, True)

    def delete(self, row: int) -> None:
        """Note that the entry at `row` must be deleted."""
        is_new = row in self._urls
        self._urls.pop(row, None)
        # The file doesn't have a new entry, but may have the row's previous one.
        if not is_new or row in self._due:
            self._note(row, False)

    def post(self, notice: Notice) -> None:
        """Note changes of the notice board."""
        self._note((notice.topic, notice.member), notice)

    async def url(self, row: int, page_id: int) -> str | None:
        """Return the URL of the entry of `page_id` at `row`, or None."""
        for urls in (self._urls, self._urls_being_written):
            if row in urls:
                return urls[row]
        try:
            return await self._run(self._file.url, row, page_id)
        except StoreError:
            return None  # the verdict doesn't need it

    async def settle(self) -> None:
        """Wait for a transaction if one is due.

        Raises `StoreUnavailableError` if the last one failed. It is tried again every
        `COMMIT_SECONDS`; make no changes until it succeeds.
        """
        is_full = len(self._due) >= COMMIT_ROWS and self._failure is None
        if self._due and (is_full or self._overdue() >= 0):
            await asyncio.shield(self._begin())
        self._raise_failure()

    async def close(self) -> None:
        """Write pending changes and close the file, even after a `StoreUnavailableError`."""
        try:
            if self._transaction is not None:
                await asyncio.shield(self._transaction)
            if self._due:
                await asyncio.shield(self._begin())
        finally:
            if self._timer is not None:
                self._timer.cancel()
            closing = self._thread.submit(self._file.close)
            self._thread.shutdown(wait=False)
            await asyncio.shield(asyncio.wrap_future(closing))
        self._raise_failure()

    def _note(self, what: int | tuple[str, str], change: bool | Notice) -> None:
        if not self._due:
            self._since = self._loop.time()
        self._due.pop(what, None)  # the order is that of the last change
        self._due[what] = change
        self._set_timer()

    def _overdue(self) -> float:
        """Return the number of seconds for which a transaction has been due."""
        return self._loop.time() - self._since - COMMIT_SECONDS

    def _set_timer(self) -> None:
        if self._timer is None and self._transaction is None:
            self._timer = self._loop.call_later(-self._overdue(), self._begin)

    def _begin(self) -> asyncio.Task[None]:
        """Return the running transaction, or a new one."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        if self._transaction is None:
            self._transaction = self._loop.create_task(self._write())
        return self._transaction

    async def _write(self) -> None:
        due, self._due = self._due, {}
        changes = Changes([], [], [], [])
        try:
            for what, change in due.items():
                if not isinstance(what, int):
                    changes.posted.append(cast("Notice", change))
                elif not change:
                    changes.deleted.append(what)
                elif what in self._urls:
                    url = self._urls_being_written[what] = self._urls.pop(what)
                    changes.saved.append((what, self._record(what), url))
                else:
                    changes.updated.append((what, self._record(what)))
            await self._run(self._file.write, changes)
        except Exception as error:  # noqa: BLE001  (whatever it is: nothing due is lost)
            self._failure = error
            self._since = self._loop.time()
            # Changes noted meanwhile are newer.
            self._urls = {**self._urls_being_written, **self._urls}
            for what in self._due:
                due.pop(what, None)
            self._due = {**due, **self._due}
        else:
            self._failure = None
        finally:
            self._urls_being_written = {}
            self._transaction = None
            if self._due:
                self._set_timer()

    def _raise_failure(self) -> None:
        if self._failure is not None:
            raise StoreUnavailableError(str(self._failure)) from self._failure

    async def _run(self, call: Callable[_P, _T], *args: _P.args, **kwargs: _P.kwargs) -> _T:
        return await asyncio.wrap_future(self._thread.submit(call, *args, **kwargs))


class SQLiteStore(memorystore.EmbeddedStore):
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


def _load(path: Path, options: StoreOptions) -> tuple[SQLiteFile, memorystore.EmbeddedIndex]:
    file = SQLiteFile(path, options)
    try:
        index = memorystore.EmbeddedIndex(options, file.key)
        index.load(file.entries())
        for notice in file.notices():
            index.notices.post(*notice)
        file.begin_writing()
    except BaseException:
        file.close()
        raise
    return file, index


def _close_late(loading: Future[tuple[SQLiteFile, memorystore.EmbeddedIndex]]) -> None:
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
            for number in connection.execute(query, (schema.encodable(namespace),)).fetchall():
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
