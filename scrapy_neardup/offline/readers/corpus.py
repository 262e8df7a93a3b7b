"""The pages of collections on disk, one `Record` at a time; none is skipped for being broken."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from stat import S_ISREG
from typing import IO, NamedTuple

from scrapy_neardup.errors import InputError
from scrapy_neardup.offline.readers.files import (
    MAX_PAGE,
    Record,
    check_stdin,
    decompressed,
    files_in,
    is_remote,
    opened,
    printable,
    reading,
    required,
    stamp,
)
from scrapy_neardup.offline.readers.tabular import USUAL, Columns, json_lines, parquet_pages
from scrapy_neardup.offline.readers.warc import warc_pages
from scrapy_neardup.text.sniffing import looks_like_html

_SNIFFED = 1 << 14
"""Number of leading bytes examined of a file whose name doesn't tell its format."""

RecordReader = Callable[[IO[bytes], str, Columns], Iterator[Record]]


def html_page(file: IO[bytes], path: str, _: Columns = USUAL) -> Iterator[Record]:
    """Yield the one page of an HTML file."""
    html = file.read(MAX_PAGE + 1)
    yield Record(page=printable(path), html=html if len(html) <= MAX_PAGE else None)


ENDINGS = {
    ".parquet": "parquet",
    ".jsonl": "json", ".ndjson": "json", ".json": "json",
    ".jsonl.zst": "json", ".ndjson.zst": "json", ".json.zst": "json",
    ".warc": "warc",
    ".html": "html", ".htm": "html", ".xhtml": "html", ".xht": "html", ".shtml": "html",
}  # fmt: skip
"""Ending of a file's name, without ``.gz`` -> its format."""
_READERS: dict[str, RecordReader] = {
    "parquet": parquet_pages, "json": json_lines, "warc": warc_pages, "html": html_page
}  # fmt: skip


def kind_of(path: str) -> str | None:
    """Return the format of `ENDINGS` that a file's name says, if any."""
    name = path.lower().removesuffix(".gz")
    return next((kind for end, kind in ENDINGS.items() if name.endswith(end)), None)


class Corpus:
    """The pages of several inputs, in the order given; holds all paths, and one page at a time.

    An input is a folder (every file in it, at any depth, that is named like HTML or looks like it,
    sorted by path), an HTML file, a WARC file, JSON lines or Parquet, or ``-``: JSON lines on
    standard input. Files may be compressed with gzip, JSON lines also with Zstandard.
    """

    def __init__(self, inputs: Sequence[str], columns: Columns = USUAL) -> None:
        self._columns = columns
        check_stdin(inputs)
        self._sources: list[_Source] = []
        for path in inputs:
            self._sources += _folder(path) if Path(path).is_dir() else [_single(path)]
        if any(source.reader is warc_pages for source in self._sources):
            required("WARC files need the package warcio", "warcio.archiveiterator", "warc")
        sizes = [source.size for source in self._sources]
        self._size = 0 if None in sizes else sum(size or 0 for size in sizes)
        self._passed = 0
        self._file: IO[bytes] | None = None

    @property
    def share(self) -> float | None:
        """The share of the input that was read, in [0, 1]; None where its size isn't known."""
        if not self._size:
            return None
        under_way = self._file.tell() if self._file and not self._file.closed else 0
        return min((self._passed + under_way) / self._size, 1)

    def __iter__(self) -> Iterator[Record]:
        for path, reader, size in self._sources:
            if path == "-":
                yield from reader(sys.stdin.buffer, path, self._columns)
                continue
            with reading(path), opened(path) as file:
                self._file = file
                yield from reader(decompressed(file), path, self._columns)
            self._passed += size or 0


class _Source(NamedTuple):
    path: str
    reader: RecordReader
    size: int | None
    """Number of bytes; None for an input whose end isn't known, such as a pipe."""


def _single(path: str) -> _Source:
    """Return the source at `path`, recognised by its name or else by its beginning."""
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
    raise InputError(
        f"{path}: doesn't look like HTML, and its name ends in none of {', '.join(ENDINGS)}"
    )


def _folder(folder: str) -> list[_Source]:
    """Return the HTML files in and below `folder`, sorted by path."""
    pages = [
        _Source(path, html_page, Path(path).stat().st_size)
        for path in sorted(path for path in files_in(folder) if Path(path).is_file())
        if (_named(path) or _sniffed(path)) is html_page
    ]
    if not pages:
        raise InputError(f"{folder}: no HTML file in this folder; name other files one by one")
    return pages


def _named(path: str) -> RecordReader | None:
    return _READERS.get(kind_of(path) or "")


def _sniffed(path: str) -> RecordReader | None:
    with reading(path), Path(path).open("rb") as file:
        return html_page if looks_like_html(file.read(_SNIFFED)) else None
