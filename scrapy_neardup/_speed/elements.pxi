# Properties of an element by its tag, attributes and names, for walk.pyx.

# ---- what a tag is ---------------------------------------------------------------------------

cdef enum:
    # The kinds of `scrapy_neardup.text.tags.Kind`; `check_kinds` holds them to it.
    BLOCK, INLINE, LINK, BREAK, SKIPPED, IGNORED, BOILERPLATE, ENDS, PLAIN, HEADING, TITLE,
    SCRIPT, MEDIA, NOSCRIPT, TEMPLATE, SVG, OBJECT, BASE, INPUT, VOID

cdef enum:
    # Other properties of a tag, and of an attribute by its name.
    SECTION = 1, CELL = 2, BESIDE = 4, NAMED_INLINE = 8, SHOWS = 16
    SOURCE = 32, REFERENCE = 64, WORDED = 128, DRAWN = 256, MAIN = 512

cdef enum:
    # The forms of `scrapy_neardup.text.walk.Form`.
    CONTENT, LINKS, NAMED, NAMED_LINKS, OF_NOSCRIPT, OF_BOILERPLATE

cdef struct Tag:
    const char* name
    int kind
    int flags

cdef enum:
    TAGS = 512

cdef Tag[TAGS] tags
cdef Tag unknown
unknown.kind = BLOCK
_kept = []  # the bytes that `tags` points to


cdef check_kinds(kind, form):
    """Raise unless kinds and forms are numbered here as they are in Python."""
    kinds = (
        BLOCK, INLINE, LINK, BREAK, SKIPPED, IGNORED, BOILERPLATE, ENDS, PLAIN, HEADING,
        TITLE, SCRIPT, MEDIA, NOSCRIPT, TEMPLATE, SVG, OBJECT, BASE, INPUT, VOID,
    )
    forms = CONTENT, LINKS, NAMED, NAMED_LINKS, OF_NOSCRIPT, OF_BOILERPLATE
    if kinds != tuple(kind) or forms != tuple(form):
        raise ValueError("compiled from another list of kinds")


cdef inline uint32_t tag_hash(const char* name) noexcept nogil:
    cdef uint32_t value = 2166136261u
    while name[0]:
        value = (value ^ <uint8_t>name[0]) * 16777619u
        name += 1
    return (value ^ value >> 15) % TAGS


cdef inline const Tag* find_tag(const char* name) noexcept nogil:
    cdef uint32_t i = tag_hash(name)
    while tags[i].name != NULL:
        if strcmp(tags[i].name, name) == 0:
            return &tags[i]
        i = (i + 1) % TAGS
    return &unknown


cdef fill_tags(kinds, flagged):
    """Fill the table of tags, from the kind of each and the properties of groups of names."""
    names = set(kinds).union(*(group for group, _ in flagged))
    if 2 * len(names) > TAGS:
        raise ValueError("more tags than there is room for")
    memset(tags, 0, sizeof(tags))
    for tag in sorted(names):
        name = tag.encode()
        _kept.append(name)
        i = tag_hash(name)
        while tags[i].name != NULL:
            i = (i + 1) % TAGS
        tags[i].name = name
        tags[i].kind = kinds.get(tag, BLOCK)
        tags[i].flags = sum(flag for group, flag in flagged if tag in group)


# ---- attributes ------------------------------------------------------------------------------

cdef inline const char* value_of(const xmlAttr* attribute) except? NULL:
    """Return an attribute's value: one piece of text, or empty."""
    cdef const xmlNode* child = attribute.children
    if child == NULL:
        return b""
    if child.type != 3 or child.next != NULL or child.content == NULL:
        raise _Unusual
    return <const char*>child.content


cdef const char* get(const xmlNode* element, const char* name) except? NULL:
    """Return the value of an attribute, or NULL; an attribute with a namespace is unusual."""
    cdef const xmlAttr* attribute = element.properties
    while attribute != NULL:
        if attribute.ns != NULL:
            raise _Unusual
        if strcmp(<const char*>attribute.name, name) == 0:
            return value_of(attribute)
        attribute = attribute.next
    return NULL


cdef inline bint has_url(const char* value) noexcept nogil:
    return strchr(value, c"(") != NULL and strstr(value, b"url(") != NULL


cdef inline bint may_be_json(const char* value) noexcept nogil:
    cdef size_t i = 0
    while value[i] and (<uint8_t>value[i] <= 32 or <uint8_t>value[i] >= 128):
        i += 1
    return value[i] == c"{" or value[i] == c"["


cdef inline bint may_show(const char* name, const char* value) noexcept nogil:
    """Return whether `attribute_sources` may find something in an attribute."""
    cdef size_t size = strlen(name), end = 0, last, i
    cdef bint is_end = False
    if size >= 2 and name[size - 1] == c"d" and name[size - 2] == c"i":
        return True
    if strstr(name, b"src") != NULL or has_url(value) or may_be_json(value):
        return True
    if strstr(name, b"lat") != NULL or strstr(name, b"lng") != NULL:  # a place
        return True
    if strstr(name, b"lon") != NULL or strstr(name, b"coord") != NULL:
        return True
    while not is_end:
        is_end = not value[end]
        if is_end or value[end] == c"?" or value[end] == c"#":
            last = end
            while last and (<uint8_t>value[last - 1] <= 32 or <uint8_t>value[last - 1] >= 128):
                last -= 1
            for i in range(3, 7):  # a dot before two to five letters
                if last >= i and value[last - i] == c".":
                    return True
        end += 1
    return False


cdef frozenset landmarks, section_roles, beside_roles, unshown_inputs

cdef enum:
    MAX_ROLE = 32  # maximum characters of a known role
cdef enum:
    LANDMARK = 64, SECTION_ROLE = 128, BESIDE_ROLE = 256, MAIN_ROLE = 512


cdef int role_of(const char* value) except -1:
    """Return the meaning of the first word of ``role``."""
    cdef const uint8_t* start = <const uint8_t*>value
    cdef const uint8_t* end = start + strlen(value)
    cdef const uint8_t* last
    strip(&start, &end)
    last = start
    while last < end and not space(last, end):
        last += 1
    if last == start or <size_t>(last - start) > MAX_ROLE:
        return 0
    role = PyUnicode_DecodeUTF8(<const char*>start, last - start, NULL).lower()
    return (
        (LANDMARK if role in landmarks else 0)
        | (SECTION_ROLE if role in section_roles else 0)
        | (BESIDE_ROLE if role in beside_roles else 0)
        | (MAIN_ROLE if role == "main" else 0)
    )


# ---- names -----------------------------------------------------------------------------------

cdef struct Name:
    uint64_t hash
    size_t size
    char* value  # of `size` bytes; behind it the step, of `step_size`
    size_t step_size
    int named  # whether it names boilerplate, or `UNKNOWN`

cdef enum:
    NAMES = 8192
    UNKNOWN = -1

cdef Name* names = <Name*>calloc(NAMES, sizeof(Name))
cdef size_t name_count = 0
cdef Name no_name
cdef size_t max_name
cdef object is_named


cdef void forget_names() noexcept:
    global name_count
    cdef int i
    for i in range(NAMES):
        free(names[i].value)
    memset(names, 0, NAMES * sizeof(Name))
    name_count = 0


cdef Name* find_name(const char* value) except NULL:
    """Return what is known of a class or id: its step of a DOM path, and `judged` or not.

    What was found out of up to half of `NAMES` values is remembered, until Python code runs.
    """
    global name_count
    cdef uint64_t hashed = 0x9E3779B97F4A7C15u
    cdef size_t size = 0, count = 0
    cdef uint32_t i
    cdef Name* name
    if value == NULL or value[0] == 0:
        return &no_name
    while value[size]:
        if (<uint8_t>value[size] & 0xC0) != 0x80:
            if count == max_name:
                break
            count += 1
        hashed = (hashed ^ <uint8_t>value[size]) * 0xD6E8FEB86659FD93u
        size += 1
    hashed ^= hashed >> 32
    i = hashed % NAMES
    while names[i].value != NULL:
        name = &names[i]
        if name.hash == hashed and name.size == size and memcmp(name.value, value, size) == 0:
            return name
        i = (i + 1) % NAMES
    if 2 * name_count > NAMES:
        forget_names()
        i = hashed % NAMES
    name = &names[i]
    name.value = <char*>malloc(2 * size)
    if name.value == NULL:
        raise MemoryError
    name_count += 1
    memcpy(name.value, value, size)
    name.hash, name.size, name.named = hashed, size, UNKNOWN
    name.step_size = write_step(<const uint8_t*>value, size, <uint8_t*>name.value + size)
    return name


cdef Name* judged(const char* value) except NULL:
    """Return what is known of a class or id, with whether it names boilerplate."""
    cdef Name* name = find_name(value)
    cdef bint is_boilerplate
    if name.named == UNKNOWN:
        is_boilerplate = is_named(PyUnicode_DecodeUTF8(name.value, name.size, NULL))
        name = find_name(value)  # once more: another thread may have had its turn
        name.named = is_boilerplate
    return name


cdef size_t write_step(const uint8_t* value, size_t size, uint8_t* step) noexcept nogil:
    """Write a class with digits as one, and white space as one space; return its length."""
    cdef const uint8_t* end = value + size
    cdef size_t written = 0
    cdef int gap
    strip(&value, &end)
    while value < end:
        gap = space(value, end)
        if gap:
            while gap:
                value += gap
                gap = space(value, end)
            step[written] = 32
        elif 48 <= value[0] <= 57:
            while value < end and 48 <= value[0] <= 57:
                value += 1
            step[written] = 48
        else:
            step[written] = value[0]
            value += 1
        written += 1
    return written


# ---- CRC-32 ----------------------------------------------------------------------------------

cdef uint32_t[256] crc_table


cdef void fill_crc_table() noexcept:
    cdef uint32_t value
    cdef int byte, _
    for byte in range(256):
        value = byte
        for _ in range(8):
            value = (value >> 1) ^ (0xEDB88320u if value & 1 else 0)
        crc_table[byte] = value


fill_crc_table()


cdef inline uint32_t crc(uint32_t value, const char* data, size_t size) noexcept nogil:
    """Continue a CRC-32 that isn't finished yet."""
    cdef size_t i
    for i in range(size):
        value = (value >> 8) ^ crc_table[(value ^ <uint8_t>data[i]) & 0xFF]
    return value
