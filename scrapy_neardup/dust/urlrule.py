"""Rules that two URLs show the same page.

A rule removes or replaces one part of a URL. A set of rules joins the URLs that are equal once all
rules were applied (the canonical form of Bar-Yossef, Keidar and Schonfeld, WWW 2007, section 2;
their DUST rules are `SEGMENT` and `PARAMETER`).
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final, NamedTuple

from scrapy_neardup.dust.urlparts import PRINTED, Parts, name_of, path_names

PARAMETER: Final = "parameter"
"""A parameter has no effect, whatever its value: ``?sid=1``."""
VALUE: Final = "value"
"""A parameter of one value has no effect: ``?page=1``."""
PATH_PARAMETER: Final = "path-parameter"
"""A parameter of a path segment has no effect: ``;jsessionid=1``."""
SEGMENT: Final = "segment"
"""A path segment stands for another one, or for none: ``/print/``, ``/en_GB/`` for ``/en/``."""
SLASH: Final = "slash"
"""A slash at the end of the path has no effect."""
CASE: Final = "case"
"""Upper and lower case of the path are the same."""
WWW: Final = "www"
"""The host has the same pages with and without ``www.``."""
SCHEME: Final = "scheme"
"""The host has the same pages under http and https."""
EMPTY: Final = "empty"
"""The URLs of a pattern only ever lead to a few pages without content."""

_SENTENCES: Final = {
    PARAMETER: "?{what}=… has no effect",
    VALUE: "?{what} has no effect",
    PATH_PARAMETER: ";{what}=… has no effect",
    SEGMENT: "/{what} shows what /{by} shows",
    SLASH: "a slash at the end has no effect",
    CASE: "upper and lower case are the same",
    WWW: "www. has no effect",
    SCHEME: "http and https show the same",
    EMPTY: "{what} never says anything new",
}
KINDS: Final = frozenset(_SENTENCES)

MAX_WHAT: Final = 200
"""Maximum characters of `Rule.what`."""

MAX_DIFFERENCES: Final = 3
"""Maximum number of rules that one pair can confirm."""

_FEW: Final = 5
_SOME: Final = 10
_MANY: Final = 20
_MOST: Final = 40

_SESSION: Final = re.compile(
    r"(?i)(?:.*sess(?:ion)?_?(?:id)?|(?:php|j|asp|web)?_?s(?:ess)?id|sid|cfid|cftoken|utm_\w+|gclid"
    r"|fbclid|msclkid|yclid|mc_[ce]id|_ga|_gl|cachebuster|replytocom)"
)
"""Names of parameters that stand for a session or a campaign wherever they are used."""

_ORDER: Final = re.compile(
    r"(?i)(?:(?:sort|order|dir|desc|asc)[a-z_]*(?:by)?|ref|referrer|referer|source|print|printable"
    r"|_|rnd|rand|cb|ts|timestamp|nonce|token|highlight)"
)
"""Names of parameters that mostly stand for an order, a referrer, or only defeat caches."""


class Rule(NamedTuple):
    """A URL rule."""

    kind: str
    """One of `KINDS`."""
    what: str = ""
    """The name of the parameter, ``NAME=VALUE``, the pattern, or the segment that is replaced."""
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
        return sentence.format(what=self.what, by=self.by)

    @property
    def needed(self) -> int:
        """Number of pages that have to confirm the rule before it begins.

        The less the name suggests that the rule holds, the more. A rule that is wrong on a tenth
        of the pages passes 40 of them in .9^40 = 1.5 % of all cases.
        """
        if self.kind in {PARAMETER, PATH_PARAMETER}:
            known = ((_SESSION, _FEW), (_ORDER, _SOME))
            return next((n for names, n in known if names.fullmatch(self.what)), _MOST)
        if self.is_edition:
            return _MOST
        if self.kind == SEGMENT:
            return _SOME if self.by == "" or self.is_printed else _MANY
        return {VALUE: _MOST, EMPTY: _MANY}.get(self.kind, _SOME)

    @property
    def is_printed(self) -> bool:
        """Whether it is about printed pages, by a name."""
        return any(map(PRINTED.fullmatch, (*self.what.split("="), self.by or "")))

    @property
    def is_one_way(self) -> bool:
        """Whether it maps printed pages onto originals, which may have links that they lack."""
        return self.is_printed and not self.by

    @property
    def is_edition(self) -> bool:
        """Whether a segment stands for another one, as of versions or languages."""
        return self.kind == SEGMENT and bool(self.by) and not self.is_printed

    @property
    def checks(self) -> int:
        """Number of pages that have to confirm the rule before a crawl that uses it ends."""
        return max(_MOST, min(6 * self.needed, 2 * _MOST))

    def apply(self, parts: Parts) -> Parts:  # noqa: PLR0911  (one a kind)
        """Return the URL under this rule: the same for all URLs that it joins."""
        match self.kind:
            case "parameter":
                return parts.without(self.what)
            case "value":
                return parts._replace(query=tuple(p for p in parts.query if p != self.what))
            case "path-parameter":
                removed = tuple(_without(segment, self.what) for segment in parts.segments)
                return parts._replace(segments=removed)
            case "segment":
                return self._replaced(parts, self.what, self.by)
            case "slash":
                path = "/".join(parts.segments).rstrip("/")
                return parts._replace(segments=tuple(path.split("/")))
            case "case":
                return parts._replace(segments=tuple(map(str.lower, parts.segments)))
            case "www":
                return parts._replace(www="")
            case "scheme":
                return parts._replace(scheme="https")
            case _:
                return parts

    def counterpart(self, parts: Parts) -> Parts | None:
        """Return the URL that this rule maps onto a canonical one; None for none or many."""
        match self.kind:
            case "value":
                return parts._replace(query=tuple(sorted((*parts.query, self.what))))
            case "segment":
                other = self._replaced(parts, self.by, self.what)
                return None if other == parts else other
            case "slash":
                return parts._replace(segments=(*parts.segments, ""))
            case "www":
                return parts._replace(www="www.")
            case "scheme":
                return parts._replace(scheme="http")
            case _:
                return None

    def _replaced(self, parts: Parts, old: str | None, new: str | None) -> Parts:
        segments = parts.segments
        at = self.place if self.place >= 0 else len(segments) + self.place
        if old is None:  # from the right, the index counts the segment that is added
            at += self.place < 0
            if not 0 <= at <= len(segments) or new is None:
                return parts
            return parts._replace(segments=(*segments[:at], new, *segments[at:]))
        if not 0 <= at < len(segments) or segments[at] != old:
            return parts
        middle = () if new is None else (new,)
        replaced = (*segments[:at], *middle, *segments[at + 1 :]) or ("",)
        parts = parts._replace(segments=replaced)
        return self._replaced(parts, old, None) if new is None else parts


def difference(one: Parts, other: Parts) -> tuple[Rule, ...]:
    """Return the rules that together join two URLs; none if they are too many.

    O(segments + parameters).
    """
    if one.host != other.host:
        return ()
    rules = [Rule(WWW)] * (one.www != other.www) + [Rule(SCHEME)] * (one.scheme != other.scheme)
    rules += _parameters(one, other)
    if one.segments != other.segments:
        found = _path(one.segments, other.segments)
        if found is None:
            return ()
        rules.append(found)
    if len(rules) > MAX_DIFFERENCES or any(len(rule.what) > MAX_WHAT for rule in rules):
        return ()
    return tuple(rules)


def _parameters(one: Parts, other: Parts) -> Iterator[Rule]:
    for name in dict.fromkeys((*one.names, *other.names)):
        a, b = ([part for part in parts.query if name_of(part) == name] for parts in (one, other))
        if a != b:
            yield Rule(PARAMETER, name)


def _path(one: tuple[str, ...], other: tuple[str, ...]) -> Rule | None:
    """Return the rule that joins two paths; None for none."""
    if (*one, "") == other or (*other, "") == one:
        return Rule(SLASH)
    if (matrix := _path_parameter(one, other)) is not None:
        return matrix
    if tuple(map(str.lower, one)) == tuple(map(str.lower, other)):
        return Rule(CASE)
    short, long = sorted((one, other), key=lambda segments: (len(segments), segments))
    start = 0
    while start < len(short) and short[start] == long[start]:
        start += 1
    end = 0
    while end < len(short) - start and short[-1 - end] == long[-1 - end]:
        end += 1
    new, old = short[start : len(short) - end], long[start : len(long) - end]
    if len(old) != 1 or len(new) > 1:
        return None
    by, what = (None, old[0]) if not new else sorted((new[0], old[0]), key=lambda s: (len(s), s))
    place = start if start <= end else -end - 1
    return Rule(SEGMENT, what, by, place) if what else None


def _path_parameter(one: tuple[str, ...], other: tuple[str, ...]) -> Rule | None:
    for name in sorted({*path_names(one), *path_names(other)}):
        if len({tuple(_without(s, name) for s in segments) for segments in (one, other)}) == 1:
            return Rule(PATH_PARAMETER, name)
    return None


def _without(segment: str, name: str) -> str:
    """Return a segment without a path parameter."""
    if ";" not in segment:
        return segment
    first, *rest = segment.split(";")
    return ";".join([first, *(part for part in rest if name_of(part) != name)])
