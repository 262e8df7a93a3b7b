"""Which pages a page links to.

They are what a crawl could have requested; nothing is requested here.
"""

from __future__ import annotations

from itertools import islice
from typing import Final
from urllib.parse import urldefrag, urljoin

from lxml.html import HtmlElement

MAX_LINKS: Final = 10_000
"""Maximum number of different links of a page that are read."""

MAX_BASE: Final = 2_000
"""Maximum characters of the address that links are relative to."""


def link_targets(root: HtmlElement, base_url: str) -> set[str]:
    """Return the http(s) targets of a page's ``a[href]``, without fragments.

    Parameters
    ----------
    root
        Root of the page's tree.
    base_url
        Where the page is; its ``<base href>`` applies.

    Notes
    -----
    O(length), and about 5 µs for each link. A page has no targets if its address, or its base, is
    longer than `MAX_BASE`; links after the first `MAX_LINKS` are left out.
    """
    bases = root.xpath("//base/@href")
    base = _join(base_url, bases[0]) if bases else base_url
    if len(base) > MAX_BASE:
        return set()
    links = islice(dict.fromkeys(root.xpath("//a/@href")), MAX_LINKS)
    targets = {_join(base, href) for href in links}
    return {target for target in targets if target[:8].lower().startswith(("http://", "https://"))}


def _join(base: str, href: str) -> str:
    try:
        return urldefrag(urljoin(base, href.strip())).url
    except ValueError:  # such as "http://[": no URL
        return ""
