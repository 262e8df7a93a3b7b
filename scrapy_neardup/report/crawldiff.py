"""The differences of two crawls: pages that are new, gone or changed, and their lines."""

from __future__ import annotations

from array import array
from collections import Counter
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass
from itertools import count
from typing import Any
from urllib.parse import urlsplit

from scrapy_neardup.urls import MAX_ADDRESS, hash_of, place_in, site

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
    """Two crawls, the older one first.

    It holds eight bytes a line of the older crawl, and the lines of changed pages. `counts` are
    the pages by change; for `by_fingerprint` of them only fingerprints could be compared.
    """

    def __init__(self, old: Iterable[PageText]) -> None:
        self._old: dict[str, tuple[str | None, array[int] | None]] = {}
        for page in old:
            digests = None if page.lines is None else array("Q", map(_digest, page.lines))
            self._old[page.url] = page.fingerprint, digests
        self.counts: Counter[str] = Counter()
        self.by_fingerprint = 0
        self._changed: dict[str, tuple[Change, Counter[int]]] = {}
        """Changes by address, with the digests of removed lines until these are read again."""

    def changes(self, new: Iterable[PageText], old_again: Iterable[PageText]) -> Iterator[Change]:
        """Yield new, changed and gone pages; `old_again` supplies the removed lines.

        If the newer crawl fetched a page more than once, the first time counts.
        """
        seen: set[str] = set()
        for page in new:
            if page.url in seen:
                continue
            seen.add(page.url)
            change = self._compare(page, *self._old[page.url]) if page.url in self._old else NEW
            self.counts[change] += 1
            if change == NEW:
                yield {"page": page.url, "change": NEW}
        for page in old_again:
            if page.url in self._changed:
                changed, removed = self._changed.pop(page.url)
                if "share" in changed:
                    changed["removed"] = _picked(page.lines or (), removed)
                yield changed
        for url in [url for url in self._old if url not in seen]:
            self.counts[GONE] += 1
            yield {"page": url, "change": GONE}

    def _compare(self, page: PageText, fingerprint: str | None, lines: array[int] | None) -> str:
        """Return whether a page of both crawls is `CHANGED` or `UNCHANGED`, and note it."""
        changed: Change = {"page": page.url, "change": CHANGED}
        removed: Counter[int] = Counter()
        if lines is None or page.lines is None:
            self.by_fingerprint += 1
            is_equal = fingerprint == page.fingerprint
        else:
            before, after = Counter(lines), Counter(map(_digest, page.lines))
            removed, added = before - after, after - before
            different = removed.total() + added.total()
            is_equal = not different
            if different:
                share = different / (before.total() + after.total())
                changed |= {"share": round(share, 6), "added": _picked(page.lines, added)}
        if is_equal:
            return UNCHANGED
        self._changed[page.url] = changed, removed
        return CHANGED


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


def _picked(lines: Iterable[str], wanted: Counter[int]) -> list[str]:
    """Return the lines with these digests, each as often as it is wanted."""
    picked = []
    for line in lines:
        if wanted[digest := _digest(line)] > 0:
            wanted[digest] -= 1
            picked.append(line)
    return picked


def _digest(line: str) -> int:
    return hash_of(line, 8)
