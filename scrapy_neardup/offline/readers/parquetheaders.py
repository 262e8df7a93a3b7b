"""What a Parquet file says of its pages and its encryption, which pyarrow doesn't show.

The headers of pages are structures of Thrift's compact protocol (``PageHeader`` in
parquet.thrift).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import IO, Any

_UNCOMPRESSED, _COMPRESSED = 2, 3
"""Fields of a ``PageHeader`` with the sizes of its page."""

_MAX_DEPTH = 8
"""Maximum nesting of a header's structures; a ``PageHeader`` has three levels."""


def check_readable(file: IO[bytes], metadata: Any) -> None:
    """Raise a ValueError for encrypted columns, for which pyarrow would end the process."""
    file.seek(-8, 2)  # the size of the footer, which then also has a signature
    if int.from_bytes(file.read(4), "little") == metadata.serialized_size + 28:
        raise ValueError("it has encrypted columns")


def page_sizes(file: IO[bytes], column: Any) -> Iterator[int]:
    """Yield the decompressed size in bytes of each data or dictionary page of a column.

    `file` is seekable, `column` a ``pyarrow.parquet.ColumnChunkMetaData``. A page takes a seek and
    some 30 bytes.
    """
    offset = column.data_page_offset
    if column.has_dictionary_page and 0 < column.dictionary_page_offset < offset:
        offset = column.dictionary_page_offset
    end = offset + column.total_compressed_size
    while offset < end:
        file.seek(offset)
        header = _integers_of(file)
        sizes = header.get(_UNCOMPRESSED, -1), header.get(_COMPRESSED, -1)
        if min(sizes) < 0:
            raise ValueError("one of its pages has no size")
        yield max(sizes)
        offset = file.tell() + sizes[1]


def _integers_of(file: IO[bytes], depth: int = 0) -> dict[int, int]:
    """Read a structure; return its integer fields."""
    found: dict[int, int] = {}
    field = 0
    while first := _byte(file):
        field = field + (first >> 4) if first >> 4 else _signed(file)
        match first & 15:
            case 1 | 2:  # true and false have no further bytes
                pass
            case 3:
                _byte(file)
            case 4 | 5 | 6:
                found[field] = _signed(file)
            case 7:
                file.seek(8, 1)
            case 8:  # bytes, after their number
                file.seek(_unsigned(file), 1)
            case 12 if depth < _MAX_DEPTH:
                _integers_of(file, depth + 1)
            case _:  # a header has no lists and no maps
                raise ValueError("one of its pages has no header")
    return found


def _signed(file: IO[bytes]) -> int:
    value = _unsigned(file)
    return value >> 1 ^ -(value & 1)


def _unsigned(file: IO[bytes]) -> int:
    value = 0
    for shift in range(0, 70, 7):
        byte = _byte(file)
        value |= (byte & 127) << shift
        if byte < 128:
            return value
    raise ValueError("one of its pages has no header")


def _byte(file: IO[bytes]) -> int:
    if not (byte := file.read(1)):
        raise ValueError("one of its pages has no header")
    return byte[0]
