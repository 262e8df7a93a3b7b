"""What each HTML element is to a reader: the table behind `scrapy_neardup.text.walk`.

It is data only. Elements that aren't named here are blocks: they separate words.
"""

from __future__ import annotations

from enum import IntEnum
from typing import Final


class Kind(IntEnum):
    """What an element is."""

    BLOCK = 0
    INLINE = 1
    """Stands within a line: it separates no words."""
    LINK = 2
    BREAK = 3
    """Ends a line and holds nothing."""
    SKIPPED = 4
    """Not shown, with all of its content."""
    IGNORED = 5
    """Left out by ``NEARDUP_IGNORE``; separates words."""
    BOILERPLATE = 6
    """Boilerplate by its tag."""
    ENDS = 7
    """A header or footer: boilerplate where it is the page's own."""
    PLAIN = 8
    """A block whose names say nothing: a paragraph or heading is content whatever its class."""
    HEADING = 9
    """``h1``."""
    TITLE = 10
    SCRIPT = 11
    MEDIA = 12
    NOSCRIPT = 13
    TEMPLATE = 14
    SVG = 15


def _kinds(kind: Kind, tags: str) -> dict[str, Kind]:
    return dict.fromkeys(tags.split(), kind)


IGNORED_TAG: Final = "neardup-ignored"

KINDS: Final[dict[str, Kind]] = {
    **_kinds(
        Kind.INLINE,
        "abbr acronym b bdi bdo big cite code data del dfn em font i ins kbd mark nobr q ruby rb s"
        " samp small span strike strong sub sup textpath time tspan tt u var wbr",
    ),
    **_kinds(Kind.LINK, "a"),
    **_kinds(Kind.BREAK, "br hr"),
    **_kinds(Kind.SKIPPED, "base link meta noembed noframes rp style"),
    **_kinds(Kind.IGNORED, IGNORED_TAG),
    **_kinds(Kind.BOILERPLATE, "nav aside search"),
    **_kinds(Kind.ENDS, "header footer"),
    **_kinds(Kind.PLAIN, "html body main article p pre h2 h3 h4 h5 h6"),
    **_kinds(Kind.HEADING, "h1"),
    **_kinds(Kind.TITLE, "title"),
    **_kinds(Kind.SCRIPT, "script"),
    **_kinds(Kind.MEDIA, "img source video audio embed iframe frame object image"),
    **_kinds(Kind.NOSCRIPT, "noscript"),
    **_kinds(Kind.TEMPLATE, "template"),
    **_kinds(Kind.SVG, "svg"),
}

SECTIONS: Final = frozenset({"article", "aside", "main", "nav", "section"})
"""A header or footer in one of these isn't the page's own (HTML Accessibility API Mappings 1.0,
section 3.5)."""

SECTION_ROLES: Final = frozenset({"article", "complementary", "main", "navigation", "region"})

LANDMARKS: Final = frozenset({"navigation", "banner", "contentinfo", "complementary", "search"})
"""ARIA roles that mark a page's boilerplate."""

SOURCES: Final = (
    "src", "data-src", "data-original", "data-lazy-src", "srcset", "data-srcset", "poster", "data",
    "href", "{http://www.w3.org/1999/xlink}href", "xlink:href",
)  # fmt: skip
"""Attributes that say which image or other media an element shows."""
