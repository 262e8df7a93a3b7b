"""How pairs are written: JSON lines, binary records, Parquet."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import IO

import numpy as np

from scrapy_neardup.errors import InputError
from scrapy_neardup.offline.pairs import Found
from scrapy_neardup.offline.sources import Source

RECORD = np.dtype([("a", "<u8"), ("b", "<u8"), ("distance", "u1")])
"""Record of a binary file of pairs: two rows and a distance, 17 bytes."""

Write = Callable[[Found], None]


@contextmanager
def json_writer(file: IO[bytes], collection: Source, other: Source) -> Iterator[Write]:
    """Write ``{"a": ..., "b": ..., "distance": ...}``, with the names of the rows."""

    def write(found: Found) -> None:
        rows = zip(
            collection.names_of(found.a),
            other.names_of(found.b),
            found.distances.tolist(),
            strict=True,
        )
        lines = [json.dumps({"a": a, "b": b, "distance": distance}) for a, b, distance in rows]
        file.write("".join(f"{line}\n" for line in lines).encode())

    yield write


@contextmanager
def binary_writer(file: IO[bytes], collection: Source, other: Source) -> Iterator[Write]:  # noqa: ARG001
    """Write a `RECORD` a pair, with row numbers."""

    def write(found: Found) -> None:
        records = np.empty(len(found.a), RECORD)
        records["a"], records["b"], records["distance"] = found.a, found.b, found.distances
        file.write(records.tobytes())

    yield write


@contextmanager
def parquet_writer(file: IO[bytes], collection: Source, other: Source) -> Iterator[Write]:
    """Write columns ``a``, ``b`` (names as strings, or else row numbers) and ``distance``.

    Raises
    ------
    InputError
        pyarrow isn't installed.
    """
    try:
        import pyarrow as pa  # type: ignore[import-untyped]  # noqa: PLC0415  (an extra)
        from pyarrow.parquet import (  # type: ignore[import-untyped]  # noqa: PLC0415
            ParquetWriter,
        )
    except ImportError as error:
        raise InputError(
            "--format parquet needs the package pyarrow: pip install 'scrapy-neardup[parquet]'"
        ) from error

    def column(source: Source) -> object:
        return pa.string() if source.has_names else pa.uint64()

    schema = pa.schema([("a", column(collection)), ("b", column(other)), ("distance", pa.uint8())])
    with ParquetWriter(file, schema) as writer:

        def write(found: Found) -> None:
            if not len(found.a):
                return
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

        yield write


WRITERS = {"jsonl": json_writer, "binary": binary_writer, "parquet": parquet_writer}
"""Format -> function that writes it."""
