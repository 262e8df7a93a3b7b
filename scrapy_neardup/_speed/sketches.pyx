# cython: language_level=3, boundscheck=False, wraparound=False, initializedcheck=False
# cython: cdivision=True
"""Shingles and minima of many documents at once: `scrapy_neardup.fingerprints.batch`, compiled.

Each function has its twin there, which says what its arguments and its result are.
"""

import numpy as np

from libc.stdint cimport int64_t, uint64_t

cdef extern from "minima.h" nogil:
    uint64_t mixed(uint64_t value)
    void fill_binned(
        const uint64_t* hashes, Py_ssize_t n, uint64_t* least, Py_ssize_t bins, int shift
    )
    void fill_permuted(
        const uint64_t* hashes, Py_ssize_t n, const uint64_t* factors, const uint64_t* summands,
        uint64_t* least, Py_ssize_t count
    )

cdef uint64_t STEP = 0xD6E8FEB86659FD93u


def shingles_of_each(const uint64_t[::1] tokens, const int64_t[::1] counts, Py_ssize_t size):
    cdef Py_ssize_t document, place, i, own, start = 0, end, made = 0
    cdef uint64_t value
    found, numbers = np.empty(len(tokens), np.uint64), np.empty(len(counts), np.int64)
    cdef uint64_t[::1] hashes = found
    cdef int64_t[::1] each = numbers
    for document in range(counts.shape[0]):
        end = start + counts[document]
        own = min(size, end - start)
        each[document] = end - start - own + 1 if own else 0
        for i in range(start, start + each[document]):
            value = tokens[i]
            for place in range(i + 1, i + own):
                value *= STEP
                value ^= value >> 32
                value += tokens[place]
            hashes[made] = mixed(value)
            made += 1
        start = end
    return found[:made].copy(), numbers


def minima_of_each(const uint64_t[::1] hashes, const int64_t[::1] counts, Py_ssize_t bins):
    cdef Py_ssize_t document, start = 0
    cdef int shift = 65 - int(bins).bit_length()
    found = np.full((len(counts), bins), -1, np.int64).view(np.uint64)
    cdef uint64_t[:, ::1] least = found
    for document in range(counts.shape[0]):
        if counts[document]:
            fill_binned(&hashes[start], counts[document], &least[document, 0], bins, shift)
        start += counts[document]
    return found


def permuted_minima_of_each(
    const uint64_t[::1] hashes,
    const int64_t[::1] counts,
    const uint64_t[::1] factors,
    const uint64_t[::1] summands,
):
    cdef Py_ssize_t document, start = 0, count = factors.shape[0]
    found = np.full((len(counts), count), -1, np.int64).view(np.uint64)
    cdef uint64_t[:, ::1] least = found
    for document in range(counts.shape[0]):
        if counts[document]:
            fill_permuted(
                &hashes[start], counts[document], &factors[0], &summands[0],
                &least[document, 0], count,
            )
        start += counts[document]
    return found
