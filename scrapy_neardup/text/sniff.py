"""Whether a response is HTML, by its declared type and its first bytes.

It follows the WHATWG's "MIME Sniffing" standard, section 7, except that an XML document counts by
its root element, and that a false label does not make JSON a page.
"""

from __future__ import annotations

import json
import re

_HEAD, _SAMPLE = 1 << 16, 1 << 12

_HTML_TYPES = frozenset({"text/html", "application/xhtml+xml", "application/vnd.wap.xhtml+xml"})
_UNTOLD = frozenset(
    {"", "application/octet-stream", "application/xml", "text/xml", "unknown/unknown"}
)
"""Types that leave it to the body."""

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
    r"%PDF-|<(?:rss|feed|rdf:rdf|urlset|sitemapindex|opml|svg|!doctype\s)", re.IGNORECASE
)
_CONTROLS = re.compile("[\x01-\x08\x0e-\x1f]")
_MAX_CONTROLS = 1 / 20
"""Maximum share of control characters in a text. NUL isn't counted: UTF-16 read under a wrong name
is full of it, and it can be dropped."""


def looks_like_html(body: bytes, content_type: str | None = None, url: str | None = None) -> bool:
    """Return whether a page is HTML or XHTML, and so can be judged.

    Parameters
    ----------
    body
        The page.
    content_type
        The declared type: another type is believed, HTML is checked, and with none (or one that
        means nothing) the body decides.
    url
        URL or path: the ending ``.html`` speaks for markup that starts with text.

    Notes
    -----
    O(1) in the size of the page, but for one that seems to be JSON.
    """
    kind = (content_type or "").partition(";")[0].strip().lower()
    if kind not in _HTML_TYPES | _UNTOLD:
        return False
    head = body[:_HEAD].replace(b"\0", b"").decode("latin-1")  # without NUL, UTF-16 reads as well
    head = _PROLOG.sub("", head, count=1)
    if declaration := _XML_DECLARATION.match(head):
        return _ROOT.match(head, declaration.end()) is not None
    if _ROOT.match(head) or _START.match(head):
        return True
    claims_html = (
        kind in _HTML_TYPES or _HTML_NAME.search((url or "").partition("?")[0]) is not None
    )
    return claims_html and not _is_other(head, body) and _TAG.search(head) is not None


def is_binary(text: str) -> bool:
    """Return whether `text` is what one gets from decoding a picture or an archive."""
    sample = text[:_SAMPLE]
    return len(_CONTROLS.findall(sample)) > _MAX_CONTROLS * len(sample)


def _is_other(head: str, body: bytes) -> bool:
    """Return whether a body that is declared as HTML is a feed, a picture, a PDF or JSON."""
    if _OTHER.match(head):
        return True
    if is_binary(head):
        return True
    if head[:1] not in "{[":
        return False
    try:
        json.loads(body)
    except (ValueError, RecursionError):
        return False
    return True
