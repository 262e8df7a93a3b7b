"""The embedded index: every stored fingerprint within k bits of a given one.

Rule of this room: exact for every k, design, order and distribution of the data. The
design and the expected size change time and memory, never an answer.

Each table of the design (`scrapy_neardup.tables.design`) is a hash table keyed by the
table's leading bits. A bucket holds, unsorted and packed, the fingerprints that hash
to it. A query joins the bytes of its buckets and compares them all in three numpy
calls: below some ten thousand candidates that beats whatever looks at each of them.

A bucket is a `bytes` object, replaced by a longer one when it grows: half the header
of a `bytearray`, no slack, one memory access less to read, ignored by the garbage
collector; and as the buckets then grow in small steps one fits where another was,
which saves a quarter of the process's memory at ten million. Only where copying would
show, in the few buckets that clustered data makes long, is it a `bytearray`. Buckets
that were never filled are all the same empty `bytes`.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from sys import getsizeof

import numpy as np
from numpy.typing import NDArray

from scrapy_neardup.arguments import filled, hashes, whole_number
from scrapy_neardup.errors import ConfigurationError
from scrapy_neardup.kinds import MAX_DISTANCE
from scrapy_neardup.tables.design import MAX_PROBES, TableDesign
from scrapy_neardup.tables.permutations import masks_within

_WIDTH = 8
"""Bytes of a fingerprint in a bucket, in the machine's byte order."""

_COPIED = 4096
"""Maximum bytes of a bucket that is copied to grow: some 0.1 µs."""

_FEW = 4096
"""Maximum number of fingerprints that are stored faster one by one than by visiting all
buckets."""

_SLICE = 1 << 21
"""Number of fingerprints that a bulk load sorts at once, which bounds its transient memory."""

_BATCH = 1 << 16
"""Number of candidates that `HammingIndex.query_many` compares at once: they stay in the cache."""

Bucket = bytes | bytearray


class HammingIndex:
    """A multiset of 64-bit fingerprints, searched by Hamming distance.

    Parameters
    ----------
    max_distance
        k, the largest distance that a query reports: 0 to 8.
    expected
        How many fingerprints to size it for. More of them are slower, not wrong.
    design
        The tables to keep; None for `TableDesign.online`.
    max_bucket
        How many fingerprints a bucket may hold (None: any number); `add` refuses one
        that has a full bucket in any table.

    Raises
    ------
    ConfigurationError
        k or `expected` is out of range, or the design is for a smaller k, for other than
        64 bits, or probes too many prefixes. Of each method: a fingerprint isn't one.

    Notes
    -----
    `query` and `add` cost O(b) for b fingerprints in the buckets looked up, that is
    O(n / 65,537) of n uniform ones in each. One thread at a time may use an index.

    Examples
    --------
    >>> index = HammingIndex(max_distance=3)
    >>> index.add(0b1111)
    True
    >>> index.query(0b1001)
    [(15, 2)]
    """

    __slots__ = (
        "_count",
        "_key",
        "_limit",
        "_lookups",
        "_size",
        "_tables",
        "design",
        "max_distance",
    )

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
        self._limit = None if max_bucket is None else max_bucket * _WIDTH
        self._count = design.bucket_count(expected)
        self._tables: list[tuple[list[Bucket], int]] = []
        self._lookups: list[tuple[list[Bucket], int, int]] = []
        for table in design.tables:
            buckets: list[Bucket] = [b""] * self._count
            self._tables.append((buckets, table.prefix_mask))
            self._lookups += [
                (buckets, table.prefix_mask, flip)
                for flip in masks_within(table.prefix_mask, table.radius)
            ]
        # An operand that is kept: to make an array takes longer than to fill one.
        self._key = np.zeros((), np.uint64)

    def __len__(self) -> int:
        return self._size

    @property
    def nbytes(self) -> int:
        """Bytes of memory held. Costs O(number of buckets)."""
        return sum(
            getsizeof(buckets) + sum(getsizeof(bucket) for bucket in buckets if bucket)
            for buckets, _ in self._tables
        )

    def query(self, fingerprint: int) -> list[tuple[int, int]]:
        """Return every stored fingerprint within k of `fingerprint`, and how far it is.

        Returns
        -------
        list of (fingerprint, distance)
            Each fingerprint once, the nearest first, the smaller first among equals.
        """
        key = filled(self._key, fingerprint)
        count = self._count
        found = b"".join(
            [buckets[(fingerprint & mask ^ flip) % count] for buckets, mask, flip in self._lookups]
        )
        if not found:
            return []
        candidates = np.frombuffer(found, np.uint64)
        distances = np.bitwise_count(candidates ^ key)
        # Most pages are new: one look at the smallest distance ends it.
        if distances.item(distances.argmin()) > self.max_distance:
            return []
        near = (distances <= self.max_distance).nonzero()[0].tolist()
        pairs = {(distances.item(place), candidates.item(place)) for place in near}
        return [(match, distance) for distance, match in sorted(pairs)]

    def add(self, fingerprint: int) -> bool:
        """Store one more copy of `fingerprint`.

        Returns
        -------
        bool
            False if one of its buckets is full; nothing is stored then.
        """
        key = filled(self._key, fingerprint)
        packed = key.tobytes()
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
        self._size += 1
        return True

    def remove(self, fingerprint: int) -> bool:
        """Remove one copy of `fingerprint`; return whether there was one."""
        key = filled(self._key, fingerprint)
        for buckets, mask in self._tables:
            place = (fingerprint & mask) % self._count
            bucket = buckets[place]
            copies = np.flatnonzero(np.frombuffer(bucket, np.uint64) == key)
            if not len(copies):
                return False
            start = copies.item(0) * _WIDTH
            buckets[place] = bucket[:start] + bucket[start + _WIDTH :]
        self._size -= 1
        return True

    def add_many(self, fingerprints: NDArray[np.uint64]) -> NDArray[np.bool_]:
        """Store fingerprints as if by `add`, one after another.

        Parameters
        ----------
        fingerprints
            Shape (n,), uint64.

        Returns
        -------
        stored
            Shape (n,): False where a fingerprint was refused.

        Notes
        -----
        Costs O(n) for each table, and up to some 20 bytes a fingerprint meanwhile. Every
        call visits all buckets: ten million are stored three times as fast at once as in
        a hundred calls.
        """
        fingerprints = hashes("fingerprints", fingerprints)
        if len(fingerprints) < _FEW:
            return np.array([self.add(each) for each in fingerprints.tolist()], np.bool_)
        stored = np.ones(len(fingerprints), np.bool_)
        if self._limit is None:
            self._load(fingerprints)
            return stored
        # What shares no bucket that could overflow is stored whatever comes first.
        contended = self._contended(fingerprints, self._limit // _WIDTH)
        self._load(fingerprints[~contended])
        stored[contended] = [self.add(each) for each in fingerprints[contended].tolist()]
        return stored

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
        queries, matches, distances
            Shape (m,) each: the position in `fingerprints`, what it matched, and how
            far; sorted by query, then as in `query`.
        """
        fingerprints = hashes("fingerprints", fingerprints)
        parts = [
            part
            for buckets, mask, flip in self._lookups
            for part in self._matches(fingerprints, buckets, mask, flip)
        ]
        queries = np.concatenate([part[0] for part in parts] or [np.empty(0, np.intp)])
        matches = np.concatenate([part[1] for part in parts] or [np.empty(0, np.uint64)])
        distances = np.concatenate([part[2] for part in parts] or [np.empty(0, np.uint8)])
        order = np.lexsort((matches, distances, queries))
        queries, matches, distances = queries[order], matches[order], distances[order]
        # Several tables, or copies, report the same match: neighbours now.
        first = np.ones(len(order), np.bool_)
        first[1:] = (queries[1:] != queries[:-1]) | (matches[1:] != matches[:-1])
        return queries[first], matches[first], distances[first]

    def _places(self, fingerprints: NDArray[np.uint64], mask: int) -> NDArray[np.uint32]:
        """Return each one's bucket in the table that `mask` leads; shape (n,)."""
        places = np.empty(len(fingerprints), np.uint32)
        for start in range(0, len(places), _SLICE):
            part = slice(start, start + _SLICE)
            places[part] = (fingerprints[part] & np.uint64(mask)) % np.uint64(self._count)
        return places

    def _contended(self, fingerprints: NDArray[np.uint64], most: int) -> NDArray[np.bool_]:
        """Return which of `fingerprints` have a bucket that all of them would overfill."""
        contended = np.zeros(len(fingerprints), np.bool_)
        for buckets, mask in self._tables:
            places = self._places(fingerprints, mask)
            lengths = np.fromiter(map(len, buckets), np.intp, self._count) // _WIDTH
            lengths += np.bincount(places, minlength=self._count)
            contended |= (lengths > most)[places]
        return contended

    def _load(self, fingerprints: NDArray[np.uint64]) -> None:
        # One range of buckets after the other, so that each bucket grows once; a range
        # of less than 2^16 of them, as numpy sorts 16-bit keys in linear time.
        ranges = max(2, len(fingerprints) // _SLICE)
        edges = [self._count * place // ranges for place in range(ranges + 1)]
        for buckets, mask in self._tables:
            places = self._places(fingerprints, mask)
            for low, high in pairwise(edges):
                inside = np.flatnonzero((places >= low) & (places < high))
                if not len(inside):
                    continue
                keys = (places[inside] - low).astype(np.uint16)
                order = np.argsort(keys, kind="stable")
                keys = keys[order]
                starts = np.flatnonzero(keys[1:] != keys[:-1]) + 1
                packed = fingerprints[inside[order]].tobytes()
                bounds = [0, *(starts * _WIDTH).tolist(), len(packed)]
                filled = [int(keys[0]), *keys[starts].tolist()]
                for key, start, stop in zip(filled, bounds, bounds[1:], strict=False):
                    bucket = buckets[low + key]
                    bucket += packed[start:stop]
                    buckets[low + key] = bucket
        self._size += len(fingerprints)

    def _matches(
        self, fingerprints: NDArray[np.uint64], buckets: list[Bucket], mask: int, flip: int
    ) -> Iterator[tuple[NDArray[np.intp], NDArray[np.uint64], NDArray[np.uint8]]]:
        """Yield what `query_many` returns, unsorted, of one look-up, batch by batch."""
        places = (fingerprints & np.uint64(mask) ^ np.uint64(flip)) % np.uint64(self._count)
        found = [buckets[place] for place in places.tolist()]
        lengths = np.fromiter(map(len, found), np.intp, len(found)) // _WIDTH
        ends = np.cumsum(lengths)
        start = 0
        while start < len(found):
            before = ends[start] - lengths[start]
            stop = max(start + 1, int(np.searchsorted(ends, before + _BATCH, "right")))
            candidates = np.frombuffer(b"".join(found[start:stop]), np.uint64)
            wanted = np.repeat(fingerprints[start:stop], lengths[start:stop])
            distances = np.bitwise_count(candidates ^ wanted)
            near = np.flatnonzero(distances <= self.max_distance)
            yield np.searchsorted(ends, near + before, "right"), candidates[near], distances[near]
            start = stop

    def _check(self) -> None:
        """Raise AssertionError unless every table holds the same fingerprints in their places."""
        contents = []
        for buckets, mask in self._tables:
            held = np.frombuffer(b"".join(buckets), np.uint64)
            lengths = np.fromiter(map(len, buckets), np.intp, self._count) // _WIDTH
            if np.any(self._places(held, mask) != np.repeat(np.arange(self._count), lengths)):
                raise AssertionError("a bucket holds what belongs elsewhere")
            contents.append(np.sort(held))
        if any(len(content) != self._size for content in contents):
            raise AssertionError(f"{self._size} stored, {[len(held) for held in contents]} held")
        if any(np.any(content != contents[0]) for content in contents):
            raise AssertionError("the tables differ")
