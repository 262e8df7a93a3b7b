"""A page's own address in its text.

Soft 404s and parked domains repeat it, which says nothing of their content; a page that shows the
key of its address says by it which page it is.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import TYPE_CHECKING
from urllib.parse import SplitResult, unquote, urlsplit

from scrapy_neardup.urls import MAX_ADDRESS

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

_KEY = re.compile(
    r"(?<![^\W_])(?:(?=(?:[-.]?\d){5})\d+(?:[-.]\d+)+|(?=(?:[a-z]*\d){3})[a-z\d]{4,40})"
    r"(?![^\W_])"
)
_DATE = re.compile(
    r"(?:19|20)\d\d(?:[-.](?:0?\d|1[0-2]))?(?:[-.](?:[0-2]?\d|3[01]))?"
    r"|[0-3]?\d[-.][0-3]?\d[-.](?:19|20)?\d\d"
)
_THREE_DIGITS = re.compile(r"(?s)\d.*?\d.*?\d")
_MAX_KEYS = 8


def shown_keys(url: str | None, texts: Sequence[str]) -> tuple[str, ...]:
    """Return the keys in a URL's path and parameters that texts show, too, in lower case.

    A key is a word of four characters or more, three of them digits, or some numbers that hyphens
    or points join, of five digits or more, but no date. ``/part?no=847-12345`` and ``Part no.
    847-12345``: a page that shows the key of its address says by it which page it is. O(length of
    the URL), with a key O(length of the text).
    """
    if not _THREE_DIGITS.search(url or ""):
        return ()
    _, _, parts = _written(url or "")
    words = _KEY.findall(f"{parts.path[:MAX_ADDRESS]} {parts.query[:MAX_ADDRESS]}".lower())
    keys = [word for word in dict.fromkeys(words) if not _DATE.fullmatch(word)][:_MAX_KEYS]
    text = "\n".join(texts).lower() if keys else ""
    if not any(key in text for key in keys):
        return ()
    shown = set(_KEY.findall(text))
    return tuple([key for key in keys if key in shown])


def may_hold_address(url: str | None, *texts: str) -> bool:
    """Return whether one of the texts holds the host or the path of `url`. O(length)."""
    paths, host, _ = _written(url or "")
    return any(part in text for part in {host, *paths} - {""} for text in texts)


def without_address(text: str, url: str | None) -> str:
    """Return `text` without the host and the path of `url`, and the parts of the URL around them.

    ``The requested page "/no/such/page" could not be found``, ``example.com is for sale``: a
    page's own address says nothing of its content. O(length of the text + length of the URL),
    however often and in whatever way the one repeats the other.
    """
    paths, host, parts = _written(url or "")
    name = parts.netloc.rpartition("@")[2]

    def start_of_path(start: int) -> int | None:
        if not text.endswith(name, 0, start):
            return None if start and _WITHIN_PATH.match(text, start - 1) else start
        start -= len(name)
        scheme = _SCHEME.search(text[max(0, start - 8) : start])
        return start - len(scheme[0]) if scheme else start

    def start_of_host(start: int) -> int | None:
        start -= len("www.") if text.endswith("www.", 0, start) else 0
        return None if start and _WITHIN_HOST.match(text, start - 1) else start

    for path in paths:
        for part in (f"{path}?{parts.query}", path):
            text = _cut(text, part, r"(?![\w/]|[-.]\w)", start_of_path)
    return _cut(text, host, r"(?![\w-]|\.\w)", start_of_host)


_SCHEME = re.compile(r"(?:https?:)?//\Z")
_WITHIN_PATH, _WITHIN_HOST = re.compile(r"[\w/]"), re.compile(r"[\w.@-]")
"""Characters in front of what is then the end of a longer path, or of a longer host."""


def _cut(text: str, part: str, end: str, start_of: Callable[[int], int | None]) -> str:
    """Return `text` with a space in place of each `part` of it that the lookahead `end` follows.

    `start_of` returns where the cut begins, given where `part` does; None where none is made.
    """
    if not part or part not in text:
        return text
    kept: list[str] = []
    end_of_last = 0
    # A pattern that begins with literal characters is searched for in linear time (Knuth, Morris
    # and Pratt). What must stand in front can't be a part of it, and is looked at behind it.
    for found in re.finditer(re.escape(part) + end, text):
        start = start_of(found.start())
        if start is not None and start >= end_of_last:
            kept += (text[end_of_last:start], " ")
            end_of_last = found.end()
    return "".join([*kept, text[end_of_last:]])


@lru_cache(maxsize=8)  # all texts of a page are asked about one URL
def _written(url: str) -> tuple[set[str], str, SplitResult]:
    try:
        parts = urlsplit(url)
    except ValueError:
        parts = SplitResult("", "", "", "", "")
    if not 0 < len(parts.netloc.rpartition("@")[2]) <= _MAX_HOST:
        return set(), "", parts
    host = parts.netloc.rpartition("@")[2].partition(":")[0].lower().removeprefix("www.")
    return {parts.path, unquote(parts.path)} - {"", "/"}, host, parts


_MAX_HOST = 260
"""Maximum characters of a host and its port: a name of the DNS has 253 at most."""
