"""Parts of URLs that may have no effect on the page.

Two URLs that are equal without a part, or with another one in its place, may show the same page
(the DUST rules of Bar-Yossef, Keidar and Schonfeld, WWW 2007, section 2). Nothing here knows what
a name means: verdicts decide.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final, NamedTuple

from scrapy_neardup.claims.claim import MAX_NAMES
from scrapy_neardup.claims.urlparts import VALUE_BITS, Parts, key_of, name_of, path_parameters
from scrapy_neardup.urls import hash_of

PARAMETER: Final = "parameter"
"""A parameter, ``?sid=1``; or several that occur together, ``a&b``."""
PATH_PARAMETER: Final = "path-parameter"
"""A parameter of a path segment: ``;jsessionid=1``."""
SEGMENT: Final = "segment"
"""An additional or replaced path segment: ``/print/``, ``/en_GB/`` for ``/en/``."""
SLASH, CASE, WWW, SCHEME = "slash", "case", "www", "scheme"
PATTERN, SPENT, LINKS = "pattern", "spent", "links"
"""All that differs between URLs of a place: three kinds of claims about all its pages."""

_SENTENCES: Final = {
    PARAMETER: "?{what}=… has no effect",
    PATH_PARAMETER: ";{what}=… has no effect",
    SEGMENT: "/{what} shows what /{by} shows",
    SLASH: "a slash at the end has no effect",
    CASE: "upper and lower case are the same",
    WWW: "www. has no effect",
    SCHEME: "http and https show the same",
    PATTERN: "all pages are the same few",
    SPENT: "pages bring next to nothing new",
    LINKS: "the links of pages that are dropped lead to nothing new",
}
KINDS: Final = frozenset(_SENTENCES)
WHOLE: Final = frozenset({PATTERN, SPENT, LINKS})
"""Kinds of claims about all pages of a place."""

MAX_WHAT: Final = 200
"""Maximum characters of `Part.what`."""


class Part(NamedTuple):
    """A part of URLs."""

    kind: str
    """One of `KINDS`."""
    what: str = ""
    """The name of the parameter, or the segment that is replaced."""
    by: str | None = None
    """For `SEGMENT`, the replacement: None for nothing, ``""`` for the empty segment after the
    last slash."""
    place: int = 0
    """For `SEGMENT`, the index in the path: from the left, or if negative from the right."""

    def __str__(self) -> str:
        sentence = _SENTENCES[self.kind]
        if self.kind == SEGMENT and not self.by:
            sentence = (
                "/{what}/ has no effect" if self.by is None else "/{what} is its folder's page"
            )
        return sentence.format(what="=…&".join(self.what.split("&")), by=self.by)

    def without(self, parts: Parts) -> Parts:
        """Return the URL without this part, which all URLs share that differ only in the part."""
        return _WITHOUT[self.kind](self, parts)

    def values(self, parts: Parts) -> list[int]:
        """Return a number for each value of its parameters in a URL; none for other kinds.

        The numbers for the n-th parameter are n modulo `MAX_NAMES`.
        """
        given: Sequence[str] = ()
        if self.kind == PARAMETER:
            given = parts.query
        elif self.kind == PATH_PARAMETER:
            given = path_parameters(parts.segments)
        names = self.what.split("&")
        return [
            hash_of(each, 8) % (1 << VALUE_BITS) * MAX_NAMES + names.index(name)
            for each in given
            if (name := name_of(each)) in names
        ]

    def key(self, parts: Parts) -> int:
        """Return the key of all URLs that have this part, and without it are `parts`."""
        return key_of(parts, f"{self.kind} {self.what}")


def part_of(value: object) -> Part:
    """Return the part that JSON has; raise `ValueError` for anything else."""
    match value:
        case [str(kind), str(what), None | str() as by, int(place)] if kind in KINDS:
            return Part(kind, what, by, place)
    raise ValueError("not a part of URLs")


def parts_of(page: Parts) -> list[Part]:
    """Return the parts of a URL by which its relatives are always found."""
    names = page.names[:MAX_NAMES]
    found = [Part(PARAMETER, name) for name in names]
    if len(names) > 1 and len(together := "&".join(names)) <= MAX_WHAT:
        found.append(Part(PARAMETER, together))
    if any(";" in segment for segment in page.segments):
        given = map(name_of, path_parameters(page.segments)[:MAX_NAMES])
        found += [Part(PATH_PARAMETER, name) for name in dict.fromkeys(given)]
    return found


def difference(page: Parts, other: Parts) -> Part | None:
    """Return the part that a page's URL has and another URL lacks, if all else is equal.

    None if they differ in other ways, or in parameters. O(segments).
    """
    if page.host != other.host or page.query != other.query:
        return None
    found = [Part(WWW)] * (page.www > other.www) + [Part(SCHEME)] * (page.scheme < other.scheme)
    if page.segments != other.segments:
        path = _path(page.segments, other.segments)
        if path is None or len(path.what) > MAX_WHAT:
            return None
        found.append(path)
    return found[0] if len(found) == 1 and found[0].without(page) == other else None


def _path(page: tuple[str, ...], other: tuple[str, ...]) -> Part | None:
    """Return the part of a path that another path lacks, or replaces."""
    if page == (*other, ""):
        return Part(SLASH)
    if tuple(map(str.lower, page)) == other:
        return Part(CASE)
    start = 0
    while start < min(len(page), len(other)) and page[start] == other[start]:
        start += 1
    end = 0
    while end < min(len(page), len(other)) - start and page[-1 - end] == other[-1 - end]:
        end += 1
    old, new = page[start : len(page) - end], other[start : len(other) - end]
    if len(old) != 1 or len(new) > 1 or not old[0] or old[0].isdecimal():
        return None  # numbers distinguish pages that are alike
    place = start if start <= end else -end - 1
    return Part(SEGMENT, old[0], new[0] if new else None, place)


def _without(segment: str, name: str) -> str:
    """Return a segment without a path parameter."""
    if ";" not in segment:
        return segment
    first, *rest = segment.split(";")
    return ";".join([first, *(part for part in rest if name_of(part) != name)])


def _replaced(parts: Parts, old: str, new: str | None, place: int) -> Parts:
    segments = parts.segments
    at = place if place >= 0 else len(segments) + place
    if not 0 <= at < len(segments) or segments[at] != old:
        return parts
    middle = () if new is None else (new,)
    return parts._replace(segments=(*segments[:at], *middle, *segments[at + 1 :]) or ("",))


_WITHOUT: Final[dict[str, Callable[[Part, Parts], Parts]]] = {
    PARAMETER: lambda part, parts: parts.without(*part.what.split("&")),
    PATH_PARAMETER: lambda part, parts: parts._replace(
        segments=tuple(_without(segment, part.what) for segment in parts.segments)
    ),
    SEGMENT: lambda part, parts: _replaced(parts, part.what, part.by, part.place),
    SLASH: lambda _, parts: parts._replace(
        segments=tuple("/".join(parts.segments).rstrip("/").split("/"))
    ),
    CASE: lambda _, parts: parts._replace(segments=tuple(map(str.lower, parts.segments))),
    WWW: lambda _, parts: parts._replace(www=""),
    SCHEME: lambda _, parts: parts._replace(scheme="https"),
    **dict.fromkeys(WHOLE, lambda _, parts: parts),
}
"""Kind -> `Part.without`."""
