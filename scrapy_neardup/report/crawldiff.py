"""The differences of two crawls: pages that are new, gone or changed, and their lines."""

from __future__ import annotations

import zlib
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from itertools import count
from types import MappingProxyType
from typing import Any, NamedTuple
from urllib.parse import urlsplit

from scrapy_neardup.urls import MAX_ADDRESS, place_in, site

NEW, GONE, CHANGED, UNCHANGED = CHANGES = ("new", "gone", "changed", "unchanged")
UNKNOWN = "unknown"
"""Kind of a page that one of the crawls couldn't judge."""


class PageText(NamedTuple):
    """A page of a crawl: its address, its fingerprint, and its lines if its text is known."""

    url: str
    fingerprint: str | None
    lines: tuple[str, ...] | None


class PageChange(NamedTuple):
    """The change of a page: `kind` is one of `CHANGES`, or `UNKNOWN`.

    `lines` of a changed page has the ``added`` and ``removed`` lines in order, and their ``share``
    of the lines of both crawls. It is empty if only fingerprints could be compared.
    """

    page: str
    kind: str
    lines: Mapping[str, Any] = MappingProxyType({})
    by_fingerprint: bool = False


def changes(old: Iterable[PageText], new: Iterable[PageText]) -> Iterator[PageChange]:
    """Yield the pages of the newer crawl in its order, then those that are gone.

    If the newer crawl fetched a page more than once, the first time counts. The older crawl is in
    memory, with compressed lines.
    """
    before = {page.url: (page.fingerprint, _packed(page.lines)) for page in old}
    seen: set[str] = set()
    for page in new:
        if page.url not in seen:
            seen.add(page.url)
            known = page.url in before
            yield _compared(page, *before[page.url]) if known else PageChange(page.url, NEW)
    yield from (PageChange(url, GONE) for url in before if url not in seen)


def _compared(page: PageText, fingerprint: str | None, packed: bytes | None) -> PageChange:
    """Return the change of a page that both crawls have."""
    if packed is None or page.lines is None:
        if fingerprint is None or page.fingerprint is None:
            return PageChange(page.url, UNKNOWN)
        kind = UNCHANGED if fingerprint == page.fingerprint else CHANGED
        return PageChange(page.url, kind, by_fingerprint=True)
    lines = zlib.decompress(packed).decode().split("\n") if packed else []
    before, after = Counter(lines), Counter(page.lines)
    removed, added = before - after, after - before
    different = removed.total() + added.total()
    if not different:
        return PageChange(page.url, UNCHANGED)
    found = {
        "share": round(different / (before.total() + after.total()), 6),
        "added": _picked(page.lines, added),
        "removed": _picked(lines, removed),
    }
    return PageChange(page.url, CHANGED, found)


def _packed(lines: Sequence[str] | None) -> bytes | None:
    """Return lines compressed; ``b""`` for none."""
    if lines is None:
        return None
    return zlib.compress("\n".join(lines).encode()) if lines else b""


def page_lines(
    text: str, paths: str = "", changing: Collection[str] = frozenset()
) -> tuple[str, ...]:
    """Return the lines of a page's text that aren't empty, and don't change by themselves.

    `paths` has the DOM path of each line in four hexadecimal digits, `changing` those whose text
    differs from response to response.
    """
    lines = map(str.strip, text.split("\n"))
    at = (paths[start : start + 4] for start in count(step=4))
    both = zip(lines, at, strict=False)  # a text that is too long was cut off
    return tuple([line for line, path in both if line and path not in changing])


def place(url: str) -> str:
    """Return the site of `url` and its folder without numbers; ``""`` if it can't be parsed.

    Pages of one place count as pages of one template, as in `scrapy_neardup.urls.Address`.
    """
    try:
        return site(url) + place_in(urlsplit(url).path[:MAX_ADDRESS])
    except ValueError:
        return ""


def _picked(lines: Iterable[str], wanted: Counter[str]) -> list[str]:
    """Return the wanted lines, each as many times as wanted."""
    picked = []
    for line in lines:
        if wanted[line] > 0:
            wanted[line] -= 1
            picked.append(line)
    return picked
