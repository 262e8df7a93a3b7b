# Shingles in their order, each with its rank among equal ones.

from libc.stdint cimport uint32_t
from libc.stdlib cimport calloc, free, malloc, qsort


cdef struct Pair:
    uint64_t hash
    uint16_t rank


cdef enum:
    FEW = 24  # what insertion sorts fastest


cdef Pair* pairs_of(Py_ssize_t count) except NULL:
    """Return room for as many pairs, twice: `sort_distinct` takes turns between both halves."""
    cdef Pair* pairs = <Pair*>malloc((2 * count + 1) * sizeof(Pair))
    if pairs == NULL:
        raise MemoryError
    return pairs


cdef inline bint less(const Pair* a, const Pair* b) noexcept nogil:
    return a.hash < b.hash or (a.hash == b.hash and a.rank < b.rank)


cdef int compare(const void* a, const void* b) noexcept nogil:
    return less(<Pair*>b, <Pair*>a) - less(<Pair*>a, <Pair*>b)


cdef Py_ssize_t sort_distinct(Pair* pairs, Py_ssize_t count) except -1:
    """Order pairs by hash and rank, and keep the first of each hash; return their number.

    Behind the pairs there is room for as many. They are dealt by their leading bits, which are
    uniform unless somebody made them otherwise: what isn't dealt apart is sorted by comparing.
    """
    cdef int bits = 4, shift
    cdef Py_ssize_t i, j, start, kept = 0, buckets
    cdef Pair* dealt = pairs + count
    cdef Pair pair
    cdef uint32_t* ends
    while bits < 16 and <Py_ssize_t>1 << bits < 2 * count:
        bits += 1
    shift, buckets = 64 - bits, <Py_ssize_t>1 << bits
    ends = <uint32_t*>calloc(buckets + 1, sizeof(uint32_t))
    if ends == NULL:
        raise MemoryError
    for i in range(count):
        ends[(pairs[i].hash >> shift) + 1] += 1
    for i in range(buckets):
        ends[i + 1] += ends[i]
    for i in range(count):
        j = pairs[i].hash >> shift
        dealt[ends[j]] = pairs[i]
        ends[j] += 1
    start = 0
    for i in range(buckets):
        if ends[i] - start > FEW:
            qsort(dealt + start, ends[i] - start, sizeof(Pair), compare)
        start = ends[i]
    free(ends)
    # Now nothing is more than `FEW` places from where it belongs.
    for i in range(1, count):
        pair = dealt[i]
        j = i
        while j and less(&pair, &dealt[j - 1]):
            dealt[j] = dealt[j - 1]
            j -= 1
        dealt[j] = pair
    for i in range(count):
        if not i or dealt[i].hash != dealt[i - 1].hash:
            pairs[kept] = dealt[i]
            kept += 1
    return kept
