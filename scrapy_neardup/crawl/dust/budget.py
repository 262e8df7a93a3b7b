"""Fewer requests for URL patterns whose pages bring nothing new (`Novelty`).

Their requests get a lower priority and, with ``NEARDUP_PATTERN_BUDGET``, an end. One in twenty is
made all the same, to notice a pattern that brings something again.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from scrapy_neardup.bounded import BoundedDict
from scrapy_neardup.crawl.dust.novelty import Novelty, Sample, samples_of
from scrapy_neardup.crawl.dust.reports import report_spent
from scrapy_neardup.dust.hashtable import VALUE_BITS
from scrapy_neardup.dust.urlparts import Parts, hash_of
from scrapy_neardup.pipeline.analysis import AnalysedPage

if TYPE_CHECKING:
    from scrapy import Request

    from scrapy_neardup.crawl.journal import Journal
    from scrapy_neardup.settings.crawling import CrawlSettings
    from scrapy_neardup.verdict import Page

MAX_HOSTS: Final = 256
"""Maximum number of hosts whose patterns are watched."""

MIN_PAGES: Final = 8
"""Number of pages of a host from which on its patterns are watched."""


class PatternBudget:
    """The patterns of one crawl."""

    def __init__(self, settings: CrawlSettings, journal: Journal) -> None:
        self._budget = settings.pattern_budget
        self._is_exact = settings.parameters.is_exact
        self._acts = settings.urls == "skip" or self._budget > 0
        self._adjust = settings.priority_adjust
        self._explore = round(settings.urls_explore * (1 << VALUE_BITS))
        self._journal = journal
        self._hosts: BoundedDict[str, Novelty] = BoundedDict(MAX_HOSTS)
        self._pages: BoundedDict[str, int] = BoundedDict(MAX_HOSTS)

    @property
    def state(self) -> tuple[object, object]:
        """What is known of the hosts, for a resumed crawl."""
        return self._hosts, self._pages

    @state.setter
    def state(self, state: tuple[BoundedDict[str, Novelty], BoundedDict[str, int]]) -> None:
        self._hosts, self._pages = state

    def judged(self, pages: Sequence[tuple[Parts, Page, bool]]) -> list[bool]:
        """Note what pages bring: nothing if the third value says that they repeat another one.

        Return whether each brings anything, as far as that is known.
        """
        brings = [not repeats for *_, repeats in pages]
        watched: defaultdict[str, dict[int, Sequence[Sample]]] = defaultdict(dict)
        for number, (parts, page, repeats) in enumerate(pages):
            met = self._pages[parts.host] = self._pages.get(parts.host, 0) + 1
            if met >= MIN_PAGES and isinstance(page, AnalysedPage) and page.text is not None:
                watched[parts.host][number] = () if repeats else samples_of(page.text)
        for name, samples in watched.items():
            if (novelty := self._hosts.get(name)) is None:
                self._hosts[name] = novelty = Novelty()
            for number, news in zip(samples, novelty.news([*samples.values()]), strict=True):
                pattern = pages[number][0].pattern
                spent = novelty.page(pattern, is_stale=not news or news[0].is_stale)
                if spent is not None:
                    report_spent(self._journal, name, pattern, spent, is_exact=self._is_exact)
                brings[number] = bool(news) and not any(each.is_copy for each in news)
        return brings

    def admits(self, request: Request) -> bool:
        """Whether a request is made; lower its priority if its pattern is spent."""
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
