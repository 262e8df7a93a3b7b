"""A look-up in a packed table: `scrapy_neardup.tables.packed.elias_fano`, compiled.

A fingerprint is permuted, looked up, compared and permuted back in one call. Bytes that aren't
verified yet, or lie outside of their section, are a matter for `Checked.read`, which raises.
"""

from libc.stdint cimport uint8_t, uint32_t, uint64_t

import numpy as np

cdef int CHUNK_BITS = 9
"""As in the pure table."""
cdef Py_ssize_t FEW = 32
"""Maximum number of candidates that are compared without narrowing them down to the prefix."""


cdef class Permuted:
    """A permutation of bits: some of them move, all by the same distance, step by step."""

    cdef const uint64_t[::1] masks, lefts, rights

    def __init__(self, steps):
        self.masks, self.lefts, self.rights = np.array(steps, np.uint64).reshape(-1, 3).T.copy()

    cdef inline uint64_t of(self, uint64_t fingerprint) noexcept nogil:
        cdef uint64_t permuted = 0
        cdef Py_ssize_t step
        for step in range(self.masks.shape[0]):
            permuted |= (fingerprint & self.masks[step]) << self.lefts[step] >> self.rights[step]
        return permuted


cdef class Section:
    """The words of a `Checked`; its start and its length are whole ones."""

    cdef object checked
    cdef const uint8_t[::1] buffer
    cdef const uint8_t[::1] verified
    cdef Py_ssize_t start, words, page

    def __init__(self, checked):
        self.checked = checked
        self.buffer, self.start, length, self.page, self.verified = checked.layout
        self.words = length // 8

    cdef int verify(self, Py_ssize_t first, Py_ssize_t last) except -1:
        """Verify words `first` to `last` (included)."""
        cdef Py_ssize_t page
        if first < 0 or first > last or last >= self.words:
            raise self.checked.damage("something in it points outside of it")
        for page in range(8 * first // self.page, 8 * last // self.page + 1):
            if not self.verified[page]:
                self.checked.read(8 * first, 8 * last + 8)
        return 0

    cdef inline uint64_t word(self, Py_ssize_t number) noexcept nogil:
        cdef const uint8_t* data = &self.buffer[self.start + 8 * number]
        return (
            <uint64_t>data[0] | <uint64_t>data[1] << 8 | <uint64_t>data[2] << 16
            | <uint64_t>data[3] << 24 | <uint64_t>data[4] << 32 | <uint64_t>data[5] << 40
            | <uint64_t>data[6] << 48 | <uint64_t>data[7] << 56
        )


cdef class LookUp:
    """Looks up ranks, and fingerprints, in one table; see `EliasFano.rank` and `.probe`."""

    cdef Permuted forward, backward
    cdef Section low, high
    cdef const uint32_t[::1] ranks
    cdef const uint64_t[::1] long_ranks
    cdef int low_bits, prefix_bits

    def __init__(self, forward, backward, int prefix_bits, int low_bits, low, high, ranks):
        self.forward, self.backward = Permuted(forward), Permuted(backward)
        self.low_bits, self.prefix_bits = low_bits, prefix_bits
        self.low, self.high = Section(low), Section(high)
        if ranks.itemsize == 4:
            self.ranks = ranks
        else:
            self.long_ranks = ranks

    def rank(self, uint64_t value):
        """Return how many values are less than this one, or None if it isn't there."""
        cdef uint64_t low = value & ((<uint64_t>1 << self.low_bits) - 1)
        cdef Py_ssize_t rank, stop, bit = self.start_of(value >> self.low_bits, &rank)
        if bit < 0:
            return None
        stop = self.end_of(bit, rank)
        rank = self.first_from(low, rank, stop)
        return rank if rank < stop and self.low_part(rank) == low else None

    cdef inline bint is_one(self, Py_ssize_t bit) noexcept nogil:
        return self.high.word(bit >> 6) >> (bit & 63) & 1

    cdef Py_ssize_t start_of(self, uint64_t high, Py_ssize_t* rank) except -2:
        """Return the bit from which on values with this high part are, and the first's rank.

        That is where as many 0s were seen as there are smaller high parts. Where none of the
        neighbours in its chunk has a value it is -1.
        """
        cdef Py_ssize_t chunk = high >> CHUNK_BITS
        cdef Py_ssize_t zeros = high & ((1 << CHUNK_BITS) - 1), first, last, word, start, ones
        cdef uint64_t left
        cdef int seen
        if chunk + 1 >= max(self.ranks.shape[0], self.long_ranks.shape[0]):
            raise self.high.checked.damage("its directory is too short")
        if self.long_ranks.shape[0]:
            start, ones = self.long_ranks[chunk], self.long_ranks[chunk + 1]
        else:
            start, ones = self.ranks[chunk], self.ranks[chunk + 1]
        ones -= start
        if not ones and 64 - self.prefix_bits - self.low_bits <= CHUNK_BITS:
            return -1
        first = start + (chunk << CHUNK_BITS)
        last = min((first + ones + (1 << CHUNK_BITS) - 1) >> 6, self.high.words - 1)
        self.high.verify(first >> 6, last)
        rank[0] = start - zeros - first
        word = first >> 6
        left = ~self.high.word(word) >> (first & 63) << (first & 63)  # its 0s, from `first` on
        seen = bits(left)
        while seen < zeros:
            zeros -= seen
            word += 1
            if word > last:
                raise self.high.checked.damage("its directory doesn't fit")
            left = ~self.high.word(word)
            seen = bits(left)
        if zeros:
            for _ in range(zeros - 1):
                left &= left - 1
            first = (word << 6) + bits((left & (~left + 1)) - 1) + 1
        self.high.verify(first >> 6, first >> 6)
        rank[0] += first
        return first

    cdef Py_ssize_t end_of(self, Py_ssize_t bit, Py_ssize_t rank) except -1:
        """Return the rank past the last value of the run that begins here."""
        while self.is_one(bit):
            rank += 1
            bit += 1
            self.high.verify(bit >> 6, bit >> 6)
        return rank

    cdef Py_ssize_t first_from(self, uint64_t low, Py_ssize_t begin, Py_ssize_t end) except -1:
        """Return the first of these ranks, of one high part, whose low part isn't less."""
        cdef Py_ssize_t middle
        while begin < end:
            middle = (begin + end) // 2
            if self.low_part(middle) < low:
                begin = middle + 1
            else:
                end = middle
        return begin

    cdef uint64_t low_part(self, Py_ssize_t rank) except? 0:
        cdef Py_ssize_t bit = rank * self.low_bits
        cdef Py_ssize_t word = bit >> 6, last = (bit + self.low_bits - 1) >> 6
        cdef int shift = bit & 63
        cdef uint64_t part
        self.low.verify(word, last)
        part = self.low.word(word) >> shift
        if last > word:
            part |= self.low.word(last) << (64 - shift)
        return part & ((<uint64_t>1 << self.low_bits) - 1)


    def near(self, uint64_t fingerprint, int k):
        """Return the values within k bits of a fingerprint that share its prefix."""
        cdef uint64_t key = self.forward.of(fingerprint), value
        cdef int behind = 64 - self.prefix_bits, beyond = behind - self.low_bits
        cdef uint64_t high = key >> self.low_bits, last = high
        cdef uint64_t low = (key & ((<uint64_t>1 << self.low_bits) - 1)) >> behind << behind
        cdef Py_ssize_t rank, bit, start, stop
        if beyond > 0:
            high = high >> beyond << beyond
            last = high + (<uint64_t>1 << beyond) - 1
        bit = self.start_of(high, &rank)
        if bit < 0:
            return []
        found = []
        while True:
            start, stop = rank, self.end_of(bit, rank)
            bit += stop - start + 1
            rank = stop
            if beyond <= 0 and stop - start > FEW:
                # The low parts of these begin like the key's.
                start = self.first_from(low, start, stop)
                stop = self.first_from(low + (<uint64_t>1 << behind), start, stop)
            for start in range(start, stop):
                value = high << self.low_bits | self.low_part(start)
                if is_within(value ^ key, k):
                    found.append(self.backward.of(value))
            if high == last:
                return found
            high += 1
            self.high.verify(bit >> 6, bit >> 6)


cdef inline bint is_within(uint64_t differing, int k) noexcept nogil:
    cdef int bit
    for bit in range(k):
        differing &= differing - 1
    return differing == 0


cdef inline int bits(uint64_t word) noexcept nogil:
    """Return how many bits are set (Warren, "Hacker's Delight", section 5-1)."""
    word -= word >> 1 & 0x5555555555555555ULL
    word = (word & 0x3333333333333333ULL) + (word >> 2 & 0x3333333333333333ULL)
    return ((word + (word >> 4) & 0x0F0F0F0F0F0F0F0FULL) * 0x0101010101010101ULL) >> 56
