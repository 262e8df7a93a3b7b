"""Documents in Parquet and Arrow files (Feather, and folders of Hugging Face's `datasets`).

pyarrow allocates as many bytes as the header of a Parquet data page says, with no limit; the
footer may say less. So the headers are read first (`parquetheaders`).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from itertools import chain
from typing import IO, Any

from scrapy_neardup.errors import InputError
from scrapy_neardup.offline.readers.files import MAX_PAGE, FoundPage, opened, required
from scrapy_neardup.offline.readers.namedcolumns import USUAL, Columns, present, record_of
from scrapy_neardup.offline.readers.parquetheaders import check_readable, page_sizes
from scrapy_neardup.offline.readers.textual import objects

_BATCH_PAGES, _BATCH_BYTES = 256, MAX_PAGE
"""Maximum number and size in bytes of the pages that are read at a time."""
_MAX_DATA_PAGE = 8 * MAX_PAGE
"""Maximum size of a decompressed data page or dictionary of a Parquet file, in bytes; pyarrow puts
1,024 rows of any length into one."""
_ROWS = 1 << 10
"""Number of rows read at a time from a table that this package wrote."""
_LARGE = 1 << 21
"""Size in bytes from which a dictionary isn't expanded to rows; pyarrow's have at most half."""

_LONG = object()
"""Placeholder of a value that is too long."""


def parquet_pages(
    file: IO[bytes],
    path: str,
    columns: Columns = USUAL,
    groups: Sequence[int] | None = None,
    before: int = 0,
) -> Iterator[FoundPage]:
    """Yield the pages of a Parquet file with a column ``html`` or ``text``, and maybe ``url``.

    With `groups` only the pages of these row groups; `before` is the number of rows before them.
    """
    with reading_table(path):
        from pyarrow.parquet import ParquetFile  # noqa: PLC0415

        parquet = ParquetFile(file, page_checksum_verification=True)
        check_readable(file, parquet.metadata)
        schema = parquet.schema
        known = [schema.column(number).path for number in range(len(schema.names))]
        wanted = present(known, path, columns)
        number = before
        dictionaries: _Dictionaries = {}
        for group in range(parquet.num_row_groups) if groups is None else groups:
            metadata = parquet.metadata.row_group(group)
            if not metadata.num_rows:
                continue  # it has no pages
            rows, bounded = _bounded(file, metadata, wanted)
            reader, _ = by_dictionary(parquet, file, metadata, bounded)
            # Threads would read ahead.
            for batch in reader.iter_batches(
                rows, row_groups=[group], columns=bounded, use_threads=False
            ):
                yield from _pages(batch, bounded, columns, path, first=number, known=dictionaries)
                number += batch.num_rows


def table_rows(path: str, columns: list[str] | None = None) -> Iterator[tuple[str, Any]]:
    """Yield the rows of a Parquet file with the place of each, as `textual.objects` does."""
    with reading_table(path), opened(path) as file:
        from pyarrow.parquet import ParquetFile  # noqa: PLC0415

        batches = ParquetFile(file).iter_batches(_ROWS, columns=columns, use_threads=False)
        rows = chain.from_iterable(batch.to_pylist() for batch in batches)
        for number, row in enumerate(rows, 1):
            yield f"{path}, row {number}", row


def rows_of(
    path: str, what: str, columns: list[str] | None = None, torn: Counter[str] | None = None
) -> Iterator[tuple[str, Any]]:
    """Yield the rows that a verb wrote to a file, Parquet or JSON lines; see `textual.objects`."""
    is_table = path.lower().endswith(".parquet")
    return table_rows(path, columns) if is_table else objects(path, what, torn)


def arrow_pages(file: IO[bytes], path: str, columns: Columns = USUAL) -> Iterator[FoundPage]:
    """Yield the pages of an Arrow file or stream; see `parquet_pages`. One batch is in memory."""
    with reading_table(path):
        reader = arrow_reader(file)
        wanted = present(_leaves(reader.schema), path, columns)
        number = 0
        dictionaries: _Dictionaries = {}
        for whole in arrow_batches(reader):
            for start in range(0, whole.num_rows, _BATCH_PAGES):
                batch = whole.slice(start, _BATCH_PAGES)
                yield from _pages(batch, wanted, columns, path, first=number, known=dictionaries)
                number += batch.num_rows
        if not hasattr(reader, "num_record_batches") and file.read(1):
            raise ValueError("there is more after the end of its stream")


def arrow_reader(file: IO[bytes]) -> Any:
    """Return the reader of an Arrow file or stream, by its beginning."""
    from pyarrow import ipc  # noqa: PLC0415

    start = file.read(6)
    file.seek(0)
    if start.startswith(b"FEA1"):
        raise ValueError("it is Feather version 1; write it again as version 2")
    return ipc.open_file(file) if start == b"ARROW1" else ipc.open_stream(file)


def arrow_batches(reader: Any) -> Iterator[Any]:
    """Yield the batches of rows of a reader, one at a time; a damaged one is a ValueError."""
    count = getattr(reader, "num_record_batches", None)
    for batch in iter(reader) if count is None else map(reader.get_batch, range(count)):
        for column in batch.columns:
            _check(column)
        yield batch


def _check(column: Any) -> None:
    """Check lengths and offsets, which pyarrow believes and doesn't check when it reads a file.

    Text may be any bytes.
    """
    import pyarrow as pa  # noqa: PLC0415  (an extra)
    from pyarrow import types  # noqa: PLC0415  (an extra)

    column.validate()
    parts: list[Any] = []
    if types.is_dictionary(column.type):
        parts = [column.dictionary, column.indices]
        pa.DictionaryArray.from_arrays(column.indices, pa.nulls(len(column.dictionary)))
    elif types.is_struct(column.type):
        parts = [*map(column.field, range(column.type.num_fields))]
    for part in parts:
        _check(part)
    try:
        column.validate(full=not parts)
    except ValueError as error:
        if "UTF8" not in str(error):
            raise


def _leaves(schema: Any) -> list[str]:
    """Return the names of columns and of their fields: ``metadata.url``."""
    from pyarrow import types  # noqa: PLC0415

    found = []
    for field in schema:
        found.append(field.name)
        if types.is_struct(field.type):
            found += [f"{field.name}.{inner}" for inner in _leaves(field.type)]
    return found


def _pages(
    batch: Any,
    names: Sequence[str],
    columns: Columns,
    path: str,
    *,
    first: int,
    known: _Dictionaries,
) -> Iterator[FoundPage]:
    """Yield the pages of some rows, numbered from the first one's number."""
    arrays = {name: _column(batch, name) for name in names}
    found = {name: _values(array, name, columns.html, known) for name, array in arrays.items()}
    html = arrays.get(columns.html or "")
    kind = None if html is None else getattr(html.type, "value_type", html.type)
    encoding = None if "binary" in str(kind) else "utf-8"
    is_left_out = not {*columns.contents} & {*names}
    for row in range(batch.num_rows):
        number = first + row + 1
        item = {name: values[row] for name, values in found.items()}
        short = {name: value for name, value in item.items() if value is not _LONG}
        record = record_of(
            short, columns, f"{path}, row {number}", path, number, encoding=encoding
        )
        is_long = is_left_out or len(short) < len(item)
        yield replace(record, html=None, text=None) if is_long else record


def _column(batch: Any, name: str) -> Any:
    """Return a column of a batch, or a field of one."""
    from pyarrow import compute  # noqa: PLC0415  (an extra)

    if name in batch.schema.names:
        return batch.column(name)
    outer, *inner = name.split(".")
    return compute.struct_field(batch.column(outer), inner)


def _bounded(file: IO[bytes], group: Any, wanted: Sequence[str]) -> tuple[int, list[str]]:
    """Return the number of rows of a row group to read at a time, and the columns.

    No row is longer than the largest page of its column, which is decompressed whole. A column
    with too large a page isn't read.
    """
    rows, columns = _BATCH_PAGES, []
    for column in map(group.column, range(group.num_columns)):
        if column.path_in_schema in wanted:
            sizes = [*page_sizes(file, column)]
            if max(sizes, default=0) <= _MAX_DATA_PAGE:
                columns.append(column.path_in_schema)
                size = max(sizes[_is_large(file, column) :], default=0)
                rows = min(rows, max(1, _BATCH_BYTES // max(size, 1)))
    return rows, columns


def _is_large(file: IO[bytes], column: Any) -> bool:
    """Return whether a column's values are so long that they are read once, then only as numbers.

    If a dictionary grew too large, the values of further rows follow it, not numbers.
    """
    if not column.has_dictionary_page or "." in column.path_in_schema:
        return False
    size = next(page_sizes(file, column), 0)
    has_numbers_alone = column.total_uncompressed_size - size <= 8 * column.num_values + _LARGE
    return column.physical_type == "BYTE_ARRAY" and size > _LARGE and has_numbers_alone


def by_dictionary(
    parquet: Any, file: IO[bytes], group: Any, names: Sequence[str] | None = None
) -> tuple[Any, int]:
    """Return a reader that reads a row group's large dictionaries once, and the bytes of its rows.

    `names` are those of the columns that are read; None: all.
    """
    columns = [*map(group.column, range(group.num_columns))]
    columns = [each for each in columns if names is None or each.path_in_schema in names]
    large = [each for each in columns if _is_large(file, each)]
    size = sum(each.total_uncompressed_size - next(page_sizes(file, each)) for each in large)
    size += sum(each.total_uncompressed_size for each in columns if each not in large)
    if not large:
        return parquet, max(size, 1)
    dictionaries = [each.path_in_schema for each in large]
    reader = type(parquet)(file, read_dictionary=dictionaries, page_checksum_verification=True)
    return reader, max(size, 1)


_Dictionaries = dict[str, tuple[Any, list[Any]]]
"""Column -> its last dictionary and values, which batches of rows share."""
_STRINGS = {"string", "large_string", "string_view", "binary", "large_binary", "binary_view"}
"""Types of columns of strings and bytes."""


def _values(column: Any, name: str, html: str | None, known: _Dictionaries) -> list[Any]:
    """Return the values of a column; `_LONG` for values of more than `MAX_PAGE` bytes.

    Equal values of a dictionary are one object. HTML is bytes. Other text is decoded, with invalid
    bytes escaped, and could take four times the bytes of its value.
    """
    import pyarrow as pa  # noqa: PLC0415  (an extra)
    from pyarrow import compute, types  # noqa: PLC0415

    if types.is_dictionary(column.type):
        if name not in known or not column.dictionary.equals(known[name][0]):
            values = [*_values(column.dictionary, name, html, known), None]
            known[name] = column.dictionary, values
        values = known[name][1]
        return [values[-1 if index is None else index] for index in column.indices.to_pylist()]
    if str(column.type) not in _STRINGS:
        return [*map(_python, _in_microseconds(column))]
    column = column.cast(pa.large_binary())
    lengths = compute.binary_length(column)
    if (compute.max(lengths).as_py() or 0) > MAX_PAGE:
        lengths = lengths.to_pylist()
        values = [
            _LONG if (length or 0) > MAX_PAGE else column[row].as_py()
            for row, length in enumerate(lengths)
        ]
    else:
        values = column.to_pylist()
    return values if name == html else [*map(_decoded, values)]


def _python(value: Any) -> Any:
    """Return Python's value, or text for a time that Python doesn't have (infinity)."""
    try:
        return value.as_py()
    except (ValueError, OverflowError):
        return str(value.cast("string"))


def _in_microseconds(column: Any) -> Any:
    """Return a column with times rounded down to microseconds, the unit of Python's times."""
    import pyarrow as pa  # noqa: PLC0415  (an extra)
    from pyarrow import types  # noqa: PLC0415

    kind = column.type
    if getattr(kind, "unit", None) != "ns":
        return column
    if types.is_timestamp(kind):
        return column.cast(pa.timestamp("us", kind.tz), safe=False)
    return column.cast(pa.time64("us") if types.is_time(kind) else pa.duration("us"), safe=False)


def strings(column: Any) -> list[str | None]:
    """Return the texts of a column of strings, with invalid bytes escaped (PEP 383)."""
    import pyarrow as pa  # noqa: PLC0415  (an extra)
    from pyarrow import types  # noqa: PLC0415

    if types.is_dictionary(column.type):
        values = [*strings(column.dictionary), None]
        return [values[-1 if index is None else index] for index in column.indices.to_pylist()]
    if str(column.type) in _STRINGS:
        column = column.cast(pa.large_binary())
    return [*map(_decoded, column.to_pylist())]


def _decoded(value: Any) -> Any:
    return value.decode("utf-8", "surrogateescape") if isinstance(value, bytes) else value


@contextmanager
def reading_table(path: str) -> Iterator[None]:
    """Turn errors while a file is read into an `InputError` that names it."""
    what = "Parquet" if ".parquet" in path.lower() else "Arrow"
    required(f"{path}: {what} files need the package pyarrow", "pyarrow.parquet", "parquet")
    try:
        yield
    except (OSError, ValueError, MemoryError, IndexError, SystemError, RuntimeError) as error:
        raise InputError(f"{path}: can't be read as {what}: {error}") from error
