"""The summary of an audit: counts, and every drop with the page that it repeats.

It takes one pass, in the order of the lines. It holds only the line numbers of texts; the few
texts that are shown are read in a second pass. O(verdicts): some 300 bytes for a kept page, 600
for a drop.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import dataclass
from functools import cached_property
from sys import intern
from typing import NamedTuple

from scrapy_neardup.report.auditlines import Entry
from scrapy_neardup.report.patterns import patterns_of, split_site
from scrapy_neardup.verdict import Decision

MAX_TITLE = 200
"""Maximum number of shown characters of a title."""

LISTED = 1_000
"""Maximum number of listed addresses of one kind: orphans, unjudged pages."""

KEPT, REPEATED, UNJUDGED = range(3)
"""Outcomes of a page, as indexes of numbers of pages."""


class PageLine(NamedTuple):
    """A page, from its own line."""

    page: str
    title: str
    headings: str
    tokens: int
    line: int
    text_size: int


@dataclass(slots=True)
class Drop:
    """A page that repeats another one, with any action."""

    own: PageLine
    of: str
    of_id: int
    distance: int | None
    resemblance: float | None
    threshold: float | None
    rule: str
    found: str
    learnt: tuple[str, ...]
    detail: str
    action: str


class Summary:
    """The summary of the lines of one or more audits.

    Verdicts are counted by some of their keys; equal titles are one object, because they repeat.
    `drops` are all duplicates in the order of the audit, `kept` the pages that repeat no other by
    their ids, `crawls` the first lines of crawls, `orphans` the pages dropped for one that failed
    afterwards. `differences`: page id -> how the pages that repeat it differ, where that is
    little. `links`: addresses that only dropped pages link to, as far as the crawl counted them.
    `asked` are the numbers of experiments by kind. `refetched` is the number of pages that were
    requested twice, `changing` the number of them on which a selector names what changed. `claims`
    are the lines about claims.
    """

    def __init__(self) -> None:
        self.decisions: Counter[str] = Counter()
        self.actions: Counter[str] = Counter()
        self.unjudged: Counter[str] = Counter()
        self.drops: list[Drop] = []
        self.kept: dict[int, PageLine] = {}
        self.crawls: list[Entry] = []
        self.claims: list[Entry] = []
        self.orphans: list[str] = []
        self.orphaned = 0
        self.differences: dict[int, str] = {}
        self.links: int | None = None
        self.asked: Counter[str] = Counter()
        self.refetched = 0
        self.changing: Counter[str] = Counter()
        self._urls: list[str] = []
        self._outcomes = bytearray()

    def add(self, entry: Entry, line: int) -> None:
        """Add a line of an audit; `line` is its number over all files."""
        match entry.get("event"):
            case None:
                self._verdict(entry, line)
            case "begun" if len(self.crawls) < LISTED:
                self.crawls.append(entry)
            case "claim":
                self.claims.append(entry)
            case "differ" if len(self.differences) < LISTED:
                self.differences[entry["of_id"] or 0] = entry["difference"][:MAX_TITLE]
            case "orphaned":
                self.orphaned += entry["count"]
                self.orphans += map(str, entry["pages"][: LISTED - len(self.orphans)])
            case "experiment":
                self.asked[intern(entry["kind"][:MAX_TITLE])] += 1
            case "refetched":
                self.refetched += 1
                self.asked["refetch"] += 1
                if len(self.changing) < LISTED:
                    self.changing.update({str(name)[:MAX_TITLE] for name in entry["selectors"]})

    def ignorable(self) -> list[tuple[str, int]]:
        """Return selectors by class or id of what changes by itself, and on how many pages.

        Those on one page alone may be anything. Most pages first.
        """
        return [
            (selector, pages)
            for selector, pages in self.changing.most_common()
            if pages > 1 and not {".", "#"}.isdisjoint(selector)
        ]

    def kept_of(self, drop: Drop) -> PageLine:
        """Return the page that a drop repeats, from its own line or else from that of the drop."""
        return self.kept.get(drop.of_id) or PageLine(drop.of, "", "", 0, -1, 0)

    @cached_property
    def hosts(self) -> dict[str, list[int]]:
        """Scheme and host -> numbers of kept, repeated and unjudged pages."""
        return self._counted([split_site(url)[0] for url in self._urls])

    @cached_property
    def patterns(self) -> dict[str, list[int]]:
        """Pattern -> numbers of kept, repeated and unjudged pages; after all lines were added."""
        return self._counted(self._patterns)

    @cached_property
    def drop_patterns(self) -> list[str]:
        """The pattern of each of `drops`; after all lines were added."""
        both = zip(self._patterns, self._outcomes, strict=True)
        return [pattern for pattern, outcome in both if outcome == REPEATED]

    @cached_property
    def _patterns(self) -> list[str]:
        return patterns_of(self._urls)

    def _counted(self, names: list[str]) -> dict[str, list[int]]:
        counts: defaultdict[str, list[int]] = defaultdict(lambda: [0, 0, 0])
        for name, outcome in zip(names, self._outcomes, strict=True):
            counts[name][outcome] += 1
        return counts

    def _verdict(self, entry: Entry, line: int) -> None:
        page, page_id, decision = entry["page"], entry["id"], entry["verdict"]
        self.decisions[decision] += 1
        self.actions[entry["action"]] += 1
        headings = " · ".join(map(str, (entry.get("headings") or ())[:20]))
        own = PageLine(
            page,
            intern((entry.get("title") or "")[:MAX_TITLE]),
            intern(headings[:MAX_TITLE]),
            entry.get("tokens") or 0,
            line,
            len(entry.get("text") or ""),
        )
        outcome = KEPT
        if decision == Decision.DUPLICATE:
            outcome = REPEATED
            self._duplicate(entry, own)
        elif decision == Decision.UNJUDGED:
            outcome = UNJUDGED
            self.unjudged[intern(entry["reason"])] += 1
        elif decision == Decision.NEW or page_id not in self.kept:
            self.kept[page_id] = own
        self._urls.append(page)
        self._outcomes.append(outcome)

    def _duplicate(self, entry: Entry, own: PageLine) -> None:
        of_id = entry.get("of_id") or 0
        if (links := entry.get("links")) is not None:
            self.links = (self.links or 0) + links
        self.drops.append(
            Drop(
                own=own,
                of=intern(entry.get("of") or f"page {of_id:016x}"),
                of_id=of_id,
                distance=entry.get("distance"),
                resemblance=_resemblance(entry.get("resemblance")),
                threshold=_resemblance(entry.get("threshold")),
                rule=intern(entry.get("rule") or entry["reason"]),
                found=intern(entry.get("found") or ""),
                learnt=tuple(intern(str(rule)[:80]) for rule in (entry.get("learnt") or ())[:16]),
                detail=intern((entry.get("detail") or "")[:MAX_TITLE]),
                action=intern(entry["action"]),
            )
        )


def _resemblance(number: float | None) -> float | None:
    """Return `number` if it can be a resemblance."""
    return number if number is not None and 0 <= number <= 1 else None
