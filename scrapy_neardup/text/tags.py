"""The role of each HTML element for a reader, by its tag and its names.

Elements with other tags are blocks: they separate words.

A name is an id or a class. Its words are separated by a capital or by anything except letters and
digits. A name is only a hint: the text of an element that is named as boilerplate stays part of
the page's text, and is left out of the main content only. The vocabulary is what sites and their
generators call advertisements and the parts that reader modes leave out; it was made without
looking at the sites of the benchmarks. It lacks ``sidebar``, which is DocBook's name for boxes
within the text, and ``widget``, because page builders put all content into widgets. Boilerplate in
sidebars and widgets has other names, too, or is learnt.
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
"""``has-menu`` names an element beside a menu."""

_WORDS: Final = frozenset(_VOCABULARY.split("|"))
_WORD: Final = re.compile("[a-z0-9]+")
_CAPITAL: Final = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")

_DIGITS: Final = re.compile("[0-9]+")

MAX_LENGTH: Final = 200
"""Maximum number of characters of a name that are read and cached."""


@lru_cache(maxsize=8192)
def is_named(value: str) -> bool:
    """Return whether a class or id contains a word of the vocabulary. O(length).

    Answers are cached, so `value` should have at most `MAX_LENGTH` characters.
    """
    names = value if value.islower() else _CAPITAL.sub(" ", value).lower()
    if "nav" not in names and _WORDS.isdisjoint(_WORD.findall(names)):
        return False  # as in most names; the pattern takes twice as long
    return bool(_NAMED.search(names))


@lru_cache(maxsize=8192)
def step(tag: str, names: str) -> bytes:
    """Return the step of a DOM path to an element with this tag and these classes."""
    names = " ".join(_DIGITS.sub("0", names).split())
    return f"/{tag}.{names}".encode("utf-8", "surrogatepass")


def are_named(names: str, identity: str) -> bool:
    """Return whether an element's classes or id name it as boilerplate."""
    return (names != "" and is_named(names[:MAX_LENGTH])) or (
        identity != "" and is_named(identity[:MAX_LENGTH])
    )


class Kind(IntEnum):
    """The role of an element."""

    BLOCK = 0
    INLINE = 1
    """Part of a line: it separates no words."""
    LINK = 2
    BREAK = 3
    """Ends a line and has no content."""
    SKIPPED = 4
    """Not shown, nor is its content."""
    IGNORED = 5
    """Left out by ``NEARDUP_IGNORE``; separates words."""
    BOILERPLATE = 6
    """Boilerplate by its tag."""
    ENDS = 7
    """A header or footer: boilerplate if it is the page's own."""
    PLAIN = 8
    """A block whose names don't count: a paragraph or heading is content whatever its class."""
    HEADING = 9
    """``h1``."""
    TITLE = 10
    SCRIPT = 11
    MEDIA = 12
    NOSCRIPT = 13
    TEMPLATE = 14
    SVG = 15
    OBJECT = 16
    """A medium, and a block of its alternative text."""
    BASE = 17
    INPUT = 18
    """A block whose text is its value, except for `UNSHOWN_INPUTS`."""
    VOID = 19
    """A medium without content. libxml2 doesn't know that, and puts there what follows."""


def _kinds(kind: Kind, tags: str) -> dict[str, Kind]:
    return dict.fromkeys(tags.split(), kind)


IGNORED_TAG: Final = "neardup-ignored"

KINDS: Final[dict[str, Kind]] = {
    **_kinds(
        Kind.INLINE,
        "abbr acronym b bdi bdo big cite code data del dfn em font i ins kbd mark nobr q ruby rb s"
        " rp samp small span strike strong sub sup textpath time tspan tt u var wbr",
    ),
    **_kinds(Kind.LINK, "a"),
    **_kinds(Kind.BREAK, "br hr"),
    **_kinds(Kind.SKIPPED, "link meta noembed noframes style"),
    **_kinds(Kind.IGNORED, IGNORED_TAG),
    **_kinds(Kind.BOILERPLATE, "nav aside search"),
    **_kinds(Kind.ENDS, "header footer"),
    **_kinds(Kind.PLAIN, "html body main article p pre h2 h3 h4 h5 h6"),
    **_kinds(Kind.HEADING, "h1"),
    **_kinds(Kind.TITLE, "title"),
    **_kinds(Kind.SCRIPT, "script"),
    **_kinds(Kind.MEDIA, "img video audio iframe frame"),
    **_kinds(Kind.NOSCRIPT, "noscript"),
    **_kinds(Kind.TEMPLATE, "template"),
    **_kinds(Kind.SVG, "svg"),
    **_kinds(Kind.OBJECT, "object"),
    **_kinds(Kind.BASE, "base"),
    **_kinds(Kind.INPUT, "input meter progress"),
    **_kinds(Kind.VOID, "source embed image"),
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
"""Attributes that say which image or other medium an element shows. `REFERENCES` count only for
media, because a script may load anything from those of other elements."""

REFERENCES: Final = frozenset(SOURCES[4:])

WORDED: Final = frozenset({
    "action", "alt", "cite", "class", "content", "download", "formaction", "id", "ping",
    "srcdoc", "title", "value", *SOURCES[8:],
})  # fmt: skip
"""Attributes that may have an address but show nothing."""

DRAWN: Final = frozenset({
    "cx", "cy", "d", "fill", "height", "points", "r", "rx", "ry", "stroke", "transform", "width",
    "x", "x1", "x2", "y", "y1", "y2",
})  # fmt: skip
"""Attributes that say what an element of an inline SVG draws."""
