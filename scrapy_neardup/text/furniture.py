"""Which elements say by their name that they are furniture of the page.

Rule of this room: a name is a hint, and what comes of it depends on what it says.

Some names say what a tag says that the view ``main`` leaves out: ``sidebar`` is ``aside``,
``breadcrumbs`` are ``nav``, ``site-footer`` is ``footer``. Elements of such a name are left
out of that view too, unless what they hold shows that they are more than that: the page's
heading, or more than half of its text.

Others may also be names of content: a ``header`` of a section, a restaurant's ``menu``. What
stands in such an element stays in the text of the view; it is only left out of the view's
`core`, and a page is dropped only where both resemble another page's (docs/quality.md).

A name is an id or a class, in which words are parted by anything but letters and digits, or
by a capital. The vocabulary is what sites and their generators call the parts that reader
modes leave out, too; it was made without looking at the sites of the benchmarks.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Final, NamedTuple

from lxml import etree

_LIKE_TAGS: Final = (
    "bottomnav|breadcrumb|breadcrumbs|consent|copyright|crumb|crumbs|footer|footers|lastmod"
    "|lastmodified|masthead|nav|navbar|navfooter|navheader|navi|navigation|navlink|navlinks|navs"
    "|pagefooter|pageheader|pager|paginate|pagination|prevnext|sidebar|sidebars|sidenav|skip"
    "|subnav|timestamp|topbar|topnav|cookies?[^a-z0-9]?(?:banner|bar|notice|policy|popup)"
)
_PERHAPS: Final = (
    "ad|ads|advert|advertisement|adverts|banner|cookie|cookies|header|legal|login|logo|menu"
    "|menubar|modal|newsletter|popup|promo|related|search|searchbox|share|sharing|social|sponsor"
    "|subscribe|tableofcontents|tagcloud|toc|toolbar|topmenu|widget"
)
_WORD: Final = r"(?<![a-z0-9])(?:%s)(?![a-z0-9])"
_NAMED: Final = re.compile(_WORD % f"{_LIKE_TAGS}|{_PERHAPS}")
_APART: Final = re.compile(
    r"(?<!has.)(?<!is.)(?<!no.)(?<!with.)(?<!hide.)(?<!show.)(?<!open.)" + _WORD % _LIKE_TAGS
)
"""``has-sidebar`` is the name of what stands beside one."""

_CAPITAL: Final = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")

_TAGS: Final = [
    "center",
    "dd",
    "div",
    "dl",
    "dt",
    "fieldset",
    "figure",
    "footer",
    "form",
    "header",
    "li",
    "ol",
    "section",
    "table",
    "tbody",
    "td",
    "th",
    "tr",
    "ul",
]
"""Elements whose names are read. A body, an article or a paragraph is content whatever its
class, and what stands within a line is part of it."""


_HEADING: Final = etree.XPath("boolean(.//h1|.//main|.//article|.//*[@role = 'main'])")


class NamedFurniture(NamedTuple):
    """Ids and classes in a page, as they stand there, parted and enclosed by ``|``."""

    named: str
    """All that are names of furniture; ``""`` if there is none."""
    apart: str
    """Those of them that say what a tag would say."""


def named_furniture(root: etree._Element) -> NamedFurniture:
    """Return the ids and classes in a page that are names of furniture."""
    named: set[str] = set()
    not_apart: set[str] = set()
    for element in root.iter(*_TAGS):
        for value in (element.get("class"), element.get("id")):
            if value and _is_named(value):
                named.add(value)
                if not _is_apart(value) or _HEADING(element):
                    not_apart.add(value)
    return NamedFurniture(_joined(named), _joined(named - not_apart))


def _joined(values: set[str]) -> str:
    return f"|{'|'.join(sorted(values))}|" if values else ""


def _words(value: str) -> str:
    return _CAPITAL.sub(" ", value).lower()


@lru_cache(maxsize=4096)
def _is_named(value: str) -> bool:
    return "|" not in value and bool(_NAMED.search(_words(value)))


@lru_cache(maxsize=4096)
def _is_apart(value: str) -> bool:
    return bool(_APART.search(_words(value)))
