"""The format of a SQLite file: tables, version, and the parameters of its namespaces.

Statements run on a connection that the caller has opened after checking the file (`safety.py`).

One table holds the kept pages of all namespaces; another holds their notice boards, if anything
was posted. In SQLite's header ``application_id`` marks the file as a store, and ``user_version``
has the version of the format. The parameters of a namespace say what follows the record of an
entry. Every row ends with a checksum.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final
from zlib import crc32

from scrapy_neardup.errors import StoreMismatchError
from scrapy_neardup.stores.base import differences
from scrapy_neardup.stores.keys import FIELDS, KeyRecord
from scrapy_neardup.stores.sqlite.safety import APPLICATION_ID, damaged

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
    return crc32("\0".join(map(_spelt, values)).encode("utf-8", "surrogatepass"))


def _spelt(value: str | bytes | int | None) -> str:
    return value if isinstance(value, str) else repr(value)


def _start(place: int) -> int:
    return (place ^ place >> 32) & 0xFFFF_FFFF


FORMAT_VERSION: Final = 6
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


def recorded(
    connection: sqlite3.Connection, path: Path, namespace: str
) -> tuple[int, dict[str, Any]] | None:
    """Return a namespace's number and parameters; None if there is none."""
    found = connection.execute(
        "SELECT number, parameters FROM namespace WHERE name = ?", (namespace,)
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
