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
    cdef const uint64_t[::1] added = np.sort(np.concatenate(pages))
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
        rank = np.partition(total, -most)[-most]
        chosen = total > rank
        ties = np.flatnonzero(total == rank)
        chosen[ties[:most - np.count_nonzero(chosen)]] = True
        return found[chosen], total[chosen]
    return found, total
