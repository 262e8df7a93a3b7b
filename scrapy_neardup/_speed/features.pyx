"""From token hashes to a page's fingerprint and sketch: `scrapy_neardup.fingerprints`, compiled.

Each function has its twin there, which says what its arguments and its result are.
"""

import numpy as np

from cpython cimport array
from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_FromStringAndSize
from libc.stdint cimport int64_t, uint8_t, uint16_t, uint32_t, uint64_t
from libc.stdlib cimport calloc, free, malloc, qsort
from libc.string cimport memset

include "paths.pxi"

cdef extern from "minima.h" nogil:
    uint64_t mix "mixed"(uint64_t value)
    void fill_binned(const uint64_t* hashes, Py_ssize_t n, uint64_t* least, Py_ssize_t bins)
    void fill_permuted(
        const uint64_t* hashes, Py_ssize_t n, const uint64_t* factors, const uint64_t* summands,
        uint64_t* least, Py_ssize_t count
    )

cdef uint64_t STEP = 0xD6E8FEB86659FD93u


# ---- sorting ---------------------------------------------------------------------------------

cdef struct Pair:
    uint64_t hash
    uint16_t rank


cdef enum:
    FEW = 24  # up to so many are sorted fastest by insertion


cdef inline bint less(const Pair* a, const Pair* b) noexcept nogil:
    return a.hash < b.hash or (a.hash == b.hash and a.rank < b.rank)


cdef int compare(const void* a, const void* b) noexcept nogil:
    return less(<Pair*>b, <Pair*>a) - less(<Pair*>a, <Pair*>b)


cdef Py_ssize_t sort_distinct(Pair* pairs, Py_ssize_t count) except -1:
    """Order pairs by hash and rank, and keep the first of each hash; return their number.

    Behind the pairs there is room for as many. They are dealt by their leading bits, which are
    uniform unless somebody made them otherwise: what isn't dealt apart is sorted by comparing.
    """
    cdef int bits = 4, shift
    cdef Py_ssize_t i, j, start, kept = 0, buckets
    cdef Pair* dealt = pairs + count
    cdef Pair pair
    cdef uint32_t* ends
    while bits < 16 and <Py_ssize_t>1 << bits < 2 * count:
        bits += 1
    shift, buckets = 64 - bits, <Py_ssize_t>1 << bits
    ends = <uint32_t*>calloc(buckets + 1, sizeof(uint32_t))
    if ends == NULL:
        raise MemoryError
    for i in range(count):
        ends[(pairs[i].hash >> shift) + 1] += 1
    for i in range(buckets):
        ends[i + 1] += ends[i]
    for i in range(count):
        j = pairs[i].hash >> shift
        dealt[ends[j]] = pairs[i]
        ends[j] += 1
    start = 0
    for i in range(buckets):
        if ends[i] - start > FEW:
            qsort(dealt + start, ends[i] - start, sizeof(Pair), compare)
        start = ends[i]
    free(ends)
    # Now each pair is at most `FEW` places from its place.
    for i in range(1, count):
        pair = dealt[i]
        j = i
        while j and less(&pair, &dealt[j - 1]):
            dealt[j] = dealt[j - 1]
            j -= 1
        dealt[j] = pair
    for i in range(count):
        if not i or dealt[i].hash != dealt[i - 1].hash:
            pairs[kept] = dealt[i]
            kept += 1
    return kept


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


# ---- simhash ---------------------------------------------------------------------------------

cdef inline uint64_t add(uint64_t* low, uint64_t a, uint64_t b) noexcept nogil:
    """Add two bits to `low`, 64 times side by side; return what is carried."""
    cdef uint64_t half = a ^ b
    cdef uint64_t carry = (a & b) | (half & low[0])
    low[0] = half ^ low[0]
    return carry


def majority(const uint64_t[::1] hashes):
    return most_of(&hashes[0], hashes.shape[0])


cdef uint64_t most_of(const uint64_t* hashes, Py_ssize_t count) noexcept nogil:
    """Return the bits that are set in more than half of the hashes.

    Bits are counted in planes: plane p holds bit p of all 64 counts (a carry-save adder; Harley
    and Seal, in Warren, "Hacker's Delight", 2nd edition, section 5-1).
    """
    cdef uint64_t[64] planes
    cdef uint64_t ones = 0, twos = 0, fours = 0, carry, plane, result = 0, total
    cdef uint64_t a, b, c, d
    cdef Py_ssize_t whole = count - count % 8, i
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

cdef double MAX_DENSITY = 0.35  # as in `scrapy_neardup.judge.sketch`


def minima_of(const uint64_t[::1] shingles, Py_ssize_t bins):
    found = np.empty(bins, np.uint64)
    cdef uint64_t[::1] sketch = found
    fill_binned(&shingles[0], shingles.shape[0], &sketch[0], bins)
    return found


def least_under(
    const uint64_t[::1] shingles, const uint64_t[::1] factors, const uint64_t[::1] summands
):
    found = np.empty(factors.shape[0], np.uint64)
    cdef uint64_t[::1] least = found
    fill_permuted(
        &shingles[0], shingles.shape[0], &factors[0], &summands[0], &least[0], factors.shape[0]
    )
    return found


cdef inline void mark(uint8_t* bits, uint64_t shingle, Py_ssize_t size, int level) noexcept nogil:
    """Set the bit of a shingle, if the level samples it."""
    cdef uint64_t value = shingle >> 32, bit
    if value >> (32 - level) == 0 or level == 0:
        bit = ((value << level) * <uint64_t>size) >> 32
        bits[bit // 8] |= 1 << bit % 8


def sketched(
    const uint64_t[::1] shingles,
    const uint8_t[::1] paths,
    int excluded,
    Py_ssize_t text_bits,
    Py_ssize_t named_bits,
):
    cdef Py_ssize_t[2] counts = [0, 0]
    cdef Py_ssize_t[2] sizes = [text_bits, named_bits]
    cdef int[2] levels = [0, 0]
    cdef uint8_t* bits[2]
    cdef Py_ssize_t i
    cdef int kind
    for i in range(shingles.shape[0]):
        counts[shingles[i] & 1] += not paths[i] & excluded
    found = []
    for kind in range(2):
        while (counts[kind] >> levels[kind]) > MAX_DENSITY * sizes[kind]:
            levels[kind] += 1
        packed = PyBytes_FromStringAndSize(NULL, sizes[kind] // 8)
        bits[kind] = <uint8_t*>PyBytes_AS_STRING(packed)
        memset(bits[kind], 0, sizes[kind] // 8)
        found.append((levels[kind], packed))
    for i in range(shingles.shape[0]):
        if not paths[i] & excluded:
            kind = shingles[i] & 1
            mark(bits[kind], shingles[i], sizes[kind], levels[kind])
    return found


# ---- a page's blocks, and what is made of them -----------------------------------------------

cdef enum:
    # The forms of `scrapy_neardup.text.Form` that are told apart.
    LINKS_FORM = 1
    NAMED_FORM = 2
    # As in `scrapy_neardup.judge.shingling`.
    MIN_UNLINKED_TOKENS = 40
    # A pair's rank: kind, DOM paths, and the low bit of the hash, which is the kind's.
    KIND_SHIFT = 9
    PATHS_SHIFT = 1
cdef double MIN_UNLINKED_SHARE = 0.5


cdef inline Py_ssize_t add_shingles(
    Pair* pairs, const uint64_t* tokens, Py_ssize_t count, Py_ssize_t size, uint16_t rank
) noexcept nogil:
    """Add the shingles of a stream of words; return their number."""
    cdef Py_ssize_t i
    cdef uint64_t value
    size = min(size, count)
    if not size:
        return 0
    for i in range(count - size + 1):
        value = shingle_at(&tokens[i], size)
        pairs[i].hash, pairs[i].rank = value & ~<uint64_t>1, rank | (value & 1)
    return count - size + 1


cdef Py_ssize_t add_rows(
    uint64_t* shingles,
    uint8_t* paths,
    const uint64_t* tokens,
    const Word* words,
    const Pair* pairs,
    Py_ssize_t count,
    Py_ssize_t size,
    bint links_count,
) noexcept nogil:
    """Add the shingles within rows, without links, then short rows; return their number."""
    cdef Py_ssize_t i, start, end, length, kept = 0, unlinked = 0
    if count < size:
        return 0
    for i in range(count):
        unlinked = 0 if words[i].in_links and not links_count else unlinked + 1
        start = i - size + 1
        if start >= 0 and unlinked >= size and words[start].row == words[i].row:
            shingles[kept] = pairs[start].hash | (pairs[start].rank & 1)
            paths[kept] = pairs[start].rank >> PATHS_SHIFT & 0xFF
            kept += 1
    for length in range(1, size):
        end = 0
        while end < count:
            start = end
            unlinked = 1
            while end < count and words[end].row == words[start].row:
                unlinked &= links_count or not words[end].in_links
                end += 1
            if end - start == length and unlinked:
                shingles[kept] = shingle_at(&tokens[start], length)
                paths[kept] = words[start].path
                kept += 1
    return kept


def parted(
    const uint64_t[::1] tokens,
    const int64_t[::1] counts,
    bytes forms not None,
    array.array block_paths not None,
    bytes joined not None,
    Py_ssize_t size,
    Py_ssize_t feature_bins,
    frozenset first not None,
):
    cdef Py_ssize_t blocks = counts.shape[0], total = tokens.shape[0]
    cdef Py_ssize_t block, i, j, start = 0, texts = 0, nameds = 0, row = -1, offset = 0
    cdef Py_ssize_t count, kept, in_rows, unlinked = 0
    cdef uint64_t hashed = 0
    cdef uint64_t[2] sums
    cdef uint8_t paths_of_row = 0
    cdef bint is_named, named_row = False, links_count
    cdef const uint8_t* form_of = <const uint8_t*>PyBytes_AS_STRING(forms)
    cdef const uint8_t* joins = <const uint8_t*>PyBytes_AS_STRING(joined)
    cdef Paths known = Paths()
    cdef Pair* pairs
    cdef uint64_t* text
    cdef uint64_t* named
    cdef uint8_t* named_paths
    cdef Word* words
    cdef uint16_t bits
    cdef uint64_t[::1] hashes, of_rows, minima
    cdef uint8_t[::1] paths, of_row_paths
    cdef int[MAX_PATHS] touching
    if not len(forms) == len(block_paths) == len(joined) == blocks:
        raise ValueError("each block has a form, a DOM path and a row")
    for block in range(blocks):
        if form_of[block] > NAMED_FORM:
            raise ValueError(f"{form_of[block]!r} is of no stream")
        start += counts[block]
    if start != total:
        raise ValueError("each token is in a block")
    known.tell_apart(counts, form_of, block_paths.data.as_uints, total, first)
    pairs = <Pair*>malloc((2 * total + 3) * sizeof(Pair))  # `sort_distinct` takes half of it
    text = <uint64_t*>malloc((total + 1) * sizeof(uint64_t))
    named = <uint64_t*>malloc((total + 1) * sizeof(uint64_t))
    named_paths = <uint8_t*>malloc(total + 1)
    words = <Word*>malloc((total + 1) * sizeof(Word))
    try:
        if pairs == NULL or text == NULL or named == NULL or named_paths == NULL or words == NULL:
            raise MemoryError
        sums[0] = sums[1] = 0
        start = 0
        for block in range(blocks):
            is_named = form_of[block] == NAMED_FORM
            if not block or not joins[block]:
                sums[named_row] += mix(hashed)
                known.add_row(paths_of_row, mix(hashed))
                row, offset, hashed, named_row = row + 1, 0, 0, is_named
                paths_of_row = known.of_blocks[block]
            for i in range(start, start + counts[block]):
                offset += 1
                hashed += tokens[i] * (mix(offset) | 1)
                if is_named:
                    named[nameds], named_paths[nameds] = tokens[i], known.of_blocks[block]
                    nameds += 1
                else:
                    text[texts] = tokens[i]
                    words[texts].row, words[texts].path = row, known.of_blocks[block]
                    words[texts].in_links = form_of[block] == LINKS_FORM
                    unlinked += form_of[block] != LINKS_FORM
                    texts += 1
            start += counts[block]
        sums[named_row] += mix(hashed)
        known.add_row(paths_of_row, mix(hashed))

        count = add_shingles(pairs, text, texts, size, 0)
        for i in range(count):
            bits = 0
            for j in range(i, min(i + size, texts)):
                bits |= words[j].path
            pairs[i].rank |= bits << PATHS_SHIFT
        links_count = unlinked < MIN_UNLINKED_TOKENS and unlinked < MIN_UNLINKED_SHARE * total
        # A row of fewer words than a shingle adds one at most for each of its words.
        row_shingles, row_paths = np.empty(2 * texts, np.uint64), np.empty(2 * texts, np.uint8)
        of_rows, of_row_paths = row_shingles, row_paths
        in_rows = 0
        if texts:
            in_rows = add_rows(
                &of_rows[0], &of_row_paths[0], text, words, pairs, texts, size, links_count
            )
        texts = count
        count += add_shingles(pairs + texts, named, nameds, size, 1 << KIND_SHIFT)
        for i in range(texts, count):
            bits = 0
            for j in range(i - texts, min(i - texts + size, nameds)):
                bits |= named_paths[j]
            pairs[i].rank |= bits << PATHS_SHIFT
        kept = sort_distinct(pairs, count)
        found, of_paths = np.empty(kept, np.uint64), np.empty(kept, np.uint8)
        hashes, paths = found, of_paths
        for j in range(MAX_PATHS):
            touching[j] = 0
        for i in range(kept):
            hashes[i] = pairs[i].hash | (pairs[i].rank >> KIND_SHIFT)
            text[i] = pairs[i].hash | (pairs[i].rank & 1)
            paths[i] = pairs[i].rank >> PATHS_SHIFT & 0xFF
            for j in range(known.count):
                touching[j] += paths[i] >> j & 1
        row_shingles, row_paths = row_shingles[:in_rows].copy(), row_paths[:in_rows].copy()
        if not in_rows:
            row_shingles, row_paths = found, of_paths
        least = np.empty(feature_bins, np.uint64)
        if feature_bins:
            minima = least
            if in_rows:
                fill_binned(&of_rows[0], in_rows, &minima[0], feature_bins)
            else:
                fill_binned(&hashes[0], kept, &minima[0], feature_bins)
        standing = tuple([
            (known.paths[j], known.rows[j] & 0xFFFFFFFF, min(touching[j], 255))
            for j in range(known.count)
        ])
        return (
            found, of_paths, row_shingles, row_paths, least, most_of(text, kept),
            sums[0] & 0xFFFFFFFF, sums[1] & 0xFFFFFFFF, standing,
        )
    finally:
        free(pairs)
        free(text)
        free(named)
        free(named_paths)
        free(words)


# ---- many documents at once ------------------------------------------------------------------

def shingles_of_each(const uint64_t[::1] tokens, const int64_t[::1] counts, Py_ssize_t size):
    cdef Py_ssize_t document, i, own, start = 0, end, made = 0
    found, numbers = np.empty(len(tokens), np.uint64), np.empty(len(counts), np.int64)
    cdef uint64_t[::1] hashes = found
    cdef int64_t[::1] each = numbers
    for document in range(counts.shape[0]):
        end = start + counts[document]
        own = min(size, end - start)
        each[document] = end - start - own + 1 if own else 0
        for i in range(start, start + each[document]):
            hashes[made] = shingle_at(&tokens[i], own)
            made += 1
        start = end
    return found[:made].copy(), numbers


def minima_of_each(const uint64_t[::1] hashes, const int64_t[::1] counts, Py_ssize_t bins):
    cdef Py_ssize_t document, start = 0
    found = np.full((len(counts), bins), -1, np.int64).view(np.uint64)
    cdef uint64_t[:, ::1] least = found
    for document in range(counts.shape[0]):
        if counts[document]:
            fill_binned(&hashes[start], counts[document], &least[document, 0], bins)
        start += counts[document]
    return found
