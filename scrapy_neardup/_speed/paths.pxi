# The DOM paths of a page that its evidence has, for features.pyx.

cdef enum:
    # As in `scrapy_neardup.judge`.
    MAX_PATHS = 8
    MIN_PATH_TOKENS = 1
cdef double MAX_SHARE = 0.9
cdef double SMALL_SHARE = 0.25


cdef struct Word:
    int64_t row
    uint8_t path  # a bit for the DOM path, if the evidence has it
    uint8_t in_links


cdef struct Path:
    uint64_t name
    int64_t first  # number of its first block, plus one; 0 where the entry is free
    int64_t last
    int64_t tokens
    int64_t blocks
    bint is_alone  # not an end of a list
    int rank  # paths with higher ranks come first


cdef inline Path* find_path(Path* known, size_t room, uint64_t name) noexcept nogil:
    """Return the entry of a DOM path, or a free one for it; `room` is a power of two."""
    cdef size_t i = mix(name) & (room - 1)
    while known[i].first and known[i].name != name:
        i = (i + 1) & (room - 1)
    return &known[i]


cdef inline bint is_before(const Path* one, const Path* other) noexcept nogil:
    """Return whether a DOM path comes before another one."""
    if one.rank != other.rank:
        return one.rank > other.rank
    if one.tokens != other.tokens:
        return (one.tokens < other.tokens) == (one.rank & 4 != 0)
    return one.name > other.name


cdef class Paths:
    """The DOM paths of a page that its evidence has, and the bit of each block's path."""

    cdef uint8_t* of_blocks
    cdef uint64_t[MAX_PATHS] paths
    cdef uint64_t[MAX_PATHS] rows  # sum of the hashes of the rows that start there
    cdef Py_ssize_t count

    def __dealloc__(self):
        free(self.of_blocks)

    cdef int tell_apart(
        self,
        const int64_t[::1] counts,
        const uint8_t* forms,
        const uint32_t* block_paths,
        Py_ssize_t total,
        frozenset prior,
    ) except -1:
        """Choose the DOM paths of a page of `total` tokens, those of `prior` first."""
        cdef Py_ssize_t blocks = counts.shape[0], i, j, text = 0
        cdef uint64_t last = 0, kind, ends
        cdef size_t room = 16, k
        cdef Path* known
        cdef Path* entry
        cdef Path* first[MAX_PATHS]
        cdef uint64_t* names
        cdef double small
        cdef bint is_alone, has_prior = len(prior) > 0
        while room < 2 * <size_t>blocks:
            room *= 2
        self.of_blocks = <uint8_t*>calloc(blocks + 1, 1)
        known = <Path*>calloc(2 * room, sizeof(Path))
        names = <uint64_t*>malloc((blocks + 1) * sizeof(uint64_t))
        try:
            if self.of_blocks == NULL or known == NULL or names == NULL:
                raise MemoryError
            for i in range(blocks):  # `short_paths`
                names[i] = <uint64_t>block_paths[i] << 1 | (forms[i] == NAMED_FORM)
                entry = find_path(known, room, names[i])
                if not entry.first:
                    entry.name, entry.first = names[i], i + 1
                entry.last = i + 1
                entry.blocks += 1
                entry.tokens += counts[i]
            for i in range(blocks):
                entry = find_path(known, room, names[i])
                kind = names[i] & 1
                ends = 0
                if forms[i] != LINKS_FORM:
                    ends += 0x5A5A if entry.first == i + 1 else 0
                    ends += 0x3C1C if entry.last == i + 1 else 0
                names[i] = ((block_paths[i] + ends) & 0xFFFE | kind) or 2
                is_alone = (
                    entry.blocks == 1 or 2 * counts[i] * entry.blocks <= entry.tokens
                )
                entry = find_path(known + room, room, names[i])
                entry.name, entry.first = names[i], 1
                entry.is_alone |= is_alone
                entry.tokens += counts[i]
                if not kind:
                    text += counts[i]
                    last = names[i]
            small = SMALL_SHARE * text
            for k in range(room, 2 * room):  # `told_apart`
                entry = &known[k]
                if entry.tokens < MIN_PATH_TOKENS or entry.tokens > MAX_SHARE * total:
                    continue
                entry.rank = (
                    16 * (has_prior and entry.name in prior)
                    + 8 * (entry.name == last)
                    + 4 * (entry.tokens <= small)
                    + 2 * (not entry.name & 1)
                    + (entry.tokens <= small and entry.is_alone)
                )
                j = min(self.count, <Py_ssize_t>MAX_PATHS)
                while j and is_before(entry, first[j - 1]):
                    if j < MAX_PATHS:
                        first[j] = first[j - 1]
                    j -= 1
                if j < MAX_PATHS:
                    first[j] = entry
                    self.count = min(self.count + 1, <Py_ssize_t>MAX_PATHS)
            for j in range(self.count):
                self.paths[j], self.rows[j] = first[j].name, 0
                for i in range(blocks):
                    if names[i] == self.paths[j]:
                        self.of_blocks[i] = 1 << j
        finally:
            free(known)
            free(names)
        return 0

    cdef void add_row(self, uint8_t path, uint64_t hashed) noexcept:
        """Add the hash of a row that starts at a DOM path, given as its bit."""
        cdef Py_ssize_t j
        for j in range(self.count):
            if path >> j & 1:
                self.rows[j] += hashed
