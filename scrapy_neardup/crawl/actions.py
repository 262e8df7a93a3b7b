"""What is done about a near-duplicate, and why one may be delivered anyway.

A near-duplicate is delivered anyway if it is one of the first of its group (`GroupBudget`), if it
is a start request or has `KEEP_KEY`, if it was dropped before and is requested again, or if the
page that it repeats isn't processed in time (`scrapy_neardup.crawl.ledger`).
"""

from __future__ import annotations

import asyncio
import logging
from collections import OrderedDict
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from scrapy_neardup.bounded import BoundedDict
from scrapy_neardup.crawl import KEEP_KEY
from scrapy_neardup.decision.comparison import Rule
from scrapy_neardup.settings.catalogue import DEPRIORITIZE, DROP, DROP_ITEMS, DROP_LINKS, FLAG
from scrapy_neardup.verdict import Decision, Verdict

if TYPE_CHECKING:
    from lxml.html import HtmlElement
    from scrapy import Request

    from scrapy_neardup.crawl.ledger import Pending
    from scrapy_neardup.settings.crawling import CrawlSettings
    from scrapy_neardup.text import Content
    from scrapy_neardup.verdict import Match

logger = logging.getLogger(__name__)

KEEP, KEEP_BUDGET, KEEP_START, KEEP_AGAIN, KEEP_PENDING = (
    "keep",
    "keep-budget",
    "keep-start",
    "keep-again",
    "keep-pending",
)
"""What is done about a page, besides `options.ACTIONS`."""

WITHHOLDING = {DROP, DROP_LINKS, DROP_ITEMS}
"""Actions that withhold part of a page from the crawl."""

_BY_RESEMBLANCE = {Rule.ALIKE, Rule.RETITLED, Rule.RESPONSE}

REMEMBERED_DROPS = 65_536
"""Maximum number of dropped pages with an errback that are remembered, to be delivered when they
are requested again."""

REMEMBERED_PAGES = 262_144
"""Maximum number of pages of a crawl that are told from those of an earlier one, where
``NEARDUP_SEEN`` drops these; 30 MB."""

REMEMBERED_MEMBERS = 65_536
"""Maximum number of delivered pages that are remembered, to be recognised when they come again.
Whole groups are forgotten, the oldest first."""


@dataclass(slots=True, kw_only=True)
class Judged:
    """A page's verdict, and what is done about it."""

    verdict: Verdict
    action: str
    entry: Pending | None = None
    """Its entry in the ledger while it is pending, to be confirmed or withdrawn."""
    content: Content | None = None
    """The page's content, unless it couldn't be read."""
    root: HtmlElement | None = None
    """The tree of a near-duplicate."""
    priority: int = 0
    """Number to add to the priority of the requests found on it."""
    seconds: float = 0.0
    """Seconds that reading the page took."""
    is_duplicate: bool = field(init=False)

    def __post_init__(self) -> None:
        self.is_duplicate = self.verdict.decision is Decision.DUPLICATE


class Actions:
    """The choice of an action for each page of a crawl."""

    def __init__(self, settings: CrawlSettings) -> None:
        self._action = settings.action
        self._keep_start = settings.keep_start
        self._start_depth = settings.start_depth
        self._adjust = settings.priority_adjust
        self._from = settings.deprioritize_from
        self._needed = settings.parameters.min_resemblance
        self._budget = GroupBudget(settings.group_budget)
        self._dropped: BoundedDict[int, None] = BoundedDict(REMEMBERED_DROPS)
        self._seen_action = KEEP if settings.seen == "keep" else settings.seen
        self._judged: BoundedDict[int, None] = BoundedDict(REMEMBERED_PAGES)

    def choose(self, request: Request, verdict: Verdict, earlier: object) -> str:
        """Return one of `catalogue.ACTIONS`, or why the page is kept.

        `earlier` is the verdict in the request's meta, if there was one.
        """
        if verdict.decision is not Decision.DUPLICATE:
            return self._seen(request, verdict)
        if verdict.match and self._budget.admits(verdict.page_id, verdict.match):
            return KEEP_BUDGET
        if self._is_kept_start(request):
            return KEEP_START
        if self._action != DROP:
            return self._action
        identity = verdict.page_id
        dropped_before = identity in self._dropped or (
            isinstance(earlier, Verdict) and earlier.is_duplicate and earlier.page_id == identity
        )
        return KEEP_AGAIN if dropped_before else DROP

    def _seen(self, request: Request, verdict: Verdict) -> str:
        """Return the action for a page that is new, or known from an earlier crawl."""
        if self._seen_action == KEEP:
            return KEEP
        is_of_this_crawl = verdict.page_id in self._judged
        self._judged[verdict.page_id] = None
        match = verdict.match
        if (
            verdict.decision is not Decision.SEEN
            or is_of_this_crawl
            or match is None
            or match.distance
            or match.resemblance not in {None, 1.0}
            or self._is_kept_start(request)
        ):
            return KEEP
        return self._seen_action

    def _is_kept_start(self, request: Request) -> bool:
        # Spiders that copy `response.meta` mark every request as a start request; hence `depth`.
        meta = request.meta
        depth = meta.get("depth", 0)
        if meta.get(KEEP_KEY) or 0 < depth <= self._start_depth:
            return True
        return bool(self._keep_start and meta.get("is_start_request") and not depth)

    def priority(self, action: str, verdict: Verdict) -> int:
        """Return the number to add to the priority of the requests found on a page.

        ``NEARDUP_PRIORITY_ADJUST`` for a near-duplicate with equal text, and a share of it for
        others, down to 0 at the resemblance that near-duplicates need, or at
        ``NEARDUP_DEPRIORITIZE_FROM`` if that is lower. New pages are treated alike.
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
        if request.errback is not None:
            # It may schedule the request again without its meta.
            self._dropped[page_id] = None
        await close_browser_page(request)


@dataclass(slots=True)
class _Group:
    """The near-duplicates of one entry that were delivered."""

    members: set[int] = field(default_factory=set)
    again: int = 0
    """Number of times one of them came again, each of which the store counted."""


class GroupBudget:
    """The first pages of each group, which are delivered (``NEARDUP_GROUP_BUDGET``).

    The store counts the pages that repeat an entry (`Match.count`), so that all crawlers that
    share it share the budget, and a resumed crawl goes on with it. What is remembered here only
    keeps a page that comes again (a retry, a revisit) from being counted twice.

    Parameters
    ----------
    pages
        Number of pages of a group that are delivered: the stored one and `pages` - 1 that repeat
        it.
    """

    def __init__(self, pages: int) -> None:
        self._repeats = pages - 1
        self._groups: OrderedDict[int, _Group] = OrderedDict()
        self._remembered = 0

    def admits(self, page_id: int, match: Match) -> bool:
        """Whether a page that repeats `match` is delivered. O(1).

        It isn't if the store doesn't count (`Match.count` is 0).
        """
        if not self._repeats or not match.count:
            return False
        if match.count == 1:  # another entry of the same page may have had a group
            self._forget(match.page_id)
        group = self._groups.get(match.page_id) or _Group()
        if page_id in group.members:
            group.again += 1
            return True
        if match.count - group.again > self._repeats:
            return False
        group.members.add(page_id)
        self._groups[match.page_id] = group
        self._remembered += 1
        while self._remembered > REMEMBERED_MEMBERS:
            self._forget(next(iter(self._groups)))
        return True

    def _forget(self, entry: int) -> None:
        if (group := self._groups.pop(entry, None)) is not None:
            self._remembered -= len(group.members)


PAGE_KEYS = ("playwright_page", "camoufox_page")
"""Keys of ``request.meta`` that hold a browser page, of scrapy-playwright and scrapy-camoufox."""

CLOSE_SECONDS = 10.0
"""Maximum seconds that closing a browser page may take."""


async def close_browser_page(request: Request) -> None:
    """Close the browser page that a download handler has left open for the callback.

    A dropped page has no callback, and once ``PLAYWRIGHT_MAX_PAGES_PER_CONTEXT`` pages are open
    the handler sends no further request. The page stays in the request's meta, closed: an errback
    may close it once more, and a request that is sent again with it gets a page of its own.
    """
    for key in PAGE_KEYS:
        if (page := request.meta.get(key)) is None:
            continue
        try:
            async with asyncio.timeout(CLOSE_SECONDS):
                await page.close()
        except Exception as error:  # noqa: BLE001  (a browser that has crashed, a handler's bug)
            logger.warning("The browser page of %s, which is dropped, can't be closed: %r",
                           request, error)  # fmt: skip
