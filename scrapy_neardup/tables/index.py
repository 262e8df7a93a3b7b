"""The embedded index: every stored fingerprint within k bits of a given one.

It is exact for every k, design, order and distribution of the data. The design and the expected
size change time and memory, never an answer. Each table of a design is a hash table of buckets
(`Buckets`, with a compiled twin in ``_speed/hamming.pyx`` that finds the same fingerprints).

A bucket holds the fingerprints whose leading bits hash to it, unsorted and packed. A query joins
the bytes of its buckets and compares them all in three numpy calls, which up to some ten thousand
candidates is faster than visiting each.

A bucket is a `bytes` object, replaced by a longer one when it grows. It has half the header of a
`bytearray` and no slack, and the garbage collector ignores it. Buckets grow in small steps, so one
fits where another was, which saves a quarter of the process's memory at ten million fingerprints.
The few long buckets of clustered data are `bytearray`, because copying them would take time.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from sys import getsizeof

import numpy as np
from numpy.typing import NDArray

from scrapy_neardup._speed import faster_type
from scrapy_neardup.errors import ConfigurationError
from scrapy_neardup.settings.validation import MAX_DISTANCE, whole_number
from scrapy_neardup.tables.arrays import hashes
from scrapy_neardup.tables.design import MAX_PROBES, TableDesign, masks_within

_WIDTH = 8
"""Bytes of a fingerprint in a bucket, in the machine's byte order."""

_COPIED = 4096
"""Maximum size in bytes of a bucket that is copied to grow, in some 0.1 µs."""

_SLICE = 1 << 21
"""Number of fingerprints whose places are found at once, which bounds temporary memory."""

Bucket = bytes | bytearray


class Buckets:
    """Tables of `count` buckets each.

    For each table, `masks` has the leading bits, and `flips` the bits that a query flips in each
    look-up. `limit` is the maximum number of fingerprints of a bucket; None: any number.
    """

    __slots__ = ("_count", "_limit", "_lookups", "_max_distance", "_tables", "_word")

    def __init__(
        self,
        masks: Sequence[int],
        flips: Sequence[Sequence[int]],
        count: int,
        max_distance: int,
        limit: int | None = None,
    ) -> None:
        self._count = count
        self._max_distance = max_distance
        self._limit = None if limit is None else limit * _WIDTH
        self._tables: list[tuple[list[Bucket], int]] = [([b""] * count, mask) for mask in masks]
        self._lookups = [
            (buckets, mask, flip)
            for (buckets, mask), flipped in zip(self._tables, flips, strict=True)
            for flip in flipped
        ]
        # This operand is kept, because making an array takes longer than filling it.
        self._word = np.zeros((), np.uint64)

    @property
    def nbytes(self) -> int:
        """Memory in bytes. O(number of buckets)."""
        return sum(
            getsizeof(buckets) + sum(getsizeof(bucket) for bucket in buckets if bucket)
            for buckets, _ in self._tables
        )

    def near(self, fingerprint: int) -> list[tuple[int, int]]:
        """Return (fingerprint, distance) of all within k, the nearest first."""
        word = self._word
        word[()] = fingerprint
        count = self._count
        found = b"".join(
            [buckets[(fingerprint & mask ^ flip) % count] for buckets, mask, flip in self._lookups]
        )
        if not found:
            return []
        candidates = np.frombuffer(found, np.uint64)
        distances = np.bitwise_count(candidates ^ word)
        # Most pages are new: one look at the smallest distance ends it.
        if distances.item(distances.argmin()) > self._max_distance:
            return []
        near = (distances <= self._max_distance).nonzero()[0].tolist()
        pairs = {(distances.item(place), candidates.item(place)) for place in near}
        return [(match, distance) for distance, match in sorted(pairs)]

    def lengths(self, table: int) -> NDArray[np.intp]:
        """Return the number of fingerprints in each bucket of a table; shape (count,)."""
        return np.fromiter(map(len, self._tables[table][0]), np.intp, self._count) // _WIDTH

    def add(self, fingerprint: int) -> bool:
        """Store one more copy; return False, and store nothing, if a bucket is full."""
        word = self._word
        word[()] = fingerprint
        packed = word.tobytes()
        count = self._count
        limit = self._limit
        if limit is not None:
            for buckets, mask in self._tables:
                if len(buckets[(fingerprint & mask) % count]) >= limit:
                    return False
        for buckets, mask in self._tables:
            place = (fingerprint & mask) % count
            bucket = buckets[place]
            if len(bucket) >= _COPIED and isinstance(bucket, bytes):
                bucket = bytearray(bucket)
            bucket += packed
            buckets[place] = bucket
        return True

    def remove(self, fingerprint: int) -> bool:
        """Remove one copy of `fingerprint`; return whether there was one."""
        word = self._word
        word[()] = fingerprint
        for buckets, mask in self._tables:
            place = (fingerprint & mask) % self._count
            bucket = buckets[place]
            copies = np.flatnonzero(np.frombuffer(bucket, np.uint64) == word)
            if not len(copies):
                return False
            start = copies.item(0) * _WIDTH
            buckets[place] = bucket[:start] + bucket[start + _WIDTH :]
        return True

    def load(self, fingerprints: NDArray[np.uint64]) -> None:
        """Store fingerprints without regard to the limit."""
        for buckets, mask in self._tables:
            places = places_of(fingerprints, mask, self._count)
            order = np.argsort(places, kind="stable")
            packed = fingerprints[order].tobytes()
            filled, firsts = np.unique(places[order], return_index=True)
            bounds = [*(firsts * _WIDTH).tolist(), len(packed)]
            for number, (start, stop) in zip(filled.tolist(), pairwise(bounds), strict=True):
                bucket = buckets[number]
                bucket += packed[start:stop]
                buckets[number] = bucket


def places_of(fingerprints: NDArray[np.uint64], mask: int, count: int) -> NDArray[np.uint32]:
    """Return each fingerprint's bucket in the table with this `mask`; shape (n,)."""
    places = np.empty(len(fingerprints), np.uint32)
    for start in range(0, len(places), _SLICE):
        part = slice(start, start + _SLICE)
        places[part] = (fingerprints[part] & np.uint64(mask)) % np.uint64(count)
    return places


def _example(buckets: type[Buckets]) -> tuple[object, ...]:
    made = buckets([0xFF00, 0xFF], [[0, 0x100], [0, 1]], 31, 2)
    for fingerprint in (0x1234, 0x1235, 0x1334, 0x4321, 0x1234):
        made.add(fingerprint)
    return made.remove(0x4321), made.near(0x1234), made.near(0x4321), *map(made.lengths, (0, 1))


PureBuckets = Buckets
Buckets = faster_type(Buckets, "hamming", _example)  # type: ignore[misc]


_FEW = 4096
"""Number of fingerprints up to which storing them one by one is faster than visiting all
buckets."""


class HammingIndex:
    """A multiset of 64-bit fingerprints, searched by Hamming distance.

    A query reports fingerprints within `max_distance`, k, 0 to 10 bits. The index is sized for
    `expected` fingerprints; more make it slower, but its answers stay exact. `design` has the
    tables; None stands for `TableDesign.online`. A bucket holds at most `max_bucket` fingerprints
    (None: no limit); `add` refuses one that has a full bucket in any table.

    Raises `ConfigurationError` if k or `expected` is out of range, or the design is for a smaller
    k, for other than 64 bits, or probes too many prefixes; any method raises it for a value that
    isn't a 64-bit fingerprint. `query` and `add` cost O(b) for b fingerprints in the buckets that
    they look up; with n uniform fingerprints a bucket has n / 65,537. One thread at a time may use
    an index.

    >>> index = HammingIndex(max_distance=3)
    >>> index.add(0b1111)
    True
    >>> index.query(0b1001)
    [(15, 2)]
    """

    __slots__ = ("_buckets", "_count", "_limit", "_masks", "_size", "design", "max_distance")

    def __init__(
        self,
        max_distance: int = 3,
        expected: int = 1_000_000,
        design: TableDesign | None = None,
        max_bucket: int | None = None,
    ) -> None:
        max_distance = whole_number("max_distance", max_distance, least=0, most=MAX_DISTANCE)
        expected = whole_number("expected", expected, least=0)
        if max_bucket is not None:
            max_bucket = whole_number("max_bucket, if not None,", max_bucket, least=1)
        if design is None:
            design = TableDesign.online(max_distance, expected)
        if design.bits != 64 or design.max_distance < max_distance or design.probes > MAX_PROBES:
            raise ConfigurationError(
                f"design {design.name} ({design.bits} bits, distance {design.max_distance}, "
                f"{design.probes} probes) doesn't fit: it must be for 64 bits, distance "
                f"{max_distance} or more, and at most {MAX_PROBES} probes"
            )
        self.max_distance = max_distance
        self.design = design
        self._size = 0
        self._limit = max_bucket
        self._count = design.bucket_count(expected)
        self._masks = [table.prefix_mask for table in design.tables]
        flips = [masks_within(table.prefix_mask, table.radius) for table in design.tables]
        self._buckets = Buckets(self._masks, flips, self._count, max_distance, max_bucket)

    def __len__(self) -> int:
        return self._size

    @property
    def nbytes(self) -> int:
        """Memory in bytes. O(number of buckets)."""
        return self._buckets.nbytes

    def query(self, fingerprint: int) -> list[tuple[int, int]]:
        """Return (fingerprint, distance) of every stored fingerprint within k bits of this one.

        Each comes once, nearest first, smaller first among equally near ones.
        """
        try:
            return self._buckets.near(fingerprint)
        except (OverflowError, TypeError, ValueError):
            raise _no_fingerprint(fingerprint) from None

    def add(self, fingerprint: int) -> bool:
        """Store one more copy of `fingerprint`; False, and nothing stored, if a bucket is full."""
        try:
            is_stored = self._buckets.add(fingerprint)
        except (OverflowError, TypeError, ValueError):
            raise _no_fingerprint(fingerprint) from None
        self._size += is_stored
        return is_stored

    def remove(self, fingerprint: int) -> bool:
        """Remove one copy of `fingerprint`; return whether there was one."""
        try:
            is_removed = self._buckets.remove(fingerprint)
        except (OverflowError, TypeError, ValueError):
            raise _no_fingerprint(fingerprint) from None
        self._size -= is_removed
        return is_removed

    def add_many(self, fingerprints: NDArray[np.uint64]) -> NDArray[np.bool_]:
        """Store fingerprints as if by `add`, one after another.

        They are uint64 of shape (n,). Returns an array of the same shape, False for refused ones.
        O(n) for each table, with up to some 20 bytes a fingerprint of temporary memory. Every call
        visits all buckets: one call with ten million is three times as fast as a hundred calls.
        """
        fingerprints = hashes("fingerprints", fingerprints)
        if len(fingerprints) < _FEW:
            return np.array([self.add(each) for each in fingerprints.tolist()], np.bool_)
        stored = np.ones(len(fingerprints), np.bool_)
        if self._limit is None:
            self._load(fingerprints)
            return stored
        # Fingerprints without a bucket that could overflow are stored in any order.
        contended = self._contended(fingerprints, self._limit)
        self._load(fingerprints[~contended])
        stored[contended] = [self.add(each) for each in fingerprints[contended].tolist()]
        return stored

    def _contended(self, fingerprints: NDArray[np.uint64], most: int) -> NDArray[np.bool_]:
        """Return which of `fingerprints` have a bucket that all of them would overfill."""
        contended = np.zeros(len(fingerprints), np.bool_)
        for table, mask in enumerate(self._masks):
            places = places_of(fingerprints, mask, self._count)
            lengths = self._buckets.lengths(table)
            lengths += np.bincount(places, minlength=self._count)
            contended |= (lengths > most)[places]
        return contended

    def _load(self, fingerprints: NDArray[np.uint64]) -> None:
        self._buckets.load(fingerprints)
        self._size += len(fingerprints)


def _no_fingerprint(value: object) -> ConfigurationError:
    return ConfigurationError(f"a fingerprint is a whole number of 64 bits, not {value!r}")
