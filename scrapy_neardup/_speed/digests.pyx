# cython: language_level=3, boundscheck=False, wraparound=False, initializedcheck=False
# cython: cdivision=True
"""Short BLAKE2b digests: of groups of minima, and of the parts of an address.

Python's own hashes one long text fast; here a page needs a score of short ones, and most of the
time went into making the objects. RFC 7693 describes the function.
"""

import numpy as np

from libc.stdint cimport uint8_t, uint64_t
from libc.string cimport memcpy, memset

cdef enum:
    BLOCK = 128  # bytes
    ROUNDS = 12

cdef uint64_t[8] START = [
    0x6A09E667F3BCC908u, 0xBB67AE8584CAA73Bu, 0x3C6EF372FE94F82Bu, 0xA54FF53A5F1D36F1u,
    0x510E527FADE682D1u, 0x9B05688C2B3E6C1Fu, 0x1F83D9ABFB41BD6Bu, 0x5BE0CD19137E2179u,
]
cdef uint8_t[10][16] ORDER = [
    [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15],
    [14, 10, 4, 8, 9, 15, 13, 6, 1, 12, 0, 2, 11, 7, 5, 3],
    [11, 8, 12, 0, 5, 2, 15, 13, 10, 14, 3, 6, 7, 1, 9, 4],
    [7, 9, 3, 1, 13, 12, 11, 14, 2, 6, 5, 10, 4, 0, 15, 8],
    [9, 0, 5, 7, 2, 4, 10, 15, 14, 1, 11, 12, 6, 8, 3, 13],
    [2, 12, 6, 10, 0, 11, 8, 3, 4, 13, 7, 5, 15, 14, 1, 9],
    [12, 5, 1, 15, 14, 13, 4, 10, 0, 7, 6, 3, 9, 2, 8, 11],
    [13, 11, 7, 14, 12, 1, 3, 9, 5, 0, 15, 4, 8, 6, 2, 10],
    [6, 15, 14, 9, 11, 3, 0, 8, 12, 2, 13, 7, 1, 4, 10, 5],
    [10, 2, 8, 4, 7, 6, 1, 5, 15, 11, 9, 14, 3, 12, 13, 0],
]

cdef struct State:
    uint64_t[8] chain
    uint64_t length  # bytes of the blocks that are in it
    uint8_t[BLOCK] block
    size_t filled


cdef inline uint64_t turn(uint64_t value, int bits) noexcept nogil:
    return value >> bits | value << (64 - bits)


cdef inline void mix(
    uint64_t* v, int a, int b, int c, int d, uint64_t one, uint64_t other
) noexcept nogil:
    v[a] += v[b] + one
    v[d] = turn(v[d] ^ v[a], 32)
    v[c] += v[d]
    v[b] = turn(v[b] ^ v[c], 24)
    v[a] += v[b] + other
    v[d] = turn(v[d] ^ v[a], 16)
    v[c] += v[d]
    v[b] = turn(v[b] ^ v[c], 63)


cdef void compress(State* state, bint is_last) noexcept nogil:
    """Mix the block into the chain."""
    cdef uint64_t[16] v
    cdef uint64_t[16] words
    cdef const uint8_t* order
    cdef int i
    memcpy(words, state.block, BLOCK)
    memcpy(v, state.chain, sizeof(state.chain))
    memcpy(&v[8], START, sizeof(START))
    v[12] ^= state.length
    if is_last:
        v[14] = ~v[14]
    for i in range(ROUNDS):
        order = ORDER[i % 10]
        mix(v, 0, 4, 8, 12, words[order[0]], words[order[1]])
        mix(v, 1, 5, 9, 13, words[order[2]], words[order[3]])
        mix(v, 2, 6, 10, 14, words[order[4]], words[order[5]])
        mix(v, 3, 7, 11, 15, words[order[6]], words[order[7]])
        mix(v, 0, 5, 10, 15, words[order[8]], words[order[9]])
        mix(v, 1, 6, 11, 12, words[order[10]], words[order[11]])
        mix(v, 2, 7, 8, 13, words[order[12]], words[order[13]])
        mix(v, 3, 4, 9, 14, words[order[14]], words[order[15]])
    for i in range(8):
        state.chain[i] ^= v[i] ^ v[i + 8]


cdef void begin(State* state, int size, const uint8_t* person) noexcept nogil:
    """Begin a digest of `size` bytes; `person` has 16."""
    cdef uint64_t[2] words
    memcpy(state.chain, START, sizeof(START))
    memcpy(words, person, sizeof(words))
    state.chain[0] ^= 0x01010000 ^ size
    state.chain[6] ^= words[0]
    state.chain[7] ^= words[1]
    state.length = state.filled = 0


cdef void add(State* state, const uint8_t* data, size_t length) noexcept nogil:
    cdef size_t part
    while length:
        if state.filled == BLOCK:
            state.length += BLOCK
            compress(state, False)
            state.filled = 0
        part = min(length, BLOCK - state.filled)
        memcpy(state.block + state.filled, data, part)
        state.filled += part
        data += part
        length -= part


cdef uint64_t end(State* state, int size) noexcept nogil:
    """Return the digest, of at most 8 bytes, as a number; 1 in place of 0."""
    state.length += state.filled
    memset(state.block + state.filled, 0, BLOCK - state.filled)
    compress(state, True)
    if size < 8:
        state.chain[0] &= (<uint64_t>1 << 8 * size) - 1
    return state.chain[0] or 1


def hash_of(str text, int size):
    cdef State state
    cdef bytes data
    if not text:
        return 0
    data = text.encode("utf-8", "surrogatepass")
    begin(&state, size, b"\0" * 16)
    add(&state, data, len(data))
    return end(&state, size)


def group_digests(const uint64_t[::1] minima, uint64_t size):
    cdef State state
    cdef Py_ssize_t features = minima.shape[0] // size, i
    cdef uint64_t length = 8 * size
    found = np.empty(features, np.uint64)
    cdef uint64_t[::1] digests = found
    for i in range(features):
        begin(&state, 8, b"neardup-digest\0\0")
        add(&state, <const uint8_t*>&length, sizeof(length))
        add(&state, <const uint8_t*>&minima[i * size], length)
        digests[i] = end(&state, 8)
    return found
