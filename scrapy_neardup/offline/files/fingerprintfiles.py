"""Fingerprints in files: raw, packed, Parquet, and JSON lines, which are read whole."""

from __future__ import annotations

import re
from array import array
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import nullcontext
from functools import lru_cache
from itertools import accumulate
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from scrapy_neardup.errors import InputError
from scrapy_neardup.offline.files.sources import Chain, FileSource, Name, RowRange, Source, within
from scrapy_neardup.offline.files.storedpages import SCANNED, Spool, Stored, read_stored
from scrapy_neardup.offline.readers import files
from scrapy_neardup.offline.readers.corpus import kind_of
from scrapy_neardup.offline.readers.parquetheaders import check_readable, page_sizes
from scrapy_neardup.offline.readers.tables import reading_table, table_rows
from scrapy_neardup.offline.readers.textual import objects
from scrapy_neardup.stores.packfile import MAGIC, open_packed, read_packed
from scrapy_neardup.tables.packed import PackedIndex
from scrapy_neardup.tables.packed.rows import Unpacked

RAW_ENDINGS = (".u64", ".bin", ".raw")
_HEX = re.compile("[0-9a-fA-F]{16}")


class _RawFile(FileSource):
    """A file of little-endian uint64."""

    def __init__(self, path: str) -> None:
        super().__init__(path)
        size = self.stamp[0]
        if size % 8:
            raise InputError(
                f"{path}: {size} bytes aren't a file of 64-bit fingerprints (a multiple of 8);"
                " was it cut short?"
            )
        self.length = size // 8

    def fingerprints(self, start: int, stop: int) -> NDArray[np.uint64]:
        values = np.frombuffer(files.content_of(self.path, start * 8, (stop - start) * 8), "<u8")
        if len(values) < stop - start:
            raise InputError(f"{self.path}: became shorter while it was read")
        return values.astype(np.uint64, copy=False)


def packed_at(path: str) -> PackedIndex:
    """Return the index of a packed file, which is read if it isn't a local one."""
    return (
        read_packed(files.content_of(path), path) if files.is_remote(path) else open_packed(path)
    )


class _PackedFile(FileSource):
    """A file that ``scrapy-neardup pack`` wrote; its rows are sorted by fingerprint."""

    def __init__(self, path: str) -> None:
        super().__init__(path)
        self.index = packed_at(path)
        self.schema = self.index.schema
        self.has_names = self.index.rows.has_urls or self.index.rows.has_ids
        self.length = count = len(self.index)
        records = self.index.records
        if records is not None:
            self.stored = Unpacked(
                records.shape,
                records.__getitem__,
                lambda column: records.postings[column].column(count),
                len(records.postings),
            )

    def fingerprints(self, start: int, stop: int) -> NDArray[np.uint64]:
        return self.index.fingerprints(start, stop)

    def names(self, start: int, stop: int) -> Sequence[Name]:
        """The page id stands for a missing URL."""
        rows = range(start, stop)
        return [*map(self.index.rows.name, rows)] if self.has_names else rows

    def ids(self) -> NDArray[np.uint64] | None:
        rows = self.index.rows
        if not rows.has_ids:
            return super().ids()
        return np.array([rows.page_id(row) for row in range(len(self))], np.uint64)


class Strings(NamedTuple):
    """Concatenated byte strings, and the end of each, int64."""

    data: bytearray
    ends: NDArray[np.int64]

    @classmethod
    def of(cls, strings: Iterable[bytes]) -> Self:
        """Collect `strings`."""
        data, ends = bytearray(), array("q")
        for string in strings:
            data += string
            ends.append(len(data))
        return cls(data, np.array(ends, np.int64))

    def between(self, start: int, stop: int) -> Iterator[bytes]:
        """Yield the strings from place `start` to `stop`."""
        begin = int(self.ends[start - 1]) if start else 0
        for end in self.ends[start:stop].tolist():
            yield bytes(self.data[begin:end])
            begin = end


class ArraySource(Source):
    """Fingerprints in memory."""

    def __init__(
        self,
        fingerprints: NDArray[np.uint64],
        names: Strings | None = None,
        schema: Mapping[str, Any] | None = None,
        stored: Spool | None = None,
    ) -> None:
        self._fingerprints = fingerprints
        self.length = len(fingerprints)
        self.schema = schema
        if stored is not None and any(stored.shape.values()):
            columns = stored.shape.get("features", 0)
            self.stored = Unpacked(stored.shape, stored.record, stored.features, columns)
        self._names = names
        self.has_names = names is not None

    def fingerprints(self, start: int, stop: int) -> NDArray[np.uint64]:
        """See `Source.fingerprints`."""
        return self._fingerprints[start:stop]

    def names(self, start: int, stop: int) -> Sequence[Name]:
        """See `Source.names`."""
        if self._names is None:
            return range(start, stop)
        return [name.decode() for name in self._names.between(start, stop)]

    def parts(self, start: int, size: int) -> Iterator[RowRange]:
        """See `Source.parts`; each part holds its own fingerprints, and no names."""
        for part in super().parts(start, size):
            some = ArraySource(part.read())
            yield RowRange(part.row, some, 0, len(some))


def scanned_lines(
    path: str,
    *,
    stored: bool = False,
    rows: Iterable[tuple[str, dict[str, Any]]] | None = None,
) -> ArraySource:
    """Read JSON lines as ``scrapy-neardup scan`` prints them; ``-`` is standard input.

    A row is a line with a ``fingerprint`` (16 hexadecimal digits); pages without one weren't
    judged and are left out. `stored` also reads the stored data of pages, which is held on disk.
    """
    fingerprints: list[int] = []
    schemas: list[Any] = []

    def pages(spool: Spool | None) -> Iterator[bytes]:
        for where, row in rows or objects(path, SCANNED):
            if row.get("fingerprint", "") is None:
                continue  # a page that wasn't judged
            digits, page, schema = row.get("fingerprint"), row.get("page"), row.get("schema")
            if not (isinstance(digits, str) and isinstance(page, str) and _HEX.fullmatch(digits)):
                raise InputError(
                    f'{where}: not {SCANNED}, with "page" and a "fingerprint" of 16 hexadecimal'
                    " digits"
                )
            if not isinstance(schema, dict | None):
                raise InputError(f"{where}: not {SCANNED}: its schema isn't an object")
            if not schemas or schema != schemas[-1]:
                schemas.append(schema)
            if len(schemas) > 1:
                raise InputError(
                    f"{where}: its fingerprint was made in another way than those before"
                    f" ({schemas[1]!r}, not {schemas[0]!r}); scan all pages with the same options"
                )
            fingerprints.append(int(digits, 16))
            if spool is not None:
                is_scanned = row.keys() & {"evidence", "sketch"}  # not a file of another program
                try:
                    own = read_stored(row) if is_scanned else Stored((), b"")
                    spool.add(fingerprints[-1], own)
                except (ValueError, TypeError, KeyError, AttributeError) as error:
                    raise InputError(
                        f"{where}: its features or sketch aren't what scan prints ({error}); scan"
                        " all pages with the same options"
                    ) from error
            yield page.encode("utf-8", "replace")

    with files.using_temporary(), Spool() if stored else nullcontext() as spool:
        names = Strings.of(pages(spool))
    [schema] = schemas or [None]
    return ArraySource(np.array(fingerprints, np.uint64), names, schema, spool)


def open_source(path: str, *, column: str = "fingerprint", stored: bool = False) -> Source:
    """Open the fingerprints of a file, in the format that its beginning or its name says.

    `column` has the fingerprints in a Parquet file; `stored` is as in `scanned_lines`.
    """
    if path == "-" or files.is_pipe(path):
        return scanned_lines(path, stored=stored)
    start = files.content_of(path, 0, len(MAGIC))
    if start == MAGIC:
        return _PackedFile(path)
    if start.startswith(b"PAR1"):
        if _is_scanned(path, column):
            return scanned_lines(path, stored=stored, rows=table_rows(path))
        return _ParquetFile(path, column)
    if kind_of(path) == "lines":
        return scanned_lines(path, stored=stored)
    if path.lower().endswith(RAW_ENDINGS):
        return _RawFile(path)
    raise InputError(
        f"{path}: not a packed or Parquet file, and its name ends neither in"
        f" {', '.join(RAW_ENDINGS)} (raw little-endian uint64)"
        " nor in .jsonl, .ndjson, .jl (JSON lines as scan prints them)"
    )


def _is_scanned(path: str, column: str) -> bool:
    """Return whether the fingerprints of a Parquet file are digits, as ``scan`` writes them."""
    with reading_table(path), files.opened(path) as file:
        from pyarrow.parquet import read_schema  # noqa: PLC0415

        schema = read_schema(file)
    if not schema.names:
        return True  # without rows the columns are unknown
    if not {column, "verdict"} <= {*schema.names}:
        return False
    return str(schema.field(column).type) in {"string", "null"}  # null: no page was judged


def open_sources(
    paths: Sequence[str], column: str = "fingerprint", *, stored: bool = False
) -> Source:
    """Open several files as one, with consecutive row numbers; see `open_source`."""
    return Chain([open_source(path, column=column, stored=stored) for path in paths])


MAX_GROUP = 1 << 26
"""Maximum number of rows of a row group, which is read whole; pyarrow writes at most as many."""
MAX_COLUMN = 8 * MAX_GROUP
"""Maximum size of a row group's column in bytes, decompressed; it is read whole."""
MAX_NAME = 1 << 16
"""Maximum length of a row's name in characters."""


class _ParquetFile(FileSource):
    """A Parquet file with a column of 64-bit integers; the last row groups read are held.

    A column ``page`` or ``url`` names its rows.
    """

    def __init__(self, path: str, column: str) -> None:
        super().__init__(path, column)
        self._column = column
        with reading_table(path):
            from pyarrow.parquet import ParquetFile, read_metadata  # noqa: PLC0415

            with files.opened(path) as file:
                groups = read_metadata(file)
                check_readable(file, groups)
            leaves = [groups.schema.column(leaf).path for leaf in range(groups.num_columns)]
            self._name = next((name for name in ("page", "url") if name in leaves), None)
            self.has_names = self._name is not None
            # A name that a dictionary has once for millions of rows stays there.
            self._file = ParquetFile(
                files.opened(path) if files.is_remote(path) else path,
                read_dictionary=[self._name] if self._name else None,
            )
            columns = self._file.schema_arrow.names
        if column not in columns:
            raise InputError(
                f"{path}: has no column {column!r} but {', '.join(columns)}; name the one with"
                " the fingerprints with --column"
            )
        sizes = [int(groups.row_group(group).num_rows) for group in range(groups.num_row_groups)]
        if max(sizes, default=0) > MAX_GROUP:
            raise InputError(
                f"{path}: a row group has {max(sizes):,} rows; write it with {MAX_GROUP:,} at most"
            )
        self._starts = [0, *accumulate(sizes)]
        self.length = self._starts[-1]
        self._read = lru_cache(16)(self._read_group)  # groups held in memory

    def fingerprints(self, start: int, stop: int) -> NDArray[np.uint64]:
        found = [np.empty(0, np.uint64)]
        for values in self._values(self._column, start, stop):
            if str(values.type) not in {"uint64", "int64"}:
                raise InputError(
                    f"{self.path}: the column {self._column!r} must hold 64-bit integers,"
                    f" not {values.type}"
                )
            if values.null_count:
                raise InputError(f"{self.path}: the column {self._column!r} has empty values")
            found += [np.asarray(chunk).view(np.uint64) for chunk in values.chunks]
        return np.concatenate(found)

    def names(self, start: int, stop: int) -> Sequence[Name]:
        """A row without a name has its number."""
        if self._name is None:
            return range(start, stop)
        names: list[Name] = []
        for values in self._values(self._name, start, stop):
            for chunk in values.dictionary_encode().chunks:
                numbers = chunk.indices.to_pylist()
                with reading_table(self.path):
                    known = {
                        number: self._short(chunk.dictionary[number])
                        for number in set(numbers) - {None}
                    }
                for number in numbers:
                    names.append(start + len(names) if number is None else known[number])
        return names

    def _short(self, value: Any) -> str:
        from pyarrow import BinaryScalar  # noqa: PLC0415  (that of strings, too)

        is_text = isinstance(value, BinaryScalar)
        name = files.unicode_of(bytes(value.as_buffer())) if is_text else str(value.as_py())
        if len(name) > MAX_NAME:
            raise InputError(
                f"{self.path}: the column {self._name!r} has a name of {len(name):,} characters,"
                f" and at most {MAX_NAME:,} are read"
            )
        return name

    def _values(self, column: str, start: int, stop: int) -> Iterator[Any]:
        """Yield the values of `column` from row `start` to `stop`, row group by row group."""
        for group, (begin, end) in within(self._starts, start, stop):
            yield self._read(group, column).slice(begin, end - begin)

    def _read_group(self, group: int, column: str) -> Any:
        with reading_table(self.path):
            metadata = self._file.metadata.row_group(group)
            with files.opened(self.path) as file:
                size = sum(
                    sum(page_sizes(file, leaf))
                    for leaf in map(metadata.column, range(metadata.num_columns))
                    if f"{leaf.path_in_schema}.".startswith(f"{column}.")
                )
            if size > MAX_COLUMN:
                raise ValueError(
                    f"its column {column!r} takes {size:,} bytes in one row group, and at most"
                    f" {MAX_COLUMN:,} are read; write it with smaller row groups"
                )
            return self._file.read_row_group(group, columns=[column]).column(0)
