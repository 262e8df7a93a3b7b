"""Checks that a SQLite file is a store, undamaged, and not in use, before it is written to.

They never change a file. Every error says what to do.

A store is recognised by its ``application_id``. SQLite itself locks it, in exclusive mode, for as
long as its connection is open. The lock always ends with the process. But POSIX drops a process's
locks on a file as soon as the process closes *any* handle of it. So a second crawler of this
process must not even read the file, and looks at a register of open paths first.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from threading import Lock
from typing import Final

from scrapy_neardup.errors import StoreCorruptError, StoreError, StoreLockedError

APPLICATION_ID: Final = 0x4E647570
"""``Ndup``, at byte 68 of the file."""
_MAGIC: Final = b"SQLite format 3\x00"
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


def register(path: Path) -> None:
    """Register that this process opens `path`, or raise `StoreLockedError`."""
    with _open_paths_lock:
        if any(path == other or _same_file(path, other) for other in _open_paths):
            raise _locked(path)
        _open_paths.add(path)


def release(path: Path) -> None:
    """Register that this process has closed `path`."""
    with _open_paths_lock:
        _open_paths.discard(path)


def check_header(path: Path) -> None:
    """Raise `StoreCorruptError` unless `path` is missing, empty, or a complete store.

    This doesn't use SQLite, because opening another program's file may already change it.
    https://sqlite.org/fileformat2.html, section 1.3, has the format of the header.
    """
    try:
        if not path.is_file() and path.exists():
            raise StoreError(f"NEARDUP_STORE: {path} is not a file")
        with path.open("rb") as file:
            header = file.read(100)
    except FileNotFoundError:
        return
    has_log = _size(beside(path, "-wal")) > 0
    if not header:
        if has_log:
            raise damaged(path, "it is empty, but its log isn't")
        return
    if not (header.startswith(_MAGIC) and header[68:72] == APPLICATION_ID.to_bytes(4, "big")):
        raise StoreCorruptError(
            f"NEARDUP_STORE: {path} is not a store of scrapy-neardup; it was not changed."
            " Name another file"
        )
    # SQLite itself reads zeros where the last page is cut off.
    page_size = int.from_bytes(header[16:18], "big")
    pages = int.from_bytes(header[28:32], "big")
    if not has_log and not beside(path, "-journal").exists() and _size(path) != pages * page_size:
        raise damaged(path, f"it should have {pages * page_size} bytes and has {_size(path)}")


def check_after_crash(path: Path) -> None:
    """Read the whole of a file that wasn't closed, with a read-only connection.

    Closing a connection that may write would move the log into the file, even if it is damaged.
    """
    if not _size(beside(path, "-wal")):
        return
    with closing(sqlite3.connect(f"{path.as_uri()}?mode=ro", timeout=0, uri=True)) as connection:
        result = connection.execute("PRAGMA quick_check(1)").fetchone()[0]
    if result != "ok":
        raise damaged(path, result)


@contextmanager
def opening(path: Path) -> Iterator[None]:
    """Turn errors before the first write into errors that say what to do."""
    try:
        yield
    except sqlite3.Error as error:
        code = getattr(error, "sqlite_errorcode", 0) & 0xFF
        if code in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED):
            raise _locked(path) from error
        if code in _DAMAGE:
            raise damaged(path, str(error)) from error
        raise StoreError(unusable(path, error)) from error
    except UnicodeDecodeError as error:  # of a message in which SQLite quotes the file
        raise damaged(path, str(error)) from error
    except OSError as error:
        raise StoreError(unusable(path, error)) from error


def unusable(path: Path, error: Exception) -> str:
    """Return the error message for a file that the system refuses to open or write."""
    return (
        f"NEARDUP_STORE: {path} can't be used: {error}."
        " Its directory has to exist and be writable, with room on the disk"
    )


def _locked(path: Path) -> StoreLockedError:
    return StoreLockedError(
        f"NEARDUP_STORE: {path} is open in another process or crawler, and a SQLite file serves"
        " one crawl at a time. Name another file, or let them share a 'redis://HOST' store"
    )


def damaged(path: Path, what: str) -> StoreCorruptError:
    """Return the error for a damaged store."""
    return StoreCorruptError(
        f"NEARDUP_STORE: {path} is damaged ({what}); it was not changed."
        " Restore it from a copy, or move it away to start afresh"
    )


def beside(path: Path, suffix: str) -> Path:
    """Return the path of a file that SQLite keeps beside `path`."""
    return path.with_name(path.name + suffix)


def _same_file(path: Path, other: Path) -> bool:
    try:
        return path.samefile(other)
    except FileNotFoundError:
        return False


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except FileNotFoundError:
        return 0
