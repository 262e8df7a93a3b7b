"""Fewer requests for patterns of addresses whose pages bring nothing new (`dust.novelty`).

Their requests get a lower priority and, with ``NEARDUP_PATTERN_BUDGET``, an end. One in twenty is
made all the same, so that a pattern which brings something again is seen to.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from scrapy_neardup.analysis import AnalysedPage
from scrapy_neardup.bounded import BoundedDict
from scrapy_neardup.dust.addresses import Parts, hash_of
from scrapy_neardup.dust.novelty import SAMPLED, Novelty
from scrapy_neardup.dust.table import VALUE_BITS

if TYPE_CHECKING:
    from scrapy import Request

    from scrapy_neardup.crawl.journal import Journal
    from scrapy_neardup.crawl.settings import CrawlSettings
    from scrapy_neardup.verdict import Page

MAX_HOSTS: Final = 256
"""Maximum number of hosts, those met last, whose patterns are watched."""

MIN_PAGES: Final = 32
"""Number of pages of a host from which on its patterns are watched."""

MAX_SAMPLE: Final = 32
"""Maximum number of shingles of a page that are looked at."""

_SAMPLE_END: Final = (1 << 64) // SAMPLED


class PatternBudget:
    """The patterns of one crawl."""

    def __init__(self, settings: CrawlSettings, journal: Journal) -> None:
        self._budget = settings.pattern_budget
        self._acts = settings.urls == "skip" or self._budget > 0
        self._adjust = settings.priority_adjust
        self._explore = round(settings.urls_explore * (1 << VALUE_BITS))
        self._journal = journal
        self._hosts: BoundedDict[str, Novelty] = BoundedDict(MAX_HOSTS)
        self._pages: BoundedDict[str, int] = BoundedDict(MAX_HOSTS)

    def judged(self, request: Request, page: Page, *, repeats: bool) -> None:
        """Note what a page brings: nothing, if it repeats another one."""
        if not isinstance(page, AnalysedPage) or page.text is None:
            return
        parts = Parts.of(request.url)
        if parts is None:
            return
        name = parts.host
        met = self._pages[name] = self._pages.get(name, 0) + 1
        if met < MIN_PAGES:
            return
        if (novelty := self._hosts.get(name)) is None:
            self._hosts[name] = novelty = Novelty()
        shingles = page.text.shingles[: 0 if repeats else None]  # ascending
        sample = shingles[: min(int(shingles.searchsorted(_SAMPLE_END)), MAX_SAMPLE)].tolist()
        if (spent := novelty.page(parts.pattern, sample)) is not None:
            self._journal.spent(name, parts.pattern, spent)

    def admits(self, request: Request) -> bool:
        """Return whether a request is to be made; lower its priority if its pattern is spent."""
        if not self._acts or not self._hosts or (parts := Parts.of(request.url)) is None:
            return True
        novelty = self._hosts.get(parts.host)
        spent = novelty and novelty.spent(parts.pattern)
        if not spent:
            return True
        over = self._budget and spent.pages - spent.since >= self._budget
        if over and hash_of(f"explore {request.url}", VALUE_BITS) >= self._explore:
            self._journal.count("urls/out-of-budget")
            return False
        request.priority += self._adjust
        self._journal.count("urls/deprioritized")
        return True
