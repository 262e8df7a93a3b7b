"""Checksums of the rows of a SQLite file, whose own check covers its trees and not their content.

Rule of this module: pure. A sum is the CRC-32 of a row's bytes, begun with the place where the row
belongs: it detects any flipped bit in either and any burst of up to 32 bits. It is no protection
against people.
"""

from __future__ import annotations

from typing import Final
from zlib import crc32

SUM_BYTES: Final = 4
"""Bytes of a checksum."""
_RESIDUE: Final = 0x2144DF1C
"""The CRC-32 of any bytes that their own CRC-32 follows, wherever it was begun."""


def summed(entry: bytes, place: int) -> bytes:
    """Return an entry with its checksum behind it."""
    return entry + crc32(entry, _start(place)).to_bytes(SUM_BYTES, "little")


def is_whole(entry: bytes, place: int) -> bool:
    """Whether an entry is what `summed` returned for this place."""
    return len(entry) >= SUM_BYTES and crc32(entry, _start(place)) == _RESIDUE


def sum_of(*values: str | bytes | int | None) -> int:
    """Return the checksum of a row of such values, of the text of a URL and of its place."""
    return crc32("\0".join(map(_spelt, values)).encode("utf-8", "surrogatepass"))


def _spelt(value: str | bytes | int | None) -> str:
    return value if isinstance(value, str) else repr(value)


def _start(place: int) -> int:
    return (place ^ place >> 32) & 0xFFFF_FFFF
