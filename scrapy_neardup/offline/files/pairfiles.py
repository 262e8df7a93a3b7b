"""Files of pairs: written as JSON lines, binary records or Parquet, and read by their names."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from typing import IO, TYPE_CHECKING

import numpy as np

from scrapy_neardup.errors import InputError
from scrapy_neardup.offline.files.sources import Name, Source
from scrapy_neardup.offline.readers.files import check_stdin, objects, opened
from scrapy_neardup.offline.readers.record import required
from scrapy_neardup.offline.readers.tabular import reading_parquet

if TYPE_CHECKING:
    from scrapy_neardup.offline.jobs.pairjob import Found

RECORD = np.dtype([("a", "<u8"), ("b", "<u8"), ("distance", "u1")])
"""Record of a binary file of pairs: two rows and a distance, 17 bytes."""

_PAIR = 'a pair, an object with "a" and "b"'
_BATCH = 1 << 16
"""Number of pairs read from Parquet at a time."""


def write_json(file: IO[bytes], collection: Source, other: Source, parts: Iterable[Found]) -> None:
    """Write ``{"a": ..., "b": ..., "distance": ...}``, with the names of the rows."""
    for found in parts:
        names = collection.names_of(found.a), other.names_of(found.b)
        rows = zip(*names, found.distances.tolist(), strict=True)
        lines = (json.dumps({"a": a, "b": b, "distance": bits}) + "\n" for a, b, bits in rows)
        file.write("".join(lines).encode())


def write_binary(file: IO[bytes], _: Source, __: Source, parts: Iterable[Found]) -> None:
    """Write a `RECORD` a pair, with row numbers."""
    for found in parts:
        file.write(np.rec.fromarrays([found.a, found.b, found.distances], RECORD).tobytes())


def write_parquet(
    file: IO[bytes], collection: Source, other: Source, parts: Iterable[Found]
) -> None:
    """Write columns ``a``, ``b`` (names as strings, or else row numbers) and ``distance``."""
    pa = required("--format parquet needs the package pyarrow", "pyarrow", "parquet")
    from pyarrow.parquet import ParquetWriter  # noqa: PLC0415  (an extra)

    def column(source: Source) -> object:
        return pa.string() if source.has_names else pa.uint64()

    schema = pa.schema([("a", column(collection)), ("b", column(other)), ("distance", pa.uint8())])
    with ParquetWriter(file, schema) as writer:
        for found in parts:
            if not len(found.a):
                continue
            sides = [
                [str(name) for name in source.names_of(rows)] if source.has_names else rows
                for source, rows in ((collection, found.a), (other, found.b))
            ]
            columns = [*sides, found.distances]
            arrays = [
                pa.array(values, type=field.type)
                for values, field in zip(columns, schema, strict=True)
            ]
            writer.write_table(pa.Table.from_arrays(arrays, schema=schema))


WRITERS = {"jsonl": write_json, "binary": write_binary, "parquet": write_parquet}
"""Format -> function that writes the parts of the pairs of two sources (or one, given twice)."""


def read_pairs(paths: Sequence[str]) -> Iterator[tuple[Name, Name]]:
    """Yield the pairs (``a``, ``b``) of Parquet files and JSON lines; ``-`` is standard input."""
    check_stdin(paths)
    for path in paths:
        if path.endswith(".parquet"):
            yield from _parquet_pairs(path)
            continue
        for where, item in objects(path, _PAIR):
            match item:
                case {"a": str() | int() as a, "b": str() | int() as b}:
                    yield a, b
                case _:
                    raise InputError(f"{where}: not {_PAIR}")


def _parquet_pairs(path: str) -> Iterator[tuple[Name, Name]]:
    with reading_parquet(path), opened(path) as file:
        from pyarrow.parquet import ParquetFile  # noqa: PLC0415

        parquet = ParquetFile(file)
        if not {"a", "b"} <= {*parquet.schema_arrow.names}:
            raise InputError(f'{path}: holds no pairs, which are in columns "a" and "b"')
        for batch in parquet.iter_batches(_BATCH, columns=["a", "b"]):
            yield from zip(*(batch.column(name).to_pylist() for name in "ab"), strict=True)
