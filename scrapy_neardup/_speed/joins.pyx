"""The join of `scrapy_neardup.offline.joins.reference`, compiled: the same filters.

Sets meet in inverted lists, as in PPJoin (Xiao et al. 2008, algorithm 1), one set after the
other. A list holds sets in increasing size, so that a set's partners are one run of it: from
the smallest that is large enough to the set itself or, where the measure has a direction, to
the end. As sizes only grow, so do the starts of the runs.

A pair is judged where it first meets, at the largest bound that it will ever have: by
positions, and by bitmaps (Sandes, Teodoro & Melo 2020). What is left is counted from there on;
before it the two have no token in common.
"""

from cpython.exc cimport PyErr_CheckSignals
from libc.stdint cimport int32_t, int64_t, uint8_t, uint32_t, uint64_t
from libc.stdlib cimport calloc, free, malloc, realloc
from libc.string cimport memcpy

import numpy as np

cdef uint64_t SPREAD = 0x9E3779B97F4A7C15
"""As in pure Python."""
cdef Py_ssize_t SETS_AT_ONCE = 4096
"""Number of sets between two checks for Ctrl-C."""

cdef enum Kind:
    JACCARD, COSINE, OVERLAP, CONTAINMENT, HAMMING

cdef struct Set:  # all that a hit needs of a set, in one place
    uint64_t bitmap
    int32_t size
    int32_t met  # the last one that met it

cdef struct Entry:
    int32_t owner
    int32_t place  # of the token in the owner

cdef struct List:  # the entries of a token
    uint32_t front, end

KINDS = "jaccard", "cosine", "overlap", "containment", "hamming"


cdef class Join:
    """The similar pairs of sets in increasing size; see `reference.similar`.

    Of each set the first `probing` tokens look for partners, which have `least` tokens or more;
    the first `indexing` ones are listed, of a directed measure only those that are `asked` for.
    `least` never falls. Fewer than 2^32 tokens can be listed.
    """

    cdef const int64_t[::1] indptr, probing, least
    cdef const int32_t[::1] tokens
    cdef const uint8_t[::1] side, asked
    cdef bint sided, directed
    cdef Kind kind
    cdef int64_t p, q
    cdef Py_ssize_t rare
    """Tokens below occur in one set."""
    cdef List* lists
    """The list of each token that isn't rare."""
    cdef Entry* entries
    """List by list, the sets of each increasing."""
    cdef Set* sets
    cdef Py_ssize_t count
    cdef Py_ssize_t smallest
    """The smallest set that is large enough for the current one."""
    cdef int64_t* pairs
    cdef Py_ssize_t found, room
    cdef readonly int64_t hits, candidates

    def __dealloc__(self):
        free(self.sets)
        free(self.lists)
        free(self.entries)
        free(self.pairs)

    def __init__(self, sets, side, rule, probing, indexing, least, asked=None):
        self.count = len(sets)
        self.rare = np.searchsorted(sets.frequency, 2)
        self.sets = <Set*>calloc(self.count + 1, sizeof(Set))
        self.lists = <List*>calloc(len(sets.frequency) - self.rare + 1, sizeof(List))
        if self.sets is NULL or self.lists is NULL:
            raise MemoryError
        self.indptr, self.tokens = sets.indptr, sets.tokens
        self.probing, self.least = probing, least
        self.sided, self.directed = side is not None, asked is not None
        self.side = None if side is None else side.view(np.uint8)
        self.asked = None if asked is None else asked.view(np.uint8)
        self.kind, self.p, self.q = KINDS.index(rule.kind), rule.p, rule.q
        self.list(indexing, len(sets.frequency) - self.rare)

    cdef list(self, const int64_t[::1] indexing, Py_ssize_t tokens):
        """Fill the lists with the first tokens of each set."""
        cdef Py_ssize_t x, i, total = 0
        cdef int32_t token
        cdef uint32_t size
        cdef Entry* entry
        with nogil:
            for x in range(self.count):
                self.sets[x].size = self.indptr[x + 1] - self.indptr[x]
                self.sets[x].met = -1
                for i in range(self.indptr[x], self.indptr[x + 1]):
                    token = self.tokens[i]
                    self.sets[x].bitmap ^= <uint64_t>1 << (<uint64_t>token * SPREAD >> 58)
                    if i < self.indptr[x] + indexing[x] and self.is_listed(token):
                        self.lists[token - self.rare].end += 1
            for i in range(tokens):
                size = self.lists[i].end
                self.lists[i].front = self.lists[i].end = total
                total += size
        self.entries = <Entry*>malloc((total + 1) * sizeof(Entry))
        if self.entries is NULL:
            raise MemoryError
        with nogil:
            for x in range(self.count):
                for i in range(indexing[x]):
                    token = self.tokens[self.indptr[x] + i]
                    if self.is_listed(token):
                        entry = self.entries + self.lists[token - self.rare].end
                        self.lists[token - self.rare].end += 1
                        entry.owner, entry.place = x, i

    cdef inline bint is_listed(self, int32_t token) noexcept nogil:
        return token >= self.rare and (not self.directed or self.asked[token])

    def run(self):
        """Return x, y and overlap of all similar pairs, as `reference.similar` does."""
        cdef Py_ssize_t x = 0
        cdef bint room = True
        while x < self.count:
            with nogil:
                for x in range(x, min(x + SETS_AT_ONCE, self.count)):
                    room = self.probe(x)
                    if not room:
                        break
            if not room:
                raise MemoryError
            PyErr_CheckSignals()
            x += 1
        result = np.empty((self.found, 3), np.int64)
        cdef int64_t[:, ::1] rows = result
        if self.found:
            memcpy(&rows[0, 0], self.pairs, self.found * 3 * sizeof(int64_t))
        return np.ascontiguousarray(result.T)

    cdef bint probe(self, Py_ssize_t x) noexcept nogil:
        """Judge the partners of a set; return whether there was room for the similar ones."""
        cdef const int32_t* tokens = &self.tokens[0] + self.indptr[x]
        cdef Set* own = self.sets + x
        cdef Set* other
        cdef List* listed
        cdef Entry entry
        cdef int64_t overlap, bound
        cdef uint32_t place
        cdef int32_t token, y
        cdef Py_ssize_t i, last = self.count if self.directed else x
        while self.smallest < x and self.sets[self.smallest].size < self.least[x]:
            self.smallest += 1
        for i in range(self.probing[x]):
            token = tokens[i] - self.rare
            if token < 0:
                continue
            listed = self.lists + token
            while listed.front < listed.end and self.entries[listed.front].owner < self.smallest:
                listed.front += 1
            for place in range(listed.front, listed.end):
                entry = self.entries[place]
                y = entry.owner
                if y >= last:
                    break
                if self.sided and self.side[x] == self.side[y]:
                    continue
                self.hits += 1
                other = self.sets + y
                if other.met == x or y == x:
                    continue
                other.met = x
                bound = (own.size + other.size - bits(own.bitmap ^ other.bitmap)) >> 1
                bound = min(bound, own.size - i, other.size - entry.place)
                if not self.suffices(bound, own.size, other.size):
                    continue
                self.candidates += 1
                overlap = 1 + common(
                    tokens + i + 1, own.size - i - 1,
                    &self.tokens[self.indptr[y]] + entry.place + 1,
                    other.size - entry.place - 1,
                )
                if (
                    self.suffices(overlap, own.size, other.size)
                    and not self.keep(x, y, overlap)
                ):
                    return False
        return True

    cdef bint keep(self, int64_t x, int64_t y, int64_t overlap) noexcept nogil:
        cdef int64_t* larger
        if self.found == self.room:
            larger = <int64_t*>realloc(self.pairs, (2 * self.room + 1024) * 3 * sizeof(int64_t))
            if larger is NULL:
                return False
            self.pairs, self.room = larger, 2 * self.room + 1024
        larger = self.pairs + 3 * self.found
        larger[0], larger[1], larger[2] = x, y, overlap
        self.found += 1
        return True

    cdef inline bint suffices(self, int64_t overlap, int64_t x, int64_t y) noexcept nogil:
        """Whether sets of sizes x and y with this overlap are similar (`IntegerMeasure`)."""
        if self.kind == JACCARD:
            return overlap * (self.p + self.q) >= self.p * (x + y)
        if self.kind == OVERLAP:
            return overlap >= self.p
        if self.kind == CONTAINMENT:
            return overlap * self.q >= self.p * x
        if self.kind == HAMMING:
            return overlap >= max(1, x + y - self.p - overlap)
        return not less(overlap * self.q, overlap * self.q, self.p * self.p, x * y)


cdef inline int bits(uint64_t word) noexcept nogil:
    """Return how many bits are set (Warren, "Hacker's Delight", section 5-1)."""
    word -= word >> 1 & 0x5555555555555555ULL
    word = (word & 0x3333333333333333ULL) + (word >> 2 & 0x3333333333333333ULL)
    return ((word + (word >> 4) & 0x0F0F0F0F0F0F0F0FULL) * 0x0101010101010101ULL) >> 56


cdef inline bint less(uint64_t a, uint64_t b, uint64_t c, uint64_t d) noexcept nogil:
    """Return whether a * b < c * d, which take 128 bits."""
    cdef uint64_t ab, cd
    cdef uint64_t ab_high = product(a, b, &ab), cd_high = product(c, d, &cd)
    return ab_high < cd_high or (ab_high == cd_high and ab < cd)


cdef inline uint64_t product(uint64_t a, uint64_t b, uint64_t* low) noexcept nogil:
    """Return the upper half of a * b, by halves; the lower one is left in `low`."""
    cdef uint64_t half = 0xFFFFFFFF
    cdef uint64_t lows = (a & half) * (b & half), right = (a >> 32) * (b & half)
    cdef uint64_t left = (a & half) * (b >> 32)
    cdef uint64_t middle = (lows >> 32) + (right & half) + (left & half)
    low[0] = middle << 32 | (lows & half)
    return (a >> 32) * (b >> 32) + (right >> 32) + (left >> 32) + (middle >> 32)


cdef inline int64_t common(
    const int32_t* a, int64_t a_size, const int32_t* b, int64_t b_size
) noexcept nogil:
    """Return how many numbers two increasing sequences have in common.

    Both move on without a branch that would be mispredicted every other time.
    """
    cdef int64_t i = 0, j = 0, equal = 0
    cdef int32_t one, other
    while i < a_size and j < b_size:
        one, other = a[i], b[j]
        equal += one == other
        i += one <= other
        j += other <= one
    return equal


def gathered(
    const int32_t[::1] tokens, const int64_t[::1] starts, const int64_t[::1] counts
):
    """See `scrapy_neardup.offline.joins.tokensets.gathered`."""
    cdef Py_ssize_t k
    cdef int64_t place = 0
    result = np.empty(int(np.sum(counts)), np.int32)
    cdef int32_t[::1] filled = result
    with nogil:
        for k in range(starts.shape[0]):
            if counts[k]:
                memcpy(&filled[place], &tokens[starts[k]], counts[k] * sizeof(int32_t))
                place += counts[k]
    return result
