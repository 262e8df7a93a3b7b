"""The action for a near-duplicate, and the reasons to deliver one anyway.

A near-duplicate is delivered anyway if it is one of the first of its group (`crawl.groups`), if it
is the page of a start request or has `KEEP_KEY`, if its callback hasn't seen the page that it
repeats, if it was dropped before and is requested again, if the page that it repeats isn't
processed in time (`crawl.pending`), or to test whether it yields an item (`crawl.callbacks`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from scrapy_neardup.crawl.callbacks import Callbacks
from scrapy_neardup.judge.comparison import Rule
from scrapy_neardup.settings.catalogue import DEPRIORITIZE, DROP, DROP_ITEMS, DROP_LINKS, FLAG
from scrapy_neardup.verdict import SEEN, Verdict

if TYPE_CHECKING:
    from scrapy import Request, Spider

    from scrapy_neardup.crawl.crawlsettings import CrawlSettings
    from scrapy_neardup.crawl.groups import GroupBudget

KEEP = "keep"
KEPT = KEEP_BUDGET, KEEP_START, KEEP_CALLBACK, KEEP_AGAIN, KEEP_PENDING, KEEP_TEST = (
    "keep-budget", "keep-start", "keep-callback", "keep-again", "keep-pending", "keep-test",
)  # fmt: skip
"""Actions for a page besides `catalogue.ACTIONS`; all but the first are for near-duplicates."""

WITHHOLDING = {DROP, DROP_LINKS, DROP_ITEMS}
"""Actions that withhold part of a page from the crawl."""

_BY_RESEMBLANCE = {Rule.ALIKE, Rule.RETITLED}

LOOK_KEY = "_neardup_look"
"""Key of ``request.meta``: the page was dropped, and is requested again only for its links."""

SAMPLE_KEY = "_neardup_links"
"""Key of ``request.meta``: host and folder of the claim about links, the URL of the dropped page
that a sample was found on, and whether most links there are new."""

TEST_KEYS = {LOOK_KEY, SAMPLE_KEY}
"""Keys of ``request.meta`` that mark the requests for which `experiments.links` waits."""

PAGE_KEYS = {"playwright_page", "camoufox_page"}
"""Keys of ``request.meta`` that hold a browser page, of scrapy-playwright and scrapy-camoufox."""


class Actions:
    """The choice of an action for each page of a crawl."""

    def __init__(self, settings: CrawlSettings, spider: Spider | None = None) -> None:
        self.callbacks = Callbacks(spider)
        self._action = settings.action
        self._is_kept = settings.keeps
        self._adjust = settings.priority_adjust
        self._from = settings.deprioritize_from
        self._needed = settings.parameters.min_resemblance
        self._budget: GroupBudget | None = None
        if settings.group_budget > 1:
            from scrapy_neardup.crawl.groups import GroupBudget  # noqa: PLC0415

            self._budget = GroupBudget(settings.group_budget)
        self._seen_action = KEEP if settings.seen == "keep" else settings.seen

    def choose(self, request: Request, verdict: Verdict, earlier: object) -> str:
        """Return one of `catalogue.ACTIONS`, or one of `KEPT`.

        `earlier` is what was in the request's meta: the verdict on another response, or, if the
        request is for the same page again, the page id of a near-duplicate.
        """
        if not verdict.is_duplicate:
            return self._seen(request, verdict)
        identity = verdict.page_id
        if self._budget and verdict.match and self._budget.admits(identity, verdict.match):
            return KEEP_BUDGET
        if self._is_kept(request):
            return KEEP_START
        if not self.callbacks.has_seen(self.callbacks.delivery(request, verdict)):
            return KEEP_CALLBACK
        if self._action != DROP:
            return self._action
        if isinstance(earlier, Verdict) and earlier.is_duplicate:
            earlier = earlier.page_id
        dropped_before = identity in self.callbacks.with_errback or earlier == identity
        return KEEP_AGAIN if dropped_before and LOOK_KEY not in request.meta else DROP

    def _seen(self, request: Request, verdict: Verdict) -> str:
        """Return the action for a page that is new, or known from an earlier crawl."""
        if (
            verdict.decision is not SEEN
            or verdict.changed
            or self.callbacks.have_met(verdict.page_id)
            or self._is_kept(request)
        ):
            return KEEP
        return self._seen_action

    def priority(self, action: str, verdict: Verdict) -> int:
        """Return the number to add to the priority of the requests found on a page.

        ``NEARDUP_PRIORITY_ADJUST`` for a near-duplicate with equal text, and a share of it for
        others, down to 0 at the resemblance that near-duplicates need, or at
        ``NEARDUP_DEPRIORITIZE_FROM`` if that is lower. New pages near another page get it, too.
        """
        if action == DEPRIORITIZE:
            match = verdict.match if verdict.rule in _BY_RESEMBLANCE else None
            resemblance = None if match is None else match.resemblance
        elif action == KEEP and self._from < 1 and self._action != FLAG:
            nearest = verdict.nearest
            resemblance = (nearest and nearest.resemblance) or 0.0
        else:
            return 0
        if resemblance is None:
            return self._adjust
        least = min(self._from, self._needed)
        share = (resemblance - least) / (1 - least) if least < 1 else 1.0
        return round(self._adjust * min(max(share, 0.0), 1.0))

    async def dropped(self, request: Request, page_id: int) -> None:
        """Remember a page that is dropped, and close its browser page, if it has one."""
        if self.callbacks.has_errback(request):
            # The errback may schedule the request again without its meta.
            self.callbacks.with_errback[page_id] = None
        for key in PAGE_KEYS & request.meta.keys():
            from scrapy_neardup.crawl.browserpages import close_browser_page  # noqa: PLC0415

            await close_browser_page(request, key)
