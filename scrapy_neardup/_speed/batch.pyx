"""A table of the batch search: `scrapy_neardup.tables.batchsearch`, compiled.

A hash join in partitions (Manegold, Boncz & Kersten, "Optimizing main-memory join on modern
hardware", IEEE TKDE 14, 2002). What costs time is memory: the tables of a million queries
don't fit into the cache next to the processor, and fingerprints look them up all over the
place. So the fingerprints of a part are first brought together by the leading bits of their
keys. Those of a partition then look into the same few kilobytes.

A bucket is compared by 32 bits of each query, a *window* with as few of the table's leading
bits as may be: these are equal anyway. Where windows differ in more than k bits, fingerprints
do, and nearly all do. The rest is compared in full.
"""

from libc.stdint cimport int64_t, uint8_t, uint32_t, uint64_t

import numpy as np

cdef extern from "near.h" nogil:
    const int AT_ONCE
    Py_ssize_t next_near(
        const uint64_t* entries, Py_ssize_t i, Py_ssize_t n,
        const uint32_t* ends, const uint32_t* windows, int bits, int k,
    )

MULTIPLIER = 0x9E3779B97F4A7C15
"""As in the pure table, for the same reasons."""
cdef int PARTITION_BITS = 10
"""Bits of a partition: the last cache lines of a thousand partitions fit into the cache."""
cdef int MAX_BITS = 22
cdef Py_ssize_t MAX_SCANNED = 1 << 20
"""Maximum number of fingerprints of a part: its positions, and the bits of a bucket within its
partition, fit into half an entry."""


cdef class QueryTable:
    """See `scrapy_neardup.tables.batchsearch.QueryTable`."""

    scanned_at_once = 1 << 19
    lookup_ns, compare_ns, build_ns = 9.0, 0.2, 20.0

    cdef const uint64_t[::1] queries
    cdef const uint64_t[::1] earlier
    cdef uint64_t mask, multiplier
    cdef int k, bits, window
    cdef uint32_t[::1] ends, windows, places

    def __init__(self, queries, uint64_t mask, earlier, int max_distance):
        self.queries = queries
        self.mask = mask
        self.multiplier = MULTIPLIER << (64 - int(mask).bit_length()) & 0xFFFFFFFFFFFFFFFF
        self.earlier = np.array(earlier, np.uint64)
        self.k = max_distance
        self.bits = self.key_bits(len(queries), int(mask).bit_count())
        # The lowest of the 32 neighbouring bits with the fewest bits of the mask.
        self.window = min(range(33), key=lambda low: (mask >> low & 0xFFFFFFFF).bit_count())
        self.ends = np.zeros((1 << self.bits) + 2, np.uint32)
        self.windows = np.zeros(len(queries) + AT_ONCE, np.uint32)
        self.places = np.zeros(len(queries), np.uint32)
        with nogil:
            self.fill()

    @staticmethod
    def key_bits(count, prefix_bits):
        """Return the bits of a key: eight queries share a bucket, or their prefix."""
        return max(2, min(count.bit_length() - 4, prefix_bits + 2, MAX_BITS))

    cdef inline uint32_t key(self, uint64_t fingerprint) noexcept nogil:
        return <uint32_t>((fingerprint & self.mask) * self.multiplier >> (64 - self.bits))

    cdef void fill(self) noexcept nogil:
        """Sort the queries by counting; bucket b is left at ends[b] to ends[b + 1]."""
        cdef Py_ssize_t count = self.queries.shape[0], i
        cdef uint32_t place, b
        for i in range(count):
            self.ends[self.key(self.queries[i]) + 2] += 1
        for i in range(2, self.ends.shape[0]):
            self.ends[i] += self.ends[i - 1]
        for i in range(count):
            b = self.key(self.queries[i]) + 1
            place = self.ends[b]
            self.ends[b] = place + 1
            self.windows[place] = <uint32_t>(self.queries[i] >> self.window)
            self.places[place] = <uint32_t>i

    def near(self, const uint64_t[::1] fingerprints, Py_ssize_t at_once):
        """Yield (positions, places, distances); see the pure table."""
        if fingerprints.shape[0] > MAX_SCANNED:
            raise ValueError(f"at most {MAX_SCANNED} fingerprints are scanned at once")
        scan = Scan(self, fingerprints)
        while True:
            positions = np.empty(at_once, np.intp)
            places, distances = np.empty(at_once, np.uint32), np.empty(at_once, np.uint8)
            count = scan.more(positions, places, distances)
            if not count:
                return
            yield positions[:count], places[:count], distances[:count]


cdef class Scan:
    """A part of the fingerprints, in partitions, and the place up to which it was compared."""

    cdef QueryTable table
    cdef const uint64_t[::1] fingerprints
    cdef uint64_t[::1] entries
    cdef Py_ssize_t[::1] stops
    cdef int bits
    """Bits of a bucket within its partition."""
    cdef Py_ssize_t partition, entry, at

    def __init__(self, QueryTable table, const uint64_t[::1] fingerprints):
        self.table = table
        self.fingerprints = fingerprints
        partition_bits = min(table.bits - 1, PARTITION_BITS)
        self.bits = table.bits - partition_bits
        self.entries = np.empty(len(fingerprints), np.uint64)
        self.stops = np.zeros((1 << partition_bits) + 1, np.intp)
        self.partition = self.entry = 0
        self.at = -1
        with nogil:
            self.divide(table)

    cdef void divide(self, QueryTable table) noexcept nogil:
        """Sort the entries by partition; partition p is left to end at stops[p]."""
        cdef Py_ssize_t count = self.fingerprints.shape[0], i, p
        cdef uint64_t fingerprint, key
        for i in range(count):
            self.stops[(table.key(self.fingerprints[i]) >> self.bits) + 1] += 1
        for p in range(1, self.stops.shape[0]):
            self.stops[p] += self.stops[p - 1]
        for i in range(count):
            fingerprint = self.fingerprints[i]
            key = table.key(fingerprint)
            p = key >> self.bits
            self.entries[self.stops[p]] = (
                <uint64_t><uint32_t>(fingerprint >> table.window) << 32
                | <uint32_t>(key << (32 - self.bits)) | <uint64_t>i
            )
            self.stops[p] += 1

    cdef Py_ssize_t more(
        self, Py_ssize_t[::1] positions, uint32_t[::1] places, uint8_t[::1] distances
    ) noexcept:
        """Fill the columns with the next pairs; return their number."""
        cdef QueryTable table = self.table
        cdef const uint32_t* ends
        cdef Py_ssize_t count = 0, position
        cdef uint32_t low, bucket
        cdef int distance
        if not self.entries.shape[0] or not table.queries.shape[0]:
            return 0
        with nogil:
            while self.partition < self.stops.shape[0] - 1:
                ends = &table.ends[self.partition << self.bits]
                while True:
                    if self.at < 0:
                        self.entry = next_near(
                            &self.entries[0], self.entry, self.stops[self.partition], ends,
                            &table.windows[0], self.bits, table.k,
                        )
                    if self.entry == self.stops[self.partition]:
                        break
                    low = <uint32_t>self.entries[self.entry]
                    bucket = low >> (32 - self.bits)
                    position = low << self.bits >> self.bits
                    if self.at < 0:
                        self.at = ends[bucket]
                    while self.at < ends[bucket + 1]:
                        if count == positions.shape[0]:
                            return count
                        distance = self.first_found(
                            self.fingerprints[position] ^ table.queries[table.places[self.at]]
                        )
                        if distance >= 0:
                            positions[count] = position
                            places[count] = table.places[self.at]
                            distances[count] = distance
                            count += 1
                        self.at += 1
                    self.at = -1
                    self.entry += 1
                self.partition += 1
        return count

    cdef int first_found(self, uint64_t differing) noexcept nogil:
        """Return the distance, or -1 if it is too large or another table reports the pair."""
        cdef Py_ssize_t number
        cdef int distance = 0
        cdef uint64_t left = differing
        while left:
            if distance == self.table.k:
                return -1
            left &= left - 1
            distance += 1
        if differing & self.table.mask:
            return -1
        for number in range(self.table.earlier.shape[0]):
            if not differing & self.table.earlier[number]:
                return -1
        return distance
