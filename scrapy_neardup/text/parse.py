"""Bytes to tree, for callers without Scrapy and for pages that Scrapy decodes differently.

The decoder (w3lib) and the parser (libxml2) are Scrapy's, so a page has the same text and
fingerprint in a crawl and on disk.

Pages that would take more than some seconds of CPU to read are refused. Length, tags and
attributes are checked before parsing; whether the parser gave up on deep nesting, afterwards. The
costs were measured with libxml2 2.14.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final

import numpy as np
from lxml import etree
from lxml.html import HtmlElement, HTMLParser
from w3lib.encoding import html_to_unicode

from scrapy_neardup.errors import InputError, TooComplexError

_SAMPLE = 1 << 12
_CONTROLS = re.compile("[\x01-\x08\x0e-\x1f]")
_MAX_CONTROLS = 1 / 20
"""Maximum share of control characters in a text. NUL doesn't count: UTF-16 that is read in another
encoding is full of it, and it can be dropped."""


def is_binary(text: str) -> bool:
    """Return whether `text` looks like a decoded picture or archive."""
    sample = text[:_SAMPLE]
    return len(_CONTROLS.findall(sample)) > _MAX_CONTROLS * len(sample)


def parse_html(body: bytes | str, encoding: str | None = None) -> HtmlElement:
    """Return the root of a page's tree; the markup may be broken and contain NUL characters.

    `encoding` is a known encoding of the bytes, for example from an HTTP header. The order is: a
    byte order mark, `encoding`, the page's declaration, UTF-8 if the bytes are valid, a guess
    (`text.encoding`). Undecodable bytes become U+FFFD. Raises `InputError` if there is no text, or
    binary data; `TooComplexError` if parsing would take too long. O(n), about 10 ms a megabyte.
    """
    text = _decode(body, encoding) if isinstance(body, bytes) else body
    if is_binary(text):
        raise InputError("the page is binary data, not HTML")
    check_text(text)
    data = text.replace("\0", "").strip().encode("utf-8", "replace")
    try:
        root = etree.fromstring(data, HTMLParser(encoding="utf-8", huge_tree=True))
    except etree.LxmlError:
        root = None
    if root is None or not any(map(len, roots_of(root))):
        raise InputError("the page is empty: there is neither text nor markup in it")
    check_tree(root)
    return root


def _decode(body: bytes, encoding: str | None) -> str:
    from scrapy_neardup.text.encoding import guess_encoding  # noqa: PLC0415  (few pages need it)

    content_type = f"text/html; charset={encoding}" if encoding else None
    _, text = html_to_unicode(content_type, body, auto_detect_fun=guess_encoding)
    return text


MAX_CHARACTERS: Final = 1 << 25
"""Maximum length of a page in characters: one-letter words of that length take 2 s to judge."""

MAX_TAGS: Final = 500_000
"""Maximum number of ``<`` in a page. An end tag without an open element costs libxml2 1.7 ns for
each of the 2,048 elements that may be open: 1.7 s for as many."""

MAX_DEPTH: Final = 2046
"""Number of nested elements from which libxml2 may end a page without an error: from 2.13 on at
the 2,048th open element."""

MAX_ROOTS: Final = 10_000
"""Maximum number of roots of a page (`roots_of`), which take 12 µs each."""

MAX_ATTRIBUTE_PAIRS: Final = 200_000_000
"""Maximum of the sum of squared numbers of attributes of elements: to append an attribute, libxml2
walks over those that the element has, in 1 ns each. One element may have 14,142."""

_MIN_LENGTH = 1 << 16
"""Length of the shortest page whose attributes are counted: a shorter one has 32,767 at most,
which take a second."""
_LONG_TAG = 500
"""Length of the shortest tag whose attributes are counted."""

# The value itself isn't consumed, as any quote in it may be the one that opens one.
_VALUE_WITH_END = re.compile(r"""=(?=\s*+("[^">]*+>[^"]*+"|'[^'>]*+>[^']*+'))""")
_LONG_GAP = re.compile(rf">[^>]{{{_LONG_TAG},}}+")
_TAG = re.compile("<[A-Za-z]")
_NAME = re.compile(r"""[^\s/="']++""")


def check_text(text: str) -> None:
    """Raise `TooComplexError` if a page would take too long to read. O(length)."""
    if len(text) > MAX_CHARACTERS:
        raise TooComplexError(f"it has {len(text):,} characters, and {MAX_CHARACTERS:,} are read")
    if len(text) > MAX_TAGS and (tags := text.count("<")) > MAX_TAGS:
        raise TooComplexError(f"it has {tags:,} tags, and {MAX_TAGS:,} are read")
    pairs: Any = 0
    if len(text) >= _MIN_LENGTH and _most_attributes(text) ** 2 > MAX_ATTRIBUTE_PAIRS:
        pairs = _most_attribute_pairs(text)
    is_affordable = etree.LIBXML_VERSION >= (2, 14) or pairs < 10 * MAX_ATTRIBUTE_PAIRS
    if pairs > MAX_ATTRIBUTE_PAIRS and is_affordable:
        # Most likely a long value, or a script. libxml2's tokeniser, without a tree, can tell;
        # from 2.14 on in linear time.
        target: Any = _AttributePairs()
        parser = HTMLParser(encoding="utf-8", huge_tree=True, target=target)
        pairs = etree.fromstring(text.encode("utf-8", "replace"), parser)
    if pairs > MAX_ATTRIBUTE_PAIRS:
        raise TooComplexError(f"its attributes are as slow as {int(pairs**0.5):,} of one element")


def check_tree(root: HtmlElement) -> None:
    """Raise `TooComplexError` if the parser gave up on a page that is nested too deeply.

    It also does if a page has more than `MAX_ROOTS` roots.

    When libxml2 gives up, the open elements are the ancestors of the last one, so only these are
    counted. O(depth), a microsecond on an ordinary page.
    """
    roots = roots_of(root)
    if len(roots) > MAX_ROOTS:
        raise TooComplexError(f"it has {len(roots):,} ends of HTML, and {MAX_ROOTS:,} are read")
    depth, root = 0, roots[-1]
    while len(root):
        root = root[-1]
        depth += 1
    if depth >= MAX_DEPTH:
        raise TooComplexError(f"it has more than {MAX_DEPTH:,} nested elements")


def roots_of(root: HtmlElement) -> list[HtmlElement]:
    """Return a page's root, and those that libxml2 makes of content after ``</html>``."""
    others = root.itersiblings() if root.getparent() is None else ()
    return [root, *(each for each in others if isinstance(each.tag, str))]


class _AttributePairs:
    """A parser target of lxml that counts attributes."""

    def __init__(self) -> None:
        self._count = 0

    def start(self, tag: str, attributes: Mapping[str, str]) -> None:  # noqa: ARG002
        self._count += len(attributes) ** 2

    def close(self) -> int:
        return self._count


def _most_attributes(text: str) -> int:
    """Return an upper bound of the number of attributes: each begins after a gap or a quote."""
    data = np.frombuffer(text.encode("utf-16-le", "surrogatepass"), "<u2")
    gaps = np.zeros(len(data), np.bool_)
    for character in b" \t\n\f\r/":
        gaps |= data == character
    ends = gaps | (data == ord('"')) | (data == ord("'"))
    return int(np.count_nonzero(ends[:-1] & ~gaps[1:]))


def _most_attribute_pairs(text: str) -> int:
    """Return an upper bound of the sum of the squares of elements' numbers of attributes.

    A tag ends at the first ``>`` outside of its quoted values. Which quotes open a value depends
    on everything before them, so every quote is taken to open one, and every other ``>`` to end a
    tag. In the long gaps between these, everything after a ``<`` and a letter counts as
    attributes.
    """
    parts, end_of_last = [], 0
    for found in _VALUE_WITH_END.finditer(text):
        start, end = found.span(1)
        parts.append(text[end_of_last:start])
        parts.append(text[max(start, end_of_last) : end].replace(">", " "))
        end_of_last = max(end_of_last, end)
    squares = 0
    for gap in _LONG_GAP.finditer("".join([">", *parts, text[end_of_last:]])):
        if tag := _TAG.search(gap[0]):
            squares += sum(1 for _ in _NAME.finditer(gap[0], tag.start())) ** 2
    return squares
