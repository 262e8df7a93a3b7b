# cython: language_level=3, boundscheck=False, wraparound=False, initializedcheck=False
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
from libc.string cimport memcmp, memcpy, memset, strcmp, strlen, strstr
from lxml.includes.etreepublic cimport LXML_VERSION_STRING, _Element
from lxml.includes.tree cimport xmlAttr, xmlNode

BUILT_WITH = LXML_VERSION_STRING.decode()
"""The version of lxml whose headers described the nodes."""


class _Unusual(Exception):
    """A tree that the Python code has to read."""


include "utf8.pxi"
include "elements.pxi"
include "beside.pxi"

cdef object Blocks, Walked, is_day
cdef Py_ssize_t max_title
cdef double link_share
cdef int max_depth


def set_up(tags, walk):
    """Take the tables and helpers of these modules of `scrapy_neardup.text`."""
    global landmarks, section_roles, beside_roles, max_name, is_named, Blocks, Walked
    global image_source, is_state, is_day, max_title, link_share, max_depth
    check_kinds(tags.Kind, walk.Form)
    fill_tags(
        tags.KINDS,
        (
            (tags.SECTIONS, SECTION), (walk._CELLS, CELL), (walk._BESIDE, BESIDE),
            (walk._NAMED_INLINE, NAMED_INLINE), ({"img", "source", "embed"}, SHOWS),
            ({"img"}, IMAGE),
        ),
    )
    fill_sources(tags.SOURCES)
    landmarks, section_roles = tags.LANDMARKS, tags.SECTION_ROLES
    beside_roles, max_name, is_named = walk._BESIDE_ROLES, walk.MAX_LENGTH, walk.is_named
    Blocks, Walked = walk.Blocks, walk.Walked
    image_source, is_state, is_day = walk.image_source, walk.is_state, walk._is_day
    max_title, link_share, max_depth = walk.MAX_TITLE, walk._LINK_SHARE, walk._MAX_DEPTH


include "walker.pxi"


def walk(_Element root not None, *, bint boilerplate):
    """Return what a page says, or None where the Python code has to read it."""
    if root._c_node == NULL or root._c_node.type != 1:
        return None
    if root._c_node.doc.type == 9 and root._c_node.doc.intSubset != NULL:
        return None  # a DTD of XML may give attributes that no element has
    cdef Walker walker = Walker(boilerplate)
    try:
        return walker.walk(root._c_node)
    except (_Unusual, UnicodeDecodeError):
        return None


def is_laid_out_as_built(
    _Element parent not None, _Element first not None, _Element second not None
):
    """Return whether nodes are where the headers said, given an element and its two children.

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
