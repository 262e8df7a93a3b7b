"""Fingerprints in Parquet files, through pyarrow."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from functools import lru_cache
from itertools import accumulate
from typing import Any

import numpy as np
from numpy.typing import NDArray

from scrapy_neardup.errors import InputError
from scrapy_neardup.offline.files.sources import FileSource, Name
from scrapy_neardup.offline.readers.files import is_remote, opened
from scrapy_neardup.offline.readers.parquet import page_sizes, reading_parquet

NAME_COLUMNS = ("page", "url")
ID_COLUMN = "page_id"
SCHEMA_KEY = b"scrapy_neardup"
"""Metadata of a file: how its fingerprints were made, as JSON."""
MAX_GROUP = 1 << 26
"""Maximum rows of a row group, which is read whole; pyarrow writes no larger ones."""
MAX_COLUMN = 8 * MAX_GROUP
"""Maximum bytes, decompressed, of a row group's column, which is read whole."""
MAX_NAME = 1 << 16
"""Maximum characters of a row's name."""
_HELD_GROUPS = 16
"""Maximum number of row groups held in memory."""


class ParquetSource(FileSource):
    """A Parquet file with a column of 64-bit integers; the last row groups read are held.

    A column ``page`` or ``url`` names its rows; ``page_id`` (64-bit integers) holds their ids.
    """

    def __init__(self, path: str, column: str) -> None:
        super().__init__(path)
        self.options = (column,)
        self._column = column
        with reading_parquet(path):
            from pyarrow.parquet import ParquetFile  # noqa: PLC0415

            self._file = ParquetFile(opened(path) if is_remote(path) else path)
            columns = self._file.schema_arrow.names
            groups = self._file.metadata
            recorded = (self._file.schema_arrow.metadata or {}).get(SCHEMA_KEY)
        self.schema = None if recorded is None else json.loads(recorded)
        if column not in columns:
            raise InputError(
                f"{path}: has no column {column!r} but {', '.join(columns)}; name the one with"
                " the fingerprints with --column"
            )
        leaves = [self._file.schema.column(leaf).path for leaf in range(groups.num_columns)]
        self._name = next((name for name in NAME_COLUMNS if name in leaves), None)
        if self._name:
            # A name that stands in a dictionary once, for millions of rows, stays there.
            self._file = ParquetFile(
                opened(path) if is_remote(path) else path, read_dictionary=[self._name]
            )
        self._has_ids = ID_COLUMN in columns
        self.has_names = self._name is not None
        sizes = [int(groups.row_group(group).num_rows) for group in range(groups.num_row_groups)]
        if max(sizes, default=0) > MAX_GROUP:
            raise InputError(
                f"{path}: a row group has {max(sizes):,} rows; write it with {MAX_GROUP:,} at most"
            )
        self._starts = [0, *accumulate(sizes)]
        self._read = lru_cache(_HELD_GROUPS)(self._read_group)

    def __len__(self) -> int:
        return self._starts[-1]

    def fingerprints(self, start: int, stop: int) -> NDArray[np.uint64]:
        """See `Source.fingerprints`."""
        return self._integers(self._column, start, stop)

    def names(self, start: int, stop: int) -> Sequence[Name]:
        """See `Source.names`; a row without a name has its number."""
        if self._name is None:
            return range(start, stop)
        names: list[Name] = []
        for values in self._values(self._name, start, stop):
            for chunk in values.dictionary_encode().chunks:
                numbers = chunk.indices.to_pylist()
                known = {
                    number: self._short(chunk.dictionary[number])
                    for number in set(numbers) - {None}
                }
                for number in numbers:
                    names.append(start + len(names) if number is None else known[number])
        return names

    def _short(self, value: Any) -> str:
        name = str(value.as_py())
        if len(name) > MAX_NAME:
            raise InputError(
                f"{self.path}: the column {self._name!r} has a name of {len(name):,} characters,"
                f" and {MAX_NAME:,} are read"
            )
        return name

    def ids(self, start: int, stop: int) -> NDArray[np.uint64] | None:
        """See `Source.ids`."""
        if not self._has_ids:
            return super().ids(start, stop)
        return self._integers(ID_COLUMN, start, stop)

    def _integers(self, column: str, start: int, stop: int) -> NDArray[np.uint64]:
        found = [np.empty(0, np.uint64)]
        for values in self._values(column, start, stop):
            if str(values.type) not in {"uint64", "int64"}:
                raise InputError(
                    f"{self.path}: the column {column!r} must hold 64-bit integers,"
                    f" not {values.type}"
                )
            if values.null_count:
                raise InputError(f"{self.path}: the column {column!r} has empty values")
            found += [np.asarray(chunk).view(np.uint64) for chunk in values.chunks]
        return np.concatenate(found)

    def _values(self, column: str, start: int, stop: int) -> Iterator[Any]:
        """Yield what `column` holds from row `start` to `stop`, row group by row group."""
        for group, first in enumerate(self._starts[:-1]):
            end = self._starts[group + 1]
            if first < stop and start < end:
                begin = max(start - first, 0)
                yield self._read(group, column).slice(begin, min(stop, end) - first - begin)

    def _read_group(self, group: int, column: str) -> Any:
        with reading_parquet(self.path):
            metadata = self._file.metadata.row_group(group)
            with opened(self.path) as file:
                size = sum(
                    sum(page_sizes(file, leaf))
                    for leaf in map(metadata.column, range(metadata.num_columns))
                    if f"{leaf.path_in_schema}.".startswith(f"{column}.")
                )
            if size > MAX_COLUMN:
                raise ValueError(
                    f"its column {column!r} takes {size:,} bytes in one row group, and"
                    f" {MAX_COLUMN:,} are read; write it with smaller row groups"
                )
            return self._file.read_row_group(group, columns=[column]).column(0)
