"""The embedded index: all stored fingerprints within k bits of a given one.

Rule of this room: exact for every k, design and distribution of the data; what a
design or a size hint changes is time and memory. Nothing here does I/O.

Every table of the design (see `scrapy_neardup.tables.design`) is an array of buckets,
a bucket holds, unsorted, the 8-byte fingerprints that share the table's leading bits.
A query joins its buckets' bytes and compares all of them in three numpy calls: below
some thousand candidates that is faster than anything that looks at each.

Buckets are `bytearray`: they grow by an eighth, take 57 bytes when empty, and the
garbage collector doesn't visit them. A bucket that was never filled is one shared
empty one, so an index of a few pages costs next to nothing.
"""

from __future__ import annotations

from itertools import combinations
from sys import byteorder, getsizeof

import numpy as np
from numpy.typing import NDArray

from scrapy_neardup.tables.design import TableDesign
from scrapy_neardup.tables.permutations import Gather

_EMPTY = bytearray()
"""Every bucket that holds nothing; it is replaced before anything is stored."""
_WIDTH = 8
"""Bytes of a fingerprint in a bucket: native uint64."""


class HammingIndex:
    """A multiset of 64-bit fingerprints, searched by Hamming distance.

    Parameters
    ----------
    max_distance
        k, the largest distance that a query reports; 0 to 8.
    expected
        How many fingerprints it should be sized for. More is slower, not wrong.
    design
        Tables to use in place of those that `TableDesign.online` chooses for k.
    max_bucket
        `add` refuses a fingerprint one of whose buckets already holds so many
        (None: no limit).

    Notes
    -----
    Not safe for use from several threads at once.
    """

    __slots__ = (
        "_buckets",
        "_flips",
        "_key",
        "_prefixes",
        "_size",
        "design",
        "max_bucket",
        "max_distance",
    )

    def __init__(
        self,
        max_distance: int = 3,
        expected: int = 1_000_000,
        design: TableDesign | None = None,
        max_bucket: int | None = None,
    ) -> None:
        if design is None:
            design = TableDesign.online(max_distance)
        self.design = design
        self.max_distance = max_distance
        self.max_bucket = max_bucket
        self._size = 0
        self._key = np.zeros((), np.uint64)
        self._prefixes: list[tuple[Gather, int]] = []
        self._flips: list[list[int]] = []
        first = 0
        for table in design.tables:
            length = table.bucket_bits(expected)
            self._prefixes.append((table.permutation.prefix(length), first))
            self._flips.append(_within(length, table.radius))
            first += 1 << length
        self._buckets: list[bytearray] = [_EMPTY] * first

    def _homes(self, fingerprint: int) -> list[int]:
        return [first + prefix.apply(fingerprint) for prefix, first in self._prefixes]

    def _probes(self, fingerprint: int) -> list[int]:
        return [
            first + (prefix.apply(fingerprint) ^ flip)
            for (prefix, first), flips in zip(self._prefixes, self._flips, strict=True)
            for flip in flips
        ]

    def __len__(self) -> int:
        return self._size

    def __contains__(self, fingerprint: int) -> bool:
        return _find(self._buckets[self._homes(fingerprint)[0]], _pack(fingerprint)) >= 0

    def add(self, fingerprint: int) -> bool:
        """Store one more copy of `fingerprint`.

        Returns
        -------
        bool
            False if a bucket is full; nothing was stored then.
        """
        packed = _pack(fingerprint)
        homes = self._homes(fingerprint)
        buckets = self._buckets
        if self.max_bucket is not None and any(
            len(buckets[home]) >= self.max_bucket * _WIDTH for home in homes
        ):
            return False
        for home in homes:
            if bucket := buckets[home]:
                bucket += packed
            else:
                buckets[home] = bytearray(packed)
        self._size += 1
        return True

    def add_many(self, fingerprints: NDArray[np.uint64]) -> NDArray[np.bool_]:
        """Store fingerprints as `add` would, one after another.

        Parameters
        ----------
        fingerprints
            Shape (n,), uint64.

        Returns
        -------
        stored
            Shape (n,): False for each that was refused, as a bucket was full.
        """
        return np.fromiter(map(self.add, fingerprints.tolist()), np.bool_, len(fingerprints))

    def remove(self, fingerprint: int) -> bool:
        """Remove one copy of `fingerprint`; return whether there was one.

        Costs O(size of its buckets).
        """
        packed = _pack(fingerprint)
        buckets = self._buckets
        for home in self._homes(fingerprint):
            bucket = buckets[home]
            place = _find(bucket, packed)
            if place < 0:
                return False
            bucket[place : place + _WIDTH] = bucket[-_WIDTH:]
            del bucket[-_WIDTH:]
            if not bucket:
                buckets[home] = _EMPTY
        self._size -= 1
        return True

    def query(self, fingerprint: int) -> list[tuple[int, int]]:
        """Return every stored fingerprint within k of `fingerprint`, and its distance.

        Returns
        -------
        list of (fingerprint, distance)
            Each fingerprint once, the nearest first, then by value.
        """
        found = b"".join(map(self._buckets.__getitem__, self._probes(fingerprint)))
        if not found:
            return []
        self._key[()] = fingerprint
        candidates = np.frombuffer(found, np.uint64)
        distances = np.bitwise_count(candidates ^ self._key)
        if distances[distances.argmin()] > self.max_distance:
            return []
        near = np.flatnonzero(distances <= self.max_distance)
        pairs = set(zip(candidates[near].tolist(), distances[near].tolist(), strict=True))
        return sorted(pairs, key=lambda pair: (pair[1], pair[0]))

    def query_many(
        self, fingerprints: NDArray[np.uint64]
    ) -> tuple[NDArray[np.intp], NDArray[np.uint64], NDArray[np.uint8]]:
        """Return every stored fingerprint within k of any of `fingerprints`.

        Parameters
        ----------
        fingerprints
            Shape (n,), uint64.

        Returns
        -------
        positions, matches, distances
            Shape (m,) each: which of the queries, what it matched, how far; sorted by
            position, then as `query` sorts.
        """
        rows = [
            (position, match, distance)
            for position, fingerprint in enumerate(fingerprints.tolist())
            for match, distance in self.query(fingerprint)
        ]
        positions, matches, distances = zip(*rows, strict=True) if rows else ((), (), ())
        return (
            np.array(positions, np.intp),
            np.array(matches, np.uint64),
            np.array(distances, np.uint8),
        )

    @property
    def nbytes(self) -> int:
        """Bytes of memory held. Costs O(number of buckets)."""
        filled = (getsizeof(bucket) for bucket in self._buckets if bucket)
        return sum(filled) + getsizeof(self._buckets)


def _pack(fingerprint: int) -> bytes:
    return fingerprint.to_bytes(_WIDTH, byteorder)


def _find(bucket: bytearray, packed: bytes) -> int:
    """Return the byte offset of a fingerprint in a bucket, or -1."""
    place = bucket.find(packed)
    while place > 0 and place % _WIDTH:
        place = bucket.find(packed, place + 1)
    return place


def _within(bits: int, radius: int) -> list[int]:
    """Return all masks of up to `radius` of `bits` bits, the empty one first."""
    return [
        sum(1 << bit for bit in chosen)
        for flipped in range(radius + 1)
        for chosen in combinations(range(bits), flipped)
    ]
