"""Sizes of a Parquet column's pages, as the headers of these pages give them.

A reader allocates as many bytes as the header of a page says; what the footer of the file says of
the whole column may be another number. Headers are structures of Thrift's compact protocol
(``PageHeader`` in parquet.thrift); nothing else is read here.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import IO, Any

_UNCOMPRESSED, _COMPRESSED = 2, 3
"""Fields of a ``PageHeader``."""

_BOOLEANS, _BYTE, _INTEGERS, _DOUBLE, _BINARY, _STRUCTURE = (
    frozenset({1, 2}), 3, frozenset({4, 5, 6}), 7, 8, 12,
)  # fmt: skip
"""Kinds of values in the compact protocol."""

_MAX_DEPTH = 8
"""Maximum nesting of a header's structures; a ``PageHeader`` has three levels."""

_MAX_VARINT = 10
"""Maximum bytes of a number."""


def page_sizes(file: IO[bytes], column: Any) -> Iterator[int]:
    """Yield the bytes, decompressed, of each data or dictionary page of a column.

    Parameters
    ----------
    file
        The Parquet file, seekable.
    column
        Metadata of the column in a row group (``pyarrow.parquet.ColumnChunkMetaData``).

    Raises
    ------
    ValueError
        There is no header where a page should begin.

    Notes
    -----
    O(pages): a seek and some 30 bytes each.
    """
    place = column.data_page_offset
    if column.has_dictionary_page and 0 < column.dictionary_page_offset < place:
        place = column.dictionary_page_offset
    end = place + column.total_compressed_size
    while place < end:
        file.seek(place)
        header = _structure(file, 0)
        sizes = header.get(_UNCOMPRESSED, -1), header.get(_COMPRESSED, -1)
        if min(sizes) < 0:
            raise ValueError("one of its pages has no size")
        yield max(sizes)
        place = file.tell() + sizes[1]


def _structure(file: IO[bytes], depth: int) -> dict[int, int]:
    """Read a structure; return its fields that are integers."""
    if depth == _MAX_DEPTH:
        raise ValueError("one of its pages has no header")
    found: dict[int, int] = {}
    field = 0
    while first := _byte(file):
        kind, step = first & 15, first >> 4
        field = field + step if step else _integer(file)
        if kind in _INTEGERS:
            found[field] = _integer(file)
        elif kind not in _BOOLEANS:  # these have no value of their own
            _skip(file, kind, depth)
    return found


def _skip(file: IO[bytes], kind: int, depth: int) -> None:
    """Pass over a value."""
    if kind in _INTEGERS:
        _varint(file)
    elif kind == _BYTE or kind in _BOOLEANS:
        _byte(file)
    elif kind == _DOUBLE:
        file.seek(8, 1)
    elif kind == _BINARY:
        file.seek(_varint(file), 1)
    elif kind == _STRUCTURE:
        _structure(file, depth + 1)
    else:  # a header has no lists nor maps
        raise ValueError("one of its pages has no header")


def _integer(file: IO[bytes]) -> int:
    value = _varint(file)
    return value >> 1 ^ -(value & 1)


def _varint(file: IO[bytes]) -> int:
    value = 0
    for place in range(_MAX_VARINT):
        byte = _byte(file)
        value |= (byte & 127) << 7 * place
        if byte < 128:
            return value
    raise ValueError("one of its pages has no header")


def _byte(file: IO[bytes]) -> int:
    if not (byte := file.read(1)):
        raise ValueError("one of its pages has no header")
    return byte[0]
