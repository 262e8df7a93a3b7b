# What stands beside a page's text, for walk.pyx: title, data, media.

cdef object image_source, is_state


cdef str strings(const xmlNode* element, Buffer* run):
    """Return all the text in an element."""
    cdef const xmlNode* node = element.children
    run.size = 0
    while node != NULL:
        if node.type == 3 or node.type == 4:
            put_text(run, node)
        elif node.type != 1 and node.type != 7 and node.type != 8:
            raise _Unusual
        node = following(node, element)
    return PyUnicode_DecodeUTF8(run.data, run.size, NULL)


cdef int add_data(const xmlNode* script, Buffer* run, set data) except -1:
    """Add the JSON or the state that a script holds, if it does."""
    cdef const char* kind = get(script, b"type")
    cdef const xmlNode* node = script.children
    cdef bint is_json = kind != NULL and b"json" in (<bytes>kind).lower()
    cdef bint may_be_state = False
    if not is_json and get(script, b"src") != NULL:
        return 0
    run.size = 0
    while node != NULL and (node.type == 3 or node.type == 4):
        put_text(run, node)
        node = node.next
    if node != NULL and node.type != 1 and node.type != 7 and node.type != 8:
        raise _Unusual
    put(run, b"", 1)  # `strstr` wants an end
    if not is_json:  # the two patterns of `is_state` begin with these
        may_be_state = strstr(run.data, b"__") != NULL or strstr(run.data, b"nitial") != NULL
    if is_json or may_be_state:
        code = PyUnicode_DecodeUTF8(run.data, run.size - 1, NULL)
        if is_json or is_state(code):
            data.add(" ".join(code.split()))
    return 0


cdef int add_sources_within(const xmlNode* element, int flag, set sources) except -1:
    """Add what elements show whose tags have a flag."""
    cdef const xmlNode* node = element.children
    while node != NULL:
        if node.type == 1:
            if node.ns != NULL:
                raise _Unusual
            if find_tag(<const char*>node.name).flags & flag:
                add_sources(node, sources)
        elif node.type != 3 and node.type != 4 and node.type != 7 and node.type != 8:
            raise _Unusual
        node = following(node, element)
    return 0


cdef int add_sources(const xmlNode* element, set sources) except -1:
    """Add what an image or another medium shows."""
    cdef int i
    cdef const char* value
    if element.properties == NULL:
        return 0
    if is_dot(get(element, b"width")) or is_dot(get(element, b"height")):
        return 0
    for i in range(source_count):
        value = get(element, source_names[i])
        if value != NULL and value[0]:
            add_source(value, sources)
    return 0


cdef int add_source(const char* value, set sources) except -1:
    """Add an address, if there is nothing in it to look at but ``../``; see `image_source`."""
    cdef const char* start = value
    cdef const uint8_t* at
    cdef bint is_plain
    while start[0] == c"." and (start[1] == c"/" or start[1] == c"." and start[2] == c"/"):
        start += 2 if start[1] == c"/" else 3
    at = <const uint8_t*>start
    is_plain = at[0]
    while is_plain and at[0]:
        # A scheme, a query, a fragment, a list, white space; anything but ASCII.
        is_plain = (
            33 <= at[0] < 127 and at[0] != c":" and at[0] != c"?" and at[0] != c"#"
            and at[0] != c","
        )
        at += 1
    if is_plain:
        sources.add(PyUnicode_DecodeUTF8(start, strlen(start), NULL))
    else:
        sources.update(image_source(PyUnicode_DecodeUTF8(value, strlen(value), NULL)))
    return 0


cdef inline int put_text(Buffer* run, const xmlNode* node) except -1:
    cdef const char* content = <const char*>node.content
    if content != NULL:
        put(run, content, strlen(content))
    return 0


cdef inline const xmlNode* following(const xmlNode* node, const xmlNode* top) noexcept nogil:
    """Return the next node within `top`, in the order of the page, or NULL."""
    if node.type == 1 and node.children != NULL:
        return node.children
    while node != top:
        if node.next != NULL:
            return node.next
        node = node.parent
    return NULL


cdef bint is_dot(const char* length) noexcept nogil:
    """Return whether an image of this width or height is too small to show anything."""
    cdef const uint8_t* start = <const uint8_t*>length
    cdef const uint8_t* end
    if length == NULL:
        return False
    end = start + strlen(length)
    strip(&start, &end)
    return end - start == 1 and (start[0] == c"0" or start[0] == c"1")
