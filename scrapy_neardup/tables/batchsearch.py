"""Batch search: any number of fingerprints are scanned against tables of the queries.

The answer is exact for every k, design and distribution of the data. This is the batch mode of
Manku, Jain & Das Sarma (WWW 2007, section 3.3). The online index permutes and sorts the stored
fingerprints F. Here the (fewer) queries Q are indexed, and F is only scanned, so F needs no order,
no tables and no memory.

In a table (`QueryTable`, with a compiled twin in ``_speed/batch.pyx`` that finds the same pairs)
the leading bits of each query are shifted to the front and hashed to a short *key* (multiply-
shift: Dietzfelbinger et al., J. Algorithms 25, 1997). At the front, any odd multiplier spreads a
block of bits evenly over all keys; in the middle, it may give nine values of the block the same
key. A bitmap over all keys shows for nearly every scanned fingerprint that no query shares its
key. Queries whose keys fall into one 64-bit word of the bitmap form a bucket; fingerprints that
pass the bitmap are compared with one bucket. The compiled twin has no bitmap, because its
comparisons are so cheap that fewer tables are enough.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from scrapy_neardup._speed import faster_type
from scrapy_neardup.settings.validation import MAX_DISTANCE, whole_number
from scrapy_neardup.tables import cuts
from scrapy_neardup.tables.arrays import hashes, ranges
from scrapy_neardup.tables.design import TableDesign

_MULTIPLIER = 0x9E3779B97F4A7C15
"""Odd; 2^64 divided by the golden ratio."""
_ALL_BITS = (1 << 64) - 1
_WORD_BITS = 6
_SPARE_KEY_BITS = 6
"""Number of bits of a key beyond log2 of the queries: one bit in 32 to 64 of the bitmap is set."""

Near = tuple[NDArray[np.intp], NDArray[np.uint32], NDArray[np.uint8]]


class QueryTable:
    """Places of queries by the key of their prefix, and a bitmap of the used keys.

    `queries` are distinct, uint64 of shape (q,). `mask` has the leading bits of this table,
    `earlier` those of the tables before it, whose pairs aren't reported again. `scanned_at_once`
    fingerprints go through one table before the next, so that their temporaries stay in cache.
    `lookup_ns`, `compare_ns` and `build_ns` are the measured nanoseconds to look up a fingerprint,
    to compare it with a query, and to store it.
    """

    scanned_at_once = 1 << 17
    lookup_ns, compare_ns, build_ns = 7.0, 25.0, 80.0

    def __init__(
        self, queries: NDArray[np.uint64], mask: int, earlier: Sequence[int], max_distance: int
    ) -> None:
        self._queries = queries
        self._mask = np.uint64(mask)
        self._earlier = [np.uint64(each) for each in earlier]
        self._max_distance = max_distance
        bits = self.key_bits(len(queries), mask.bit_count())
        # Shifts the leading bits to the front, too.
        self._multiplier = np.uint64(_MULTIPLIER << (64 - mask.bit_length()) & _ALL_BITS)
        self._shift = np.uint64(64 - bits)
        keys = self._keys(queries)
        words = (keys >> np.uint64(_WORD_BITS)).view(np.int64)
        order = words.argsort()
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
        keys = fingerprints & self._mask
        keys *= self._multiplier
        keys >>= self._shift
        return keys

    @staticmethod
    def key_bits(count: int, prefix_bits: int) -> int:
        """Return the bits of a key for `count` queries."""
        # More words than prefixes; otherwise hashing would put several prefixes into one word.
        bits = min(count.bit_length() + _SPARE_KEY_BITS, prefix_bits + _WORD_BITS + 2)
        return min(bits, 28)  # larger bitmaps (48 MB a table) fit no cache

    def near(self, fingerprints: NDArray[np.uint64], at_once: int) -> Iterator[Near]:
        """Yield (positions, places, distances) of all pairs that this table reports.

        It yields after every `at_once` pairs that are compared or found. `fingerprints` are
        uint64 of shape (n,), up to 2^20.
        """
        for positions, places in self._candidates(fingerprints, at_once):
            differing = fingerprints[positions] ^ self._queries[places]
            distances = np.bitwise_count(differing)
            near = np.flatnonzero(distances <= self._max_distance)
            # The first table whose prefix a pair shares reports it.
            differing = differing[near]
            is_first = differing & self._mask == 0
            for mask in self._earlier:
                is_first &= differing & mask != 0
            near = near[is_first]
            if len(near):
                yield positions[near], places[near], distances[near]

    def _candidates(
        self, fingerprints: NDArray[np.uint64], at_once: int
    ) -> Iterator[tuple[NDArray[np.intp], NDArray[np.uint32]]]:
        """Yield (positions, places) of the pairs to compare."""
        keys = self._keys(fingerprints).astype(np.uint32)
        bits = self._bitmap.take(keys >> np.uint32(3), mode="clip")
        bits >>= keys.astype(np.uint8) & np.uint8(7)
        bits &= np.uint8(1)
        hits = np.flatnonzero(bits.view(np.bool_))
        words = keys[hits] >> np.uint32(_WORD_BITS)
        first = self._ends[words].astype(np.intp)
        counts = self._ends[words + np.uint32(1)] - first
        for part, firsts, sizes in slices(hits, first, counts, at_once):
            yield np.repeat(part, sizes), self._places[ranges(firsts, sizes)]


def slices(
    hits: NDArray[np.intp], first: NDArray[np.intp], counts: NDArray[np.intp], at_once: int
) -> Iterator[tuple[NDArray[np.intp], NDArray[np.intp], NDArray[np.intp]]]:
    """Cut ranges into parts of at most `at_once` items; long ranges are cut, too."""
    ends = np.cumsum(counts)
    total = int(ends[-1]) if len(ends) else 0
    if total <= at_once:
        yield hits, first, counts
        return
    for done in range(0, total, at_once):
        until = min(done + at_once, total)
        part = slice(
            int(np.searchsorted(ends, done, side="right")),
            int(np.searchsorted(ends, until, side="left")) + 1,
        )
        before = ends[part] - counts[part]
        skipped = np.maximum(done - before, 0)
        sizes = np.minimum(until, ends[part]) - before - skipped
        yield hits[part], first[part] + skipped, sizes


def _example(table: type[QueryTable]) -> list[tuple[int, int, int]]:
    queries = np.arange(40, dtype=np.uint64) * np.uint64(_MULTIPLIER)
    found = table(queries, 0xFFFF, [0xFFFF << 48], 3).near(queries ^ np.uint64(1 << 48 | 3), 64)
    return sorted(row for part in found for row in zip(*(c.tolist() for c in part), strict=True))


PureQueryTable = QueryTable
QueryTable = faster_type(QueryTable, "batch", _example)  # type: ignore[misc]


COMPARED_AT_ONCE = 1 << 18
"""Number of pairs compared at once, which bounds the memory of a scan for any buckets."""

_SPARE_BITS = 6
"""Maximum number of bits of a prefix beyond log2 of the number of queries, about."""
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
    """Queries in memory, uint64 of shape (q,), against which fingerprints are scanned.

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
        """Place times the number of rows, plus the row; ascending, because rows of a place are."""
        places = np.repeat(np.arange(len(self.distinct)), np.diff(self._starts))
        return places * len(self._order) + self._order


def choose_design(
    queries: NDArray[np.uint64], max_distance: int, *, scanned: int = 1 << 30
) -> TableDesign:
    """Return the design with which scanning against `queries` takes the least time.

    `queries` are distinct, uint64 of shape (q,). A sample shows how many of them a table
    retrieves, because pages of one site share leading bits more often than by chance. About
    `scanned` fingerprints will be scanned. The candidates are the cuts of `cuts.designs`.
    """
    sample = queries[:: max(1, len(queries) // _SAMPLE)]
    pairs = max(1, len(sample) * (len(sample) - 1) // 2)

    def nanoseconds(design: TableDesign) -> float:
        retrieved = 0.0
        for table in design.tables:
            _, counts = np.unique(sample & np.uint64(table.prefix_mask), return_counts=True)
            alike = int((counts * (counts - 1) // 2).sum()) / pairs
            bits = min(table.prefix_bits, QueryTable.key_bits(len(queries), table.prefix_bits))
            retrieved += max(alike, math.pow(2, -bits))
        tables = len(design.tables)
        compared = retrieved * len(queries)
        scan = scanned * (tables * QueryTable.lookup_ns + compared * QueryTable.compare_ns)
        return scan + tables * len(queries) * QueryTable.build_ns

    most = max(_TABLES_BYTES // (_QUERY_BYTES * max(len(queries), 1)), max_distance + 1)
    designs = cuts.designs(
        max_distance=max_distance,
        log2_pages=len(queries).bit_length() + _SPARE_BITS,
        max_tables=min(most, 512),
    )
    with_one_look_up = (design for design in designs if design.probes == len(design.tables))
    return min(with_one_look_up, key=nanoseconds)
