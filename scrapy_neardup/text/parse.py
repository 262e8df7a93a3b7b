"""Bytes to tree: for callers without Scrapy, and for pages that Scrapy decodes otherwise.

The decoder (w3lib) and the parser (libxml2) are Scrapy's, so that a page has the same text, and
the same fingerprint, in a crawl and on disk.
"""

from __future__ import annotations

from lxml import etree
from lxml.html import HtmlElement, HTMLParser
from w3lib.encoding import html_to_unicode

from scrapy_neardup.errors import InputError
from scrapy_neardup.text.encodings import guess_encoding
from scrapy_neardup.text.limits import check_text, check_tree
from scrapy_neardup.text.sniff import is_binary


def parse_html(body: bytes | str, encoding: str | None = None) -> HtmlElement:
    """Return the root of a page's tree.

    Parameters
    ----------
    body
        The page. Markup may be broken, and hold NUL characters.
    encoding
        Of bytes, if known from elsewhere, such as an HTTP header. A byte order mark
        counts more; without either, what the page declares, then UTF-8 if the bytes are
        that, then a guess (`encodings.guess_encoding`). What can't be decoded becomes U+FFFD.

    Raises
    ------
    InputError
        There is nothing to parse: no text at all, or binary data.
    TooComplexError
        It would take too long (`limits`).

    Notes
    -----
    O(n), about 10 ms a megabyte.
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
    content_type = f"text/html; charset={encoding}" if encoding else None
    _, text = html_to_unicode(content_type, body, auto_detect_fun=guess_encoding)
    return text
