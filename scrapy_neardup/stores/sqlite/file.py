"""The file of ``sqlite:PATH``: opening, reading and writing.

All calls block, and come from one thread. Nothing is written before the
file is known to be an undamaged store made with the same parameters (`schema.py`).
"""

from __future__ import annotations

import json
import os
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final, NamedTuple

import numpy as np

from scrapy_neardup.errors import StoreUnavailableError
from scrapy_neardup.stores.base import StoreOptions
from scrapy_neardup.stores.embedded.memorystore import Notice
from scrapy_neardup.stores.entryformat import ENTRY, Chunk, KeyRecord, record_dtype
from scrapy_neardup.stores.sqlite import schema
from scrapy_neardup.stores.sqlite.schema import damaged, sum_of

_CHUNK: Final = 1 << 10
"""Number of rows read at once, which fit a processor's cache."""


class Changes(NamedTuple):
    """The content of one transaction."""

    saved: list[tuple[int, bytes, str | None]]
    """Rows, records and URLs of new entries."""
    updated: list[tuple[int, bytes]]
    """Rows and records of changed entries."""
    deleted: list[int]
    """Rows of removed entries."""
    posted: list[Notice]
    """Changes of the notice board."""


class SQLiteFile:
    """One open namespace of a file; a missing or empty file becomes a new store.

    Raises `StoreLockedError` if another process, or another crawler of this process, has it open;
    `StoreMismatchError` if the namespace was made with other parameters or another key, or
    the file has another format; `StoreCorruptError` if it is another program's file, or damaged
    (then no byte of it was changed); `StoreError` if the path can't be read or written. `key` is
    the key that pages of the namespace are hashed with.
    """

    key: bytes

    def __init__(self, path: Path, options: StoreOptions) -> None:
        self._options = options
        self._namespace = schema.encodable(options.namespace)
        self._parameters = {"max_distance": options.max_distance, **options.schema}
        with schema.opening(path):
            self._path = path.resolve()
            schema.register(self._path)
            try:
                self._connection = self._connect()
            except BaseException:
                schema.release(self._path)
                raise

    def entries(self) -> Iterator[Chunk]:
        """Yield the entries of the namespace, by row, up to 1,024 at once."""
        first, last = schema.places(self._number)
        matching = self._options.matching
        dtype, known = record_dtype(matching.features), {0, matching.evidence_size}
        query = "SELECT place, entry FROM page WHERE place BETWEEN ? AND ? ORDER BY place"
        with schema.opening(self._path):
            found = self._connection.execute(query, (first, last))
            while chunk := found.fetchmany(_CHUNK):
                for place, entry in chunk:
                    if not (isinstance(entry, bytes) and schema.is_whole(entry, place)):
                        raise damaged(self._path, f"the record at place {place}")
                entries = [entry for _, entry in chunk]
                sizes = {len(entry) - schema.SUM_BYTES - dtype.itemsize for entry in entries}
                if unknown := sizes - known:
                    raise damaged(self._path, f"a record with evidence of {unknown.pop()} bytes")
                joined = b"".join(entry[: dtype.itemsize] for entry in entries)
                evidence = [entry[dtype.itemsize : -schema.SUM_BYTES] for entry in entries]
                rows = (np.array([place for place, _ in chunk]) - first).astype(np.uint32)
                yield Chunk(rows, np.frombuffer(joined, dtype), evidence)

    def notices(self) -> list[tuple[str, str, bytes]]:
        """Return topic, member and value of all notices, in the order of posting."""
        with schema.opening(self._path):
            if not schema.has_notices(self._connection):
                return []
            rows = self._connection.execute(
                "SELECT number, topic, member, value, sum FROM notice WHERE number = ?"
                " ORDER BY rowid",
                (self._number,),
            ).fetchall()
        if any(sum_of(*row) != its_sum for *row, its_sum in rows):
            raise damaged(self._path, "a value that was posted")
        return [(topic, member, value) for _, topic, member, value, _ in rows]

    def begin_writing(self) -> None:
        """Prepare for `write`, after the file was read."""
        with schema.opening(self._path):
            self._connection.execute("PRAGMA journal_mode = WAL")

    def write(self, changes: Changes) -> None:
        """Make all `changes` or none; `StoreUnavailableError` for example for a full disk."""
        first, _ = schema.places(self._number)
        parameters = json.dumps(self._parameters, sort_keys=True)
        named = (self._number, self._namespace, parameters)
        self._check_there()
        with _using(self._path), _transaction(self._connection) as run:
            run.execute(
                "INSERT OR IGNORE INTO namespace VALUES (?, ?, ?, ?)", (*named, sum_of(*named))
            )
            run.executemany(
                "DELETE FROM page WHERE place = ?", ((first + row,) for row in changes.deleted)
            )
            run.executemany(
                "REPLACE INTO page VALUES (?, ?, ?, ?)",
                (_row(first + row, entry, _text(url)) for row, entry, url in changes.saved),
            )
            run.executemany(
                "UPDATE page SET entry = ? WHERE place = ?",
                (_row(first + row, entry)[1::-1] for row, entry in changes.updated),
            )
            if changes.posted and not schema.has_notices(run):
                run.execute(schema.CREATE_NOTICES)
            for topic, member, value in changes.posted:
                posted = (self._number, _text(topic), _text(member))
                if value is None:
                    run.execute(
                        "DELETE FROM notice WHERE (number, topic, member) = (?, ?, ?)", posted
                    )
                else:
                    row = (*posted, value)
                    run.execute("REPLACE INTO notice VALUES (?, ?, ?, ?, ?)", (*row, sum_of(*row)))

    def url(self, row: int, page_id: int) -> str | None:
        """Return the URL of the entry at `row` if it is still the entry of `page_id`.

        Returns None if the URL is damaged, too.
        """
        first, _ = schema.places(self._number)
        with _using(self._path):
            found = self._connection.execute(
                "SELECT entry, url, sum FROM page WHERE place = ?", (first + row,)
            ).fetchone()
        if found is None or ENTRY.unpack_from(found[0])[1] != page_id:
            return None
        url: str | None = found[1]
        return url if found[2] == sum_of(url, first + row) else None

    def close(self) -> None:
        """Close and unlock the file; `StoreUnavailableError` if it was removed meanwhile."""
        try:
            self._check_there()
        finally:
            try:
                self._connection.close()
            finally:
                schema.release(self._path)

    def _check_there(self) -> None:
        """Check that the path leads to the open file; SQLite would write to the file anyway."""
        try:
            found = _identity(self._path)
        except OSError:
            found = None
        if found != self._identity:
            raise StoreUnavailableError(
                f"NEARDUP_STORE: {self._path} was removed or replaced while it was open; pages"
                " kept since then are lost"
            )

    def _connect(self) -> sqlite3.Connection:
        schema.check_header(self._path)
        schema.check_after_crash(self._path)
        # SQLite takes an empty file for a new one, and gives its other files the same mode.
        with suppress(FileExistsError):
            os.close(os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600))
        connection = sqlite3.connect(self._path, timeout=0, isolation_level=None)
        try:
            connection.text_factory = lambda text: text.decode("utf-8", "replace")
            connection.execute("PRAGMA locking_mode = EXCLUSIVE")
            connection.execute("PRAGMA synchronous = NORMAL")
            with _transaction(connection):
                if not connection.execute("PRAGMA application_id").fetchone()[0]:
                    for statement in schema.CREATE:
                        connection.execute(statement)
            # Left by the check; now that the lock is ours, no other process has it open.
            schema.beside(self._path, "-shm").unlink(missing_ok=True)
            schema.check_version(connection, self._path)
            schema.check_whole(connection, self._path)
            self._identity = _identity(self._path)
            self._number, known = schema.namespace_number(
                connection, self._path, self._namespace, self._parameters
            )
            asked, where = self._options.hash_key, f"namespace {self._namespace!r} of {self._path}"
            record = known or KeyRecord.new(asked)
            self.key = record.key(asked, where)
            self._parameters |= record.fields()
        except BaseException:
            connection.close()
            raise
        return connection


def _identity(path: Path) -> tuple[int, int]:
    status = path.stat()
    return status.st_dev, status.st_ino


def _row(
    place: int, entry: bytes, url: str | None = None
) -> tuple[int, bytes, str | None, int | None]:
    return place, schema.summed(entry, place), url, None if url is None else sum_of(url, place)


def _text(url: str | None) -> str | None:
    """Return `url` without characters that UTF-8 can't encode."""
    return url and url.encode("utf-8", "replace").decode()


@contextmanager
def _transaction(connection: sqlite3.Connection) -> Iterator[sqlite3.Connection]:
    connection.execute("BEGIN EXCLUSIVE")
    try:
        yield connection
        connection.execute("COMMIT")
    except BaseException:
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        raise


@contextmanager
def _using(path: Path) -> Iterator[None]:
    try:
        yield
    except sqlite3.Error as error:
        raise StoreUnavailableError(schema.unusable(path, error)) from error
