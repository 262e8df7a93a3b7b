"""URLs as host, path segments and sorted parameters, for claims."""

from __future__ import annotations

import itertools
import re
from collections.abc import Sequence
from functools import lru_cache
from typing import Final, NamedTuple, Self
from urllib.parse import urlsplit

from scrapy_neardup.urls import hash_of, parameters_of

MAX_LENGTH: Final = 2_000
"""Maximum length in characters of a URL from which claims are learnt."""
MAX_SEGMENTS: Final = 32
MAX_PARAMETERS: Final = 16
"""Maximum numbers of path segments and of parameters of such a URL."""

MAX_PATTERN: Final = 200
"""Maximum length in characters of a shown pattern."""

KEY_BITS: Final = 40
VALUE_BITS: Final = 24
"""Number of bits of a content's number; a cell of 64 bits holds it and the key of a URL."""

_USUAL_PORTS: Final = {"http": ":80", "https": ":443"}
_ID_LENGTH: Final = 16
_ID: Final = re.compile(r"(?i)(?=[^/]*[0-9])(?=[^/]*[a-z])[0-9a-z_-]+|[0-9a-f-]+")


class Parts(NamedTuple):
    """The parts of a URL."""

    scheme: str
    """``"http"`` or ``"https"``."""
    www: str
    """``"www."`` if the host begins with it, else ``""``."""
    host: str
    """The rest of the host, in lower case, with its port unless that is the usual one."""
    segments: tuple[str, ...]
    """Path segments: ``/a/b`` has two, and ``/a/b/`` a third one, which is empty."""
    query: tuple[str, ...]
    """The parameters as they are written (`parameters_of`), sorted."""

    @classmethod
    @lru_cache(maxsize=256)  # several functions need the same URL
    def of(cls, url: str) -> Self | None:
        """Return the parts of a URL, without user and fragment.

        None if it isn't an http(s) URL, or exceeds the bounds of this module: no claim is learnt
        from such a URL, and none covers it. O(length).
        """
        if len(url) > MAX_LENGTH:
            return None
        try:
            scheme, netloc, path, query, _ = urlsplit(url)
        except ValueError:
            return None
        if scheme not in _USUAL_PORTS or not netloc:
            return None
        segments = path[1:].split("/")
        parameters = parameters_of(query) if query else []
        if len(segments) > MAX_SEGMENTS or len(parameters) > MAX_PARAMETERS:
            return None
        host = netloc.rpartition("@")[2].lower().removesuffix(_USUAL_PORTS[scheme])
        bare = host.removeprefix("www.")
        www = host[: len(host) - len(bare)]
        return cls(scheme, www, bare, tuple(segments), tuple(sorted(parameters)))

    @property
    def url(self) -> str:
        """The URL with its parameters sorted."""
        query = f"?{'&'.join(self.query)}" if self.query else ""
        return f"{self.scheme}://{self.www}{self.host}/{'/'.join(self.segments)}{query}"

    @property
    def names(self) -> tuple[str, ...]:
        """The distinct names of the parameters."""
        return tuple(dict.fromkeys(map(name_of, self.query))) if self.query else ()

    def without(self, *names: str) -> Parts:
        """Return the URL without the parameters of some names."""
        query = tuple([part for part in self.query if name_of(part) not in names])
        if len(query) == len(self.query):
            return self
        return Parts(self.scheme, self.www, self.host, self.segments, query)

    @property
    def section(self) -> str:
        """The first folder of the path; none in ``/a-post/``, which is the page's name."""
        return generalized(self.segments[0]) if any(self.segments[1:]) else ""

    @property
    def pattern(self) -> str:
        """The pattern of the URL: ``/calendar/N/N/``, ``/shop/*?colour=&size=``.

        Numbers and ids in the path become ``N``, names below the `section` ``*`` with their
        extension; only the names of parameters count. Equal segments in a row become one, with a
        ``+``, and the path before them doesn't count: ``…/help+/``.
        """
        return _pattern(self)


@lru_cache(maxsize=64)
def _pattern(parts: Parts) -> str:
    segments = parts.segments
    for index, (one, other) in enumerate(itertools.pairwise(segments)):
        if one and one == other:
            rest = [each for each in segments[index + 2 :] if each != one]
            return "…/" + "/".join([f"{one}+", *rest])
    *folders, last = map(generalized, segments)
    if last:
        stem, dot, extension = segments[-1].rpartition(".")
        general = generalized(stem) if dot else last
        last = (general if general == "N" else "*") + dot + extension * bool(dot)
    kept = 1 if any(segments[1:]) else 0
    names = [*folders[:kept], *(each if each == "N" else "*" for each in folders[kept:]), last]
    query = "?" + "&".join(f"{name}=" for name in parts.names) if parts.query else ""
    return f"/{'/'.join(names)}{query}"


def pattern_of(url: str) -> str:
    """Return the pattern of any URL, cut off if it is long, for a message or a report."""
    parts = Parts.of(url)
    return (url.partition("?")[0] if parts is None else parts.pattern)[:MAX_PATTERN]


def kinds_of(url: str) -> tuple[str, str, str]:
    """Return the names of a URL's parameters, these with their values, and its pattern."""
    if (parts := Parts.of(url)) is None:
        return "", "", ""
    host, names = parts.host, map(generalized, parts.names)
    return f"{host}?{'&'.join(names)}", f"{host}={'&'.join(parts.query)}", f"{host}{parts.pattern}"


def name_of(parameter: str) -> str:
    """Return the name of a parameter as it is written: ``page`` of ``page=2``."""
    return parameter.partition("=")[0]


def path_parameters(segments: Sequence[str]) -> list[str]:
    """Return the parameters of path segments: ``a=1`` and ``b`` of ``/x;a=1/y;b``."""
    return [part for each in segments if ";" in each for part in each.split(";")[1:]]


def key_of(parts: Parts, mark: str = "") -> int:
    """Return the key of a URL in a `HashTable`; each `mark` gives another key."""
    scheme, www, host, segments, query = parts
    path = "/".join(segments)
    text = "\n".join((mark, scheme, www, host, path, *query))
    return hash_of(text, 8) % (1 << KEY_BITS) or 1


def generalized(segment: str) -> str:
    """Return ``N`` for a number or an id, otherwise the segment or name unchanged."""
    is_number = segment.isdecimal() and segment.isascii()
    return "N" if is_number or (len(segment) >= _ID_LENGTH and _ID.fullmatch(segment)) else segment
