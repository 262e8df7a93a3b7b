"""Shingles that pages of a site share: `scrapy_neardup.judge.boilerplate`, compiled.

The function has its twin there, which says what its arguments and its result are.
"""

import numpy as np

from libc.stdint cimport uint8_t, uint64_t
from libc.string cimport memset

cdef enum:
    SEEN_BITS = 16


cdef Py_ssize_t leave_out_single(
    uint64_t[::1] hashes, const uint64_t[::1] known
) noexcept nogil:
    """Leave out hashes that are neither known nor there twice, most of them; return how many stay.

    They stay in their order. Of a page's shingles most are on no other page, and it costs more to
    sort them.
    """
    cdef uint8_t[1 << SEEN_BITS] seen
    cdef uint64_t mask = (1 << SEEN_BITS) - 1
    cdef Py_ssize_t i, kept = 0
    memset(seen, 0, sizeof(seen))
    for i in range(known.shape[0]):
        seen[known[i] & mask] = 2
    for i in range(hashes.shape[0]):
        seen[hashes[i] & mask] += seen[hashes[i] & mask] < 2
    for i in range(hashes.shape[0]):
        hashes[kept] = hashes[i]
        kept += seen[hashes[i] & mask] == 2
    return kept


def counted(
    const uint64_t[::1] shingles,
    const float[::1] counts,
    list pages,
    int fewest,
    float least,
    Py_ssize_t most,
):
    ordered = np.concatenate(pages)
    if fewest > 1:
        ordered = ordered[:leave_out_single(ordered, shingles)]
    ordered.sort()
    cdef const uint64_t[::1] added = ordered
    cdef Py_ssize_t known = shingles.shape[0], size = added.shape[0]
    cdef Py_ssize_t i = 0, k = 0, kept = 0, start
    cdef int times
    cdef uint64_t value
    found, total = np.empty(known + size, np.uint64), np.empty(known + size, np.float32)
    cdef uint64_t[::1] found_at = found
    cdef float[::1] total_at = total
    while i < size:
        value, start = added[i], i
        i += 1
        while i < size and added[i] == value:
            i += 1
        times = i - start
        while k < known and shingles[k] < value:
            found_at[kept], total_at[kept] = shingles[k], counts[k]
            kept += counts[k] >= least
            k += 1
        if k < known and shingles[k] == value:
            found_at[kept], total_at[kept] = value, counts[k] + times
            kept += total_at[kept] >= least
            k += 1
        elif times >= fewest:
            found_at[kept], total_at[kept] = value, times
            kept += times >= least
    for k in range(k, known):
        found_at[kept], total_at[kept] = shingles[k], counts[k]
        kept += counts[k] >= least
    found, total = found[:kept].copy(), total[:kept].copy()
    if kept > most:
        rank = np.partition(total, -most).take(-most)  # [-most] is another one: see setup.py
        chosen = total > rank
        ties = np.flatnonzero(total == rank)
        chosen[ties[:most - np.count_nonzero(chosen)]] = True
        return found[chosen], total[chosen]
    return found, total
