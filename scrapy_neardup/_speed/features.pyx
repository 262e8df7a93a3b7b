# cython: language_level=3, boundscheck=False, wraparound=False, initializedcheck=False
# cython: cdivision=True
"""From token hashes to a page's fingerprint and sketch: `scrapy_neardup.fingerprints`, compiled.

Each function has its twin there, which says what its arguments and its result are.
"""

import numpy as np

from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_FromStringAndSize
from libc.stdint cimport UINT64_MAX, int64_t, uint8_t, uint16_t, uint32_t, uint64_t
from libc.string cimport memcpy, memset

include "sorting.pxi"
include "streams.pxi"

cdef enum:
    RANK_BITS = 53
cdef uint64_t RANK = (<uint64_t>1 << RANK_BITS) - 1
cdef uint64_t THROW = 0x9E3779B97F4A7C15u
cdef uint64_t STEP = 0xD6E8FEB86659FD93u


cdef inline uint64_t mix(uint64_t value) noexcept nogil:
    """The public mixer of `scrapy_neardup.fingerprints.hashing`."""
    value = (value ^ value >> 30) * <uint64_t>0xBF58476D1CE4E5B9u
    value = (value ^ value >> 27) * <uint64_t>0x94D049BB133111EBu
    return value ^ value >> 31


# ---- shingles --------------------------------------------------------------------------------

cdef inline uint64_t shingle_at(const uint64_t* tokens, Py_ssize_t size) noexcept nogil:
    cdef uint64_t value = tokens[0]
    cdef Py_ssize_t place
    for place in range(1, size):
        value *= STEP
        value ^= value >> 32
        value += tokens[place]
    return mix(value)


def hashes_of(const uint64_t[::1] tokens, Py_ssize_t size):
    cdef Py_ssize_t count = tokens.shape[0] - size + 1, i
    found = np.empty(count, np.uint64)
    cdef uint64_t[::1] hashes = found
    for i in range(count):
        hashes[i] = shingle_at(&tokens[i], size)
    return found


def distinct(const uint64_t[::1] hashes):
    cdef Py_ssize_t count = hashes.shape[0], i, kept = 0
    cdef uint64_t[::1] ordered
    cdef Pair* pairs
    if not count:
        return np.empty(0, np.uint64)
    pairs = pairs_of(count)
    try:
        for i in range(count):
            pairs[i].hash, pairs[i].owner = hashes[i], 0
        kept = sort_distinct(pairs, count)
        found = np.empty(kept, np.uint64)
        ordered = found
        for i in range(kept):
            ordered[i] = pairs[i].hash
    finally:
        free(pairs)
    return found


# ---- simhash ---------------------------------------------------------------------------------

def majority(const uint64_t[::1] hashes):
    """Return the bits that are set in more than half of the hashes."""
    return _majority(hashes)


cdef inline uint64_t add(uint64_t* low, uint64_t a, uint64_t b) noexcept nogil:
    """Add two bits to `low`, 64 times side by side; return what is carried."""
    cdef uint64_t half = a ^ b
    cdef uint64_t carry = (a & b) | (half & low[0])
    low[0] = half ^ low[0]
    return carry


cdef uint64_t _majority(const uint64_t[::1] hashes) noexcept nogil:
    """Count the bits of all hashes side by side.

    Bits are counted in planes: plane p holds bit p of all 64 counts (a carry-save adder; Harley
    and Seal, in Warren, "Hacker's Delight", 2nd edition, section 5-1).
    """
    cdef uint64_t[64] planes
    cdef uint64_t ones = 0, twos = 0, fours = 0, carry, plane, result = 0, total
    cdef uint64_t a, b, c, d
    cdef Py_ssize_t count = hashes.shape[0], whole = count - count % 8, i
    cdef int top = 0, p, bit
    for p in range(64):
        planes[p] = 0
    for i in range(0, whole, 8):
        a = add(&ones, hashes[i], hashes[i + 1])
        b = add(&ones, hashes[i + 2], hashes[i + 3])
        c = add(&twos, a, b)
        a = add(&ones, hashes[i + 4], hashes[i + 5])
        b = add(&ones, hashes[i + 6], hashes[i + 7])
        d = add(&twos, a, b)
        carry = add(&fours, c, d)
        p = 0
        while carry:
            plane = planes[p]
            planes[p] = plane ^ carry
            carry &= plane
            p += 1
        top = max(top, p)
    for bit in range(64):
        total = (ones >> bit & 1) + 2 * (twos >> bit & 1) + 4 * (fours >> bit & 1)
        for p in range(top):
            total += (planes[p] >> bit & 1) << (p + 3)
        for i in range(whole, count):
            total += hashes[i] >> bit & 1
        if 2 * total > <uint64_t>count:
            result |= <uint64_t>1 << bit
    return result


# ---- sketch ----------------------------------------------------------------------------------

cdef inline int shift_of(Py_ssize_t bins) noexcept nogil:
    """Return by how many bits a hash is shifted to the number of its bin."""
    cdef int shift = 64
    while bins > 1:
        bins >>= 1
        shift -= 1
    return shift


def minima_of(const uint64_t[::1] shingles, Py_ssize_t bins):
    cdef uint8_t nobody = 0
    found = np.empty(bins, np.uint64)
    cdef uint64_t[::1] sketch = found
    fill_minima(&shingles[0], shingles.shape[0], &sketch[0], bins, &nobody, &nobody, 0)
    return found


cdef inline void keep_least(
    uint64_t* least, uint64_t value, uint8_t owner, uint8_t* held
) noexcept nogil:
    """Keep the smaller value, and its owner; of equal ones the last that has an owner."""
    if value < least[0]:
        least[0], held[0] = value, owner
    elif value == least[0] and owner:
        held[0] = owner


cdef void fill_minima(
    const uint64_t* shingles,
    Py_ssize_t count,
    uint64_t* least,
    Py_ssize_t bins,
    const uint8_t* owner,
    uint8_t* held,
    Py_ssize_t step,
) noexcept nogil:
    """Fill the bins of a sketch, and their owners; with a step of 0 all have one owner."""
    cdef Py_ssize_t left = bins, i, place
    cdef int shift = shift_of(bins)
    cdef uint64_t throw, value, tag
    for place in range(bins):
        least[place] = UINT64_MAX
        held[place * step] = 0
    for i in range(count):
        value = shingles[i]
        place = value >> shift
        left -= least[place] == UINT64_MAX
        keep_least(&least[place], value & RANK, owner[i * step], &held[place * step])
    throw = 1
    while left and throw < <uint64_t>bins:
        tag = throw << RANK_BITS
        for i in range(count):
            value = mix(shingles[i] + throw * THROW)
            place = value >> shift
            if least[place] < tag:  # filled by an earlier throw
                continue
            left -= least[place] == UINT64_MAX
            value = (value & RANK) | tag
            keep_least(&least[place], value, owner[i * step], &held[place * step])
        throw += 1
    tag = <uint64_t>bins << RANK_BITS
    for place in range(bins if left else 0):
        if least[place] == UINT64_MAX:
            for i in range(count):
                value = mix(shingles[i] + <uint64_t>(place + bins) * THROW) & RANK
                keep_least(&least[place], value | tag, owner[i * step], &held[place * step])


def owners(
    const uint64_t[::1] sketch, const uint64_t[::1] shingles, const uint8_t[::1] owner
):
    cdef Py_ssize_t bins = sketch.shape[0], count = shingles.shape[0], i, place
    cdef int shift = shift_of(bins)
    cdef uint64_t thrown = 0, throw, value
    held = np.zeros(bins, np.uint8)
    cdef uint8_t[::1] whose = held
    for place in range(bins):
        thrown = max(thrown, sketch[place] >> RANK_BITS)
    for throw in range(min(thrown + 1, <uint64_t>bins)):
        for i in range(count):
            value = shingles[i]
            if throw:
                value = mix(value + throw * THROW)
            place = value >> shift
            if sketch[place] == ((value & RANK) | throw << RANK_BITS):
                whose[place] = owner[i]
    if thrown == <uint64_t>bins:
        for place in range(bins):
            if sketch[place] >> RANK_BITS == <uint64_t>bins:
                for i in range(count):
                    value = mix(shingles[i] + <uint64_t>(place + bins) * THROW) & RANK
                    if sketch[place] == (value | <uint64_t>bins << RANK_BITS):
                        whose[place] = owner[i]
    return held


cdef bytes pack_planes(const uint64_t* minima, const uint8_t* owners, Py_ssize_t bins, int bits):
    """Return the planes of a sketch; see `scrapy_neardup.evidence.layout`."""
    cdef Py_ssize_t size = bins // 8, i
    cdef uint8_t value
    cdef int bit
    cdef bytes packed = PyBytes_FromStringAndSize(NULL, (bits + OWNER_BITS) * size)
    cdef uint8_t* planes = <uint8_t*>PyBytes_AS_STRING(packed)
    memset(planes, 0, (bits + OWNER_BITS) * size)
    for i in range(bins):
        value = mix(minima[i])
        for bit in range(bits):
            planes[bit * size + i // 8] |= (value >> bit & 1) << i % 8
        for bit in range(OWNER_BITS):
            planes[(bits + bit) * size + i // 8] |= (owners[i] >> bit & 1) << i % 8
    return packed


# ---- a page's shingles, and what is made of them ---------------------------------------------

cdef enum:
    MAX_BINS = 1024  # as in `scrapy_neardup.kinds`
    OWNER_BITS = 3
    BORDER = 5  # as in `scrapy_neardup.evidence.layout`
    NAMED = 6
    LINKS = 7


cdef inline Py_ssize_t add_stream(
    Pair* pairs, const uint64_t* tokens, Py_ssize_t count, Py_ssize_t size, int owner
) noexcept nogil:
    """Add the shingles of a text that has one owner; return their number."""
    cdef Py_ssize_t i
    size = min(size, count)
    if not size:
        return 0
    for i in range(count - size + 1):
        pairs[i].hash, pairs[i].owner = shingle_at(&tokens[i], size), owner
    return count - size + 1


cdef Py_ssize_t add_core(Pair* pairs, Parts page, Py_ssize_t size) noexcept:
    """Add the shingles of a core, each with its owner; return their number."""
    cdef const uint64_t* tokens = page.tokens
    cdef Py_ssize_t total = page.core, count = total - size + 1, block = 0, end = 0
    cdef Py_ssize_t i, start, first
    if page.blocks < 2 or total < size:
        return add_stream(pairs, tokens, total, size, 0)
    for i in range(count):
        pairs[i].hash, pairs[i].owner = shingle_at(&tokens[i], size), BORDER
    # Row by row: the owner of a token is its block's.
    while block < page.blocks:
        start = end
        first = block
        while True:
            end += page.counts[block]
            block += 1
            if block == page.blocks or page.starts[block]:
                break
        if end - start >= size:
            own_row(pairs, page.counts, page.owners, first, start, end - size + 1)
        elif end > start:
            while not page.counts[first]:
                first += 1
            pairs[count].hash = shingle_at(&tokens[start], end - start)
            pairs[count].owner = page.owners[first]
            count += 1
    return count


def sketched(
    const uint64_t[::1] tokens,
    const int64_t[::1] counts,
    const uint8_t[::1] forms,
    const uint32_t[::1] places,
    const uint8_t[::1] joined,
    Py_ssize_t size,
    Py_ssize_t bins,
    int bits,
    Py_ssize_t feature_bins,
):
    cdef Py_ssize_t count, kept, i, of_rows = 0
    cdef Parts page = Parts(tokens, counts, forms, places, joined)
    cdef Pair* pairs = pairs_of(2 * page.core + page.named + page.links + 1)
    cdef const uint64_t* aside = page.tokens + page.core
    cdef uint64_t* rows = <uint64_t*>pairs  # when the pairs aren't needed any more
    cdef uint64_t[::1] hashes, minima, least
    cdef uint8_t[::1] owner
    cdef uint8_t[MAX_BINS] held
    cdef uint8_t nobody = 0
    cdef uint64_t text = 0
    cdef uint16_t[BORDER] sums  # of the shingles within rows, by owner
    if bins > MAX_BINS:
        raise ValueError(f"there are {MAX_BINS} bins at most")
    memset(sums, 0, sizeof(sums))
    try:
        count = add_core(pairs, page, size)
        count += add_stream(pairs + count, aside, page.named, size, NAMED)
        count += add_stream(pairs + count, aside + page.named, page.links, size, LINKS)
        kept = sort_distinct(pairs, count)
        found, whose = np.empty(kept, np.uint64), np.empty(kept, np.uint8)
        sketch, features = np.empty(bins, np.uint64), np.empty(feature_bins, np.uint64)
        hashes, owner, minima = found, whose, sketch
        for i in range(kept):
            hashes[i], owner[i] = pairs[i].hash, pairs[i].owner
            text += hashes[i]
            if owner[i] < BORDER:
                sums[owner[i]] += hashes[i]
        fill_minima(&hashes[0], kept, &minima[0], bins, &owner[0], held, 1)
        if feature_bins:
            least = features
            for i in range(kept):
                rows[of_rows] = hashes[i]
                of_rows += owner[i] < BORDER
            if of_rows:
                fill_minima(rows, of_rows, &least[0], feature_bins, &nobody, &nobody, 0)
            else:
                fill_minima(&hashes[0], kept, &least[0], feature_bins, &nobody, &nobody, 0)
        planes = pack_planes(&minima[0], held, bins, bits)
        return (
            found, whose, sketch, features, planes, text >> 48,
            (sums[0], sums[1], sums[2], sums[3], sums[4]), _majority(hashes),
            page.places, page.texts,
        )
    finally:
        free(pairs)


cdef inline void own_row(
    Pair* pairs,
    const int64_t* counts,
    const uint8_t* of_blocks,
    Py_ssize_t block,
    Py_ssize_t start,
    Py_ssize_t end,
) noexcept nogil:
    """Give the shingles that begin from `start` to `end`, in blocks from `block` on, an owner."""
    cdef Py_ssize_t until = start
    while start < end:
        until += counts[block]
        while start < min(until, end):
            pairs[start].owner = of_blocks[block]
            start += 1
        block += 1
