# A page's tokens by the form in which they stand, and its tracked places, for features.pyx.

cdef enum:
    # The forms of `scrapy_neardup.text.Form` that are told apart.
    CONTENT_FORM = 0
    LINKS_FORM = 1
    NAMED_FORM = 2
    # As in `scrapy_neardup.evidence.shingling`, `places` and `layout`.
    MIN_CORE_TOKENS = 40
    MIN_PLACE_TOKENS = 3
    MAX_TRACKED = 4
cdef double MIN_CORE_SHARE = 0.5
cdef double MAX_SHARE = 0.5
cdef double SMALL_SHARE = 0.25


cdef struct Place:
    uint64_t place
    int64_t first  # number of its first block, plus one; 0 where the entry is free
    int64_t last
    int64_t tokens
    int rank  # the higher, the sooner it is told apart


cdef inline Place* find_place(Place* known, size_t room, uint64_t place) noexcept nogil:
    """Return the entry of a place, or a free one for it; `room` is a power of two."""
    cdef size_t i = mix(place) & (room - 1)
    while known[i].first and known[i].place != place:
        i = (i + 1) & (room - 1)
    return &known[i]


cdef inline bint is_before(const Place* one, const Place* other) noexcept nogil:
    """Return whether a place is told apart before another one."""
    if one.rank != other.rank:
        return one.rank > other.rank
    if one.tokens != other.tokens:
        return one.tokens > other.tokens
    return one.place > other.place


cdef class Parts:
    """The streams of a page (`scrapy_neardup.evidence.shingling.Streams`), without an array each."""

    cdef uint64_t* tokens  # of content, then what is named, then links
    cdef Py_ssize_t core, named, links  # how many of each
    cdef int64_t* counts  # of the blocks of the core, as are the next two
    cdef uint8_t* starts
    cdef uint8_t* owners
    cdef Py_ssize_t blocks
    cdef tuple places, texts

    def __cinit__(self):
        self.tokens, self.counts = NULL, NULL

    def __dealloc__(self):
        free(self.tokens)
        free(self.counts)  # and what lies behind them

    def __init__(
        self,
        const uint64_t[::1] tokens,
        const int64_t[::1] counts,
        const uint8_t[::1] forms,
        const uint32_t[::1] places,
        const uint8_t[::1] joined,
    ):
        cdef Py_ssize_t blocks = counts.shape[0], total = tokens.shape[0], i, form, start, kept = 0
        cdef Py_ssize_t[3] sizes
        cdef Py_ssize_t[3] ends
        cdef bint is_whole
        if not forms.shape[0] == places.shape[0] == joined.shape[0] == blocks:
            raise ValueError("each block has a form, a place and a row")
        sizes[CONTENT_FORM] = sizes[LINKS_FORM] = sizes[NAMED_FORM] = 0
        for i in range(blocks):
            if forms[i] > NAMED_FORM:
                raise ValueError(f"{forms[i]!r} is of no stream")
            sizes[forms[i]] += counts[i]
        if sizes[CONTENT_FORM] + sizes[NAMED_FORM] + sizes[LINKS_FORM] != total:
            raise ValueError("each token is in a block")
        is_whole = sizes[CONTENT_FORM] < MIN_CORE_TOKENS and (
            sizes[CONTENT_FORM] < MIN_CORE_SHARE * total
        )
        if is_whole:
            forms = bytes(blocks)  # of which each is content
            sizes[CONTENT_FORM], sizes[NAMED_FORM], sizes[LINKS_FORM] = total, 0, 0
        self.core, self.named = sizes[CONTENT_FORM], sizes[NAMED_FORM]
        self.links = sizes[LINKS_FORM]
        self.tokens = <uint64_t*>malloc((total + 1) * sizeof(uint64_t))
        self.counts = <int64_t*>calloc(blocks + 1, sizeof(int64_t) + 2)
        if self.tokens == NULL or self.counts == NULL:
            raise MemoryError
        self.starts = <uint8_t*>(self.counts + blocks)
        self.owners = self.starts + blocks
        ends[CONTENT_FORM], ends[NAMED_FORM] = 0, self.core
        ends[LINKS_FORM] = self.core + self.named
        start = 0
        for i in range(blocks):
            form = forms[i]
            if counts[i]:
                memcpy(self.tokens + ends[form], &tokens[start], counts[i] * sizeof(uint64_t))
            ends[form] += counts[i]
            start += counts[i]
            if form == CONTENT_FORM:
                self.counts[kept], self.starts[kept] = counts[i], not kept or not joined[i]
                kept += 1
        self.blocks = kept
        self.places, self.texts = (), ()
        if kept > 1:
            self.track(forms, places, total)
        for i in range(1, kept if is_whole else 0):
            self.starts[i] = self.owners[i] != self.owners[i - 1]

    cdef int track(
        self, const uint8_t[::1] forms, const uint32_t[::1] places, Py_ssize_t total
    ) except -1:
        """Fill in the owners of the core's blocks, the tracked places, and the text of each."""
        cdef Py_ssize_t blocks = self.blocks, i, j, number, token, held = 0
        cdef size_t room = 16
        cdef Place* known
        cdef Place* entry
        cdef Place* first[MAX_TRACKED]
        cdef double small
        cdef uint64_t* of_blocks
        cdef uint64_t[MAX_TRACKED] texts
        while room < 2 * <size_t>blocks:
            room *= 2
        known = <Place*>calloc(2 * room, sizeof(Place))
        of_blocks = <uint64_t*>malloc(blocks * sizeof(uint64_t))
        try:
            if known == NULL or of_blocks == NULL:
                raise MemoryError
            i = 0
            for number in range(blocks):  # `named_places`
                while forms[i] != CONTENT_FORM:
                    i += 1
                of_blocks[number] = places[i]
                i += 1
                entry = find_place(known, room, of_blocks[number])
                if not entry.first:
                    entry.place, entry.first = of_blocks[number], number + 1
                entry.last = number + 1
            for number in range(blocks):
                entry = find_place(known, room, of_blocks[number])
                of_blocks[number] = (
                    of_blocks[number]
                    + (0x5A5B if entry.first == number + 1 else 0)
                    + (0x3C1D if entry.last == number + 1 else 0)
                ) & 0xFFFF or 1
            for number in range(blocks):  # `tracked`
                entry = find_place(known + room, room, of_blocks[number])
                entry.place, entry.first = of_blocks[number], 1
                entry.tokens += self.counts[number]
            small = SMALL_SHARE * self.core
            for i in range(room, 2 * room):
                entry = &known[i]
                if entry.tokens < MIN_PLACE_TOKENS or entry.tokens > MAX_SHARE * total:
                    continue
                entry.rank = 2 * (entry.place == of_blocks[blocks - 1]) + (entry.tokens <= small)
                j = held if held < MAX_TRACKED else MAX_TRACKED
                while j and is_before(entry, first[j - 1]):
                    if j < MAX_TRACKED:
                        first[j] = first[j - 1]
                    j -= 1
                if j < MAX_TRACKED:
                    first[j] = entry
                    held = min(held + 1, <Py_ssize_t>MAX_TRACKED)
            for j in range(held):
                texts[j] = 0
            i = 0
            for number in range(blocks):
                for j in range(held):
                    if first[j].place == of_blocks[number]:
                        self.owners[number] = j + 1
                        for token in range(i, i + self.counts[number]):
                            texts[j] += self.tokens[token]
                i += self.counts[number]
            self.places = tuple([first[j].place for j in range(held)])
            self.texts = tuple([texts[j] for j in range(held)])
        finally:
            free(known)
            free(of_blocks)


def parted(
    const uint64_t[::1] tokens,
    const int64_t[::1] counts,
    const uint8_t[::1] forms,
    const uint32_t[::1] places,
    const uint8_t[::1] joined,
):
    cdef Parts parts = Parts(tokens, counts, forms, places, joined)
    cdef Py_ssize_t content = parts.core, named = parts.core + parts.named
    found, of_blocks = np.empty(tokens.shape[0], np.uint64), np.empty(parts.blocks, np.int64)
    starts, owners = np.empty(parts.blocks, np.bool_), np.empty(parts.blocks, np.uint8)
    copied(found, parts.tokens)
    copied(of_blocks, parts.counts)
    copied(starts, parts.starts)
    copied(owners, parts.owners)
    return (
        found[:content], found[content:named], found[named:], of_blocks, starts, owners,
        parts.places, parts.texts,
    )


cdef int copied(array, const void* values) except -1:
    """Fill an array with values."""
    cdef uint8_t[::1] room = array.view(np.uint8)
    if room.shape[0]:
        memcpy(&room[0], values, room.shape[0])
    return 0
