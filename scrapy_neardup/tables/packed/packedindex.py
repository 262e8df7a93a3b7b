"""An index of compressed tables, which is made once, read in place, and never changed.

It has one compressed table for every permutation of a design (Manku et al. 2007, section 3.1),
and the rows of the pages. The first table's permutation is the identity, so its ranks lead to the
rows of a fingerprint.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from math import log2
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from scrapy_neardup.errors import ConfigurationError
from scrapy_neardup.tables import cuts
from scrapy_neardup.tables.design import Permutation, Table, TableDesign
from scrapy_neardup.tables.packed.checked import Checked, Encoded
from scrapy_neardup.tables.packed.elias_fano import EliasFano
from scrapy_neardup.tables.packed.rows import (
    PackedRecords,
    Postings,
    Rows,
    Unpacked,
    encode_records,
)

_CODE = "elias-fano"
"""Name of the code of tables, in files."""

_IDENTITY = tuple(range(63, -1, -1))
RETRIEVED_SMALL = 1000
"""Number of fingerprints that a query decodes in a design of few tables."""
RETRIEVED_FAST = 32
"""Number of fingerprints that a query decodes, one by one, in a design of many tables. With ten
tables it takes half the time of a query that retrieves hundreds from four."""


class Opened(NamedTuple):
    """An `Encoded` table as it is read back."""

    parameters: Mapping[str, Any]
    parts: Mapping[str, Checked]


def encode_index(
    fingerprints: NDArray[np.uint64],
    *,
    design: TableDesign,
    schema: Mapping[str, Any] | None = None,
    ids: NDArray[np.uint64] | None = None,
    url: Callable[[int], bytes] | None = None,
    records: Unpacked | None = None,
) -> Iterator[tuple[str, Encoded]]:
    """Yield the named pieces of a `PackedIndex`, one table at a time.

    `fingerprints` are uint64 of shape (n,), one for each page, in any order. `ids` are the page
    ids, `records` other data of each page; `url` returns the URL of the page at a place (UTF-8,
    empty for none), while the pieces are written. `schema` records what makes fingerprints
    comparable. The tables of `design` have no radius, and the first one leaves its leading bits in
    place, as in all cuts; for distance 0 it is the only one. Holds two copies of the fingerprints,
    and one compressed table at a time. Raises
    `ConfigurationError` for another design.
    """
    if any(table.radius for table in design.tables):
        raise ConfigurationError(
            f"tables that are probed within a radius can't be packed: {design.name}"
        )
    if Permutation.leading(design.tables[0].blocks).order != _IDENTITY:
        raise ConfigurationError(f"the first table of {design.name} permutes the fingerprints")
    order = np.argsort(fingerprints, kind="stable") if ids is None else np.lexsort(
        (ids, fingerprints)
    )  # fmt: skip
    values = fingerprints[order]
    firsts = np.flatnonzero(np.diff(values, prepend=~values[:1]))
    counts = np.diff(firsts, append=len(values))
    values = values[firsts]
    header = {
        "codec": _CODE,
        "schema": None if schema is None else dict(schema),
        "design": design.name,
        "max_distance": design.max_distance,
        "tables": [[f"{block:x}" for block in table.blocks] for table in design.tables],
    }
    yield "index", Encoded(header, {})
    ids = None if ids is None else ids[order]
    yield "rows", Rows.encode_rows(counts, order, ids, url)
    if ids is not None:
        yield "ids", Postings.encode(ids, np.arange(len(ids)))
    if records is not None:
        yield from encode_records(records, order)
    del order, firsts, counts, ids
    for number, table in enumerate(design.tables):
        permuted = Permutation.leading(table.blocks).apply_many(values)
        if number:
            permuted.sort()
        yield f"table {number}", EliasFano.encode(permuted)


def packed_design(
    count: int, max_distance: int, *, tables: int | None = None, retrieved: int = RETRIEVED_SMALL
) -> TableDesign:
    """Return the design with which `count` fingerprints are packed into `tables` tables.

    With None it is the one with the fewest tables that retrieves at most `retrieved` uniform
    fingerprints a query (`RETRIEVED_SMALL` for small files, `RETRIEVED_FAST` for fast ones), or
    else the one with the most tables. Raises `ConfigurationError` if no design has this number of
    tables.
    """
    pages = log2(max(count, 1))
    designs = [
        design
        for design in cuts.designs(max_distance=max_distance, log2_pages=40.0)
        if design.probes == len(design.tables)
    ]
    if tables is None:
        cheap = (d for d in designs if d.expected_retrieved(pages) <= retrieved)
        return next(cheap, designs[-1])
    for design in designs:
        if len(design.tables) == tables:
            return design
    known = ", ".join(str(len(design.tables)) for design in designs)
    raise ConfigurationError(
        f"NEARDUP_TABLES must be one of {known} for distance {max_distance}, not {tables}"
    )


class PackedIndex:
    """Fingerprints in compressed tables, searched by Hamming distance up to `max_distance`.

    It is made from the opened pieces of `encode_index`. `rows` has the number of pages, their ids
    and URLs; `records` has other data of them, or is None. `schema` is what makes the
    fingerprints comparable; None if unknown. Every method raises `InputError` if the bytes that it
    reads are damaged. Only one thread at a time may use it.
    """

    def __init__(self, pieces: Mapping[str, Opened]) -> None:
        header = pieces["index"].parameters
        if header["codec"] != _CODE:
            raise ValueError(
                f"the code {header['codec']!r} of its tables is gone; pack the fingerprints again"
            )
        self.schema: Mapping[str, Any] | None = header["schema"]
        blocks = (tuple(int(block, 16) for block in table) for table in header["tables"])
        tables = tuple(Table(table) for table in blocks)
        self.design = TableDesign(header["design"], tables, int(header["max_distance"]))
        self.max_distance = self.design.max_distance
        by_id = Postings(*pieces["ids"]) if "ids" in pieces else None
        self.rows = Rows(*pieces["rows"], by_id)
        self.records: PackedRecords | None = None
        if "records" in pieces:
            columns = range(int(pieces["records"].parameters["columns"]))
            postings = [Postings(*pieces[f"feature {column}"]) for column in columns]
            self.records = PackedRecords(*pieces["records"], postings)
        opened = [EliasFano(*pieces[f"table {n}"]) for n in range(len(tables))]
        self._base = opened[0]
        self._probes = [
            packed.probe(Permutation.leading(table.blocks), table.prefix_bits)
            for table, packed in zip(tables, opened, strict=True)
        ]

    def __len__(self) -> int:
        return len(self.rows)

    def near(self, fingerprint: int, max_distance: int) -> list[tuple[int, int, range]]:
        """Return every stored fingerprint within `max_distance` of one: distance, value, all rows.

        They are sorted by distance, then by value. A distance beyond that of the tables is a
        `ConfigurationError`.
        """
        if not 0 <= max_distance <= self.max_distance:
            raise ConfigurationError(
                f"tables packed for distances of 0 to {self.max_distance} can't be searched for"
                f" {max_distance}; pack the fingerprints again with NEARDUP_MAX_DISTANCE"
                f" {max_distance}"
            )
        found: set[int] = set()
        for probe in self._probes:
            if near := probe(fingerprint, max_distance):
                found.update(near)
        return sorted(
            ((value ^ fingerprint).bit_count(), value, self.rows_of(value)) for value in found
        )

    def rows_of(self, fingerprint: int) -> range:
        """Return all rows of a fingerprint; an empty range if it isn't stored."""
        rank = self._base.rank(fingerprint)
        return range(0) if rank is None else self.rows.of_rank(rank)

    def fingerprint(self, row: int) -> int:
        """Return the fingerprint of a row."""
        rank = self.rows.rank(row)
        return int(self._base.decode(rank, rank + 1)[0])

    def fingerprints(self, start: int, stop: int) -> NDArray[np.uint64]:
        """Return the fingerprints of rows `start` to `stop`, in order, equal ones included."""
        if start >= stop:
            return np.empty(0, np.uint64)
        first, last = self.rows.rank(start), self.rows.rank(stop - 1) + 1
        values = np.repeat(self._base.decode(first, last), self.rows.counts(first, last))
        skipped = start - self.rows.of_rank(first)[0]
        return values[skipped : skipped + stop - start]
