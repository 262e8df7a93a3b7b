"""Batch search: tables over the queries, and any number of fingerprints scanned past them.

The answer is exact for every k, design and distribution of the data. This is the batch mode of
Manku, Jain & Das Sarma (WWW 2007, section 3.3). The online index permutes and sorts the stored
fingerprints F. Here the (fewer) queries Q are indexed, and F only streams by, so F needs no order,
no tables and no memory.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from scrapy_neardup.settings.arguments import hashes, whole_number
from scrapy_neardup.settings.validation import MAX_DISTANCE
from scrapy_neardup.tables import cuts
from scrapy_neardup.tables.design import TableDesign
from scrapy_neardup.tables.querytable import QueryTable, slices
from scrapy_neardup.tables.ranges import ranges

COMPARED_AT_ONCE = 1 << 18
"""Number of pairs compared at once, which bounds the memory of a scan for any buckets."""

_SPARE_BITS = 6
"""Maximum number of bits of a prefix beyond log2 of the number of queries, about."""
_MAX_TABLES = 512
"""Maximum number of tables of a design."""
_TABLES_BYTES = 1 << 30
"""Maximum bytes of all tables, unless k + 1 of them need more."""
_QUERY_BYTES = 12
"""Approximate bytes of a query in a table: its place, and its share of the bitmap."""
_SAMPLE = 1 << 13
"""Number of queries on which a design is tried, about."""


class Pairs(NamedTuple):
    """Pairs within k bits, each once, in columns of shape (n,).

    `scanned`, intp: positions in the fingerprints that were scanned. `queries`, intp: places in
    `BatchSearch.distinct`, or rows of the queries. `distances`, uint8, in bits.
    """

    scanned: NDArray[np.intp]
    queries: NDArray[np.intp]
    distances: NDArray[np.uint8]


class BatchSearch:
    """Queries in memory, uint64 of shape (q,), past which fingerprints are scanned.

    Equal queries are searched once. `max_distance` is k, 0 to 10. About `scanned` fingerprints
    will be scanned (for many, more tables pay). `design` replaces the tables that `choose_design`
    picks. Raises `ConfigurationError` if k is out of range, or the
    fingerprints aren't an array of uint64. With a million queries and k = 3 a core scans some 5
    million fingerprints a second in numpy, with ten tables, and 15 million compiled, with four. A
    table takes 4 bytes a query and 6 to 12 more for a bitmap; compiled, 9 bytes a query.
    """

    def __init__(
        self,
        queries: NDArray[np.uint64],
        max_distance: int = 3,
        *,
        scanned: int = 1 << 30,
        design: TableDesign | None = None,
    ) -> None:
        queries = hashes("queries", queries)
        max_distance = whole_number("max_distance", max_distance, least=0, most=MAX_DISTANCE)
        self._order = np.argsort(queries, kind="stable")
        ordered = queries[self._order]
        self._starts = np.flatnonzero(np.diff(ordered, prepend=~ordered[:1]))
        self.max_distance = max_distance
        self.distinct: NDArray[np.uint64] = ordered[self._starts]
        self._starts = np.append(self._starts, len(queries))
        self.design = design or choose_design(self.distinct, max_distance, scanned=scanned)
        masks = [table.prefix_mask for table in self.design.tables]
        self._tables = [
            QueryTable(self.distinct, mask, masks[:number], max_distance)
            for number, mask in enumerate(masks)
        ]

    @property
    def first_rows(self) -> NDArray[np.intp]:
        """The first row of each of the `distinct` queries; shape (d,)."""
        return self._order[self._starts[:-1]]

    def scan(self, fingerprints: NDArray[np.uint64]) -> Iterator[Pairs]:
        """Yield all pairs of `fingerprints` and `distinct` queries within k, in parts.

        Fingerprints are uint64 of shape (n,); equal ones are each compared. A part has at most
        `COMPARED_AT_ONCE` pairs; its `queries` are places in `distinct`.
        """
        fingerprints = hashes("fingerprints", fingerprints)
        if not len(self.distinct):
            return
        step = QueryTable.scanned_at_once
        for start in range(0, len(fingerprints), step):
            part = fingerprints[start : start + step]
            for table in self._tables:
                for positions, places, distances in table.near(part, COMPARED_AT_ONCE):
                    yield Pairs(positions + start, places.astype(np.intp), distances)

    def expand(self, pairs: Pairs, *, below: NDArray[np.intp] | None = None) -> Iterator[Pairs]:
        """Yield `pairs` with all rows of the queries in place of `distinct`, in parts.

        `below`, shape (n,), keeps for each pair only the rows below this number.
        """
        first = self._starts[pairs.queries]
        if below is None:
            copies = self._starts[pairs.queries + 1] - first
        else:
            most = len(self._order)
            wanted = pairs.queries * most + np.minimum(below, most)
            copies = np.searchsorted(self._places_and_rows, wanted) - first
        for part, firsts, sizes in slices(np.arange(len(first)), first, copies, COMPARED_AT_ONCE):
            found = np.repeat(part, sizes)
            rows = self._order[ranges(firsts, sizes)]
            yield Pairs(pairs.scanned[found], rows, pairs.distances[found])

    @cached_property
    def _places_and_rows(self) -> NDArray[np.intp]:
        """Place times the number of rows, plus the row; increasing, as the rows of a place are."""
        places = np.repeat(np.arange(len(self.distinct)), np.diff(self._starts))
        return places * len(self._order) + self._order


def choose_design(
    queries: NDArray[np.uint64], max_distance: int, *, scanned: int = 1 << 30
) -> TableDesign:
    """Return the design with which scanning past `queries` takes the least time.

    `queries` are distinct, uint64 of shape (q,). A sample shows how many of them a table
    retrieves, because pages of one site share leading bits more often than by chance. About
    `scanned` fingerprints will be scanned. The candidates are the cuts of `cuts.designs`.
    """
    sample = queries[:: max(1, len(queries) // _SAMPLE)]
    pairs = max(1, len(sample) * (len(sample) - 1) // 2)

    def nanoseconds(design: TableDesign) -> float:
        retrieved = 0.0
        for table in design.tables:
            alike = _equal_pairs(sample & np.uint64(table.prefix_mask)) / pairs
            bits = min(table.prefix_bits, QueryTable.key_bits(len(queries), table.prefix_bits))
            retrieved += max(alike, math.pow(2, -bits))
        tables = len(design.tables)
        compared = retrieved * len(queries)
        scan = scanned * (tables * QueryTable.lookup_ns + compared * QueryTable.compare_ns)
        return scan + tables * len(queries) * QueryTable.build_ns

    return min(_designs(max_distance, len(queries)), key=nanoseconds)


def _designs(max_distance: int, queries: int) -> list[TableDesign]:
    """Return the designs to choose from, with one look-up a table and tables that fit memory."""
    most = max(_TABLES_BYTES // (_QUERY_BYTES * max(queries, 1)), max_distance + 1)
    designs = cuts.designs(
        max_distance=max_distance,
        log2_pages=queries.bit_length() + _SPARE_BITS,
        max_tables=min(most, _MAX_TABLES),
    )
    return [design for design in designs if design.probes == len(design.tables)]


def _equal_pairs(values: NDArray[np.uint64]) -> int:
    _, counts = np.unique(values, return_counts=True)
    return int((counts * (counts - 1) // 2).sum())
