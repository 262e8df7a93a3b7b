"""Bytes to tree: for callers without Scrapy, and for pages that Scrapy decodes otherwise.

The decoder (w3lib) and the parser (libxml2) are Scrapy's, so that a page has the same text, and
the same fingerprint, in a crawl and on disk.

*Is it HTML?* The WHATWG's "MIME Sniffing" standard, section 7, except that an XML document counts
by its root element, and that a false label does not make JSON a page.

*In which encoding, if it declares none?* A byte order mark, a declaration and valid UTF-8 decide
before anything is guessed. Then a page is taken for Windows-1252, as by browsers, unless the bytes
look like another script. (Scrapy before 2.18 takes them all for Windows-1252.) In a Western text
bytes above 127 stand alone or in pairs: é, ß, «À. Runs of four and more that aren't drawn lines
are words of another script, in a one-byte encoding (Cyrillic, Greek, Hebrew, Arabic, Thai) or in
one of several bytes (Chinese, Japanese, Korean). Only there is `bs4.UnicodeDammit` asked, about a
part of the page. Central European and Turkish pages are read as Windows-1252, too: which of the
Latin encodings a short page is in is too uncertain to risk that pages of one site are read in two
ways.
"""

from __future__ import annotations

import json
import re
from itertools import islice

from lxml import etree
from lxml.html import HtmlElement, HTMLParser
from w3lib.encoding import (
    html_body_declared_encoding,
    html_to_unicode,
    http_content_type_encoding,
    read_bom,
)

from scrapy_neardup.errors import InputError
from scrapy_neardup.text.limits import check_text, check_tree

WINDOW_BYTES = 4096
"""Number of bytes, from the page's first foreign word on, from which the encoding is guessed."""

MIN_FOREIGN_BYTES = 24
"""Minimum bytes of words of another script in a page: eight letters, or four words."""

SEARCHED_BYTES = 1 << 20
"""Number of leading bytes of a page in which foreign words are looked for: some 40 ms."""

_WORD = re.compile(rb"[\x80-\xff]{4,}")
_MAX_WORDS = 256
"""Maximum number of words examined: drawn lines may fill a page."""
_MIN_DIFFERENT = 3
"""Minimum number of different bytes in a word: a drawn line repeats one or two."""


def declares_encoding(body: bytes, content_type: str | None = None) -> bool:
    """Whether a page says how it is encoded: by HTTP header, byte order mark or in its head."""
    return bool(
        http_content_type_encoding(content_type)
        or read_bom(body)[0]
        or html_body_declared_encoding(body)
    )


def guess_encoding(body: bytes) -> str:
    """Return the encoding of a page that doesn't declare it.

    Costs O(n), some milliseconds for a megabyte, and 2 ms where `bs4.UnicodeDammit` is asked.
    """
    try:
        body.decode()
    except UnicodeDecodeError:
        start = _foreign_words(body)
        return "cp1252" if start < 0 else _detect(body[start : start + WINDOW_BYTES])
    return "utf-8"


def _foreign_words(body: bytes) -> int:
    """Return where words of a script other than Latin begin, or -1."""
    start, size = -1, 0
    for found in islice(_WORD.finditer(body, 0, SEARCHED_BYTES), _MAX_WORDS):
        if len(set(found[0])) >= _MIN_DIFFERENT:
            start = found.start() if start < 0 else start
            size += len(found[0])
        if size >= MIN_FOREIGN_BYTES:
            return start
    return -1


def _detect(window: bytes) -> str:
    # Imported where they are needed, which is for one page in many.
    from bs4.dammit import UnicodeDammit  # noqa: PLC0415
    from chardet import detect  # noqa: PLC0415

    # Up to a tag, so that no character is cut in two: "<" is no part of one in any encoding.
    window = window[: window.rfind(b"<")] if b"<" in window else window
    # By itself UnicodeDammit asks whichever detector is installed: two machines would disagree.
    likely = detect(window)["encoding"]
    return UnicodeDammit(window, [likely] if likely else []).original_encoding or "cp1252"


_HEAD, _SAMPLE = 1 << 16, 1 << 12

_HTML_TYPES = frozenset({"text/html", "application/xhtml+xml", "application/vnd.wap.xhtml+xml"})
_UNDECLARED = frozenset(
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

    A declared `content_type` other than HTML is believed, HTML is checked, and with none (or one
    that means nothing) the body decides. The ending ``.html`` of the `url`, or path, speaks for
    markup that starts with text. O(1) in the size of the page, except for one that seems to be
    JSON.
    """
    kind = (content_type or "").partition(";")[0].strip().lower()
    if kind not in _HTML_TYPES | _UNDECLARED:
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
    if _OTHER.match(head) or is_binary(head):
        return True
    if head[:1] not in "{[":
        return False
    try:
        json.loads(body)
    except (ValueError, RecursionError):
        return False
    return True


def parse_html(body: bytes | str, encoding: str | None = None) -> HtmlElement:
    """Return the root of a page's tree; its markup may be broken, and hold NUL characters.

    The `encoding` of bytes may be known from elsewhere, such as an HTTP header. A byte order mark
    counts more; without either, what the page declares, then UTF-8 if the bytes are that, then a
    guess (`guess_encoding`). What can't be decoded becomes U+FFFD. Raises `InputError` where there
    is nothing to parse, no text at all or binary data; `TooComplexError` where it would take too
    long (`limits`). O(n), about 10 ms a megabyte.
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
