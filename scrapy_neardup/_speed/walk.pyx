"""HTML tree to blocks: `scrapy_neardup.text.walk` over lxml's own tree.

Fields of libxml2's nodes are read and never written; no function of libxml2 is called and
nothing is linked to it. What stands in a tree from HTML by exception alone
(namespaces, entities, values in pieces) is left to the Python code: `walk` then returns None.

`set_up` takes the tables of the Python code; nothing is said twice.
"""

from array import array

from cpython.bytes cimport PyBytes_FromStringAndSize
from cpython.unicode cimport PyUnicode_DecodeUTF8
from libc.stdint cimport uint8_t, uint32_t, uint64_t
from libc.stdlib cimport calloc, free, malloc, realloc
from libc.string cimport memcmp, memcpy, memset, strchr, strcmp, strcspn, strlen, strspn, strstr
from lxml.includes.etreepublic cimport LXML_VERSION_STRING, _Element
from lxml.includes.tree cimport xmlAttr, xmlNode

BUILT_WITH = LXML_VERSION_STRING.decode()
"""The version of lxml whose headers described the nodes."""


class _Unusual(Exception):
    """A tree that the Python code has to read."""


# ---- text as UTF-8: a buffer that grows, and what `str.strip` and `str.isspace` see ---------

cdef struct Buffer:
    char* data
    size_t size
    size_t room


cdef int put(Buffer* buffer, const char* data, size_t size) except -1:
    cdef char* moved
    if not size:  # `data` may be NULL
        return 0
    if buffer.size + size > buffer.room:
        moved = <char*>realloc(buffer.data, 2 * (buffer.size + size) + 256)
        if moved == NULL:
            raise MemoryError
        buffer.data = moved
        buffer.room = 2 * (buffer.size + size) + 256
    memcpy(buffer.data + buffer.size, data, size)
    buffer.size += size
    return 0


cdef bytes contents(const Buffer* buffer):
    return PyBytes_FromStringAndSize(buffer.data, buffer.size)


cdef inline int space(const uint8_t* at, const uint8_t* end) noexcept nogil:
    """Return the bytes of the white space, by `str.isspace`, that begins here; 0 if none does."""
    cdef uint8_t first = at[0], second, third
    if first < 0x80:
        return first == 32 or 9 <= first <= 13 or 28 <= first <= 31
    if first == 0xC2:
        return 2 if at + 1 < end and (at[1] == 0x85 or at[1] == 0xA0) else 0
    if (first == 0xE1 or first == 0xE2 or first == 0xE3) and at + 2 < end:
        second, third = at[1], at[2]
        if first == 0xE1:  # U+1680
            return 3 if second == 0x9A and third == 0x80 else 0
        if first == 0xE3:  # U+3000
            return 3 if second == 0x80 and third == 0x80 else 0
        if second == 0x80:  # U+2000 to U+200A, U+2028, U+2029, U+202F
            return 3 if third <= 0x8A or third == 0xA8 or third == 0xA9 or third == 0xAF else 0
        return 3 if second == 0x81 and third == 0x9F else 0  # U+205F
    return 0


cdef int strip(const uint8_t** start, const uint8_t** end) noexcept nogil:
    """Move both ends of a text past its white space."""
    cdef const uint8_t* first = start[0]
    cdef const uint8_t* last = end[0]
    cdef int size
    while first < last:
        size = space(first, last)
        if not size:
            break
        first += size
    while first < last:
        if (last - 1)[0] < 0x80:
            size = 1
        elif last - first >= 2 and (last - 2)[0] == 0xC2:
            size = 2
        elif last - first >= 3:
            size = 3
        else:
            break
        if space(last - size, last) != size:
            break
        last -= size
    start[0] = first
    end[0] = last
    return 0


cdef inline size_t characters(const uint8_t* at, const uint8_t* end) noexcept nogil:
    """Return the number of characters: bytes that continue none."""
    cdef size_t count = 0
    while at < end:
        count += (at[0] & 0xC0) != 0x80
        at += 1
    return count


include "elements.pxi"


# ---- what a page has besides text: title, data, media ---------------------------------------

cdef object image_source, attribute_sources, framed, is_data, is_state, series_of


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


cdef bint has_series(const char* code):
    """Return whether some ``[`` is followed by enough characters of lists of numbers."""
    code = strchr(code, b"[")
    while code != NULL:
        code += 1
        if strspn(code, b"0123456789.,[]+-eE \t\n\r\f\v") >= 9:
            return True
        code = strchr(code, b"[")
    return False


cdef int add_data(const xmlNode* script, Buffer* run, set data) except -1:
    """Add the data or the state that a script holds, if it does."""
    cdef const char* kind = get(script, b"type")
    cdef const xmlNode* node = script.children
    cdef bint has_data = kind != NULL and is_data((<bytes>kind).decode())
    cdef bint may_be_state = False, may_have_series = False
    if not has_data and get(script, b"src") != NULL:
        return 0
    run.size = 0
    while node != NULL and (node.type == 3 or node.type == 4):
        put_text(run, node)
        node = node.next
    if node != NULL and node.type != 1 and node.type != 7 and node.type != 8:
        raise _Unusual
    put(run, b"", 1)  # functions of C want an end
    if not has_data:  # the two patterns of `is_state` begin with these
        may_be_state = strstr(run.data, b"__") != NULL or strstr(run.data, b"nitial") != NULL
        may_have_series = has_series(run.data)
    if has_data or may_be_state or may_have_series:
        code = PyUnicode_DecodeUTF8(run.data, run.size - 1, NULL)
        if has_data or is_state(code):
            data.add(" ".join(code.split()))
        else:
            data.update(series_of(code))
    return 0


cdef int add_sources(const xmlNode* element, bint is_medium, bint again, dict sources) except -1:
    """Add what an element shows besides text, by its attributes, if it isn't a dot."""
    cdef int flags
    cdef bint is_source
    cdef const char* name
    cdef const char* value
    cdef set shown = None
    cdef const xmlAttr* attribute = element.properties
    while attribute != NULL:
        if attribute.ns != NULL:
            raise _Unusual
        name, value = <const char*>attribute.name, value_of(attribute)
        attribute = attribute.next
        flags = find_tag(name).flags
        is_source = flags & SOURCE and (is_medium or not flags & REFERENCE)
        if not (is_source or (has_url(value) if flags & WORDED else may_show(name, value))):
            continue
        if shown is None:  # once, as looking for an attribute walks over all of them
            if is_dot(get(element, b"width")) or is_dot(get(element, b"height")):
                return 0
            shown = set()
        if is_source:
            add_source(value, shown)
        else:
            shown.update(
                attribute_sources(
                    PyUnicode_DecodeUTF8(name, strlen(name), NULL),
                    PyUnicode_DecodeUTF8(value, strlen(value), NULL),
                    is_medium=is_medium,
                )
            )
    if shown is not None:
        for source in shown:
            if again or source not in sources:
                sources[source] = sources.get(source, 0) + 1
    return 0


cdef int add_shape(const xmlNode* element, Buffer* run, bint again, dict sources) except -1:
    """Add what an element of an inline SVG draws; see `shape_of`."""
    cdef int drawn = DRAWN | (REFERENCE if strcmp(<const char*>element.name, b"use") == 0 else 0)
    cdef const char* name
    cdef const char* value
    cdef const xmlAttr* attribute = element.properties
    run.size = 0
    while attribute != NULL:
        name, value = <const char*>attribute.name, value_of(attribute)
        attribute = attribute.next
        if find_tag(name).flags & drawn and not has_url(value):
            if not run.size:
                put(run, b"svg:", 4)
            put(run, name, strlen(name))
            put(run, b"=", 1)
            put(run, value, strlen(value))
            put(run, b" ", 1)
    if run.size:
        shape = PyUnicode_DecodeUTF8(run.data, run.size, NULL)
        if again or shape not in sources:
            sources[shape] = sources.get(shape, 0) + 1
    return 0


cdef int add_source(const char* value, set sources) except -1:
    """Add an address, if only ``../`` in it may need a change; see `image_source`."""
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


cdef inline bint is_link_in_head(const xmlNode* element) noexcept nogil:
    return (
        strcmp(<const char*>element.name, b"link") == 0
        and strcmp(<const char*>element.parent.name, b"head") == 0
    )


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


# ---- the walk -------------------------------------------------------------------------------

cdef object Blocks, Walked, is_day, titled
cdef double link_share
cdef int max_depth


def set_up(tags, walk):
    """Take the tables and helpers of these modules of `scrapy_neardup.text`."""
    global landmarks, section_roles, beside_roles, max_name, is_named, Blocks, Walked
    global image_source, is_data, is_state, series_of, is_day, titled, link_share, max_depth
    global attribute_sources, framed, unshown_inputs
    check_kinds(tags.Kind, walk.Form)
    fill_tags(
        tags.KINDS,
        (
            (tags.SECTIONS, SECTION), (walk._CELLS, CELL), (walk._BESIDE, BESIDE),
            (walk._NAMED_INLINE, NAMED_INLINE), ({"main"}, MAIN),
            ({"img", "source", "embed"}, SHOWS),
            (tags.SOURCES, SOURCE), (tags.REFERENCES, REFERENCE), (tags.WORDED, WORDED),
            (tags.DRAWN, DRAWN),
        ),
    )
    landmarks, section_roles = tags.LANDMARKS, tags.SECTION_ROLES
    unshown_inputs = tags.UNSHOWN_INPUTS
    beside_roles, max_name, is_named = walk._BESIDE_ROLES, walk.MAX_LENGTH, walk.is_named
    Blocks, Walked = walk.Blocks, walk.Walked
    image_source, is_day = walk.image_source, walk._is_day
    is_data, is_state, series_of = walk.is_data, walk.is_state, walk.series_of
    attribute_sources, framed = walk.attribute_sources, walk.framed
    titled, link_share, max_depth = walk.titled, walk._LINK_SHARE, walk._MAX_DEPTH


include "walker.pxi"


def walk(_Element root not None, *, bint boilerplate, bint frames=True):
    """Return the content of a page, or None if the Python code has to read it."""
    if root._c_node == NULL or root._c_node.type != 1:
        return None
    if root._c_node.doc.type == 9 and root._c_node.doc.intSubset != NULL:
        return None  # a DTD of XML may give attributes that no element has
    cdef Walker walker = Walker(boilerplate, frames)
    try:
        return walker.walk(root._c_node)
    except (_Unusual, UnicodeDecodeError):
        return None


def is_laid_out_as_built(
    _Element parent not None, _Element first not None, _Element second not None
):
    """Return whether nodes have the layout of the headers, given an element and two children.

    The pointers that are compared are known; none is followed.
    """
    cdef const xmlNode* above = parent._c_node
    cdef const xmlNode* left = first._c_node
    cdef const xmlNode* right = second._c_node
    return (
        above._private == <void*>parent
        and left._private == <void*>first
        and right._private == <void*>second
        and above.type == left.type == right.type == 1
        and above.children == left
        and above.last == right
        and left.parent == above
        and left.next == right
        and right.prev == left
        and left.name == right.name
        and left.ns == NULL
    )
