"""The files of a shard: its documents without the removed ones, and a list of these.

The list is written last, and shows that the shard is done. Files keep their formats. Everything
that isn't a document (blank lines, WARC records that aren't HTML responses) is kept, except for
unreadable lines.
"""

from __future__ import annotations

import json
from array import array
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, nullcontext, suppress
from functools import partial
from itertools import chain, pairwise
from shutil import copyfileobj
from sys import maxsize
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from scrapy_neardup.errors import OutputError
from scrapy_neardup.offline.dedupe.choosing import EQUAL, MOST, Removals, read_decisions
from scrapy_neardup.offline.dedupe.jobplan import Shard, Task
from scrapy_neardup.offline.dedupe.sketching import SketchFiles
from scrapy_neardup.offline.readers import files, tables
from scrapy_neardup.offline.readers.compression import ENDINGS as COMPRESSED
from scrapy_neardup.offline.readers.compression import compressed, decompressed
from scrapy_neardup.offline.readers.textual import KINDS, pieces
from scrapy_neardup.offline.readers.warc import Reader, divided

Rows = NDArray[np.int64]

_GROUP_BYTES = 1 << 25
"""Size of a written row group in bytes."""
_PART = 1 << 20
"""Number of bytes copied at once."""
_LISTED = 1 << 14
"""Number of removed documents listed at once."""


def joined(parts: Iterable[bytes]) -> Iterator[bytes]:
    """Yield the kept parts of a file; the first element of an array has no comma."""
    before = b""
    for part in parts:
        has_comma = before.endswith(b"[") and part.lstrip().startswith(b",")
        yield part.replace(b",", b"", 1) if has_comma else part
        before = part


def _rewrite(shard: Shard, folder: str, kept: Rows, removed: Rows) -> None:
    """Write a shard without its `removed` rows; both ascend."""
    if shard.kind == "pages":
        for row in kept.tolist():
            path, target = shard.paths[row], f"{folder}/{shard.outputs[row]}"
            with files.reading(path), files.opened(path) as page, files.written(target) as file:
                copyfileobj(page, file)
        return
    (path,) = shard.paths
    with files.written(f"{folder}/{shard.name}") as file:
        if shard.kind in KINDS:
            _write_pieces(path, shard.kind, file, kept)
        elif shard.kind == "warc":
            _write_warc(path, file, {*removed.tolist()})
        else:
            _write_table(path, shard.kind, file, removed)
    describe(shard, folder)


def describe(shard: Shard, folder: str, *, has_more: bool = False) -> None:
    """Copy the metadata of a folder saved by Hugging Face's `datasets`, so that it loads.

    If a file `has_more` columns, `datasets` takes all from its schema.
    """
    source, target = _above(shard.paths[0]), _above(f"{folder}/{shard.name}")
    if shard.kind != "arrow" or not files.exists(f"{source}/state.json"):
        return
    copies = [(source, target, name) for name in ("state.json", "dataset_info.json")]
    if "/" in shard.name:
        copies.append((_above(source), _above(target), "dataset_dict.json"))
    for there, here, name in copies:
        if files.exists(f"{there}/{name}"):
            content = files.content_of(f"{there}/{name}")
            if has_more and name == "dataset_info.json":
                with suppress(ValueError, TypeError):  # `datasets` can't load it either
                    content = files.json_line({**json.loads(content), "features": None})
            with files.written(f"{here}/{name}") as file:
                file.write(content)


def _above(path: str) -> str:
    return path.rpartition("/")[0] or "."


def _write_table(path: str, kind: str, target: IO[bytes], removed: Rows) -> None:
    with table_copy(path, kind, target) as (batches, write):
        first = 0
        for batch in batches:
            low, high = np.searchsorted(removed, [first, first + batch.num_rows])
            keep = np.ones(batch.num_rows, np.bool_)
            keep[removed[low:high] - first] = False
            first += batch.num_rows
            for part in _kept(batch, keep) if low < high else [batch]:
                write(part)


def _kept(batch: Any, keep: NDArray[np.bool_]) -> list[Any]:
    """Return the kept rows of a batch, in parts if pyarrow can't filter their type."""
    try:
        return [batch.filter(keep)]
    except NotImplementedError:  # a string_view
        edges = np.flatnonzero(np.diff(keep, prepend=False, append=False))
        return [batch.slice(start, stop - start) for start, stop in edges.reshape(-1, 2).tolist()]


class RowWriter:
    """A Parquet file, written in row groups of about one size."""

    def __init__(self, writer: Any) -> None:
        self._writer = writer
        self._waiting: list[Any] = []
        self._size = 0

    def write_batch(self, batch: Any) -> None:
        """Write some rows, or keep them until there are more."""
        self._waiting.append(batch)
        self._size += batch.nbytes
        if self._size >= _GROUP_BYTES:
            self.flush()

    def flush(self) -> None:
        """Write the kept rows, if there are any."""
        import pyarrow as pa  # noqa: PLC0415  (an extra)

        if any(batch.num_rows for batch in self._waiting):
            self._writer.write_table(pa.Table.from_batches(self._waiting))
        self._waiting, self._size = [], 0


@contextmanager
def table_copy(
    path: str, kind: str, target: IO[bytes], more: Sequence[Any] = ()
) -> Iterator[tuple[Iterator[Any], Callable[[Any], None]]]:
    """Yield the batches of a Parquet or Arrow file, and a writer of batches to one like it.

    It has the fields of `more`, too.
    """
    with files.opened(path) as stored:
        file = decompressed(stored)
        is_packed = file is not stored
        with tables.reading_table(path):
            from pyarrow import ipc, parquet  # noqa: PLC0415  (an extra)

            if kind == "parquet":
                read = parquet.ParquetFile(file, buffer_size=_PART, pre_buffer=False)
                schema, found = read.schema_arrow, _row_batches(read, file)
                notes = {**(read.metadata.metadata or {}), **(schema.metadata or {})}
                notes.pop(b"ARROW:schema", None)
                schema = schema.with_metadata(notes)
            else:
                read = tables.arrow_reader(file)
                schema, found = read.schema, tables.arrow_batches(read)
        batches = _read(found, path)
        for field in more:
            schema = schema.append(field)
        with compressed(target, path) if is_packed else nullcontext(target) as packed:
            if kind == "parquet":
                codecs = _codecs(read.metadata)
                with parquet.ParquetWriter(packed, schema, compression=codecs) as writer:
                    rows = RowWriter(writer)
                    yield batches, partial(_write_batch, path, rows, schema)
                    rows.flush()
            else:
                new = ipc.new_file if hasattr(read, "num_record_batches") else ipc.new_stream
                with new(packed, schema) as writer:
                    yield batches, partial(_write_batch, path, writer, schema)


def _write_batch(path: str, writer: Any, schema: Any, batch: Any) -> None:
    """Write a batch with the types of `schema`; text that isn't Unicode isn't checked.

    An Arrow file has one dictionary for all of its batches, and bytes of one length stay as long.
    """
    try:
        writer.write_batch(batch if batch.schema == schema else batch.cast(schema, safe=False))
    except (ValueError, NotImplementedError) as error:
        raise OutputError(f"{path}: can't be written in its own format: {error}") from error


def _codecs(metadata: Any) -> dict[str, str] | str:
    """Return the compression of each column in the first row group."""
    if not metadata.num_row_groups:
        return "snappy"
    group = metadata.row_group(0)
    columns = map(group.column, range(group.num_columns))
    return {
        column.path_in_schema: "none" if (kind := column.compression) == "UNCOMPRESSED" else kind
        for column in columns
    }


def _read(batches: Iterator[Any], path: str) -> Iterator[Any]:
    with tables.reading_table(path):
        yield from batches


def _row_batches(parquet: Any, file: IO[bytes]) -> Iterator[Any]:
    """Yield the rows of a Parquet file, some megabytes at a time."""
    for group in range(parquet.num_row_groups):
        metadata = parquet.metadata.row_group(group)
        if not metadata.num_rows:
            continue
        reader, size = tables.by_dictionary(parquet, file, metadata)
        each = max(1, size // max(metadata.num_rows, 1))
        rows = max(1, min(metadata.num_rows, (_GROUP_BYTES >> 3) // each))
        yield from reader.iter_batches(rows, row_groups=[group], use_threads=False)


def _write_pieces(path: str, kind: str, target: IO[bytes], kept: Rows) -> None:
    is_kept = np.zeros(int(kept.max(initial=-1)) + 1, np.bool_)
    is_kept[kept] = True
    with compressed(target, path) as file:
        file.writelines(
            joined(
                each.raw
                for each in pieces(path, kind)
                if each.row is None or (each.row < len(is_kept) and is_kept[each.row])
            )
        )


def _write_warc(path: str, target: IO[bytes], gone: set[int]) -> None:
    """Write a WARC file without some records. Separately compressed records stay unchanged."""
    is_stream = path.lower().endswith(COMPRESSED[1:])
    reader, offsets = divided(path, (decompressed,) if is_stream else (_as_it_is, decompressed))
    with nullcontext(target) if reader is _as_it_is else compressed(target, path) as file:
        file.writelines(_records(path, reader, offsets, gone))


def _records(path: str, reader: Reader, offsets: array[int], gone: set[int]) -> Iterator[bytes]:
    """Yield the bytes of a WARC file without those of some records."""
    with files.reading(path), files.opened(path) as stored:
        file = reader(stored)
        for number, (start, end) in enumerate(pairwise(chain(offsets, [maxsize]))):
            if number not in gone:
                file.seek(start)
                left = end - start
                while left and (part := file.read(min(left, _PART))):
                    yield part
                    left -= len(part)


def _as_it_is(file: IO[bytes]) -> IO[bytes]:
    return file


REMOVED = "_removed"
"""Folder, below the output folder, of the lists of removed documents."""


def write(sketches: SketchFiles, work: str, output: str, task: Task) -> int:
    """Write a shard and the list of removed documents; return the number of its documents.

    `work` is the folder of the decisions.
    """
    decided = read_decisions(work, len(sketches), *sketches.span(task.number))
    rows = sketches.heads(decided.documents, "row").astype(np.int64)
    gone = np.flatnonzero(decided.are_removed)
    _rewrite(task.shard, output, rows[~decided.are_removed], rows[gone])
    with files.written(task.done) as file:
        for first in range(0, len(gone), _LISTED):
            some = gone[first : first + _LISTED]
            removed = Removals(decided.documents[some], decided.kept[some], decided.shares[some])
            for line in _lines(sketches, rows[some], removed):
                file.write(files.json_line(line))
    return len(rows)


def _lines(sketches: SketchFiles, rows: Rows, removed: Removals) -> Iterator[dict[str, Any]]:
    """Yield the lines of removed documents."""
    for name, row, of, of_shard, of_row, share in zip(
        sketches.names(removed.documents),
        rows.tolist(),
        sketches.names(removed.kept),
        sketches.shard_of(removed.kept).tolist(),
        sketches.heads(removed.kept, "row").tolist(),
        removed.shares.tolist(),
        strict=True,
    ):
        source = sketches.tasks[of_shard].shard
        is_equal = share == EQUAL
        yield {
            "id": name,
            "row": row,
            "of": of,
            "of_file": source.paths[of_row if source.kind == "pages" else 0],
            "of_row": of_row,
            "resemblance": 1.0 if is_equal else round(share / MOST, 4),
            "reason": "equal" if is_equal else "similar",
        }


def removed_name(number: int, shard: Shard) -> str:
    """Return the path of a shard's list of removed documents, below the output folder."""
    name = f"{shard.name or 'pages'}-{number:05}" if shard.kind == "pages" else shard.name
    return f"{REMOVED}/{name}.jsonl"
