"""What is done about a near-duplicate, and what lets it pass all the same.

Rule of this module: it decides from the request, the verdict and what it remembers of
earlier pages; others carry it out.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from scrapy_neardup.bounded import Bounded
from scrapy_neardup.crawl.budget import GroupBudget
from scrapy_neardup.crawl.report import KEEP, KEEP_AGAIN, KEEP_BUDGET, KEEP_START
from scrapy_neardup.options import DROP, DROP_ITEMS, DROP_LINKS
from scrapy_neardup.verdict import Verdict

if TYPE_CHECKING:
    from scrapy import Request

    from scrapy_neardup.crawl.settings import CrawlSettings

WITHHOLDING = {DROP, DROP_LINKS, DROP_ITEMS}
"""Actions that keep something of a page from the crawl."""

REMEMBERED_DROPS = 65_536
"""Dropped pages with an errback that are let through when they come again."""


class Actions:
    """Decides for the pages of one crawl."""

    def __init__(self, settings: CrawlSettings) -> None:
        self._action = settings.action
        self._keep_start = settings.keep_start
        self._budget = GroupBudget(settings.group_budget)
        self._dropped: Bounded[int, None] = Bounded(REMEMBERED_DROPS)

    def choose(self, request: Request, verdict: Verdict, earlier: object) -> str:
        """Return what to do about a page: one of `options.ACTIONS`, or why it is kept.

        Parameters
        ----------
        request
            What was asked for.
        verdict
            What was decided about the response.
        earlier
            The verdict in the request's meta, if there was any.
        """
        if not verdict.is_duplicate:
            return KEEP
        if verdict.match and self._budget.admits(verdict.page_id, verdict.match):
            return KEEP_BUDGET
        meta = request.meta
        if self._keep_start and meta.get("is_start_request") and not meta.get("depth"):
            # `depth` too: spiders that copy `response.meta` mark everything as start.
            return KEEP_START
        if self._action != DROP:
            return self._action
        identity = verdict.page_id
        dropped_before = identity in self._dropped or (
            isinstance(earlier, Verdict) and earlier.is_duplicate and earlier.page_id == identity
        )
        return KEEP_AGAIN if dropped_before else DROP

    def dropped(self, request: Request, page_id: int) -> None:
        """Remember a page that is dropped."""
        if request.errback is not None:
            # It may schedule the request again, with its meta or (hence this) without.
            self._dropped[page_id] = None
