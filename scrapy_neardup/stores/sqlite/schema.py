"""The format of a SQLite file, and the checks that a file is an undamaged store that nobody uses.

The checks never change a file. Every error says what to do.

A store is recognised by its ``application_id``; ``user_version`` is the version of the format. One
table holds the kept pages of all namespaces; another holds their notice boards, if anything was
posted. The parameters of a namespace say what follows the record of an entry. Every row ends with
a checksum.

SQLite itself locks the file, in exclusive mode, for as long as its connection is open. The lock
always ends with the process. But POSIX drops a process's locks on a file as soon as the process
closes *any* handle of it. So a second crawler of this process must not even read the file, and
looks at a register of open paths first.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from pathlib import Path
from threading import Lock
from typing import Any, Final
from zlib import crc32

from scrapy_neardup import errors
from scrapy_neardup.errors import StoreCorruptError, StoreMismatchError
from scrapy_neardup.stores.base import differences
from scrapy_neardup.stores.entryformat import FIELDS, KeyRecord

APPLICATION_ID: Final = 0x4E647570
"""``Ndup``, at byte 68 of the file."""
_MAGIC: Final = b"SQLite format 3\x00"
_DAMAGE: Final = frozenset(
    {
        sqlite3.SQLITE_CORRUPT,
        sqlite3.SQLITE_NOTADB,
        sqlite3.SQLITE_FORMAT,
        sqlite3.SQLITE_ERROR,  # a table is missing, because our statements have no errors
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
            raise StoreCorruptError(f"NEARDUP_STORE: {path} is not a file")
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
    # SQLite itself reads zeros if the last page is cut off.
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
        raise errors.StoreError(unusable(path, error)) from error
    except UnicodeDecodeError as error:  # for a message in which SQLite quotes the file
        raise damaged(path, str(error)) from error
    except OSError as error:
        raise errors.StoreError(unusable(path, error)) from error


def unusable(path: Path, error: Exception) -> str:
    """Return the error message for a file that the system refuses to open or write."""
    return (
        f"NEARDUP_STORE: {path} can't be used: {error}."
        " Its directory has to exist and be writable, with room on the disk"
    )


def _locked(path: Path) -> errors.StoreLockedError:
    return errors.StoreLockedError(
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


SUM_BYTES: Final = 4
"""Number of bytes of a checksum."""
_RESIDUE: Final = 0x2144DF1C
"""The CRC-32 of any bytes followed by their own CRC-32, with any initial value."""


def summed(entry: bytes, place: int) -> bytes:
    """Return an entry followed by its checksum."""
    return entry + crc32(entry, _start(place)).to_bytes(SUM_BYTES, "little")


def is_whole(entry: bytes, place: int) -> bool:
    """Return whether an entry has the checksum that `summed` made for this place."""
    return len(entry) >= SUM_BYTES and crc32(entry, _start(place)) == _RESIDUE


def sum_of(*values: str | bytes | int | None) -> int:
    """Return the checksum of a row: of its values, the text of a URL, and its place."""
    texts = (value if isinstance(value, str) else repr(value) for value in values)
    return crc32("\0".join(texts).encode("utf-8", "surrogatepass"))


def _start(place: int) -> int:
    return (place ^ place >> 32) & 0xFFFF_FFFF


FORMAT_VERSION: Final = 7
ROW_BITS: Final = 32
"""Number of bits of a row number in a place; the namespace's number is above them."""

CREATE: Final = (
    f"PRAGMA application_id = {APPLICATION_ID}",
    f"PRAGMA user_version = {FORMAT_VERSION}",
    """CREATE TABLE namespace (
        number INTEGER PRIMARY KEY,
        name TEXT NOT NULL UNIQUE,
        parameters TEXT NOT NULL,  -- JSON: what makes two fingerprints comparable
        sum INTEGER NOT NULL
    )""",
    """CREATE TABLE page (
        place INTEGER PRIMARY KEY,  -- namespace number << 32 | row
        entry BLOB NOT NULL,  -- entryformat.record_dtype, evidence (decision.evidence), checksum
        url TEXT,
        sum INTEGER  -- of the URL
    )""",
)
CREATE_NOTICES: Final = """CREATE TABLE notice (
    number INTEGER NOT NULL,  -- of the namespace; rowids ascend as values are posted
    topic TEXT NOT NULL,
    member TEXT NOT NULL,
    value BLOB NOT NULL,
    sum INTEGER NOT NULL,
    UNIQUE (number, topic, member)
)"""


def places(number: int) -> tuple[int, int]:
    """Return the first and the last possible place of the rows of a namespace."""
    first = number << ROW_BITS
    return first, first + (1 << ROW_BITS) - 1


def has_notices(connection: sqlite3.Connection) -> bool:
    """Return whether anything was ever posted in a file."""
    found = connection.execute("SELECT 1 FROM sqlite_master WHERE name = 'notice'")
    return found.fetchone() is not None


def check_version(connection: sqlite3.Connection, path: Path) -> None:
    """Raise `StoreMismatchError` unless the file has this version of the format."""
    version = connection.execute("PRAGMA user_version").fetchone()[0]
    if version != FORMAT_VERSION:
        raise StoreMismatchError(
            f"NEARDUP_STORE: {path} has format {version}, this version of scrapy-neardup reads"
            f" {FORMAT_VERSION}: name another file"
        )


def check_whole(connection: sqlite3.Connection, path: Path) -> None:
    """Raise `StoreCorruptError` unless trees, tables and namespaces are undamaged.

    Entries and notices are checked when they are read. Reads the whole file; a million pages
    take .3 s.
    """
    # The quick check doesn't compare indices with their tables; the pages' table has none.
    checks = ["quick_check(1)", "integrity_check(namespace)"]
    checks += ["integrity_check(notice)"] * has_notices(connection)
    for check in checks:
        result = connection.execute(f"PRAGMA {check}").fetchone()[0]
        if result != "ok":
            raise damaged(path, result)
    found = {sql for (sql,) in connection.execute("SELECT sql FROM sqlite_master") if sql}
    wanted = {text for text in CREATE if text.startswith("CREATE")}
    if found - {CREATE_NOTICES} != wanted:
        raise damaged(path, "its tables are others")
    numbers = set()
    for *row, its_sum in connection.execute("SELECT number, name, parameters, sum FROM namespace"):
        if sum_of(*row) != its_sum:
            raise damaged(path, f"the record of namespace number {row[0]}")
        numbers.add(row[0])
    for place, entry in _outermost(connection):
        if place >> ROW_BITS not in numbers or not is_whole(entry, place):
            raise damaged(path, f"the record at place {place}")


def _outermost(connection: sqlite3.Connection) -> Iterator[tuple[int, bytes]]:
    """Yield the first and the last record of each namespace with records.

    Damage of a place that leaves the tree in order can move only these to another namespace, or
    to none.
    """
    after = "SELECT place, entry FROM page WHERE place > ? ORDER BY place LIMIT 1"
    before = "SELECT place, entry FROM page WHERE place <= ? ORDER BY place DESC LIMIT 1"
    last = -(1 << 63)
    while (found := connection.execute(after, (last,)).fetchone()) is not None:
        yield found
        _, end = places(found[0] >> ROW_BITS)
        found = connection.execute(before, (end,)).fetchone()
        yield found
        last = found[0]


def encodable(namespace: str) -> str:
    """Return a name with lone surrogates escaped, which UTF-8 doesn't have."""
    return namespace.encode("utf-8", "backslashreplace").decode()


def recorded(
    connection: sqlite3.Connection, path: Path, namespace: str
) -> tuple[int, dict[str, Any]] | None:
    """Return a namespace's number and parameters; None if there is none."""
    found = connection.execute(
        "SELECT number, parameters FROM namespace WHERE name = ?", (encodable(namespace),)
    ).fetchone()
    if found is None:
        return None
    number, text = found
    try:
        return int(number), dict(json.loads(text))
    except (TypeError, ValueError) as error:
        raise damaged(path, f"parameters of {namespace!r}: {error}") from error


def namespace_number(
    connection: sqlite3.Connection,
    path: Path,
    namespace: str,
    parameters: Mapping[str, str | int | float],
) -> tuple[int, KeyRecord | None]:
    """Return the number of a namespace, or the next free one; and its key record, if it exists.

    Raises `StoreMismatchError` if it was made with other parameters; the message shows both.
    """
    found = recorded(connection, path, namespace)
    if found is None:
        highest = connection.execute("SELECT coalesce(max(number), 0) FROM namespace").fetchone()
        return int(highest[0]) + 1, None
    number, theirs = found
    there = {name: value for name, value in theirs.items() if name not in FIELDS}
    if differing := differences(there, parameters):
        raise StoreMismatchError(
            f"NEARDUP_STORE: namespace {namespace!r} of {path} was made with other parameters:"
            f" {differing}. Set them as they were, or use another NEARDUP_NAMESPACE or another"
            " file"
        )
    return number, KeyRecord.read(theirs)
