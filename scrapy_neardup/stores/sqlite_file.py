"""The file behind ``sqlite:PATH``: its format, its lock, its transactions.

Rule of this room: blocking calls, all from one thread; nothing is written before the
file is known to be ours, whole, and made with the same parameters.

The format: one table holds the kept pages of all namespaces; ``application_id`` and
``user_version`` in SQLite's header say whose file it is and which version of the format.

The lock is SQLite's own, taken in exclusive mode and so held as long as the connection:
it ends with the process, however that ends. POSIX drops a process's locks on a file as
soon as it closes *any* handle of it, so a second crawler of this process mustn't even
read the file: a register of open paths comes first.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from pathlib import Path
from threading import Lock
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from scrapy_neardup.errors import (
    StoreCorruptError,
    StoreError,
    StoreLockedError,
    StoreMismatchError,
    StoreUnavailableError,
)
from scrapy_neardup.stores.records import ENTRY, ENTRY_DTYPE

APPLICATION_ID: Final = 0x4E647570
"""``Ndup``, at byte 68 of the file."""
FORMAT_VERSION: Final = 1
_MAGIC: Final = b"SQLite format 3\x00"
_ROW_BITS: Final = 32
_CHUNK: Final = 1 << 10
"""Rows that are read at once: what fits into a processor's cache."""

_CREATE: Final = (
    f"PRAGMA application_id = {APPLICATION_ID}",
    f"PRAGMA user_version = {FORMAT_VERSION}",
    """CREATE TABLE namespace (
        number INTEGER PRIMARY KEY,
        name TEXT NOT NULL UNIQUE,
        parameters TEXT NOT NULL  -- JSON: what makes two fingerprints comparable
    )""",
    """CREATE TABLE page (
        place INTEGER PRIMARY KEY,  -- namespace number << 32 | row
        entry BLOB NOT NULL,  -- u64 key, page id, u32 tag, title, content, duplicates; all '<'
        url TEXT
    )""",
)

_DAMAGE: Final = frozenset(
    {
        sqlite3.SQLITE_CORRUPT,
        sqlite3.SQLITE_NOTADB,
        sqlite3.SQLITE_FORMAT,
        sqlite3.SQLITE_ERROR,  # our statements have no errors: a table is missing
        sqlite3.SQLITE_MISMATCH,
    }
)

_open_paths: set[Path] = set()
_open_paths_lock = Lock()


class Changes(NamedTuple):
    """What one transaction writes."""

    saved: list[tuple[int, bytes, str | None]]
    """Rows, records and URLs of entries that weren't in the file."""
    updated: list[tuple[int, bytes]]
    """Rows and records of entries that are."""
    deleted: list[int]
    """Rows that hold no entry any more."""


class SQLiteFile:
    """One namespace of one file, open.

    Parameters
    ----------
    path
        The file; a missing or an empty one is made into a new store.
    namespace, parameters
        The namespace, and what it has to have been made with.

    Raises
    ------
    StoreLockedError
        Somebody has it open: another process, or another crawler of this one.
    StoreMismatchError
        The namespace was made with other parameters, or the file has another format.
    StoreCorruptError
        It isn't ours, or it is damaged; not a byte of it was changed.
    StoreError
        The path can't be read or written.
    """

    def __init__(
        self, path: Path, namespace: str, parameters: Mapping[str, str | int | float]
    ) -> None:
        self._namespace = namespace
        self._parameters = dict(parameters)
        with _opening(path):
            self._path = path.resolve()
            _register(self._path)
            try:
                self._connection = self._connect()
            except BaseException:
                _open_paths.discard(self._path)
                raise

    def entries(self) -> Iterator[tuple[NDArray[np.uint32], NDArray[np.void]]]:
        """Yield the rows of the namespace, ascending, and their records.

        Yields
        ------
        rows, records
            Shape (n,) each, n <= 1,024; uint32 and `ENTRY_DTYPE`.
        """
        first = self._number << _ROW_BITS
        with _opening(self._path):
            found = self._connection.execute(
                "SELECT place, entry FROM page WHERE place BETWEEN ? AND ? ORDER BY place",
                (first, first + (1 << _ROW_BITS) - 1),
            )
            while chunk := found.fetchmany(_CHUNK):
                places, entries = zip(*chunk, strict=True)
                try:
                    sizes, joined = set(map(len, entries)), b"".join(entries)
                except TypeError as error:
                    raise _damaged(self._path, f"a record is no record: {error}") from error
                if sizes != {ENTRY.size}:
                    raise _damaged(self._path, f"records have {sizes} bytes, not {ENTRY.size}")
                rows = (np.array(places) - first).astype(np.uint32)
                yield rows, np.frombuffer(joined, ENTRY_DTYPE)

    def begin_writing(self) -> None:
        """Prepare for `write`, once all of the file that is needed was read."""
        with _opening(self._path):
            self._connection.execute("PRAGMA journal_mode = WAL")

    def write(self, changes: Changes) -> None:
        """Make `changes`, all or none of them.

        Raises
        ------
        StoreUnavailableError
            They can't be written, for one because the disk is full.
        """
        first = self._number << _ROW_BITS
        name, parameters = self._namespace, json.dumps(self._parameters, sort_keys=True)
        with _using(self._path), _transaction(self._connection) as run:
            run.execute(
                "INSERT OR IGNORE INTO namespace VALUES (?, ?, ?)",
                (self._number, name, parameters),
            )
            run.executemany(
                "DELETE FROM page WHERE place = ?", ((first + row,) for row in changes.deleted)
            )
            run.executemany(
                "REPLACE INTO page VALUES (?, ?, ?)",
                ((first + row, entry, _text(url)) for row, entry, url in changes.saved),
            )
            run.executemany(
                "UPDATE page SET entry = ? WHERE place = ?",
                ((entry, first + row) for row, entry in changes.updated),
            )

    def url(self, row: int, page_id: int) -> str | None:
        """Return the URL of the entry at `row`, if that is still the entry of `page_id`."""
        with _using(self._path):
            found = self._connection.execute(
                "SELECT entry, url FROM page WHERE place = ?", (self._number << _ROW_BITS | row,)
            ).fetchone()
        if found is None or ENTRY.unpack(found[0])[1] != page_id:
            return None
        url: str | None = found[1]
        return url

    def close(self) -> None:
        """Close the file and give up the lock."""
        try:
            self._connection.close()
        finally:
            _open_paths.discard(self._path)

    def _connect(self) -> sqlite3.Connection:
        _inspect(self._path)
        _check_after_crash(self._path)
        connection = sqlite3.connect(self._path, timeout=0, isolation_level=None)
        try:
            connection.text_factory = lambda text: text.decode("utf-8", "replace")
            connection.execute("PRAGMA locking_mode = EXCLUSIVE")
            connection.execute("PRAGMA synchronous = NORMAL")
            with _transaction(connection):
                if not connection.execute("PRAGMA application_id").fetchone()[0]:
                    for statement in _CREATE:
                        connection.execute(statement)
            # Left by the check; now that the lock is ours, nobody else has it open.
            _beside(self._path, "-shm").unlink(missing_ok=True)
            self._number = self._agree(connection)
        except BaseException:
            connection.close()
            raise
        return connection

    def _agree(self, connection: sqlite3.Connection) -> int:
        """Return the number of the namespace, if it was made with our parameters."""
        version = connection.execute("PRAGMA user_version").fetchone()[0]
        if version != FORMAT_VERSION:
            raise StoreMismatchError(
                f"NEARDUP_STORE: {self._path} has format {version}, this version of"
                f" scrapy-neardup reads {FORMAT_VERSION}: name another file"
            )
        highest = connection.execute("SELECT coalesce(max(number), 0) FROM namespace").fetchone()
        found = connection.execute(
            "SELECT number, parameters FROM namespace WHERE name = ?", (self._namespace,)
        ).fetchone()
        if found is None:
            return int(highest[0]) + 1
        number, text = found
        try:
            theirs = dict(json.loads(text))
        except (TypeError, ValueError) as error:
            raise _damaged(self._path, f"parameters of {self._namespace!r}: {error}") from error
        names = sorted(theirs.keys() | self._parameters.keys())
        differences = [
            f"{name} was {theirs.get(name)!r} and is {self._parameters.get(name)!r}"
            for name in names
            if theirs.get(name) != self._parameters.get(name)
        ]
        if differences:
            raise StoreMismatchError(
                f"NEARDUP_STORE: namespace {self._namespace!r} of {self._path} was made with"
                f" other parameters: {'; '.join(differences)}. Set them as they were, or use"
                " another NEARDUP_NAMESPACE or another file"
            )
        return int(number)


def _register(path: Path) -> None:
    """Note that this process is going to open `path`, or raise `StoreLockedError`."""
    with _open_paths_lock:
        if any(path == other or _same_file(path, other) for other in _open_paths):
            raise _locked(path)
        _open_paths.add(path)


def _same_file(path: Path, other: Path) -> bool:
    try:
        return path.samefile(other)
    except FileNotFoundError:
        return False


def _inspect(path: Path) -> None:
    """Raise `StoreCorruptError` unless `path` is missing, empty, or a whole store of ours.

    SQLite isn't asked: to open another program's file may already change it. The format
    of the header is that of https://sqlite.org/fileformat2.html, section 1.3.
    """
    try:
        if not path.is_file() and path.exists():
            raise StoreError(f"NEARDUP_STORE: {path} is not a file")
        with path.open("rb") as file:
            header = file.read(100)
    except FileNotFoundError:
        return
    has_log = _size(_beside(path, "-wal")) > 0
    if not header:
        if has_log:
            raise _damaged(path, "it is empty, but its log isn't")
        return
    if not (header.startswith(_MAGIC) and header[68:72] == APPLICATION_ID.to_bytes(4, "big")):
        raise StoreCorruptError(
            f"NEARDUP_STORE: {path} is not a store of scrapy-neardup; nothing of it was changed."
            " Name another file"
        )
    # SQLite itself reads zeros where the last page is cut off.
    page_size = int.from_bytes(header[16:18], "big")
    pages = int.from_bytes(header[28:32], "big")
    if not has_log and not _beside(path, "-journal").exists() and _size(path) != pages * page_size:
        raise _damaged(path, f"it should have {pages * page_size} bytes and has {_size(path)}")


def _check_after_crash(path: Path) -> None:
    """Read the whole of a file that wasn't closed, without the right to change it.

    Closing a connection that may write would move the log into the file, sound or not.
    """
    if not _size(_beside(path, "-wal")):
        return
    with closing(sqlite3.connect(f"{path.as_uri()}?mode=ro", timeout=0, uri=True)) as connection:
        result = connection.execute("PRAGMA quick_check(1)").fetchone()[0]
    if result != "ok":
        raise _damaged(path, result)


def _beside(path: Path, suffix: str) -> Path:
    return path.with_name(path.name + suffix)


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except FileNotFoundError:
        return 0


def _text(url: str | None) -> str | None:
    """Return `url` without what UTF-8 can't hold."""
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
def _opening(path: Path) -> Iterator[None]:
    """Raise what goes wrong before anything is written as an error that says what to do."""
    try:
        yield
    except sqlite3.Error as error:
        code = getattr(error, "sqlite_errorcode", 0) & 0xFF
        if code in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED):
            raise _locked(path) from error
        if code in _DAMAGE:
            raise _damaged(path, str(error)) from error
        raise StoreError(_unusable(path, error)) from error
    except OSError as error:
        raise StoreError(_unusable(path, error)) from error


@contextmanager
def _using(path: Path) -> Iterator[None]:
    try:
        yield
    except sqlite3.Error as error:
        raise StoreUnavailableError(_unusable(path, error)) from error


def _unusable(path: Path, error: Exception) -> str:
    return (
        f"NEARDUP_STORE: {path} can't be used: {error}."
        " Its directory has to exist and be writable, with room on the disk"
    )


def _locked(path: Path) -> StoreLockedError:
    return StoreLockedError(
        f"NEARDUP_STORE: {path} is open in another process or crawler, and a SQLite file serves"
        " one crawl at a time. Name another file, or let them share a 'redis://HOST' store"
    )


def _damaged(path: Path, what: str) -> StoreCorruptError:
    return StoreCorruptError(
        f"NEARDUP_STORE: {path} is damaged ({what}); nothing of it was changed."
        " Restore it from a copy, or move it away to start afresh"
    )
