"""Which sites make their pages from a template and little else: shops, catalogues, references.

Rule of this room: a site is taken for one when its own pages have shown it. Two pages whose
texts resemble each other are near-duplicates even if their titles differ: editions, spellings,
a title with the name of the mirror. But where several pages, each with a title of its own, turn
out to repeat the same one, what tells them apart is the title, and from then on next to all of
the text must be equal where titles differ (`scrapy_neardup.verdict.Sketch`). Pages whose text
is next to equal show nothing: they are dropped in any case.
"""

from __future__ import annotations

from scrapy_neardup.bounded import Bounded
from scrapy_neardup.verdict import Decision, Page, Verdict

SHOWN = 4
"""Titles among the pages that repeat one page, neither its own nor those of pages next to equal
to it counted."""

_NEXT_TO_EQUAL = 0.99
"""The resemblance of pages that are dropped whatever their titles."""

_MOST_PAGES = 65_536
_MOST_SITES = 4096


class Templates:
    """What a crawl knows of the titles of pages that repeat each other."""

    def __init__(self) -> None:
        self._titles: Bounded[int, int] = Bounded(_MOST_PAGES)
        self._repeats: Bounded[int, set[int]] = Bounded(_MOST_PAGES)
        self._sites: Bounded[str, None] = Bounded(_MOST_SITES)

    def __contains__(self, site: str) -> bool:
        return site in self._sites

    def learn(self, site: str, page: Page, verdict: Verdict) -> None:
        """Take note of a page that was judged."""
        if verdict.decision is Decision.NEW:
            self._titles[page.id] = page.title
        elif verdict.decision is Decision.DUPLICATE and verdict.match is not None:
            other, resemblance = verdict.match.page_id, verdict.match.resemblance
            if resemblance is not None and resemblance >= _NEXT_TO_EQUAL:
                return
            if page.title and self._titles.get(other, page.title) not in {0, page.title}:
                titles = self._repeats.setdefault(other, set())
                titles.add(page.title)
                if len(titles) >= SHOWN:
                    self._sites[site] = None
