"""Parquet files: their errors, and how much memory a column takes before it is read.

pyarrow allocates as many bytes as the header of a data page says, without a limit that could be
set; the footer of the file may say less. So the headers are read here first: structures
of Thrift's compact protocol (``PageHeader`` in parquet.thrift).
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import IO, Any

from scrapy_neardup.errors import InputError

_UNCOMPRESSED, _COMPRESSED = 2, 3
"""Fields of a ``PageHeader``: the sizes of its page."""

_MAX_DEPTH = 8
"""Maximum nesting of a header's structures; a ``PageHeader`` has three levels."""


@contextmanager
def reading_parquet(path: str) -> Iterator[None]:
    """Turn what goes wrong while a Parquet file is read into an `InputError` that names it."""
    try:
        yield
    except ImportError as error:
        raise InputError(
            f"{path}: Parquet files need the package pyarrow:"
            " pip install 'scrapy-neardup[parquet]'"
        ) from error
    except (OSError, ValueError) as error:  # pyarrow's own errors are subclasses of these
        raise InputError(f"{path}: can't be read as Parquet: {error}") from error


def page_sizes(file: IO[bytes], column: Any) -> Iterator[int]:
    """Yield the bytes, decompressed, of each data or dictionary page of a column.

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
    """Read a structure; return its fields that are integers."""
    found: dict[int, int] = {}
    field = 0
    while first := _byte(file):
        field = field + (first >> 4) if first >> 4 else _signed(file)
        match first & 15:
            case 1 | 2:  # true and false have no value of their own
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
