"""Patterns of the addresses of a site, made from paths and queries alone.

For example, ``/product/123.html?sid=a&page=2`` matches ``/product/N.html?page=&sid=``. Numbers
become ``N``, long hexadecimal and base64 ids ``ID``, and names in a folder with more than
`MAX_NAMES` of them ``*``. A pattern has no host: the same software on two hosts has the same ones.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable
from functools import lru_cache

from scrapy_neardup.urls import parameters_of

MAX_NAMES = 24
"""Maximum number of names of a folder; more names become one."""

MAX_SEGMENTS = 6
"""Maximum number of path segments in a pattern."""

MAX_KEYS = 8
"""Maximum number of query parameters in a pattern."""

_ADDRESS = re.compile(r"[a-z][a-z0-9+.-]*://[^/?#]*", re.IGNORECASE)
_SHORTEST_ID = 12
"""Minimum length in characters of a name that may have an id."""
_ID = re.compile(
    r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}|\b(?=[a-f]*[0-9])(?=[0-9]*[a-f])[0-9a-f]{12,}\b"
    r"|(?-i:\b(?=[\w-]*[0-9])(?=[\w-]*[a-z])(?=[\w-]*[A-Z])[\w-]{20,}\b)",
    re.IGNORECASE,
)
_NUMBER = re.compile(r"[0-9]+")
_EXTENSION = re.compile(
    r"\.(?:[sx]?html?|php|aspx?|jsp|do|cgi|pdf|txt|json|xml|md|rst)$", re.IGNORECASE
)


def patterns_of(urls: Iterable[str]) -> list[str]:
    """Return the pattern of each address; names in a folder with many of them become one.

    O(addresses) of time; memory for addresses that differ in more than numbers and ids.
    """
    distinct: dict[_Address, _Address] = {}
    addresses = [distinct.setdefault(each, each) for each in map(_segments, urls)]
    patterns = dict.fromkeys(distinct, "")
    for depth in range(MAX_SEGMENTS + 2):
        deeper = [each for each in patterns if len(each[0]) > depth]
        names: defaultdict[str, set[str]] = defaultdict(set)
        for each in deeper:
            names[patterns[each]].add(each[0][depth])
        for each in deeper:
            name = each[0][depth]
            if name and len(names[patterns[each]]) > MAX_NAMES:
                extension = _EXTENSION.search(name)
                name = "*" + (extension[0].lower() if extension else "")
            patterns[each] += "/" + name
    whole = {each: pattern + each[1] for each, pattern in patterns.items()}
    return [whole[each] for each in addresses]


def pattern_of(url: str) -> str:
    """Return an address's pattern without regard to other addresses: all names stay. O(length)."""
    segments, keys = _segments(url)
    return "/" + "/".join(segments) + keys


def split_site(url: str) -> tuple[str, str]:
    """Return scheme and host of `url`, and the rest; ``("", url)`` for a path."""
    found = _ADDRESS.match(url)
    return (found[0], url[found.end() :]) if found else ("", url)


_Address = tuple[tuple[str, ...], str]


def _segments(url: str) -> _Address:
    """Return the segments of a path, and the shown part of its query."""
    path, _, query = split_site(url)[1].partition("#")[0].partition("?")
    segments = list(map(_name, path.strip("/").split("/", MAX_SEGMENTS)))
    if len(segments) > MAX_SEGMENTS:
        segments[MAX_SEGMENTS:] = ["…"]
    if path.endswith("/") and segments[-1]:
        segments.append("")
    if not query:
        return tuple(segments), ""
    keys = sorted({_name(key.partition("=")[0][:40]) for key in parameters_of(query)} - {""})
    more = "&…" if len(keys) > MAX_KEYS else ""
    return tuple(segments), "?" + "&".join(f"{key}=" for key in keys[:MAX_KEYS]) + more


@lru_cache(maxsize=1 << 16)
def _name(segment: str) -> str:
    name, semicolon, key = segment[:200].partition(";")  # /page;jsessionid=1
    if not name.isalpha():
        name = _NUMBER.sub("N", _ID.sub("ID", name) if len(name) >= _SHORTEST_ID else name)
    return name + semicolon + key.partition("=")[0]
