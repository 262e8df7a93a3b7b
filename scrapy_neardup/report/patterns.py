"""Patterns of the addresses of a site, made from paths and queries alone.

For example, ``/product/123.html?sid=a&page=2`` matches ``/product/N.html?page=&sid=``. Numbers
become ``N``, long hexadecimal and base64 ids ``ID``, and names in a folder with more than
`MAX_NAMES` of them ``*``. A pattern has no host, so the same software on two hosts has the same
patterns.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from functools import lru_cache

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


@dataclass(slots=True)
class _FolderNames:
    names: dict[str, _FolderNames] = field(default_factory=dict)
    merged: bool = False

    def below(self, name: str) -> _FolderNames:
        """Return the folder called `name`; make it if there is none."""
        if self.merged:
            name = _any(name)
        if (found := self.names.get(name)) is not None:
            return found
        if len(self.names) >= MAX_NAMES and not self.merged:
            self.merged = True
            names, self.names = self.names, {}
            for known, folder in names.items():
                self.names.setdefault(_any(known), _FolderNames()).take(folder)
            return self.below(name)
        return self.names.setdefault(name, _FolderNames())

    def take(self, other: _FolderNames) -> None:
        """Add the folders of another one."""
        self.merged = self.merged or other.merged
        for name, folder in other.names.items():
            self.below(name).take(folder)


class Patterns:
    """The patterns of the addresses given to `learn`; call `of` after all of them.

    O(distinct patterns) of memory.
    """

    def __init__(self) -> None:
        self._root = _FolderNames()
        self._patterns: dict[str, str] = {}

    def learn(self, url: str) -> None:
        """Add an address. O(its length)."""
        folder = self._root
        for segment in _segments(url)[0]:
            folder = folder.below(segment)

    def of(self, url: str) -> str:
        """Return the pattern of an address. O(its length)."""
        segments, keys = _segments(url)
        folder, names = self._root, []
        for segment in segments:
            name = _any(segment) if folder.merged else segment
            names.append(name)
            folder = folder.names.get(name) or _FolderNames()
        pattern = "/" + "/".join(names) + keys
        return self._patterns.setdefault(pattern, pattern)


def pattern_of(url: str) -> str:
    """Return an address's pattern regardless of others: all folder names stay. O(length)."""
    segments, keys = _segments(url)
    return "/" + "/".join(segments) + keys


def split_site(url: str) -> tuple[str, str]:
    """Return scheme and host of `url`, and the rest; ``("", url)`` for a path."""
    found = _ADDRESS.match(url)
    return (found[0], url[found.end() :]) if found else ("", url)


def _segments(url: str) -> tuple[list[str], str]:
    """Return the segments of a path, and the shown part of its query."""
    path, _, query = split_site(url)[1].partition("#")[0].partition("?")
    segments = list(map(_name, path.strip("/").split("/", MAX_SEGMENTS)))
    if len(segments) > MAX_SEGMENTS:
        segments[MAX_SEGMENTS:] = ["…"]
    if path.endswith("/") and segments[-1]:
        segments.append("")
    if not query:
        return segments, ""
    keys = sorted({_name(key.partition("=")[0][:40]) for key in query.split("&")} - {""})
    more = "&…" if len(keys) > MAX_KEYS else ""
    return segments, "?" + "&".join(f"{key}=" for key in keys[:MAX_KEYS]) + more


@lru_cache(maxsize=1 << 16)
def _name(segment: str) -> str:
    name, semicolon, key = segment[:200].partition(";")  # /page;jsessionid=1
    if not name.isalpha():
        name = _NUMBER.sub("N", _ID.sub("ID", name) if len(name) >= _SHORTEST_ID else name)
    return name + semicolon + key.partition("=")[0]


def _any(name: str) -> str:
    """Return the placeholder of `name` among many: ``*``, with its extension if it has one."""
    if not name:
        return ""
    extension = _EXTENSION.search(name)
    return "*" + (extension[0].lower() if extension else "")
