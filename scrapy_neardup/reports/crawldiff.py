"""The differences of two crawls: pages that are new, gone or changed, and their lines."""

from __future__ import annotations

from array import array
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

from scrapy_neardup.urls import hash_of

NEW, GONE, CHANGED, UNCHANGED = CHANGES = ("new", "gone", "changed", "unchanged")


@dataclass(frozen=True, slots=True)
class PageText:
    """A page of a crawl: its address, its fingerprint, and its lines where its text is known."""

    url: str
    fingerprint: str | None
    lines: tuple[str, ...] | None


@dataclass(slots=True)
class Change:
    """A page and one of `CHANGES`.

    `added` and `removed` are lines of a changed page, in order, and `share` is their share of the
    lines of both; none, and None, where only fingerprints could be compared.
    """

    url: str
    change: str
    added: list[str] = field(default_factory=list)
    removed: list[str] = field(default_factory=list)
    share: float | None = None

    def line(self) -> dict[str, Any]:
        """Return the change as JSON has it."""
        line: dict[str, Any] = {"page": self.url, "change": self.change}
        if self.share is not None:
            line |= {"share": round(self.share, 6), "added": self.added, "removed": self.removed}
        return line


class Comparison:
    """Two crawls, the older one first.

    Holds eight bytes a line of the older crawl, and the lines of pages that changed. `counts` are
    pages by change; of `by_fingerprint` of them only fingerprints could be compared.
    """

    def __init__(self, old: Iterable[PageText]) -> None:
        self._old: dict[str, tuple[str | None, array[int] | None]] = {}
        for page in old:
            digests = None if page.lines is None else array("Q", map(_digest, page.lines))
            self._old[page.url] = page.fingerprint, digests
        self.counts: Counter[str] = Counter()
        self.by_fingerprint = 0
        self._changed: dict[str, Change] = {}

    def changes(self, new: Iterable[PageText], old_again: Iterable[PageText]) -> Iterator[Change]:
        """Yield new, changed and gone pages; the removed lines are those of `old_again`.

        If the newer crawl fetched a page more than once, the first time counts.
        """
        seen: set[str] = set()
        for page in new:
            if page.url in seen:
                continue
            seen.add(page.url)
            change = self._change(page)
            self.counts[change.change] += 1
            if change.change == NEW:
                yield change
        for page in old_again:
            if (changed := self._changed.pop(page.url, None)) is not None:
                changed.removed = _picked(page.lines or (), Counter(changed.removed))
                yield changed
        for url in self._old.keys() - seen:
            self.counts[GONE] += 1
            yield Change(url, GONE)

    def _change(self, page: PageText) -> Change:
        if page.url not in self._old:
            return Change(page.url, NEW)
        fingerprint, before = self._old[page.url]
        if before is None or page.lines is None:
            self.by_fingerprint += 1
            is_equal = fingerprint == page.fingerprint
            change = Change(page.url, UNCHANGED if is_equal else CHANGED)
        else:
            change = _by_lines(page, Counter(before))
        if change.change == CHANGED:
            self._changed[page.url] = change
        return change


def page_lines(text: str) -> tuple[str, ...]:
    """Return the lines of a page's text that aren't empty."""
    return tuple(filter(None, map(str.strip, text.split("\n"))))


def _by_lines(page: PageText, before: Counter[int]) -> Change:
    assert page.lines is not None  # noqa: S101  (for the type checker)
    after = Counter(map(_digest, page.lines))
    removed, added = before - after, after - before
    if not removed and not added:
        return Change(page.url, UNCHANGED)
    different = removed.total() + added.total()
    change = Change(page.url, CHANGED, share=different / (before.total() + after.total()))
    change.added = _picked(page.lines, Counter(map(str, added.elements())))
    change.removed = list(map(str, removed.elements()))  # digests, until the lines are read again
    return change


def _picked(lines: Iterable[str], wanted: Counter[str]) -> list[str]:
    """Return the lines with these digests, as often as they are wanted."""
    picked = []
    for line in lines:
        if wanted[digest := str(_digest(line))] > 0:
            wanted[digest] -= 1
            picked.append(line)
    return picked


def _digest(line: str) -> int:
    return hash_of(line, 8)
