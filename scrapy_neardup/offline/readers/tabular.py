"""Pages in files that have columns: JSON lines and Parquet.

pyarrow allocates as many bytes as the header of a data page of Parquet says, without a limit that
could be set; the footer may say less. So the headers are read here first: structures of Thrift's
compact protocol (``PageHeader`` in parquet.thrift).
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import IO, Any

from scrapy_neardup.errors import InputError
from scrapy_neardup.offline.readers.files import (
    MAX_PAGE,
    Record,
    bounded_lines,
    printable,
    required,
)
from scrapy_neardup.urls import redact

MAX_LINE = 2 * MAX_PAGE
"""Maximum bytes of a JSON line; a file with a longer line isn't a file of lines."""
_BATCH_PAGES, _BATCH_BYTES = 256, MAX_PAGE
"""Maximum number, and bytes, of the pages of a Parquet file that are read at a time."""
_MAX_DATA_PAGE = 8 * MAX_PAGE
"""Maximum bytes, decompressed, of a data page or dictionary of a Parquet file; pyarrow puts 1,024
rows into one, however long they are."""

_LONG = object()
"""Stands for a value that is too long to be read."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Columns:
    """Names of columns; ``metadata.url`` is the field ``url`` of the column ``metadata``.

    A file needs `html` or `text`; None: there is no such column. A page's name is its `id`, if one
    is named, or its `url`, or ``FILE:ROW``. `others` are read, too. `hint` tells the user of a
    file without any of the contents how to name another column.
    """

    html: str | None = "html"
    text: str | None = "text"
    url: str = "url"
    id: str | None = None
    others: tuple[str, ...] = ()
    hint: str = ""

    @property
    def contents(self) -> tuple[str, ...]:
        """The columns of which a file needs one."""
        return tuple(name for name in (self.html, self.text) if name)

    @property
    def required(self) -> tuple[str, ...]:
        """The columns that were asked for by name; a file needs all of them."""
        named = self.id, self.url if self.url != "url" else None
        return (*filter(None, named), *self.others)

    @property
    def names(self) -> tuple[str, ...]:
        """All of them, each once."""
        return tuple(dict.fromkeys((*self.contents, self.url, *self.required)))

    def quoted(self) -> str:
        """Return the names of the contents as an error message has them."""
        return " or ".join(f'"{name}"' for name in self.contents) + self.hint


USUAL = Columns()
"""What `scrapy-neardup scan` reads."""


def json_lines(file: IO[bytes], path: str, columns: Columns = USUAL) -> Iterator[Record]:
    """Yield the pages of JSON lines, one in each that isn't blank."""
    for number, line in bounded_lines(file, path, MAX_LINE):
        if not line.isspace():
            yield json_record(line, number, path, columns)


def json_record(line: bytes, number: int, path: str, columns: Columns = USUAL) -> Record:
    """Return the page of a JSON line, the lines numbered from 1."""
    where = f"{path}, line {number}"
    try:
        item = json.loads(line.decode("utf-8-sig" if number == 1 else "utf-8"))
    except (ValueError, RecursionError) as error:
        raise InputError(f"{where}: not a line of JSON ({error})") from error
    found = {name: _inside(item, name) for name in columns.names}
    values = {name: value for name, value in found.items() if value is not _MISSING}
    if not values.keys() & set(columns.contents):
        raise InputError(f"{where}: not an object with {columns.quoted()}")
    for name in columns.required:
        if name not in values:
            raise InputError(f'{where}: has no "{name}"')
    return _record(values, columns, where, path, number)


_MISSING = object()


def _inside(item: Any, name: str) -> Any:
    """Return the value of an object's key, or of a field of it: ``a.b``."""
    if not isinstance(item, dict):
        return _MISSING
    outer, _, inner = name.partition(".")
    if name in item or not inner:
        return item.get(name, _MISSING)
    return _inside(item.get(outer), inner)


def _record(
    item: Mapping[str, Any], columns: Columns, where: str, path: str, number: int
) -> Record:
    url = _string(item, columns.url, where)
    html = _string(item, columns.html, where) if columns.html else None
    text = _string(item, columns.text, where) if columns.text else None
    name = item.get(columns.id) if columns.id else None
    content: dict[str, Any] = {}
    if len(html or text or "") <= MAX_PAGE:
        content = {
            "html": None if html is None else html.encode(),
            "text": (text or "") if html is None else None,
            "encoding": "utf-8",
        }
    return Record(
        page=redact(url) if url else f"{printable(path)}:{number}",
        url=url,
        row=number - 1,
        id=None if name is None else str(name),
        values={name: item.get(name) for name in columns.others} if columns.others else None,
        **content,
    )


def _string(item: Mapping[str, Any], key: str, where: str) -> str | None:
    value = item.get(key)
    if value is None:
        return None
    if not isinstance(value, str):
        raise InputError(f'{where}: "{key}" is no string but {type(value).__name__}')
    if len(value) > MAX_PAGE:
        return value  # nobody reads it
    # JSON can spell half a surrogate pair, which no other encoding can.
    return value if value.isascii() else value.encode("utf-8", "replace").decode()


def parquet_pages(file: IO[bytes], path: str, columns: Columns = USUAL) -> Iterator[Record]:
    """Yield the pages of a Parquet file with a column ``html`` or ``text``, and maybe ``url``."""
    with reading_parquet(path):
        from pyarrow.parquet import ParquetFile  # noqa: PLC0415

        parquet = ParquetFile(file)
        wanted = _present(parquet, path, columns)
        contents = set(columns.contents)
        number = 0
        for group in range(parquet.num_row_groups):
            if not parquet.metadata.row_group(group).num_rows:
                continue  # it has no pages
            rows, bounded = _bounded(file, parquet.metadata.row_group(group), wanted)
            is_left_out = not contents & set(bounded)
            # Threads would read ahead.
            for batch in parquet.iter_batches(
                rows, row_groups=[group], columns=bounded, use_threads=False
            ):
                found = {name: _values(_column(batch, name)) for name in bounded}
                for row in range(batch.num_rows):
                    number += 1
                    item = {name: values[row] for name, values in found.items()}
                    short = {name: value for name, value in item.items() if value is not _LONG}
                    record = _record(short, columns, f"{path}, row {number}", path, number)
                    is_long = is_left_out or len(short) < len(item)
                    yield replace(record, html=None, text=None) if is_long else record


def _present(parquet: Any, path: str, columns: Columns) -> list[str]:
    """Return the columns of a file that are to be read, in its order."""
    schema = parquet.schema
    known = [schema.column(number).path for number in range(len(schema.names))]
    others = ", ".join(known)
    missing = [] if {*columns.contents} & {*known} else [columns.quoted()]
    missing += [f'"{name}"' for name in columns.required if name not in known]
    if missing:
        raise InputError(f"{path}: has no column {missing[0]} but {others}")
    wanted = [name for name in known if name in columns.names]
    if len(set(wanted)) < len(wanted):
        raise InputError(f"{path}: has several columns of one name: {others}")
    return wanted


def _column(batch: Any, name: str) -> Any:
    """Return a column of a batch, or a field of one."""
    from pyarrow import compute  # noqa: PLC0415  (an extra)

    if name in batch.schema.names:
        return batch.column(name)
    outer, *inner = name.split(".")
    return compute.struct_field(batch.column(outer), inner)


def _bounded(file: IO[bytes], group: Any, wanted: Sequence[str]) -> tuple[int, list[str]]:
    """Return how many rows of a row group to read at a time, and which columns.

    No row is longer than the largest page of its column, which is decompressed whole. A column
    with too large a page isn't read.
    """
    rows, columns = _BATCH_PAGES, []
    for column in map(group.column, range(group.num_columns)):
        if column.path_in_schema in wanted:
            size = max(page_sizes(file, column), default=0)
            if size <= _MAX_DATA_PAGE:
                columns.append(column.path_in_schema)
                rows = min(rows, max(1, _BATCH_BYTES // max(size, 1)))
    return rows, columns


def _values(column: Any) -> list[Any]:
    """Return the values of a column of a Parquet file; of more than `MAX_PAGE` bytes, `_LONG`.

    A string could take four times the bytes of its value.
    """
    from pyarrow import compute, types  # noqa: PLC0415  (an extra)

    texts = column.dictionary if types.is_dictionary(column.type) else column
    if not (types.is_string(texts.type) or types.is_large_string(texts.type)):
        return list(column.to_pylist())
    lengths = compute.binary_length(texts)
    if (compute.max(lengths).as_py() or 0) <= MAX_PAGE:
        return list(column.to_pylist())
    if texts is not column:
        lengths = lengths.take(column.indices)
    return [
        _LONG if (length or 0) > MAX_PAGE else column[row].as_py()
        for row, length in enumerate(lengths.to_pylist())
    ]


_UNCOMPRESSED, _COMPRESSED = 2, 3
"""Fields of a ``PageHeader``: the sizes of its page."""

_MAX_DEPTH = 8
"""Maximum nesting of a header's structures; a ``PageHeader`` has three levels."""


@contextmanager
def reading_parquet(path: str) -> Iterator[None]:
    """Turn what goes wrong while a Parquet file is read into an `InputError` that names it."""
    required(f"{path}: Parquet files need the package pyarrow", "pyarrow.parquet", "parquet")
    try:
        yield
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
