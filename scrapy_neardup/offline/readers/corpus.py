"""The pages of collections, one `FoundPage` at a time, and their division into tasks."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import nullcontext
from functools import partial
from itertools import groupby
from pathlib import Path
from typing import IO, NamedTuple, cast

from scrapy_neardup.errors import InputError
from scrapy_neardup.offline.readers import files
from scrapy_neardup.offline.readers.compression import ENDINGS as COMPRESSED
from scrapy_neardup.offline.readers.compression import decompressed
from scrapy_neardup.offline.readers.files import MAX_PAGE, FoundPage
from scrapy_neardup.offline.readers.namedcolumns import USUAL, Columns
from scrapy_neardup.offline.readers.tables import arrow_pages, parquet_pages, reading_table
from scrapy_neardup.offline.readers.textual import KINDS, Skipped, raised, text_page, text_rows
from scrapy_neardup.offline.readers.warc import warc_pages
from scrapy_neardup.text.sniffing import looks_like_html

_SNIFFED = 1 << 14
"""Number of leading bytes examined if a file's name doesn't tell its format."""
_PART, _WHOLE = 1 << 22, 1 << 25
"""Size in bytes of a part of a file, and of a file without parts that is read whole."""
_PART_FILES = 64
"""Maximum number of single-page files in a part."""
_SENT, _SENT_BYTES = 16, 1 << 20
"""Maximum number and size in bytes of the records of a part."""


def html_page(file: IO[bytes], path: str, _: Columns = USUAL) -> Iterator[FoundPage]:
    """Yield the one page of an HTML file."""
    html = file.read(MAX_PAGE + 1)
    whole = html if len(html) <= MAX_PAGE else None
    yield FoundPage(page=files.printable(path), html=whole, content_type="text/html")


ENDINGS = {
    ".parquet": "parquet", ".arrow": "arrow", ".feather": "arrow",
    ".jsonl": "lines", ".ndjson": "lines", ".jsonlines": "lines", ".jl": "lines",
    ".json": "json", ".csv": "csv", ".tsv": "tsv",
    ".warc": "warc", ".wet": "warc", ".txt": "text",
    ".html": "html", ".htm": "html", ".xhtml": "html", ".xht": "html", ".shtml": "html",
}  # fmt: skip
"""Extension of a file, without that of its compression -> its format."""
PAGES = {"html", "text"}
"""Formats of single-document files."""
_READERS: dict[str, Callable[..., Iterator[FoundPage]]] = {
    "parquet": parquet_pages, "arrow": arrow_pages, "warc": warc_pages,
    "html": html_page, "text": text_page,
    **{kind: partial(text_rows, kind) for kind in KINDS},
}  # fmt: skip
_DATA = {"parquet", "arrow", "lines", "warc"}
"""Formats of files that always hold documents."""
_OFTEN_BESIDE = ({"csv", "tsv"}, {"json"}, {"text"})
"""Formats of files that often describe documents (metadata, read-me files)."""


def kind_of(path: str) -> str | None:
    """Return the format of `ENDINGS` for a file's name, if any."""
    name = path.lower()
    for end in COMPRESSED:
        name = name.removesuffix(end)
    return next((kind for end, kind in ENDINGS.items() if name.endswith(end)), None)


def documents_in(folder: str, paths: Sequence[str]) -> list[tuple[str, str]]:
    """Return the files of a folder with documents, and their formats, sorted by path.

    It leaves out files that begin with ``.`` or ``_``, or whose folder does, and files that a
    `datasets` folder of Hugging Face doesn't name as its data. CSV, ``.json`` and ``.txt`` often
    describe other files, so each is read only if there is no format before it: others, CSV,
    ``.json``, ``.txt``.
    """
    found, left_out = [], []
    for path in sorted(paths):
        inside, kind = files.inside(folder, path), kind_of(path) or ""
        if not any(part.startswith((".", "_")) for part in inside.split("/")):
            found.append((path, kind))
        elif kind in PAGES:
            left_out.append(path)
    states = {path.rpartition("/")[0]: path for path, _ in found if path.endswith("/state.json")}
    kept = [each for each in found if each[1] and _is_data(each[0], states)]
    if not kept:
        raise InputError(
            f"{folder}: no file in this folder whose name ends in one of {', '.join(ENDINGS)}"
        )
    for beside in _OFTEN_BESIDE[::-1]:
        if others := [each for each in kept if each[1] not in beside]:
            kept = others
    read = {*kept}
    left_out += [each[0] for each in found if each not in read]
    files.warn_of(folder, sorted(left_out), "by their names")
    return kept


def _is_data(path: str, states: dict[str, str]) -> bool:
    folder, _, name = path.rpartition("/")
    if folder not in states or not name.endswith(".arrow"):
        return True
    try:
        state = json.loads(files.content_of(states[folder]))
        return name in {each["filename"] for each in state["_data_files"]}
    except ValueError as error:
        raise InputError(f"{states[folder]}: not JSON ({error})") from error
    except (LookupError, TypeError):  # another program's
        return True


class Portion(NamedTuple):
    """Some pages of a collection: files, or a part of one, for a task whose process reads them.

    `size` is in bytes; None for an input without a known end, such as a pipe. Of one file it may
    be a part, from `start` to `stop`: bytes of lines, row groups of Parquet; `rows` come before
    it. Or it has the `records` themselves.
    """

    paths: tuple[str, ...]
    kind: str
    size: int | None = 0
    start: int = 0
    stop: int | None = None
    rows: int = 0
    records: tuple[FoundPage, ...] = ()


def records_of(
    part: Portion,
    columns: Columns = USUAL,
    here: str = "",
    *,
    skipped: Skipped = raised,
    watch: Callable[[IO[bytes]], None] = lambda _: None,
) -> Iterator[FoundPage]:
    """Yield the pages of a part; relative paths start at the folder `here`.

    `skipped` is called with the error of each unreadable row of JSON or CSV, `watch` with each
    file that is opened.
    """
    yield from part.records
    how = {"skipped": skipped} if part.kind in KINDS else {}
    for path in part.paths:
        place = path if files.is_remote(path) else str(Path(here, path))
        opened = nullcontext(files.standard_input()) if path == "-" else files.opened(place)
        with files.reading(path), opened as file:
            watch(file)
            if part.stop is None:
                yield from _READERS[part.kind](decompressed(file), path, columns, **how)
            elif part.kind == "parquet":
                groups = range(part.start, part.stop)
                yield from parquet_pages(file, path, columns, groups, part.rows)
            else:
                file.seek(part.start)
                lines = cast("IO[bytes]", _Until(file, part.stop))
                yield from text_rows(part.kind, lines, path, columns, **how, before=part.rows)


class Corpus:
    """The pages of several inputs, in their order; holds all paths, and one page at a time.

    An input is a file of one of the `ENDINGS` or one that looks like HTML, a folder of such files,
    the URL of either, or ``-``: JSON lines on standard input. If a folder has HTML, only that is
    read (sorted by path, at any depth; also files without ending that look like HTML); for other
    folders see `documents_in`. Files may be compressed (`compression`). `skipped` is as in
    `records_of`.
    """

    def __init__(
        self, inputs: Sequence[str], columns: Columns = USUAL, skipped: Skipped = raised
    ) -> None:
        self.columns, self._skipped = columns, skipped
        self._files: list[Portion] = []
        for path in inputs:
            whole, found = files.files_of(path)
            self._files += [_single(path)] if found == [whole] else _folder(whole, found)
        if any(each.kind == "warc" for each in self._files):
            files.required("WARC files need the package warcio", "warcio.archiveiterator", "warc")
        sizes = [each.size for each in self._files]
        self._size = 0 if None in sizes else sum(size or 0 for size in sizes)
        self._passed = 0
        self._file: IO[bytes] | None = None

    @property
    def share(self) -> float | None:
        """The share of the input that was read, in [0, 1]; None if its size is unknown."""
        if not self._size:
            return None
        under_way = self._file.tell() if self._file and not self._file.closed else 0
        return min((self._passed + under_way) / self._size, 1)

    def passed(self, size: int) -> None:
        """Count these bytes as read, for `share`."""
        self._passed += size

    def __iter__(self) -> Iterator[FoundPage]:
        for file in self._files:
            yield from self._read(file)
            self.passed(file.size or 0)

    def _read(self, whole: Portion) -> Iterator[FoundPage]:
        watch = partial(setattr, self, "_file")
        return records_of(whole, self.columns, skipped=self._skipped, watch=watch)

    def parts(self, *, sent: bool = True) -> Iterator[Portion]:
        """Yield all pages in parts, in order.

        A large file that can't be divided, such as a compressed one, is read in this process if
        its records may be `sent`; then they are sent in parts. A pipe always is.
        """
        for kind, group in groupby(self._files, lambda each: each.size is not None and each.kind):
            if kind not in PAGES:
                for file in group:
                    yield from self._parts(file, sent=sent)
                continue
            for some in files.batches(group, _PART_FILES, lambda each: each.size or 0, _PART):
                paths = tuple(path for each in some for path in each.paths)
                yield Portion(paths, str(kind), sum(each.size or 0 for each in some))

    def _parts(self, whole: Portion, *, sent: bool) -> Iterator[Portion]:
        (path,), kind, size, *_ = whole
        if size is not None and size > _PART and not files.is_remote(path):
            if kind == "parquet":
                yield from _row_groups(path, size)
                return
            if kind == "lines" and not _is_compressed(path):
                yield from _ranges(path)
                return
        if size is None or (sent and size > _WHOLE):
            yield from parts_of_records(self._read(whole))
        else:
            yield whole


def parts_of_records(records: Iterable[FoundPage]) -> Iterator[Portion]:
    """Yield records that this process reads, in parts of the size of a message."""
    for batch in files.batches(
        records, _SENT, lambda record: len(record.html or record.text or ""), _SENT_BYTES
    ):
        yield Portion((), "", records=tuple(batch))


def _row_groups(path: str, size: int) -> Iterator[Portion]:
    with reading_table(path):
        from pyarrow.parquet import read_metadata  # noqa: PLC0415  (an extra)

        metadata = read_metadata(path)
    count, rows = metadata.num_row_groups, 0
    each = size // max(count, 1)
    at_once = -(-_PART // max(each, 1))
    for start in range(0, count, at_once):
        groups = range(start, min(start + at_once, count))
        yield Portion((path,), "parquet", len(groups) * each, start, groups.stop, rows)
        rows += sum(metadata.row_group(group).num_rows for group in groups)


def _is_compressed(path: str) -> bool:
    with files.reading(path), files.opened(path) as file:
        return decompressed(file) is not file


def _ranges(path: str) -> Iterator[Portion]:
    """Yield the parts of a file of lines, each from the start of a line."""
    start = rows = 0
    with files.reading(path), files.opened(path) as file:
        while content := file.read(_PART):
            count, last = content.count(b"\n"), content[-1:]
            while last != b"\n" and (more := file.readline(_PART)):
                last = more[-1:]
                count += last == b"\n"
            stop = file.tell()
            yield Portion((path,), "lines", stop - start, start, stop, rows)
            start, rows = stop, rows + count


class _Until:
    """A file of lines that ends at the offset of a line."""

    def __init__(self, file: IO[bytes], stop: int) -> None:
        self._file, self._stop = file, stop

    def readline(self, size: int) -> bytes:
        return self._file.readline(size) if self._file.tell() < self._stop else b""


def _single(path: str) -> Portion:
    """Return the file at `path`, recognised by its name or its beginning."""
    if path == "-" or files.is_pipe(path):  # a pipe can be read only once
        return Portion((path,), "lines", None)
    size, _ = files.stamp(path)
    kind = _kind(path)
    if kind is None:
        raise InputError(
            f"{path}: doesn't look like HTML, and its name ends in none of {', '.join(ENDINGS)}"
        )
    return Portion((path,), kind, size)


def _folder(folder: str, paths: Sequence[str]) -> list[Portion]:
    """Return the files in and below a folder."""
    there = sorted(path for path in paths if files.is_remote(path) or Path(path).is_file())
    files.warn_of(folder, sorted({*paths} - {*there}), "links to nothing")
    found = [(path, "html") for path in there if _kind(path) == "html"]
    if found:
        data = [path for path in there if kind_of(path) in _DATA]
        files.warn_of(folder, data, "because it has HTML, and only that is read")
    else:
        found = documents_in(folder, there)
    return [Portion((path,), kind, files.stamp(path)[0]) for path, kind in found]


def _kind(path: str) -> str | None:
    """Return the format of a file by its name, or for a local file by its beginning."""
    if (kind := kind_of(path)) or files.is_remote(path):
        return kind
    with files.reading(path), Path(path).open("rb") as file:
        return "html" if looks_like_html(file.read(_SNIFFED)) else None
