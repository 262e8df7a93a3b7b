"""The map from values to rows: `scrapy_neardup.stores.embedded.rowmap`, compiled.

Each function has its twin there, which says what its arguments and its result are.
"""

from cpython cimport array

from libc.stdint cimport uint64_t

cdef enum:
    SHARD_BITS = 8
cdef uint64_t MULTIPLIER = 0x9E3779B97F4A7C15u
cdef double MAX_LOAD = 0.75


cdef inline uint64_t home_of(uint64_t hashed, Py_ssize_t size) noexcept nogil:
    return ((hashed >> 24 & 0xFFFFFFFFu) * <uint64_t>size) >> 32


def rows_of(array.array column, list shards, uint64_t value):
    cdef uint64_t hashed = value * MULTIPLIER
    cdef array.array taken = shards[hashed >> (64 - SHARD_BITS)]
    cdef const unsigned int* slots = taken.data.as_uints
    cdef const unsigned long long* values = column.data.as_ulonglongs
    cdef Py_ssize_t size = len(taken), slot = home_of(hashed, size)
    found = []
    while slots[slot]:
        if values[slots[slot] - 1] == value:
            found.append(slots[slot] - 1)
        slot += 1
        if slot == size:
            slot = 0
    return found


def put(array.array column, list shards, list counts, Py_ssize_t row, int most):
    cdef const unsigned long long* values = column.data.as_ulonglongs
    cdef uint64_t value = values[row], hashed = value * MULTIPLIER
    cdef Py_ssize_t shard = hashed >> (64 - SHARD_BITS)
    cdef array.array taken = shards[shard]
    cdef unsigned int* slots = taken.data.as_uints
    cdef Py_ssize_t size = len(taken), slot = home_of(hashed, size), count = counts[shard]
    cdef int alike = 0
    if count + 1 > MAX_LOAD * size:
        return None
    while slots[slot]:
        if most and values[slots[slot] - 1] == value:
            alike += 1
            if alike == most:
                return False
        slot += 1
        if slot == size:
            slot = 0
    slots[slot] = row + 1
    counts[shard] = count + 1
    return True


def take_out(array.array column, list shards, list counts, Py_ssize_t row):
    cdef const unsigned long long* values = column.data.as_ulonglongs
    cdef uint64_t hashed = values[row] * MULTIPLIER
    cdef Py_ssize_t shard = hashed >> (64 - SHARD_BITS), slot, home
    cdef array.array taken = shards[shard]
    cdef unsigned int* slots = taken.data.as_uints
    cdef Py_ssize_t size = len(taken), hole = home_of(hashed, size)
    while slots[hole] != <unsigned int>(row + 1):
        if not slots[hole]:
            return False
        hole = (hole + 1) % size
    slot = (hole + 1) % size
    while slots[slot]:
        home = home_of(values[slots[slot] - 1] * MULTIPLIER, size)
        # It may move back to the hole unless its home lies behind that.
        if (slot - home + size) % size >= (slot - hole + size) % size:
            slots[hole] = slots[slot]
            hole = slot
        slot = (slot + 1) % size
    slots[hole] = 0
    counts[shard] -= 1
    return True
