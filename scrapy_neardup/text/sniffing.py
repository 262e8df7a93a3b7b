"""Whether a file or response is HTML: the WHATWG's "MIME Sniffing" standard, section 7.

Two things differ: the root element of an XML document decides, and a wrong label doesn't make
JSON a page.
"""

from __future__ import annotations

import json
import re
from contextlib import suppress

from scrapy_neardup.text.parse import is_binary

_HEAD = 1 << 16

_HTML_TYPES = frozenset({"text/html", "application/xhtml+xml", "application/vnd.wap.xhtml+xml"})
_UNDECLARED = frozenset(
    {"", "application/octet-stream", "application/xml", "text/xml", "unknown/unknown"}
)
"""Types with which the body decides."""

_HTML_NAME = re.compile(r"\.(?:x?html?|shtml)$", re.IGNORECASE)

_SKIP = r"(?:\s+|<!--.*?-->|<\?(?!xml\s).*?>)*"
_PROLOG = re.compile(r"\A(?:\xef\xbb\xbf|\xff\xfe|\xfe\xff)?" + _SKIP, re.DOTALL)
_XML_DECLARATION = re.compile(r"<\?xml\s.*?\?>" + _SKIP, re.DOTALL)
_ROOT = re.compile(r"<(?:!doctype\s+)?html\b", re.IGNORECASE)
_START = re.compile(
    r"<(?:a|abbr|address|article|aside|b|base|basefont|blockquote|body|br|center|dd|details|dir|div"
    r"|dl|dt|em|fieldset|figure|font|footer|form|frameset|h[1-6]|head|header|hr|i|iframe|img|input"
    r"|li|link|main|meta|nav|noscript|ol|p|pre|script|section|span|strong|style|table|tbody|td"
    r"|title|tr|tt|u|ul)(?=[\s/>])",
    re.IGNORECASE,
)
_TAG = re.compile(r"</?[a-z][^<>]*>", re.IGNORECASE)
_OTHER = re.compile(
    r"%PDF-|<(?:!doctype\s+)?(?:rss|feed|rdf:rdf|urlset|sitemapindex|opml|svg)"
    r"|/\*\*/|(?:[\w$.]+\(|\)\]\}',?|for\(;;\);|while\(1\);)\s*[{\[]",
    re.IGNORECASE,
)
"""The start of other formats. The second line is JSON in the call of a function, or after a prefix
that keeps it from being run as a script."""


def looks_like_html(body: bytes, content_type: str | None = None, url: str | None = None) -> bool:
    """Return whether a page is HTML or XHTML, and so can be judged.

    A declared `content_type` other than HTML is believed, and HTML is checked. Without one (or
    with a meaningless one) the body decides. With the extension ``.html`` of the `url` or path,
    markup may start with text. O(1) in the size of the page, except for a page that looks like
    JSON.
    """
    kind = (content_type or "").partition(";")[0].strip().lower()
    if kind not in _HTML_TYPES | _UNDECLARED:
        return False
    head = _head(body)
    if declaration := _XML_DECLARATION.match(head):
        return _ROOT.match(head, declaration.end()) is not None
    if _ROOT.match(head) or _START.match(head):
        return True
    claims_html = (
        kind in _HTML_TYPES or _HTML_NAME.search((url or "").partition("?")[0]) is not None
    )
    is_other = is_binary(head) or _is_data(head, body)
    return claims_html and not is_other and _TAG.search(head) is not None


def is_data(body: bytes) -> bool:
    """Return whether what a server calls HTML is JSON or a feed.

    As HTML it would lose what follows ``<script>`` in a string of JSON, or is CDATA of a feed.
    O(1) in the size of the page, except for a page that looks like JSON.
    """
    head = _XML_DECLARATION.sub("", _head(body), count=1)
    return _ROOT.match(head) is None and _is_data(head, body)


def _head(body: bytes) -> str:
    """Return the start of a page, without comments; without NUL, so that UTF-16 can be read."""
    return _PROLOG.sub("", body[:_HEAD].replace(b"\0", b"").decode("latin-1"), count=1)


def _is_data(head: str, body: bytes) -> bool:
    if _OTHER.match(head):
        return True
    if head[:1] not in "{[":
        return False
    for written in (body, body.decode("latin-1")):  # the encoding may be any
        with suppress(ValueError, RecursionError):
            json.loads(written)
            return True
    return False
