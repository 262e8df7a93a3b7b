"""Bytes to tree, for callers without Scrapy and for trees that lost their content."""

from __future__ import annotations

from lxml import etree
from lxml.html import HtmlElement, HTMLParser, document_fromstring

from scrapy_neardup.errors import InputError


def parse_html(body: bytes | str, encoding: str | None = None) -> HtmlElement:
    """Parse (first version)."""
    if isinstance(body, bytes):
        body = body.decode(encoding or "utf-8", "replace")
    data = body.replace("\0", "").encode("utf-8", "replace")
    try:
        return document_fromstring(data, parser=HTMLParser(encoding="utf-8", huge_tree=True))
    except etree.LxmlError as error:
        raise InputError(f"no HTML tree: {error}") from error


def lost_content(root: HtmlElement, body_length: int) -> bool:
    """Return whether a parser gave up on a page (first version)."""
    depth = 0
    while len(root):
        root = root[-1]
        depth += 1
    return depth >= 254


def looks_like_html(body: bytes, content_type: str | None = None, url: str | None = None) -> bool:
    """Return whether a page is HTML (first version)."""
    return b"<html" in body[:2000].lower()
