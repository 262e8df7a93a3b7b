"""Rows of results as a Parquet file, with columns from the rows."""

from __future__ import annotations

import pickle
from collections.abc import Mapping
from tempfile import TemporaryFile
from typing import IO, Any

from scrapy_neardup.errors import OutputError
from scrapy_neardup.offline.readers.files import required, unicode_of

_GROUP = 1 << 13
"""Number of rows of a row group, and of rows whose types are inferred at once."""


class ParquetRows:
    """Rows, held on disk until all are known, because a later row may have new columns."""

    def __init__(self) -> None:
        what = "results in Parquet need the package pyarrow"
        self._pyarrow = required(what, "pyarrow", "parquet", OutputError)
        self._spool: IO[bytes] = TemporaryFile()  # noqa: SIM115  (closed by `write`)
        self._waiting: list[Any] = []
        self._schema = self._pyarrow.schema([])

    def __call__(self, row: Mapping[str, Any]) -> None:
        """Add a row."""
        self._waiting.append(_clean(row))
        if len(self._waiting) == _GROUP:
            self._flush()

    def _flush(self) -> None:
        if self._waiting:
            found = self._pyarrow.RecordBatch.from_pylist(self._waiting).schema
            self._schema = self._pyarrow.unify_schemas(
                [self._schema, found], promote_options="permissive"
            )
            pickle.dump(self._waiting, self._spool)
        self._waiting = []

    def write(self, target: IO[bytes]) -> None:
        """Write the rows to a file."""
        from pyarrow.parquet import ParquetWriter  # noqa: PLC0415  (an extra)

        self._flush()
        schema = self._schema
        end = self._spool.tell()
        self._spool.seek(0)
        with self._spool, ParquetWriter(target, schema, compression="zstd") as writer:
            while self._spool.tell() < end:
                rows = pickle.load(self._spool)  # noqa: S301  (what `_flush` wrote)
                writer.write_batch(self._pyarrow.RecordBatch.from_pylist(rows, schema))


def _clean(value: Any) -> Any:
    """Return a value with valid Unicode, and without empty objects, which have no columns."""
    if isinstance(value, str):
        return unicode_of(value)
    if isinstance(value, Mapping):
        return {unicode_of(key): _clean(each) for key, each in value.items()} or None
    return [*map(_clean, value)] if isinstance(value, list) else value
