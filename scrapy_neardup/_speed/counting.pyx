"""What pages of a site share: `scrapy_neardup.site.counts`, compiled.

Each function has its twin there, which says what its arguments and its result are.
"""

import numpy as np

from libc.stdint cimport uint64_t

def counted(
    const uint64_t[::1] shingles,
    const float[::1] counts,
    list pages,
    int fewest,
    float least,
    Py_ssize_t most,
):
    ordered = pages[0]
    if len(pages) > 1:
        ordered = np.concatenate(pages)
        ordered.sort()
    cdef const uint64_t[::1] added = ordered
    cdef Py_ssize_t known = shingles.shape[0], size = added.shape[0]
    cdef Py_ssize_t i = 0, k = 0, kept = 0, start, left
    cdef int times
    cdef uint64_t value
    cdef float rank
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
    if kept > most:
        rank = np.partition(total[:kept], kept - most)[kept - most]
        left = most
        for i in range(kept):
            left -= total_at[i] > rank
        size, kept = kept, 0
        for i in range(size):
            found_at[kept], total_at[kept] = found_at[i], total_at[i]
            if total_at[i] > rank:
                kept += 1
            elif total_at[i] == rank and left:
                kept += 1
                left -= 1
    return found[:kept].copy(), total[:kept].copy()
