"""The differences of two crawls: pages that are new, gone or changed, and their lines."""

from __future__ import annotations

import zlib
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import count
from typing import Any
from urllib.parse import urlsplit

from scrapy_neardup.urls import MAX_ADDRESS, place_in, site

NEW, GONE, CHANGED, UNCHANGED = CHANGES = ("new", "gone", "changed", "unchanged")


@dataclass(frozen=True, slots=True)
class PageText:
    """A page of a crawl: its address, its fingerprint, and its lines if its text is known."""

    url: str
    fingerprint: str | None
    lines: tuple[str, ...] | None


Change = dict[str, Any]
"""A JSON object with a ``page`` and its ``change``, one of `CHANGES`.

A changed page also has the lines ``added`` and ``removed``, in order, and their ``share`` of the
lines of both, unless only fingerprints could be compared.
"""


class CrawlDiff:
    """The differences of two crawls.

    `counts` are the pages by change; for `by_fingerprint` of them only fingerprints could be
    compared.
    """

    def __init__(self) -> None:
        self.counts: Counter[str] = Counter()
        self.by_fingerprint = 0

    def changes(self, old: Iterable[PageText], new: Iterable[PageText]) -> Iterator[Change]:
        """Yield new and changed pages in the order of the newer crawl, then those that are gone.

        If the newer crawl fetched a page more than once, the first time counts. The older crawl is
        in memory, with compressed lines.
        """
        before = {page.url: (page.fingerprint, _packed(page.lines)) for page in old}
        seen: set[str] = set()
        for page in new:
            if page.url not in seen:
                seen.add(page.url)
                known = page.url in before
                found = self._compared(page, *before[page.url]) if known else {"change": NEW}
                yield from self._counted(page.url, found)
        for url in (url for url in before if url not in seen):
            yield from self._counted(url, {"change": GONE})

    def _counted(self, url: str, found: Change) -> Iterator[Change]:
        self.counts[found["change"]] += 1
        if found["change"] != UNCHANGED:
            yield {"page": url, **found}

    def _compared(self, page: PageText, fingerprint: str | None, packed: bytes | None) -> Change:
        """Return whether a page of both crawls is `CHANGED` or `UNCHANGED`, and its lines."""
        if packed is None or page.lines is None:
            self.by_fingerprint += 1
            return {"change": UNCHANGED if fingerprint == page.fingerprint else CHANGED}
        lines = zlib.decompress(packed).decode().split("\n") if packed else []
        before, after = Counter(lines), Counter(page.lines)
        removed, added = before - after, after - before
        different = removed.total() + added.total()
        if not different:
            return {"change": UNCHANGED}
        return {
            "change": CHANGED,
            "share": round(different / (before.total() + after.total()), 6),
            "added": _picked(page.lines, added),
            "removed": _picked(lines, removed),
        }


def _packed(lines: Sequence[str] | None) -> bytes | None:
    """Return lines compressed; ``b""`` for none."""
    if lines is None:
        return None
    return zlib.compress("\n".join(lines).encode()) if lines else b""


def page_lines(
    text: str, paths: str = "", changing: Collection[str] = frozenset()
) -> tuple[str, ...]:
    """Return the lines of a page's text that aren't empty, and don't change by themselves.

    `paths` has the DOM path of each line in four hexadecimal digits, `changing` those at which
    text is another one in each response.
    """
    lines = map(str.strip, text.split("\n"))
    at = (paths[start : start + 4] for start in count(step=4))
    both = zip(lines, at, strict=False)  # a text that is too long was cut off
    return tuple([line for line, path in both if line and path not in changing])


def place(url: str) -> str:
    """Return the site of `url` and its folder, all numbers aside; ``""`` for what can't be parsed.

    Pages of one place are taken for pages of one template, as in `scrapy_neardup.urls.Address`.
    """
    try:
        return site(url) + place_in(urlsplit(url).path[:MAX_ADDRESS])
    except ValueError:
        return ""


def _picked(lines: Iterable[str], wanted: Counter[str]) -> list[str]:
    """Return the wanted lines, each as often as it is wanted."""
    picked = []
    for line in lines:
        if wanted[line] > 0:
            wanted[line] -= 1
            picked.append(line)
    return picked
