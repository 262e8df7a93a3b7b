"""Which elements say by their name that they are furniture of the page.

Rule of this room: a name is a hint and not a verdict. What stands in a named element stays
in the text of the view; it is only left out of the view's `core`, and a page is dropped only
where both resemble another page's (docs/quality.md).

A name is an id or a class, in which words are parted by anything but letters and digits, or
by a capital. The vocabulary is what sites and their generators call the parts that reader
modes leave out, too; it was made without looking at the sites of the benchmarks.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Final

from lxml import etree

_WORDS: Final = (
    "ad|ads|advert|advertisement|adverts|banner|bottomnav|breadcrumb|breadcrumbs|consent|cookie"
    "|cookies|copyright|crumb|crumbs|footer|header|lastmod|lastmodified|legal|login|logo|masthead"
    "|menu|menubar|modal|nav|navbar|navfooter|navheader|navi|navigation|navlink|navlinks|navs"
    "|newsletter|pagefooter|pageheader|pager|paginate|pagination|popup|prevnext|promo|related"
    "|search|searchbox|share|sharing|sidebar|sidebars|sidenav|skip|social|sponsor|subnav"
    "|subscribe|tableofcontents|tagcloud|timestamp|toc|toolbar|topbar|topmenu|topnav|widget"
)
_NAMED: Final = re.compile(rf"(?<![a-z0-9])(?:{_WORDS})(?![a-z0-9])")
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


def named_furniture(root: etree._Element) -> str:
    """Return the ids and classes in a page that are names of furniture.

    Returns
    -------
    str
        Attribute values as they stand, parted and enclosed by ``|``; ``""`` if there is none.
    """
    names: set[str] = set()
    for element in root.iter(*_TAGS):
        for value in (element.get("class"), element.get("id")):
            if value and _is_furniture(value):
                names.add(value)
    return f"|{'|'.join(sorted(names))}|" if names else ""


@lru_cache(maxsize=4096)
def _is_furniture(value: str) -> bool:
    return "|" not in value and bool(_NAMED.search(_CAPITAL.sub(" ", value).lower()))
