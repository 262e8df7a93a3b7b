"""What ends every response of a site and is never the same: counters, times, a saying.

Rule of this room: what changes is learnt from pages that are met again. Where a page is met
a second time and is equal but for its last lines, these change with the response. A site of
which several pages show this, and hardly any shows the contrary, is believed: from then on its
pages are judged without their last lines, and a page that had been judged with them is judged
with the same ones again. Everything is forgotten bit by bit, so that a site may change its ways.

Which page is met again is not for its text to say, or two products that share all but their
last line would be one. It is

- one whose path was met with other parameters: if they were only added (a session id, a
  campaign), each time; if they differ (``?product=1``, ``?product=2``), once a path;
- one of the same title and file name in another folder (an edition, a mirror, a printable
  version), if its text is long, and its last lines are a small part of it and say something else
  altogether, or the same in other digits; once a file name. As an edition may end in its own way,
  more of these are needed, and a single one that ends as before says that nothing changes.

Only what pages end with is looked at; what stands elsewhere ``NEARDUP_IGNORE`` can name.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from posixpath import basename
from urllib.parse import SplitResult, urlsplit

from scrapy_neardup.bounded import Bounded
from scrapy_neardup.text import Content

MOST_LINES = 3
"""That are looked at."""

_FEWEST_CHARACTERS = 150
"""Of the rest of a page; less may be all template, and the last line all that it says."""

_FEWEST_ELSEWHERE = 500
"""Of the rest of a page in another folder."""

_MOST_CHARACTERS, _MOST_CHANGING = 400, 0.2
"""Of the last lines; and, in another folder, as a share of the rest."""

_BELIEVED, _BELIEVED_ELSEWHERE = 4, 8
"""Pages that have to show it: three times as many as show the contrary, or, of those in other
folders, while none does."""

_DIGIT = re.compile(r"\d+")
_HALVED = 32
_MOST_PAGES = 16_384
_MOST_SITES = 4096


@dataclass(slots=True)
class _Met:
    """A page as it was first met."""

    path: str
    parameters: frozenset[str]
    ends: tuple[str, ...]
    """Its last lines."""
    changing: int
    """How many of them weren't judged."""
    spoken: int = 0
    """The numbers of lines, as bits, about which it has spoken for its site; once is enough."""

    def judged(self, length: int) -> tuple[str, ...]:
        """Return those of so many last lines that were judged."""
        return self.ends[-length:][: max(length - self.changing, 0)]


class ChangingEnds:
    """What a crawl knows of the last lines of each site's pages."""

    def __init__(self) -> None:
        self._met: Bounded[int, _Met] = Bounded(MOST_LINES * _MOST_PAGES)
        # Paths and file names that have spoken for their site with pages that may be others.
        self._spoken: Bounded[int, None] = Bounded(MOST_LINES * _MOST_PAGES)
        # Site -> for each number of lines: pages where they changed, in other folders, and where
        # they didn't change.
        self._seen: Bounded[str, list[list[float]]] = Bounded(_MOST_SITES)

    def strip(self, content: Content, url: str | None) -> Content:
        """Return the content without the lines that change, and learn from it.

        O(length of the text).
        """
        try:
            parts = urlsplit(url or "")
        except ValueError:
            return content
        site = parts.netloc.rpartition("@")[2].lower()
        if not site:
            return content
        lines = _lines(content.text)
        pages = self._pages(site, content.title, lines)
        before = [self._met.get(page) for page in pages]
        for length, met in enumerate(before, start=1):
            if met is not None:
                self._learn(site, parts, lines, length, met)
        changing = self._changing(site)
        if changing >= len(lines):
            changing = 0
        self._remember(pages, parts, lines, changing)
        if not changing:
            return content
        met = before[changing - 1] if changing <= len(before) else None
        return _ending(content, lines, changing, met.judged(changing) if met is not None else ())

    @staticmethod
    def _pages(site: str, title: str, lines: Sequence[str]) -> list[int]:
        """Return what tells the page without its last line, last two, ... from others."""
        pages = []
        for length in range(1, MOST_LINES + 1):
            own = " ".join(lines[:-length])  # wherever its source breaks lines
            if len(own) < _FEWEST_CHARACTERS or len("".join(lines[-length:])) > _MOST_CHARACTERS:
                break
            pages.append(hash((site, title, own)))
        return pages

    def _learn(
        self, site: str, parts: SplitResult, lines: Sequence[str], length: int, met: _Met
    ) -> None:
        if met.spoken >> length & 1:
            return
        before, now = met.ends[-length:], tuple(lines[-length:])
        if met.path == parts.path:
            parameters = _parameters(parts)
            again = met.parameters <= parameters or parameters <= met.parameters
            speaks = again or self._speaks(hash((site, parts.path, length)))
        else:
            own, ends = (sum(map(len, part)) for part in (lines[:-length], now))
            name = basename(parts.path)
            speaks = (
                name == basename(met.path) != ""
                and own >= _FEWEST_ELSEWHERE
                and ends <= _MOST_CHANGING * own
                and (now == before or _says_something_else(now, before))
                and self._speaks(hash((site, name, length)))
            )
        if speaks:
            kind = 2 if now == before else int(met.path != parts.path)
            self._count(site, length, kind)
            met.spoken |= 1 << length

    def _remember(
        self, pages: Sequence[int], parts: SplitResult, lines: Sequence[str], changing: int
    ) -> None:
        met = _Met(parts.path, _parameters(parts), tuple(lines[-MOST_LINES:]), changing)
        for page in pages:
            self._met.setdefault(page, met)

    def _speaks(self, name: int) -> bool:
        """Return whether a path or file name hasn't spoken yet, and let it speak."""
        if name in self._spoken:
            return False
        self._spoken[name] = None
        return True

    def _count(self, site: str, length: int, kind: int) -> None:
        seen = self._seen.setdefault(site, [[0.0, 0.0, 0.0] for _ in range(MOST_LINES)])
        self._seen.move_to_end(site)
        counts = seen[length - 1]
        counts[kind] += 1
        if sum(counts) >= _HALVED:
            counts[:] = (count / 2 for count in counts)

    def _changing(self, site: str) -> int:
        """Return how many of the last lines change."""
        for length, (changed, elsewhere, same) in enumerate(self._seen.get(site, ()), start=1):
            if changed >= _BELIEVED and changed >= 3 * same:
                return length
            if elsewhere >= _BELIEVED_ELSEWHERE and not same:
                return length
        return 0


def _says_something_else(now: Sequence[str], before: Sequence[str]) -> bool:
    """Whether two ends have less than half of their words in common, or differ in digits alone."""
    ours, theirs = (" ".join(ends) for ends in (now, before))
    if _DIGIT.sub("0", ours) == _DIGIT.sub("0", theirs):
        return True
    fewer, more = sorted((set(ours.split()), set(theirs.split())), key=len)
    return 2 * len(fewer & more) < len(fewer)


def _lines(text: str) -> list[str]:
    """Return the lines of a text that aren't blank, white space collapsed."""
    return [" ".join(words) for line in text.split("\n") if (words := line.split())]


def _parameters(parts: SplitResult) -> frozenset[str]:
    return frozenset(parts.query.split("&")) - {""}


def _ending(
    content: Content, lines: Sequence[str], changing: int, judged: Sequence[str]
) -> Content:
    """Return `content`, of these lines, with others in place of the last ones."""
    own, ends = lines[:-changing], set(lines[-changing:])
    core = content.core
    if core is not None:
        found = _lines(core)
        kept = [line for line in found if line not in ends]
        core = "\n".join([*kept, *judged] if len(kept) < len(found) else kept)
    return replace(content, text="\n".join([*own, *judged]), core=core)
