"""What ends every response of a site and is never the same: counters, times, a saying.

Rule of this room: what changes is learnt from pages that are met again. A path that is met a
second time with other parameters (a session id, a campaign) may show the same page; where it
is equal but for its last lines, these change with the response. A site of which several pages
show this, and hardly any shows the contrary, is believed: from then on its pages are judged
without their last lines. Everything is forgotten bit by bit, so that a site may change its ways.

Parameters that were only added make sure that it is the same page. Where they differ
(``?product=1``, ``?product=2``) it may be another one: then a path speaks once.

Only what pages end with is looked at; what stands elsewhere ``NEARDUP_IGNORE`` can name.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import replace
from urllib.parse import urlsplit

from scrapy_neardup.text import Content

MOST_LINES = 3
"""That are looked at."""

_FEWEST_CHARACTERS = 150
"""Of the rest of a page; less may be all template, and the last line all that it says."""

_BELIEVED = 4
"""Pages that have to show it; and three times as many as show the contrary."""

_HALVED = 32
_MOST_PAGES = 20_000
_MOST_SITES = 4096


class ChangingEnds:
    """What a crawl knows of the last lines of each site's pages."""

    def __init__(self) -> None:
        # Page without its last lines -> its parameters and those lines; None once it was
        # counted, as one page must not speak for its site twice.
        self._met: OrderedDict[int, tuple[frozenset[str], Sequence[str]] | None] = OrderedDict()
        # Paths that have spoken for their site with pages that may be others.
        self._spoken: OrderedDict[int, None] = OrderedDict()
        # Site -> for each number of lines: pages where they changed, and where they didn't.
        self._seen: OrderedDict[str, list[list[float]]] = OrderedDict()

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
        lines = [line for line in content.text.split("\n") if line and not line.isspace()]
        self._learn(site, parts.path, frozenset(parts.query.split("&")) - {""}, lines)
        changing = self._changing(site)
        if not 0 < changing < len(lines):
            return content
        own, ends = lines[:-changing], set(lines[-changing:])
        core = None
        if content.core is not None:
            core = "\n".join(line for line in content.core.split("\n") if line not in ends)
        return replace(content, text="\n".join(own), core=core)

    def _learn(
        self, site: str, path: str, parameters: frozenset[str], lines: Sequence[str]
    ) -> None:
        for length in range(1, MOST_LINES + 1):
            own, ends = lines[:-length], lines[-length:]
            if sum(map(len, own)) < _FEWEST_CHARACTERS:
                return
            page = hash((site, path, *own))
            if page not in self._met:
                self._met[page] = (parameters, ends)
                if len(self._met) > MOST_LINES * _MOST_PAGES:
                    self._met.popitem(last=False)
            elif met := self._met[page]:
                before, ends_before = met
                added = before <= parameters or parameters <= before
                if added or self._speaks(hash((site, path, length))):
                    self._count(site, length, changed=ends != ends_before)
                    self._met[page] = None

    def _speaks(self, path: int) -> bool:
        """Return whether a path hasn't spoken yet, and let it speak."""
        if path in self._spoken:
            return False
        self._spoken[path] = None
        if len(self._spoken) > MOST_LINES * _MOST_PAGES:
            self._spoken.popitem(last=False)
        return True

    def _count(self, site: str, length: int, *, changed: bool) -> None:
        seen = self._seen.setdefault(site, [[0.0, 0.0] for _ in range(MOST_LINES)])
        self._seen.move_to_end(site)
        if len(self._seen) > _MOST_SITES:
            self._seen.popitem(last=False)
        counts = seen[length - 1]
        counts[not changed] += 1
        if sum(counts) >= _HALVED:
            counts[:] = (count / 2 for count in counts)

    def _changing(self, site: str) -> int:
        """Return how many of the last lines change."""
        for length, (changed, same) in enumerate(self._seen.get(site, ()), start=1):
            if changed >= _BELIEVED and changed >= 3 * same:
                return length
        return 0
