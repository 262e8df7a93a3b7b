"""Batch search: tables over the queries, and any number of fingerprints scanned past them.

Rule of this room: arrays in, arrays out; no files, no processes (see
`scrapy_neardup.offline.pairs`). The answer is exact for every k, design and distribution
of the data, and the memory depends on the queries alone.

This is the batch mode of Manku, Jain & Das Sarma (WWW 2007, section 3.3): where the online
index permutes and sorts the stored fingerprints F, here the (fewer) queries Q are indexed
and F only streams by, so that F needs no order, no tables and no memory.

For every table of a design the leading bits of each query, left where they are, are hashed
to a short *key* (multiply-shift: Dietzfelbinger et al., J. Algorithms 25, 1997). A bitmap
over all keys answers for nearly every scanned fingerprint, without a search, that no query
shares its key. Queries whose keys fall into one 64-bit word of the bitmap form a bucket, and
what gets past the bitmap is compared with the queries in its bucket.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from scrapy_neardup.arguments import hashes, whole_number
from scrapy_neardup.kinds import MAX_DISTANCE
from scrapy_neardup.tables.design import Table, TableDesign
from scrapy_neardup.tables.ranges import ranges

SCANNED_AT_ONCE = 1 << 17
"""Number of fingerprints that pass through one table before the next: their temporaries stay in
the cache."""
COMPARED_AT_ONCE = 1 << 18
"""Number of pairs compared at once, which bounds the memory of a scan whatever the buckets
hold."""

_MULTIPLIER = np.uint64(0x9E3779B97F4A7C15)
"""Odd; 2^64 divided by the golden ratio."""
_WORD_BITS = 6
_SPARE_KEY_BITS = 6
"""Bits of a key beyond those that number the queries: one bit of the bitmap in 32 to 64 is set."""
_MAX_KEY_BITS = 28
"""Maximum bits of a key: larger bitmaps fit no cache; 48 MB a table."""
_MAX_TABLES = 512
_TABLES_BYTES = 1 << 30
"""Maximum bytes of all tables, unless k + 1 of them need more."""
_QUERY_BYTES = 12
"""Approximate bytes of a query in a table: its place, and its share of the bitmap."""
_SAMPLE = 1 << 13
_LOOKUP_NS, _COMPARE_NS, _BUILD_NS = 7.0, 25.0, 80.0
"""Nanoseconds of a bitmap look-up, of a comparison, and of one query in one table (measured)."""


class Pairs(NamedTuple):
    """Pairs within k, column by column; every pair once.

    Parameters
    ----------
    scanned
        Shape (n,), intp: positions in the fingerprints that were scanned.
    queries
        Shape (n,), intp: places in `BatchSearch.distinct`, or rows of the queries.
    distances
        Shape (n,), uint8: Hamming distances, in bits.
    """

    scanned: NDArray[np.intp]
    queries: NDArray[np.intp]
    distances: NDArray[np.uint8]


class BatchSearch:
    """Queries in memory, past which fingerprints are scanned.

    Parameters
    ----------
    queries
        Shape (q,), uint64. Equal ones are searched for once.
    max_distance
        k, the largest distance of a pair; 0 to 8.
    scanned
        About how many fingerprints will be scanned: many are worth more tables.
    design
        Tables to use in place of those that `choose_design` picks.

    Raises
    ------
    ConfigurationError
        k is out of range, or the fingerprints are no array of uint64.

    Notes
    -----
    A scan costs some 10 ns a fingerprint and table, and 25 ns for each query that it is
    compared with; with a million queries and k = 3 a core scans about 10 million
    fingerprints a second. A table takes 4 bytes a query and a bitmap of 6 to 12 more.
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
        self._tables = [_KeyTable(self.distinct, table) for table in self.design.tables]

    @property
    def copies(self) -> NDArray[np.intp]:
        """How many queries each of `distinct` stands for; shape (d,)."""
        return np.diff(self._starts)

    @property
    def first_rows(self) -> NDArray[np.intp]:
        """The first row of the queries that holds each of `distinct`; shape (d,)."""
        return self._order[self._starts[:-1]]

    def scan(self, fingerprints: NDArray[np.uint64]) -> Iterator[Pairs]:
        """Yield all pairs of `fingerprints` and `distinct` queries within k, in parts.

        Parameters
        ----------
        fingerprints
            Shape (n,), uint64; equal ones are compared one by one.

        Yields
        ------
        Pairs
            With places in `distinct` as `queries`; at most `COMPARED_AT_ONCE` of them.
        """
        fingerprints = hashes("fingerprints", fingerprints)
        if not len(self.distinct):
            return
        for start in range(0, len(fingerprints), SCANNED_AT_ONCE):
            part = fingerprints[start : start + SCANNED_AT_ONCE]
            for number, table in enumerate(self._tables):
                for scanned, places in table.candidates(part):
                    differing = part[scanned] ^ self.distinct[places]
                    distances = np.bitwise_count(differing)
                    near = np.flatnonzero(distances <= self.max_distance)
                    near = near[self._first_found(differing[near], number)]
                    if len(near):
                        yield Pairs(
                            scanned[near] + start, places[near].astype(np.intp), distances[near]
                        )

    def _first_found(self, differing: NDArray[np.uint64], number: int) -> NDArray[np.bool_]:
        """Whether table `number` is the first of those whose prefix a pair shares."""
        found: NDArray[np.bool_] = differing & self._tables[number].mask == 0
        for table in self._tables[:number]:
            found &= differing & table.mask != 0
        return found

    def expand(self, pairs: Pairs, *, below: NDArray[np.intp] | None = None) -> Iterator[Pairs]:
        """Yield `pairs` with all rows of the queries in place of `distinct`, in parts.

        Parameters
        ----------
        below
            Shape (n,): for each pair, leave out rows that aren't less than this.
        """
        first = self._starts[pairs.queries]
        if below is None:
            copies = self._starts[pairs.queries + 1] - first
        else:
            most = len(self._order)
            wanted = pairs.queries * most + np.minimum(below, most)
            copies = np.searchsorted(self._places_and_rows, wanted) - first
        for part, firsts, sizes in _slices(np.arange(len(first)), first, copies):
            found = np.repeat(part, sizes)
            rows = self._order[ranges(firsts, sizes)]
            yield Pairs(pairs.scanned[found], rows, pairs.distances[found])

    @cached_property
    def _places_and_rows(self) -> NDArray[np.intp]:
        """Place times the number of rows, plus the row: increasing, as rows of a place are."""
        places = np.repeat(np.arange(len(self.distinct)), self.copies)
        return places * len(self._order) + self._order


class _KeyTable:
    """Places of queries by the key of their prefix, and a bitmap of the keys in use."""

    def __init__(self, queries: NDArray[np.uint64], table: Table) -> None:
        self.mask = np.uint64(table.prefix_mask)
        wanted = len(queries).bit_length() + _SPARE_KEY_BITS
        # More words than prefixes, or else hashing would put several of them into one.
        bits = min(wanted, table.prefix_bits + _WORD_BITS + 2, _MAX_KEY_BITS)
        self._shift = np.uint64(64 - bits)
        keys = self._keys(queries)
        words = (keys >> np.uint64(_WORD_BITS)).view(np.int64)
        # By word, in two stable passes: numpy sorts short integers by their digits.
        order = words.astype(np.uint16).argsort(kind="stable")
        order = order[(words >> 16).astype(np.uint8)[order].argsort(kind="stable")]
        self._places = order.astype(np.uint32)
        keys, words = keys[order], words[order]
        firsts = np.flatnonzero(np.diff(words, prepend=-1))
        bitmap = np.zeros(1 << (bits - _WORD_BITS), "<u8")
        set_bits = np.uint64(1) << (keys & np.uint64(63))
        bitmap[words[firsts]] = np.bitwise_or.reduceat(set_bits, firsts)
        self._bitmap = bitmap.view(np.uint8)
        self._ends = np.zeros(len(bitmap) + 1, np.uint32)
        self._ends[words[firsts] + 1] = np.diff(firsts, append=len(keys))
        np.cumsum(self._ends, out=self._ends)

    def _keys(self, fingerprints: NDArray[np.uint64]) -> NDArray[np.uint64]:
        keys = fingerprints & self.mask
        keys *= _MULTIPLIER
        keys >>= self._shift
        return keys

    def candidates(
        self, fingerprints: NDArray[np.uint64]
    ) -> Iterator[tuple[NDArray[np.intp], NDArray[np.uint32]]]:
        """Yield (positions, places): what to compare, some `COMPARED_AT_ONCE` at a time."""
        keys = self._keys(fingerprints).astype(np.uint32)
        bits = self._bitmap.take(keys >> np.uint32(3), mode="clip")
        bits >>= keys.astype(np.uint8) & np.uint8(7)
        bits &= np.uint8(1)
        hits = np.flatnonzero(bits.view(np.bool_))
        words = keys[hits] >> np.uint32(_WORD_BITS)
        first = self._ends[words].astype(np.intp)
        counts = self._ends[words + np.uint32(1)] - first
        for part, firsts, sizes in _slices(hits, first, counts):
            yield np.repeat(part, sizes), self._places[ranges(firsts, sizes)]


def _slices(
    hits: NDArray[np.intp], first: NDArray[np.intp], counts: NDArray[np.intp]
) -> Iterator[tuple[NDArray[np.intp], NDArray[np.intp], NDArray[np.intp]]]:
    """Cut ranges into parts of at most `COMPARED_AT_ONCE` items; a long range is cut too."""
    ends = np.cumsum(counts)
    total = int(ends[-1]) if len(ends) else 0
    if total <= COMPARED_AT_ONCE:
        yield hits, first, counts
        return
    for done in range(0, total, COMPARED_AT_ONCE):
        until = min(done + COMPARED_AT_ONCE, total)
        part = slice(
            int(np.searchsorted(ends, done, side="right")),
            int(np.searchsorted(ends, until, side="left")) + 1,
        )
        before = ends[part] - counts[part]
        skipped = np.maximum(done - before, 0)
        sizes = np.minimum(until, ends[part]) - before - skipped
        yield hits[part], first[part] + skipped, sizes


def choose_design(
    queries: NDArray[np.uint64], max_distance: int, *, scanned: int = 1 << 30
) -> TableDesign:
    """Return the design under which scanning past `queries` takes the least time.

    Parameters
    ----------
    queries
        Shape (q,), uint64, distinct. How many of them a table retrieves is counted on a
        sample: pages of one site share leading bits more often than chance has it.
    max_distance
        k, 0 to 8.
    scanned
        How many fingerprints are going to be scanned.

    Notes
    -----
    The candidates are the cuts of `TableDesign.enumerate`.
    """
    sample = queries[:: max(1, len(queries) // _SAMPLE)]
    pairs = max(1, len(sample) * (len(sample) - 1) // 2)

    def nanoseconds(design: TableDesign) -> float:
        retrieved = sum(
            max(_equal_pairs(sample & np.uint64(table.prefix_mask)) / pairs,
                math.pow(2, -min(table.prefix_bits, _MAX_KEY_BITS)))
            for table in design.tables
        )  # fmt: skip
        tables = len(design.tables)
        scan = scanned * (tables * _LOOKUP_NS + retrieved * len(queries) * _COMPARE_NS)
        return scan + tables * len(queries) * _BUILD_NS

    return min(_designs(max_distance, len(queries)), key=nanoseconds)


def _designs(max_distance: int, queries: int) -> list[TableDesign]:
    """Return the designs in question: as many tables as memory allows, looked up once."""
    most = max(_TABLES_BYTES // (_QUERY_BYTES * max(queries, 1)), max_distance + 1)
    designs = TableDesign.enumerate(
        max_distance=max_distance,
        log2_pages=queries.bit_length() + _SPARE_KEY_BITS,
        max_tables=min(most, _MAX_TABLES),
    )
    return [design for design in designs if design.probes == len(design.tables)]


def _equal_pairs(values: NDArray[np.uint64]) -> int:
    _, counts = np.unique(values, return_counts=True)
    return int((counts * (counts - 1) // 2).sum())
