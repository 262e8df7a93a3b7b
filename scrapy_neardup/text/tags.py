"""What each HTML element is to a reader, by its tag and by its names.

Elements whose tags aren't listed here are blocks: they separate words.

A name is an id or a class, in which words are separated by anything but letters and digits, or
by a capital. It is only a hint: the text of an element that is named as boilerplate stays part of
the page's text, and is left out of the main content alone. The vocabulary is what sites and their
generators call the parts that reader modes leave out, and what advertisements are called; it was
made without looking at the sites of the benchmarks. A ``sidebar`` isn't in it: DocBook calls boxes
within the text so; nor is a ``widget``: page builders put all of a page's content in widgets. What
stands in sidebars and other widgets is named itself, or learnt.
"""

from __future__ import annotations

import re
from enum import IntEnum
from functools import lru_cache
from typing import Final

_VOCABULARY: Final = (
    "bottomnav|breadcrumb|breadcrumbs|consent|copyright|crumb|crumbs|footer|footers|lastmod"
    "|lastmodified|masthead|nav|navbar|navfooter|navheader|navi|navigation|navlink|navlinks|navs"
    "|pagefooter|pageheader|pager|paginate|pagination|prevnext|sidenav|skip"
    "|subnav|timestamp|topbar|topnav|docnav|[a-z]+nav"
    "|ad|ads|adsense|adsbygoogle|adslot|adunit|advert|advertisement|advertising|adverts|banner"
    "|banners|cookie|cookies|gdpr|header|legal|login|logo|menu|menubar|modal|newsletter|popup"
    "|promo|promotion|recommended|recommendations|related|search|searchbox|share|sharing|social"
    "|sponsor|sponsored|sponsors|subscribe|tableofcontents|tagcloud|toc|toolbar|topmenu|trending"
)
_NAMED: Final = re.compile(
    r"(?<![a-z0-9])(?<!has.)(?<!is.)(?<!no.)(?<!with.)(?<!hide.)(?<!show.)(?<!open.)"
    rf"(?:{_VOCABULARY})(?![a-z0-9])"
)
"""``has-menu`` is the name of what stands beside a menu."""

_CAPITAL: Final = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")

MAX_LENGTH: Final = 200
"""Maximum characters of a name that are looked at, and so of one that is remembered."""


@lru_cache(maxsize=8192)
def is_named(value: str) -> bool:
    """Return whether a class or id holds a word of the vocabulary. O(length).

    Answers are cached, so `value` should have at most `MAX_LENGTH` characters.
    """
    return bool(_NAMED.search(_CAPITAL.sub(" ", value).lower()))


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
    OBJECT = 16
    """A medium, and a block of what is shown in its place."""
    BASE = 17
    INPUT = 18
    """A block whose text is its value, but for `UNSHOWN_INPUTS`."""


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
    **_kinds(Kind.SKIPPED, "link meta noembed noframes rp style"),
    **_kinds(Kind.IGNORED, IGNORED_TAG),
    **_kinds(Kind.BOILERPLATE, "nav aside search"),
    **_kinds(Kind.ENDS, "header footer"),
    **_kinds(Kind.PLAIN, "html body main article p pre h2 h3 h4 h5 h6"),
    **_kinds(Kind.HEADING, "h1"),
    **_kinds(Kind.TITLE, "title"),
    **_kinds(Kind.SCRIPT, "script"),
    **_kinds(Kind.MEDIA, "img source video audio embed iframe frame image"),
    **_kinds(Kind.NOSCRIPT, "noscript"),
    **_kinds(Kind.TEMPLATE, "template"),
    **_kinds(Kind.SVG, "svg"),
    **_kinds(Kind.OBJECT, "object"),
    **_kinds(Kind.BASE, "base"),
    **_kinds(Kind.INPUT, "input"),
}

UNSHOWN_INPUTS: Final = frozenset(
    {"checkbox", "color", "file", "hidden", "image", "password", "radio", "range"}
)
"""Types of inputs whose values aren't shown."""

SECTIONS: Final = frozenset({"article", "aside", "main", "nav", "section"})
"""A header or footer in one of these isn't the page's own (HTML Accessibility API Mappings 1.0,
section 3.5)."""

SECTION_ROLES: Final = frozenset({"article", "complementary", "main", "navigation", "region"})

LANDMARKS: Final = frozenset({"navigation", "banner", "contentinfo", "complementary", "search"})
"""ARIA roles that mark a page's boilerplate."""

SOURCES: Final = (
    "src", "srcset", "poster", "background",
    "data-src", "data-original", "data-lazy-src", "data-srcset",
    "data", "href", "{http://www.w3.org/1999/xlink}href", "xlink:href",
)  # fmt: skip
"""Attributes that say which image or other medium an element shows; of other elements than media
no `REFERENCES`: a script may load anything from there."""

REFERENCES: Final = frozenset(SOURCES[4:])
