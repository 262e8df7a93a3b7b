"""One table of the batch search: queries by their leading bits.

`QueryTable` has a compiled twin in `_speed/batch.pyx`; both find the same pairs.

The leading bits of each query are shifted to the front and hashed to a short *key* (multiply-
shift: Dietzfelbinger et al., J. Algorithms 25, 1997). At the front, any odd multiplier spreads
a block of bits evenly over all keys; in the middle, it may give nine values of the block the
same key. A bitmap over all keys shows for nearly every scanned fingerprint that no query shares
its key. Queries whose keys fall into one 64-bit word of the bitmap form a bucket; fingerprints
that pass the bitmap are compared with one bucket. The compiled twin has no bitmap, because its
comparisons are so cheap that fewer tables are enough.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from scrapy_neardup._speed import faster_type
from scrapy_neardup.tables.ranges import ranges

_MULTIPLIER = 0x9E3779B97F4A7C15
"""Odd; 2^64 divided by the golden ratio."""
_ALL_BITS = (1 << 64) - 1
_WORD_BITS = 6
_SPARE_KEY_BITS = 6
"""Number of bits of a key beyond log2 of the queries: one bit in 32 to 64 of the bitmap is set."""
_MAX_KEY_BITS = 28
"""Maximum number of bits of a key; larger bitmaps (48 MB a table) fit no cache."""

Near = tuple[NDArray[np.intp], NDArray[np.uint32], NDArray[np.uint8]]


class QueryTable:
    """Places of queries by the key of their prefix, and a bitmap of the used keys.

    `queries` are distinct, uint64 of shape (q,). The bits of `mask` lead in this table, those of
    `earlier` in the tables before it, whose pairs aren't reported again.
    `scanned_at_once` fingerprints go through one table before the next, so that their temporaries
    stay in cache. `lookup_ns`, `compare_ns` and `build_ns` are the measured nanoseconds to look up
    a fingerprint, to compare it with a query, and to store it.
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
        # More words than prefixes, or else hashing would put several of them into one.
        bits = min(count.bit_length() + _SPARE_KEY_BITS, prefix_bits + _WORD_BITS + 2)
        return min(bits, _MAX_KEY_BITS)

    def near(self, fingerprints: NDArray[np.uint64], at_once: int) -> Iterator[Near]:
        """Yield (positions, places, distances) of all pairs that this table reports.

        It yields after every `at_once` pairs that are compared or found. `fingerprints` are
        uint64 of shape (n,), up to 2^20.
        """
        for positions, places in self._candidates(fingerprints, at_once):
            differing = fingerprints[positions] ^ self._queries[places]
            distances = np.bitwise_count(differing)
            near = np.flatnonzero(distances <= self._max_distance)
            near = near[self._first_found(differing[near])]
            if len(near):
                yield positions[near], places[near], distances[near]

    def _first_found(self, differing: NDArray[np.uint64]) -> NDArray[np.bool_]:
        """Return whether this table is the first whose prefix a pair shares."""
        found: NDArray[np.bool_] = differing & self._mask == 0
        for mask in self._earlier:
            found &= differing & mask != 0
        return found

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
