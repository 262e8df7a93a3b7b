"""All near-duplicate pairs of one collection, or of a new one and an existing one; files of pairs.

The result is exact, and memory is bounded: blocks of one collection are the queries
(`scrapy_neardup.tables.batchsearch`), and the other collection is scanned part by part.

Equal fingerprints make many pairs: a login wall crawled 100,000 times makes five billion. A job
stops at `max_pairs`, or it *groups* equal ones: the first represents the others of its block, and
a pair at distance 0 connects each with it. These few pairs connect the same pages.
"""

from __future__ import annotations

import json
from collections.abc import Generator, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import IO, NamedTuple

import numpy as np
from numpy.typing import NDArray

from scrapy_neardup.errors import ConfigurationError, InputError
from scrapy_neardup.offline.execution import ALONE, Cluster, Workers
from scrapy_neardup.offline.files.sources import Name, RowRange, Source, common_schema
from scrapy_neardup.offline.readers.files import required
from scrapy_neardup.offline.readers.tables import rows_of
from scrapy_neardup.tables.batchsearch import BatchSearch, Pairs

BLOCK_ROWS = 1 << 21
"""Number of queries at a time: 350 MB of tables per process for k = 3."""
PART_ROWS = 1 << 19
"""Number of fingerprints that a process scans at a time: about a tenth of a second's work."""
CLUSTER_PART_ROWS = 1 << 23
"""Number of fingerprints that a task scans on a Dask cluster: 64 MB (Manku et al. 2007, 3.3)."""
CLUSTER_BLOCK_ROWS = 1 << 20
"""Number of queries at a time on a cluster: 8 MB in the task graph, 180 MB of tables a process."""
MAX_PAIRS = 100_000_000
"""Default maximum number of pairs."""


class Found(NamedTuple):
    """The pairs of one part, sorted by `b`, then `a`: rows, int64, and distances, uint8.

    In one collection a < b; with two, `a` is in the new one. `scanned` is the number of rows
    compared.
    """

    a: NDArray[np.int64]
    b: NDArray[np.int64]
    distances: NDArray[np.uint8]
    scanned: int


@dataclass(frozen=True, kw_only=True)
class PairJob:
    """A search for pairs within `collection`, or between it and an `existing` one.

    With `turned` the two have changed places, and pairs are given as if they hadn't.
    `max_distance` is 0 to `settings.validation.MAX_DISTANCE`; `group_equal` ties the equals of a
    block of `collection` to the first of them; more pairs than `max_pairs` are an error, 0: never.
    """

    collection: Source
    existing: Source | None = None
    max_distance: int = 3
    group_equal: bool = False
    max_pairs: int = MAX_PAIRS
    turned: bool = False
    work: Workers = ALONE
    block_rows: int = BLOCK_ROWS
    part_rows: int = PART_ROWS

    def __post_init__(self) -> None:
        if self.existing is not None:
            if self.group_equal:
                raise ConfigurationError("NEARDUP_GROUP_EQUAL is for one collection, not for two")
            common_schema([self.collection, self.existing])

    @property
    def to_scan(self) -> int:
        """The number of rows to scan, with repetitions."""
        return sum(scanned for _, scanned in self._blocks())

    def _blocks(self) -> Iterator[tuple[int, int]]:
        """Yield the first row of each block of queries, and the number of rows to scan for it."""
        rows = len(self.collection)
        for start in range(0, rows, self.block_rows):
            yield start, rows - start if self.existing is None else len(self.existing)

    def run(self) -> Generator[Found]:
        """Yield the pairs, part by part, in an order that doesn't depend on `work`."""
        rows, itself = len(self.collection), self.existing is None
        scanned_source = self.collection if self.existing is None else self.existing
        options = self.max_distance, self.group_equal, self.max_pairs, self.turned
        count = 0
        for start, scanned in self._blocks():
            queries = self.collection.fingerprints(start, min(start + self.block_rows, rows))
            parts = scanned_source.parts(start if itself else 0, self.part_rows)
            for found in self.work(_Block, parts, options, itself, queries, start, scanned):
                count += len(found.a)
                _check(count, self.max_pairs)
                yield found


class _Block:
    """The queries of a block, in each process."""

    def __init__(
        self,
        options: tuple[int, bool, int, bool],
        itself: bool,
        queries: NDArray[np.uint64],
        first: int,
        scanned: int,
    ) -> None:
        max_distance, self._group_equal, self._max_pairs, self._turned = options
        self._itself, self._first = itself, first
        self._search = BatchSearch(queries, max_distance, scanned=scanned)
        self._is_first = np.zeros(len(queries), np.bool_)
        self._is_first[self._search.first_rows] = True

    def __call__(self, part: RowRange) -> Found:
        """Return the pairs of a part with the queries."""
        values = part.read()
        empty = np.empty(0, np.int64)
        found, count = [Pairs(empty, empty, np.empty(0, np.uint8))], 0
        for near in self._search.scan(values):
            for pairs in self._rows(near, part.row - self._first):
                found.append(pairs)
                count += len(pairs.scanned)
                _check(count, self._max_pairs)
        scanned, rows, distances = map(np.concatenate, zip(*found, strict=True))
        a, b = rows + self._first, scanned + part.row
        if self._turned:
            a, b = b, a
        order = np.lexsort((a, b))
        return Found(a[order], b[order], distances[order], len(values))

    def _rows(self, near: Pairs, ahead: int) -> Iterator[Pairs]:
        """Yield each pair of rows once; the scanned row, `ahead` rows on, is the later one."""
        if not self._itself:
            yield from self._search.expand(near)
            return
        scanned = near.scanned + ahead
        if not self._group_equal:
            yield from self._search.expand(near, below=scanned)
            return
        rows = self._search.first_rows[near.queries]
        # A later one of equal rows is paired only with the first, which has the other neighbours.
        inside = scanned < len(self._is_first)
        later = inside & ~self._is_first[np.where(inside, scanned, 0)]
        kept = (scanned > rows) & (~later | (near.distances == 0))
        yield Pairs(near.scanned[kept], rows[kept], near.distances[kept])


def _check(count: int, most: int) -> None:
    if most and count > most:
        raise ConfigurationError(
            f"there are more than NEARDUP_MAX_PAIRS {most:,} pairs; many equal pages make many:"
            " try NEARDUP_GROUP_EQUAL, a smaller NEARDUP_MAX_DISTANCE, or allow more"
        )


def on_cluster(work: Cluster, job: PairJob) -> PairJob:
    """Return `job` for the workers of a cluster, all of which can read its files.

    Of two collections the smaller one is held in tables (Abedjan and Flach's formulation). The
    pairs are those of one machine; with ``group_equal`` other pairs connect the same rows.
    """
    if job.existing is not None and len(job.collection) > len(job.existing):
        job = replace(job, collection=job.existing, existing=job.collection, turned=True)
    return replace(
        job,
        work=work,
        block_rows=min(job.block_rows, CLUSTER_BLOCK_ROWS),
        part_rows=max(job.part_rows, CLUSTER_PART_ROWS),
    )


_PAIR = 'a pair, an object with "a" and "b"'


def write_json(file: IO[bytes], collection: Source, other: Source, parts: Iterable[Found]) -> None:
    """Write ``{"a": ..., "b": ..., "distance": ...}``, with the names of the rows."""
    for found in parts:
        names = collection.names_of(found.a), other.names_of(found.b)
        rows = zip(*names, found.distances.tolist(), strict=True)
        lines = (json.dumps({"a": a, "b": b, "distance": bits}) + "\n" for a, b, bits in rows)
        file.write("".join(lines).encode())


def write_parquet(
    file: IO[bytes], collection: Source, other: Source, parts: Iterable[Found]
) -> None:
    """Write columns ``a``, ``b`` (names as strings, or else row numbers) and ``distance``."""
    pa = required("pairs in Parquet need the package pyarrow", "pyarrow", "parquet")
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
            columns = dict(zip(schema.names, (*sides, found.distances), strict=True))
            writer.write_table(pa.table(columns, schema))


def write_by_query(
    file: IO[bytes], collection: Source, other: Source, parts: Iterable[Found]
) -> None:
    """Write ``{"query": ..., "pages": [{"page": ..., "distance": ...}, ...]}`` for each query.

    Pages come nearest first. All pairs are in memory, 17 bytes each.
    """
    empty = np.empty(0, np.int64)
    found = [(empty, empty, empty), *((each.a, each.b, each.distances) for each in parts)]
    a, b, distances = map(np.concatenate, zip(*found, strict=True))
    order = np.lexsort((b, distances, a))
    a, b, distances = a[order], b[order], distances[order]
    edges = [*np.flatnonzero(np.diff(a, prepend=-1)).tolist(), len(a)]
    for start, stop in pairwise(edges):
        (query,) = collection.names_of(a[start : start + 1])
        near = zip(other.names_of(b[start:stop]), distances[start:stop].tolist(), strict=True)
        pages = [{"page": page, "distance": bits} for page, bits in near]
        file.write(json.dumps({"query": query, "pages": pages}).encode() + b"\n")


def read_pairs(paths: Sequence[str]) -> Iterator[tuple[Name, Name]]:
    """Yield the pairs (``a``, ``b``) of Parquet files and JSON lines; ``-`` is standard input."""
    for path in paths:
        for where, item in rows_of(path, _PAIR, ["a", "b"]):
            match item:
                case {"a": str() | int() as a, "b": str() | int() as b}:
                    yield a, b
                case _:
                    raise InputError(f"{where}: not {_PAIR}")
