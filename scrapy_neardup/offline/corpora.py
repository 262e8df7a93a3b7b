"""The pages of collections on disk, one `Record` at a time.

Rule of this room: bytes in, records out; nothing here looks at what a page says. What
can't be read is an `InputError` that names the file (and the line); nothing is skipped
for being broken.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from stat import S_ISREG
from typing import IO, Any, NamedTuple

from scrapy_neardup.errors import InputError
from scrapy_neardup.offline.lines import decompressed
from scrapy_neardup.offline.parquetsizes import largest_page
from scrapy_neardup.offline.record import MAX_PAGE, Record, reading
from scrapy_neardup.offline.remote import is_remote, opened, stamp
from scrapy_neardup.offline.warc import require_warcio, warc_pages
from scrapy_neardup.text import looks_like_html
from scrapy_neardup.urls import redact

__all__ = ["Corpus", "Record"]

MAX_LINE = 2 * MAX_PAGE
"""Maximum bytes of a JSON line; a file with a longer line isn't a file of lines."""
_BATCH_PAGES, _BATCH_BYTES = 256, MAX_PAGE
"""Maximum number, and bytes, of the pages of a Parquet file that are read at a time."""
_MAX_DATA_PAGE = 8 * MAX_PAGE
"""Maximum bytes, decompressed, of a data page or dictionary of a Parquet file; pyarrow puts 1,024
rows into one, however long they are."""
_SNIFFED = 1 << 14
"""Number of leading bytes examined of a file whose name doesn't say what it is."""

_LONG = object()
"""A value that is too long to be read."""

RecordReader = Callable[[IO[bytes], str], Iterator[Record]]


def html_page(file: IO[bytes], path: str) -> Iterator[Record]:
    """Yield the one page of an HTML file."""
    html = file.read(MAX_PAGE + 1)
    yield Record(page=_printable(path), html=html if len(html) <= MAX_PAGE else None)


def json_lines(file: IO[bytes], path: str) -> Iterator[Record]:
    """Yield the pages of JSON lines: objects with ``html`` or ``text``, and maybe ``url``.

    Blank lines are passed over; a page without a URL is called ``PATH:LINE``.

    Raises
    ------
    InputError
        For a line that isn't such an object.
    """
    for number, line in enumerate(iter(partial(file.readline, MAX_LINE), b""), 1):
        if line.isspace():
            continue
        where = f"{path}, line {number}"
        if len(line) == MAX_LINE:
            raise InputError(f"{where}: longer than {MAX_LINE >> 20} MiB")
        try:
            item = json.loads(line.decode("utf-8-sig" if number == 1 else "utf-8"))
        except (ValueError, RecursionError) as error:
            raise InputError(f"{where}: not a line of JSON ({error})") from error
        if not isinstance(item, dict) or not item.keys() & {"html", "text"}:
            raise InputError(f'{where}: not an object with "html" or "text"')
        yield _record(item, where, f"{_printable(path)}:{number}")


def _record(item: dict[str, object], where: str, place: str) -> Record:
    url, html, text = (_string(item, key, where) for key in ("url", "html", "text"))
    page = redact(url) if url else place
    if len(html or text or "") > MAX_PAGE:
        return Record(page=page, url=url)
    return Record(
        page=page,
        url=url,
        html=None if html is None else html.encode(),
        text=(text or "") if html is None else None,
        encoding="utf-8",
    )


def parquet_pages(file: IO[bytes], path: str) -> Iterator[Record]:
    """Yield the pages of a Parquet file with a column ``html`` or ``text``, and maybe ``url``.

    Raises
    ------
    InputError
        pyarrow isn't installed, or the file has no such column.
    """
    from scrapy_neardup.offline.fpparquet import reading_parquet  # noqa: PLC0415  (an extra)

    with reading_parquet(path):
        from pyarrow.parquet import (  # type: ignore[import-untyped]  # noqa: PLC0415
            ParquetFile,
        )

        parquet = ParquetFile(file)
        wanted = [name for name in parquet.schema_arrow.names if name in {"url", "html", "text"}]
        if not {"html", "text"} & set(wanted):
            raise InputError(f'{path}: has no column "html" or "text"')
        number = 0
        for group in range(parquet.num_row_groups):
            rows, columns = _bounded(file, parquet.metadata.row_group(group), wanted)
            is_left_out = not {"html", "text"} & set(columns)
            # Threads would read ahead.
            for batch in parquet.iter_batches(
                rows, row_groups=[group], columns=columns, use_threads=False
            ):
                found = dict(zip(batch.schema.names, map(_values, batch.columns), strict=True))
                for row in range(batch.num_rows):
                    number += 1
                    item = {name: values[row] for name, values in found.items()}
                    short = {name: value for name, value in item.items() if value is not _LONG}
                    place = f"{_printable(path)}:{number}"
                    record = _record(short, f"{path}, row {number}", place)
                    is_long = is_left_out or len(short) < len(item)
                    yield replace(record, html=None, text=None) if is_long else record


def _bounded(file: IO[bytes], group: Any, wanted: Sequence[str]) -> tuple[int, list[str]]:
    """Return how many rows of a row group to read at a time, and which columns.

    No row is longer than the largest page of its column, which is decompressed whole. A column
    with too large a page is left unread.
    """
    rows, columns = _BATCH_PAGES, []
    for column in map(group.column, range(group.num_columns)):
        if column.path_in_schema in wanted:
            size = largest_page(file, column)
            if size <= _MAX_DATA_PAGE:
                columns.append(column.path_in_schema)
                rows = min(rows, max(1, _BATCH_BYTES // max(size, 1)))
    return rows, columns


def _values(column: Any) -> list[object]:
    """Return the values of a column of a Parquet file; of more than `MAX_PAGE` bytes, `_LONG`.

    A string could take four times the bytes of its value.
    """
    from pyarrow import compute, types  # type: ignore[import-untyped]  # noqa: PLC0415  (an extra)

    texts = column.dictionary if types.is_dictionary(column.type) else column
    if not (types.is_string(texts.type) or types.is_large_string(texts.type)):
        return list(column.to_pylist())
    lengths = compute.binary_length(texts)
    if texts is not column:
        lengths = lengths.take(column.indices)
    return [
        _LONG if (length or 0) > MAX_PAGE else column[row].as_py()
        for row, length in enumerate(lengths.to_pylist())
    ]


def _printable(path: str) -> str:
    """Return `path` with the bytes that are no UTF-8 (all names are possible) spelt out."""
    return os.fsencode(path).decode("utf-8", "backslashreplace")


def _string(item: dict[str, object], key: str, where: str) -> str | None:
    value = item.get(key)
    if value is None:
        return None
    if not isinstance(value, str):
        raise InputError(f'{where}: "{key}" is no string but {type(value).__name__}')
    if len(value) > MAX_PAGE:
        return value  # nobody reads it
    # JSON can spell half a surrogate pair, which no other encoding can.
    return value.encode("utf-8", "replace").decode()


_READERS: dict[tuple[str, ...], RecordReader] = {
    (".html", ".htm", ".xhtml", ".xht", ".shtml"): html_page,
    (".jsonl", ".ndjson"): json_lines,
    (".warc",): warc_pages,
    (".parquet",): parquet_pages,
}
"""Endings of file names, without ``.gz`` -> function that reads such a file."""


class Corpus:
    """The pages of several inputs, in the order given.

    Parameters
    ----------
    inputs
        Folders (every file in them, at any depth, that is named like HTML or looks like
        it, sorted by path), HTML files, WARC files, JSON lines, or ``-``: JSON lines on
        standard input. Files may be compressed with gzip.

    Raises
    ------
    InputError
        An input is missing, or is none of these; while iterating: it is damaged.

    Notes
    -----
    Holds the paths of all files, and one page at a time.
    """

    def __init__(self, inputs: Sequence[str]) -> None:
        if inputs.count("-") > 1:
            raise InputError("-: standard input can be read only once")
        self._sources: list[_Source] = []
        for path in inputs:
            self._sources += _folder(path) if Path(path).is_dir() else [_single(path)]
        if any(source.reader is warc_pages for source in self._sources):
            require_warcio()
        sizes = [source.size for source in self._sources]
        self._size = 0 if None in sizes else sum(size or 0 for size in sizes)
        self._passed = 0
        self._file: IO[bytes] | None = None

    @property
    def share(self) -> float | None:
        """How much of the input was read, in [0, 1]; None where its size isn't known."""
        if not self._size:
            return None
        under_way = self._file.tell() if self._file and not self._file.closed else 0
        return min((self._passed + under_way) / self._size, 1)

    def __iter__(self) -> Iterator[Record]:
        for path, reader, size in self._sources:
            if path == "-":
                yield from reader(sys.stdin.buffer, path)
                continue
            with reading(path), opened(path) as file:
                self._file = file
                yield from reader(decompressed(file), path)
            self._passed += size or 0


class _Source(NamedTuple):
    path: str
    reader: RecordReader
    size: int | None
    """Number of bytes; None for an input whose end isn't known, such as a pipe."""


def _single(path: str) -> _Source:
    """Return the source at `path`, told by its name or else by how it begins."""
    if path == "-":
        return _Source(path, json_lines, None)
    if is_remote(path):
        return _Source(path, _named(path) or _unknown(path), stamp(path)[0])
    with reading(path):
        status = Path(path).stat()
    if not S_ISREG(status.st_mode):
        return _Source(path, json_lines, None)  # a pipe begins only once: no look ahead
    return _Source(path, _named(path) or _sniffed(path) or _unknown(path), status.st_size)


def _unknown(path: str) -> RecordReader:
    endings = ", ".join(ending for group in _READERS for ending in group)
    raise InputError(f"{path}: doesn't look like HTML, and its name ends in none of {endings}")


def _folder(folder: str) -> list[_Source]:
    """Return the HTML files in and below `folder`, sorted by path."""
    found = (
        Path(place, name) for place, _, names in os.walk(folder, onerror=_fail) for name in names
    )
    pages = [
        _Source(path, html_page, Path(path).stat().st_size)
        for path in sorted(str(path) for path in found if path.is_file())
        if (_named(path) or _sniffed(path)) is html_page
    ]
    if not pages:
        raise InputError(f"{folder}: no HTML file in this folder; name other files one by one")
    return pages


def _fail(error: OSError) -> None:
    raise InputError(f"{error.filename}: can't be read: {error.strerror}") from error


def _named(path: str) -> RecordReader | None:
    name = path.lower().removesuffix(".gz")
    return next((reader for group, reader in _READERS.items() if name.endswith(group)), None)


def _sniffed(path: str) -> RecordReader | None:
    with reading(path), Path(path).open("rb") as file:
        return html_page if looks_like_html(file.read(_SNIFFED)) else None
