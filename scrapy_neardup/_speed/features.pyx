# cython: language_level=3, boundscheck=False, wraparound=False, initializedcheck=False
# cython: cdivision=True
"""From token hashes to a page's fingerprint and sketch: `scrapy_neardup.fingerprints`, compiled."""

from libc.stdint cimport int64_t, uint64_t


def majority(const uint64_t[::1] hashes):
    """Return the bits that are set in more than half of the hashes."""
    cdef uint64_t result
    with nogil:
        result = _majority(hashes)
    return result


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
