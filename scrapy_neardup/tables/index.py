"""The embedded index: every stored fingerprint within k bits of a given one.

It is exact for every k, design, order and distribution of the data. The design and the expected
size change time and memory, never an answer.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from scrapy_neardup.errors import ConfigurationError
from scrapy_neardup.settings.arguments import hashes, whole_number
from scrapy_neardup.settings.validation import MAX_DISTANCE
from scrapy_neardup.tables.buckets import Buckets, places_of
from scrapy_neardup.tables.design import MAX_PROBES, TableDesign, masks_within

_FEW = 4096
"""Number of fingerprints up to which storing them one by one is faster than visiting all
buckets."""


class HammingIndex:
    """A multiset of 64-bit fingerprints, searched by Hamming distance.

    A query reports fingerprints within `max_distance`, k, 0 to 10 bits. The index is sized for
    `expected` fingerprints; more make it slower, not wrong. `design` has the tables; None stands
    for `TableDesign.online`. A bucket holds at most `max_bucket` fingerprints (None: no limit);
    `add` refuses one that has a full bucket in any table.

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
        # What shares no bucket that could overflow is stored whatever comes first.
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
