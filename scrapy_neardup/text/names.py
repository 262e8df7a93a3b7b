"""Which elements say by their name that they are not the content of the page.

A name is only a hint. The text of such an element stays part of the page's text; it is left out of
the main content alone, and `scrapy_neardup.evidence` says what that decides.

A name is an id or a class, in which words are separated by anything but letters and digits, or
by a capital. The vocabulary is what sites and their generators call the parts that reader modes
leave out, and what advertisements are called; it was made without looking at the sites of the
benchmarks.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Final

_VOCABULARY: Final = (
    "bottomnav|breadcrumb|breadcrumbs|consent|copyright|crumb|crumbs|footer|footers|lastmod"
    "|lastmodified|masthead|nav|navbar|navfooter|navheader|navi|navigation|navlink|navlinks|navs"
    "|pagefooter|pageheader|pager|paginate|pagination|prevnext|sidebar|sidebars|sidenav|skip"
    "|subnav|timestamp|topbar|topnav|docnav|[a-z]+nav"
    "|ad|ads|adsense|adsbygoogle|adslot|adunit|advert|advertisement|advertising|adverts|banner"
    "|banners|cookie|cookies|gdpr|header|legal|login|logo|menu|menubar|modal|newsletter|popup"
    "|promo|promotion|recommended|recommendations|related|search|searchbox|share|sharing|social"
    "|sponsor|sponsored|sponsors|subscribe|tableofcontents|tagcloud|toc|toolbar|topmenu|trending"
    "|widget|widgets"
)
_NAMED: Final = re.compile(
    r"(?<![a-z0-9])(?<!has.)(?<!is.)(?<!no.)(?<!with.)(?<!hide.)(?<!show.)(?<!open.)"
    rf"(?:{_VOCABULARY})(?![a-z0-9])"
)
"""``has-sidebar`` is the name of what stands beside one."""

_CAPITAL: Final = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")

MAX_LENGTH: Final = 200
"""Maximum characters of a name that are looked at, and so of one that is remembered."""


@lru_cache(maxsize=8192)
def is_named(value: str) -> bool:
    """Return whether a class or id holds a word of the vocabulary. O(length).

    Give it at most `MAX_LENGTH` characters: answers are remembered.
    """
    return bool(_NAMED.search(_CAPITAL.sub(" ", value).lower()))
