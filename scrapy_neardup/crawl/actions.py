"""What is done about a near-duplicate, and what lets it pass all the same.

Rule of this module: it decides from the request, the verdict and what it remembers of
earlier pages; others carry it out.

A near-duplicate is delivered in spite of its verdict as one of the first of its group
(`GroupBudget`), as a start request or one that is marked like it (`KEEP_KEY`), where it was
dropped before and is asked for again, and where the page that it repeats isn't done in time
(`scrapy_neardup.crawl.ledger`).
"""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from scrapy_neardup.bounded import BoundedDict
from scrapy_neardup.crawl.browserpages import close_browser_page
from scrapy_neardup.crawl.metakeys import KEEP_KEY
from scrapy_neardup.decision.comparison import Rule
from scrapy_neardup.options import DEPRIORITIZE, DROP, DROP_ITEMS, DROP_LINKS, FLAG
from scrapy_neardup.verdict import Decision, Verdict

if TYPE_CHECKING:
    from scrapy import Request

    from scrapy_neardup.crawl.audit import Said
    from scrapy_neardup.crawl.settings import CrawlSettings
    from scrapy_neardup.crawl.waiting import Pending
    from scrapy_neardup.verdict import Match

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
"""Maximum number of dropped pages with an errback that are remembered, to be let through when they
come again."""

REMEMBERED_PAGES = 262_144
"""Maximum number of pages of a crawl that are told from those of an earlier one, where
``NEARDUP_SEEN`` drops these; 30 MB."""

REMEMBERED_MEMBERS = 65_536
"""Maximum number of delivered pages that are remembered, to be known when they come again. Whole
groups are forgotten, the oldest first."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Judged:
    """A page's verdict and what is to be done about it."""

    verdict: Verdict
    action: str
    entry: Pending | None = None
    """Its entry in the ledger while it is pending, to be confirmed or withdrawn."""
    said: Said | None = None
    """What the page says, unless it couldn't be read."""
    priority: int = 0
    """What is added to the priority of the requests that it leads to."""
    seconds: float = 0.0
    """Seconds of CPU time that reading the page took."""


class Actions:
    """Decides for the pages of one crawl."""

    def __init__(self, settings: CrawlSettings) -> None:
        self._action = settings.action
        self._keep_start = settings.keep_start
        self._adjust = settings.priority_adjust
        self._from = settings.deprioritize_from
        self._needed = settings.parameters.min_resemblance
        self._budget = GroupBudget(settings.group_budget)
        self._dropped: BoundedDict[int, None] = BoundedDict(REMEMBERED_DROPS)
        self._seen_action = KEEP if settings.seen == "keep" else settings.seen
        self._judged: BoundedDict[int, None] = BoundedDict(REMEMBERED_PAGES)

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
        """Return what to do about a page that isn't a duplicate: of an earlier crawl, or new."""
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
        # `depth` too: spiders that copy `response.meta` mark everything as start.
        meta = request.meta
        if meta.get(KEEP_KEY):
            return True
        return bool(self._keep_start and meta.get("is_start_request") and not meta.get("depth"))

    def priority(self, action: str, verdict: Verdict) -> int:
        """Return what is added to the priority of the requests that a page leads to.

        ``NEARDUP_PRIORITY_ADJUST`` for a near-duplicate with equal text or content, less of it the
        less another one resembles its match: nothing at the resemblance that is needed, or at
        ``NEARDUP_DEPRIORITIZE_FROM``, if that is lower. New pages are lowered alike.
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
            # It may schedule the request again, with its meta or (hence this) without.
            self._dropped[page_id] = None
        await close_browser_page(request)


@dataclass(slots=True)
class _Group:
    """The near-duplicates of one entry that were delivered."""

    members: set[int] = field(default_factory=set)
    again: int = 0
    """Number of times one of them came again, each of which the store counted."""


class GroupBudget:
    """The first pages of each group.

    Places in a group are given out by the store, which counts the pages that repeat an entry
    (`Match.count`), so that all crawlers that share it share the budget and a crawl that is
    resumed goes on with it. What is remembered here only keeps a page that comes again (a retry, a
    revisit) from taking a second place.

    Parameters
    ----------
    pages
        How many pages of a group are delivered: the one that is stored and `pages` - 1 that
        repeat it.
    """

    def __init__(self, pages: int) -> None:
        self._repeats = pages - 1
        self._groups: OrderedDict[int, _Group] = OrderedDict()
        self._remembered = 0

    def admits(self, page_id: int, match: Match) -> bool:
        """Whether the page is delivered that was found to repeat `match`. O(1).

        Where the store doesn't count (`Match.count` is 0) no place is given out.
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
