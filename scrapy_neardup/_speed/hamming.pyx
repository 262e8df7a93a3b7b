"""The buckets of the embedded index: `scrapy_neardup.tables.index`, compiled.

A bucket is a piece of memory that grows by an eighth. At ten million a query reads four of them,
1.2 kB each, wherever they lie: it asks for all of them before it looks at the first.
"""

from libc.stdint cimport uint32_t, uint64_t
from libc.stdlib cimport calloc, free, realloc
from libc.string cimport memmove

import numpy as np

cdef extern from "near.h" nogil:
    bint any_near(const uint64_t* numbers, Py_ssize_t n, uint64_t key, int k)
    void prefetch(const void* address)

cdef struct Bucket:
    uint32_t size
    uint32_t room
    uint64_t[1] items  # as many as fit

cdef struct Lookup:
    Py_ssize_t table  # the first of its buckets
    uint64_t mask, flip

cdef enum:
    AHEAD = 16  # buckets that are prefetched together
cdef Py_ssize_t LINES = 6, LINE = 64
"""Prefetched cache lines of a bucket, and their bytes; the processor itself fetches more."""


cdef class Buckets:
    """See `scrapy_neardup.tables.index.Buckets`."""

    cdef Bucket** buckets
    """NULL if none was filled."""
    cdef Lookup* lookups
    cdef uint64_t[::1] masks
    cdef Py_ssize_t tables, probes
    cdef uint64_t count
    cdef uint32_t limit
    cdef int k
    cdef Bucket** ahead[AHEAD]

    def __dealloc__(self):
        cdef Py_ssize_t place
        if self.buckets is not NULL:
            for place in range(self.tables * self.count):
                free(self.buckets[place])
        free(self.buckets)
        free(self.lookups)

    def __init__(self, masks, flips, Py_ssize_t count, int max_distance, limit=None):
        cdef Py_ssize_t place = 0, table
        self.masks = np.array(masks, np.uint64)
        self.tables, self.count, self.k = len(masks), count, max_distance
        self.limit = 0xFFFFFFFF if limit is None else min(limit, 0xFFFFFFFF)
        self.probes = sum(map(len, flips))
        self.buckets = <Bucket**>calloc(self.tables * count, sizeof(Bucket*))
        self.lookups = <Lookup*>calloc(self.probes, sizeof(Lookup))
        if self.buckets is NULL or self.lookups is NULL:
            raise MemoryError
        for table, (mask, flipped) in enumerate(zip(masks, flips, strict=True)):
            for flip in flipped:
                self.lookups[place] = Lookup(table * count, mask, flip)
                place += 1

    @property
    def nbytes(self):
        """Bytes of memory held, with 16 of the allocator for each bucket."""
        cdef Py_ssize_t place, total = self.tables * self.count * sizeof(Bucket*)
        for place in range(self.tables * self.count):
            if self.buckets[place] is not NULL:
                total += needed(self.buckets[place].room) + 16
        return total

    cdef inline Bucket** bucket(self, Py_ssize_t table, uint64_t fingerprint) noexcept nogil:
        return (
            self.buckets + table * self.count + (fingerprint & self.masks[table]) % self.count
        )

    cdef Py_ssize_t seek(self, uint64_t fingerprint, Py_ssize_t probe) noexcept nogil:
        """Return the first look-up from `probe` on whose bucket has a near fingerprint."""
        cdef Py_ssize_t each, line
        cdef Lookup* lookup
        cdef Bucket* bucket
        while probe < self.probes:
            if probe % AHEAD == 0:
                for each in range(probe, min(probe + AHEAD, self.probes)):
                    lookup = self.lookups + each
                    self.ahead[each % AHEAD] = (
                        self.buckets + lookup.table
                        + (fingerprint & lookup.mask ^ lookup.flip) % self.count
                    )
                    prefetch(self.ahead[each % AHEAD])
                for each in range(probe, min(probe + AHEAD, self.probes)):
                    for line in range(LINES):
                        prefetch(<char*>self.ahead[each % AHEAD][0] + LINE * line)
            bucket = self.ahead[probe % AHEAD][0]
            if bucket is not NULL and any_near(bucket.items, bucket.size, fingerprint, self.k):
                break
            probe += 1
        return probe

    def near(self, uint64_t fingerprint):
        """Return (fingerprint, distance) of all within k, the nearest first."""
        cdef Bucket* bucket
        cdef Py_ssize_t probe = self.seek(fingerprint, 0), place
        cdef int distance
        if probe == self.probes:
            return []
        found = set()
        while probe < self.probes:
            bucket = self.ahead[probe % AHEAD][0]
            for place in range(bucket.size):
                distance = apart(bucket.items[place] ^ fingerprint, self.k)
                if distance <= self.k:
                    found.add((distance, bucket.items[place]))
            probe = self.seek(fingerprint, probe + 1)
        return [(match, distance) for distance, match in sorted(found)]

    def add(self, uint64_t fingerprint):
        """Store one more copy; return False, and store nothing, if a bucket is full."""
        cdef Py_ssize_t table
        cdef Bucket* bucket
        for table in range(self.tables):
            bucket = self.bucket(table, fingerprint)[0]
            if bucket is not NULL and bucket.size >= self.limit:
                return False
        for table in range(self.tables):
            if not make_room(self.bucket(table, fingerprint), 1):
                raise MemoryError
        for table in range(self.tables):
            append(self.bucket(table, fingerprint)[0], fingerprint)
        return True

    def remove(self, uint64_t fingerprint):
        """Remove one copy; return whether there was one."""
        cdef Py_ssize_t table, place
        cdef Bucket* bucket
        for table in range(self.tables):
            bucket = self.bucket(table, fingerprint)[0]
            if bucket is NULL:
                return False
            for place in range(bucket.size):
                if bucket.items[place] == fingerprint:
                    break
            else:
                return False
            bucket.size -= 1
            memmove(
                bucket.items + place, bucket.items + place + 1,
                (bucket.size - place) * sizeof(uint64_t),
            )
        return True

    def load(self, const uint64_t[::1] fingerprints):
        """Store fingerprints, table by table, whatever the limit."""
        cdef Py_ssize_t table, at
        cdef bint room = True
        cdef uint32_t[::1] more
        for table in range(self.tables):
            more = np.zeros(self.count, np.uint32)
            with nogil:
                for at in range(fingerprints.shape[0]):
                    more[(fingerprints[at] & self.masks[table]) % self.count] += 1
                for at in range(<Py_ssize_t>self.count):
                    if more[at]:
                        room &= make_room(self.buckets + table * self.count + at, more[at])
            if not room:
                raise MemoryError
        with nogil:
            for table in range(self.tables):
                for at in range(fingerprints.shape[0]):
                    append(self.bucket(table, fingerprints[at])[0], fingerprints[at])

    def lengths(self, Py_ssize_t table):
        """Return how many fingerprints each bucket of a table holds; shape (count,), intp."""
        cdef Py_ssize_t at
        cdef Bucket* bucket
        lengths = np.zeros(self.count, np.intp)
        cdef Py_ssize_t[::1] filled = lengths
        for at in range(<Py_ssize_t>self.count):
            bucket = self.buckets[table * self.count + at]
            if bucket is not NULL:
                filled[at] = bucket.size
        return lengths


cdef inline Py_ssize_t needed(uint32_t room) noexcept nogil:
    """Return the bytes of a bucket with room for `room` items."""
    return sizeof(Bucket) + (<Py_ssize_t>room - 1) * sizeof(uint64_t)


cdef inline bint make_room(Bucket** bucket, uint32_t more) noexcept nogil:
    """Make room for `more` items; return whether there was memory."""
    cdef uint32_t size = 0 if bucket[0] is NULL else bucket[0].size
    cdef uint32_t room = size + more + (size >> 3)
    cdef Bucket* larger
    if bucket[0] is not NULL and size + more <= bucket[0].room:
        return True
    larger = <Bucket*>realloc(bucket[0], needed(room))
    if larger is NULL:
        return False
    larger.size, larger.room = size, room
    bucket[0] = larger
    return True


cdef inline void append(Bucket* bucket, uint64_t fingerprint) noexcept nogil:
    bucket.items[bucket.size] = fingerprint
    bucket.size += 1


cdef inline int apart(uint64_t differing, int k) noexcept nogil:
    """Return how many bits are set, or k + 1 if there are more."""
    cdef int distance = 0
    while differing and distance <= k:
        differing &= differing - 1
        distance += 1
    return distance
