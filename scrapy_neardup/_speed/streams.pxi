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


def parted(
    const uint64_t[::1] tokens,
    const int64_t[::1] counts,
    const uint8_t[::1] forms,
    const uint32_t[::1] places,
    const uint8_t[::1] joined,
):
    cdef Py_ssize_t blocks = counts.shape[0], total = tokens.shape[0], of_core = 0, i, form, start
    cdef Py_ssize_t[3] sizes
    cdef Py_ssize_t[3] ends
    cdef uint64_t[::1] parts
    cdef int64_t[::1] kept
    cdef uint8_t[::1] starts
    cdef const uint8_t[::1] owner
    cdef bint is_whole
    if not forms.shape[0] == places.shape[0] == joined.shape[0] == blocks:
        raise ValueError("each block has a form, a place and a row")
    sizes[CONTENT_FORM] = sizes[LINKS_FORM] = sizes[NAMED_FORM] = 0
    for i in range(blocks):
        form = forms[i]
        if form > NAMED_FORM:
            raise ValueError(f"{forms[i]!r} is of no stream")
        sizes[form] += counts[i]
        of_core += form == CONTENT_FORM
    if sizes[CONTENT_FORM] + sizes[NAMED_FORM] + sizes[LINKS_FORM] != total:
        raise ValueError("each token is in a block")
    is_whole = sizes[CONTENT_FORM] < MIN_CORE_TOKENS and (
        sizes[CONTENT_FORM] < MIN_CORE_SHARE * total
    )
    if is_whole:
        forms = bytes(blocks)  # of which each is content
        sizes[CONTENT_FORM], sizes[NAMED_FORM], of_core = total, 0, blocks
    # Content, then what is named, then links.
    ends[CONTENT_FORM] = 0
    ends[NAMED_FORM] = sizes[CONTENT_FORM]
    ends[LINKS_FORM] = sizes[CONTENT_FORM] + sizes[NAMED_FORM]
    found = np.empty(total, np.uint64)
    parts = found
    start = 0
    for i in range(blocks):
        form = forms[i]
        if counts[i]:
            memcpy(&parts[ends[form]], &tokens[start], counts[i] * sizeof(uint64_t))
        ends[form] += counts[i]
        start += counts[i]
    core = found[:sizes[CONTENT_FORM]]
    named = found[sizes[CONTENT_FORM] : sizes[CONTENT_FORM] + sizes[NAMED_FORM]]
    links = found[sizes[CONTENT_FORM] + sizes[NAMED_FORM] :]
    of_blocks = np.empty(of_core, np.int64)
    starts_row = np.empty(of_core, np.uint8)
    owners = np.zeros(of_core, np.uint8)
    if not of_core:
        return core, named, links, of_blocks, starts_row.view(np.bool_), owners, (), ()
    kept, starts = of_blocks, starts_row
    of_core = 0
    for i in range(blocks):
        if forms[i] == CONTENT_FORM:
            kept[of_core], starts[of_core] = counts[i], not of_core or not joined[i]
            of_core += 1
    told, texts = (), ()
    if of_core > 1:
        told, texts = tracked(core, of_blocks, owners, forms, places, total)
    if is_whole:
        owner = owners
        for i in range(1, of_core):
            starts[i] = owner[i] != owner[i - 1]
    return core, named, links, of_blocks, starts_row.view(np.bool_), owners, told, texts


cdef inline bint is_before(const Place* one, const Place* other) noexcept nogil:
    """Return whether a place is told apart before another one."""
    if one.rank != other.rank:
        return one.rank > other.rank
    if one.tokens != other.tokens:
        return one.tokens > other.tokens
    return one.place > other.place


cdef tuple tracked(
    const uint64_t[::1] core,
    const int64_t[::1] counts,
    uint8_t[::1] owners,
    const uint8_t[::1] forms,
    const uint32_t[::1] places,
    Py_ssize_t total,
):
    """Fill in the owners of a core's blocks; return the tracked places, and the text of each."""
    cdef Py_ssize_t blocks = counts.shape[0], i, j, number, token, held = 0
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
            entry.tokens += counts[number]
        small = SMALL_SHARE * core.shape[0]
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
                    owners[number] = j + 1
                    for token in range(i, i + counts[number]):
                        texts[j] += core[token]
            i += counts[number]
        return (
            tuple([first[j].place for j in range(held)]),
            tuple([texts[j] for j in range(held)]),
        )
    finally:
        free(known)
        free(of_blocks)
