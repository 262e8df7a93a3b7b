# cython: language_level=3, boundscheck=False, wraparound=False, initializedcheck=False
# cython: cdivision=True
"""How two sketches compare: `scrapy_neardup.evidence.overlap`, compiled."""

from libc.stdint cimport uint8_t, uint64_t
from libc.string cimport memcpy, memset

cdef enum:
    WORDS = 16  # of the longest sketch, 1024 bins
    MOST_BITS = 8
    OWNER_BITS = 3
    BORDER = 5  # as in `scrapy_neardup.evidence.layout`
    NAMED = 6
    LINKS = 7
    HEAD_SIZE = 50

ctypedef uint64_t[WORDS] Plane


cdef inline int ones(uint64_t word) noexcept nogil:
    """Count the bits that are set (Warren, "Hacker's Delight", 2nd edition, section 5-1)."""
    word -= word >> 1 & 0x5555555555555555u
    word = (word & 0x3333333333333333u) + (word >> 2 & 0x3333333333333333u)
    word = (word + (word >> 4)) & 0x0F0F0F0F0F0F0F0Fu
    return (word * 0x0101010101010101u) >> 56


cdef inline uint64_t owned_by(const Plane* owners, int owner, Py_ssize_t word) noexcept nogil:
    cdef uint64_t found = ~<uint64_t>0
    cdef int bit
    for bit in range(OWNER_BITS):
        found &= owners[bit][word] if owner >> bit & 1 else ~owners[bit][word]
    return found


cdef inline uint64_t owned_by_any(const Plane* owners, int those, Py_ssize_t word) noexcept nogil:
    cdef uint64_t found = 0
    cdef int owner
    for owner in range(1 << OWNER_BITS):
        if those >> owner & 1:
            found |= owned_by(owners, owner, word)
    return found


cdef class Overlap:
    """See `scrapy_neardup.evidence.overlap.Overlap`."""

    cdef Py_ssize_t size, words
    cdef int bits
    cdef bint lacks
    cdef Plane[MOST_BITS + OWNER_BITS] planes
    cdef Plane[MOST_BITS] lacked_values
    cdef Plane aside, border, named, links, furniture, lacked, full

    def __init__(
        self, bytes stored, Py_ssize_t bins, int bits, int aside, furniture=0, lacked=None
    ):
        cdef Py_ssize_t word
        cdef const Plane* owners
        if not (8 <= bins <= 64 * WORDS and 1 <= bits <= MOST_BITS):
            raise ValueError(f"no sketch has {bins} bins of {bits} bits")
        self.size, self.words, self.bits = bins // 8, (bins + 63) // 64, bits
        self.read(stored, self.planes)
        owners = <const Plane*>&self.planes[bits]
        memset(self.full, 0, sizeof(self.full))
        memset(self.full, 0xFF, self.size)
        self.set_plane(furniture, self.furniture)
        self.lacks = lacked is not None
        if self.lacks:
            self.set_plane(lacked[0], self.lacked)
            for bit in range(bits):
                self.set_plane(lacked[1][bit], self.lacked_values[bit])
        for word in range(self.words):
            self.aside[word] = owned_by_any(owners, aside, word)
            self.border[word] = owned_by(owners, BORDER, word)
            self.named[word] = owned_by(owners, NAMED, word)
            self.links[word] = owned_by(owners, LINKS, word)

    def counts(self, bytes stored, int aside, bint by_title=False):
        cdef Plane[MOST_BITS + OWNER_BITS] theirs
        cdef const Plane* owners = <const Plane*>&theirs[self.bits]
        cdef Plane differing, shown
        cdef uint64_t differs, counted, core, rows, beside, ours
        cdef Py_ssize_t word
        cdef int bit, there = 0, here = 0, has = 0, lacks = 0
        cdef int[8] total
        self.read(stored, theirs)
        memset(total, 0, sizeof(total))
        for word in range(self.words):
            differs, counted = 0, self.lacked[word]
            for bit in range(self.bits):
                differs |= self.planes[bit][word] ^ theirs[bit][word]
                counted &= ~(self.lacked_values[bit][word] ^ theirs[bit][word])
            differing[word], shown[word] = differs, counted
            there += ones(self.furniture[word] & differs)
            here += ones(self.furniture[word])
            has += ones(counted)
            lacks += ones(self.lacked[word])
        for word in range(self.words):
            differs = differing[word]
            if not by_title and 2 * there > here:  # the other page lacks it
                differs &= ~self.furniture[word]
            counted = self.full[word] & (~self.furniture[word] | differs)
            if not by_title and self.lacks and 2 * has > lacks:  # the other page has it
                differs &= ~shown[word]
                counted &= ~shown[word]
            ours = self.named[word] | self.links[word] if by_title else self.aside[word]
            core = ~(ours | owned_by_any(owners, aside, word))
            rows = core & ~(self.border[word] | owned_by(owners, BORDER, word))
            beside = differs & ~self.furniture[word]
            total[0] += ones(differs)
            total[1] += ones(counted)
            total[2] += ones(differs & core)
            total[3] += ones(counted & core)
            total[4] += ones(differs & rows)
            total[5] += ones(counted & rows)
            total[6] += ones(beside & self.named[word])
            total[7] += ones(beside & self.links[word])
        return (
            (total[0], total[1]), (total[2], total[3]), (total[4], total[5]), (total[6], total[7])
        )

    cdef int read(self, bytes stored, Plane* planes) except -1:
        """Read the planes behind a head."""
        cdef Py_ssize_t plane, count = self.bits + OWNER_BITS
        cdef const uint8_t* start = <const uint8_t*>stored + HEAD_SIZE
        if len(stored) < HEAD_SIZE + count * self.size:
            raise ValueError("the planes are cut off")
        for plane in range(count):
            planes[plane][self.words - 1] = 0
            memcpy(&planes[plane][0], start + plane * self.size, self.size)
        return 0

    cdef int set_plane(self, number, uint64_t* plane) except -1:
        cdef bytes packed = number.to_bytes(8 * self.words, "little")
        memcpy(plane, <const uint8_t*>packed, 8 * self.words)
        return 0
