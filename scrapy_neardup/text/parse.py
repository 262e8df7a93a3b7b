"""Bytes to tree, for callers without Scrapy and for pages that Scrapy decodes differently.

The decoder (w3lib) and the parser (libxml2) are Scrapy's, so a page has the same text and
fingerprint in a crawl and on disk.
"""

from __future__ import annotations

import re

from lxml import etree
from lxml.html import HtmlElement, HTMLParser
from w3lib.encoding import html_to_unicode

from scrapy_neardup.errors import InputError
from scrapy_neardup.text.limits import check_text, check_tree

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
    (`text.encoding`). Undecodable bytes become U+FFFD. Raises `InputError` if there is no text,
    or binary data; `TooComplexError` if parsing would take too long (`text.limits`). O(n), about
    10 ms a megabyte.
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
    if root is None or not len(root):
        raise InputError("the page is empty: there is neither text nor markup in it")
    check_tree(root)
    return root


def _decode(body: bytes, encoding: str | None) -> str:
    from scrapy_neardup.text.encoding import guess_encoding  # noqa: PLC0415  (few pages need it)

    content_type = f"text/html; charset={encoding}" if encoding else None
    _, text = html_to_unicode(content_type, body, auto_detect_fun=guess_encoding)
    return text
