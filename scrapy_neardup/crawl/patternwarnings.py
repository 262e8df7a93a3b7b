"""Warnings about URL patterns that a person should look at, and a summary at the end of a crawl.

URLs are grouped by their pattern (``/product/N``; `scrapy_neardup.claims.urlparts.Parts.pattern`).
Three things are reported, each once for a pattern:

- Pages that repeat one page, or those of several small groups of a folder, differ only in numbers
  or a few words: job ads for other cities, the same article at another price, the colours of a
  product. To many users these are different pages (`scrapy_neardup.report.differences`).
- Pages at many paths are near-duplicates of one page. If they are products or articles, they
  differ in too little text; if they are empty results, all is well. Session ids don't count: URLs
  that differ only in parameters have one path.
- Hundreds of pages are new that differ in numbers or parameters. The site may be large, or endless
  there, or one page changes with every response.
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from scrapy_neardup.bounded import BoundedDict
from scrapy_neardup.claims.urlparts import pattern_of
from scrapy_neardup.judge.changing import Changing
from scrapy_neardup.judge.comparison import Rule
from scrapy_neardup.report.differences import KEEPS_THEM, Groups
from scrapy_neardup.settings.catalogue import DROP
from scrapy_neardup.urls import redact
from scrapy_neardup.verdict import NEW, UNJUDGED

if TYPE_CHECKING:
    from scrapy import Spider

    from scrapy_neardup.crawl.pagestate import Visit
    from scrapy_neardup.verdict import Match

logger = logging.getLogger(__name__)

MANY_REPEATS = 50
"""Number of paths of a pattern whose pages repeat one page, from which there is a warning."""

MANY_NEW = 500
"""Number of new pages of a pattern from which there is a warning."""

ENDLESS = (
    ". If the site is endless there, set DEPTH_LIMIT, which also leaves out other pages"
    " that are as deep; if they are one page on which something changes with every"
    " response, leave that out with NEARDUP_IGNORE"
)
"""Advice about hundreds of new pages of a pattern."""

MAX_WARNINGS = 8
"""Maximum number of patterns that a warning is logged for, for each of the reasons."""

WATCHED = 512
"""Maximum number of patterns, and of pairs of a pattern and a kept page, that are counted; the
least recently seen are forgotten."""

SORTED_AT_ONCE = 50
"""Number of new pages whose patterns are made at once, which takes a third of the time."""


class PatternWarnings:
    """Counts of a crawl's pages by pattern, and the warnings that follow from them.

    `advises`: whether to name settings that also lose pages with real differences.
    """

    def __init__(self, spider: Spider | None, *, advises: bool = True) -> None:
        self._advises = advises
        self._log = logging.LoggerAdapter(logger, {"spider": spider})
        self._crowds: BoundedDict[tuple[int, str], set[int]] = BoundedDict(WATCHED)
        self._new: BoundedDict[str, int] = BoundedDict(WATCHED)
        self._unsorted: list[str] = []
        self._repeated: BoundedDict[str, int] = BoundedDict(WATCHED)
        self._alike = Groups()
        self._warned: dict[str, set[str]] = {"crowd": set(), "new": set(), "differ": set()}
        self._checked = self._unjudged = self._duplicates = self._dropped = self._groups = 0

    def page(self, url: str, visit: Visit) -> str | None:
        """Count a page. O(length of its text).

        Returns, once, how the pages of its group differ, if they differ only a little.
        """
        self._checked += 1
        verdict = visit.verdict
        if verdict.decision is NEW:
            self._unsorted.append(url)
            if len(self._unsorted) >= SORTED_AT_ONCE:
                for each in self._unsorted:
                    self._is_new(each)
                self._unsorted.clear()
        elif verdict.decision is UNJUDGED:
            self._unjudged += 1
        elif verdict.is_duplicate:
            self._duplicates += 1
            self._dropped += visit.action == DROP
            pattern = pattern_of(url)
            self._repeated[pattern] = self._repeated.used(pattern, int) + 1
            if verdict.match is not None:
                return self._repeats(url, pattern, visit, verdict.match)
        return None

    def sum_up(self, shows_all: str) -> None:
        """Log one sentence about the crawl; `shows_all` says how to see all near-duplicates."""
        if not self._checked:
            self._log.info(
                "Near-duplicates: no response was a page; docs/scrapy.md says which responses are"
            )
            return
        summary = (
            f"Near-duplicates: {self._duplicates:,} of {self._checked:,} pages; groups: "
            f"{self._groups:,}; dropped: {self._dropped:,}"
        )
        if self._unjudged:
            summary += f"; not judged: {self._unjudged:,} (neardup/unjudged/REASON)"
        if self._repeated:
            pattern, count = max(self._repeated.items(), key=lambda entry: entry[1])
            summary += f"; most frequent pattern: {pattern} ({count:,})"
        if self._duplicates:
            summary += f"; {shows_all}"
        self._log.info("%s", summary)

    def _is_new(self, url: str) -> None:
        pattern = pattern_of(url)
        if "*" in pattern and "?" not in pattern:
            return  # names: such a part of a site is large, but hardly endless
        count = self._new[pattern] = self._new.used(pattern, int) + 1
        if count >= MANY_NEW and self._warns("new", pattern):
            self._log.warning(
                "%d pages like %s are new, such as %s%s",
                count, pattern, redact(url), ENDLESS if self._advises else "",
            )  # fmt: skip

    def _repeats(self, url: str, pattern: str, visit: Visit, match: Match) -> str | None:
        """Warn of a page that repeats another one; return the difference of its group, once."""
        difference = None
        if (content := visit.content) is not None and not _differs_by_itself(match):
            text = "\n".join((content.title, *content.blocks.texts))
            difference = self._alike.add(url, match, text)
        if difference is not None and self._warns("differ", pattern):
            of, remedy = pattern if match.url is None else pattern_of(match.url), KEEPS_THEM
            if _path(of) != _path(pattern):  # the setting would keep all printed copies, too
                remedy = "NEARDUP_DENY to a pattern of their addresses"
            self._log.warning(
                "Pages like %s are taken for near-duplicates of %s, but differ in %s: %s %s. If"
                " they are different pages to you, set %s",
                pattern, "each other" if of == pattern else f"pages like {of}", difference,
                redact(url), visit.verdict.explain(), remedy,
            )  # fmt: skip
        self._groups += match.count == 1
        path = _path(url)
        if match.url is not None and path == _path(match.url):
            return difference
        paths = self._crowds.used((match.page_id, pattern), set)
        if len(paths) < MANY_REPEATS:
            paths.add(hash(path))
        elif pattern not in self._warned["differ"] and self._warns("crowd", pattern):
            self._log.warning(
                "More than %d pages like %s are taken for near-duplicates of one page, such as "
                "%s, which %s. If they are different pages, name them in NEARDUP_DENY",
                MANY_REPEATS, pattern, redact(url), visit.verdict.explain(),
            )  # fmt: skip
        return difference

    def _warns(self, reason: str, pattern: str) -> bool:
        """Return whether to warn of a pattern; true once."""
        warned = self._warned[reason]
        if pattern in warned or len(warned) == MAX_WARNINGS:
            return False
        warned.add(pattern)
        return True


def _differs_by_itself(match: Match) -> bool:
    """Return whether all text in which a page differs from its match is known to change."""
    decided = match.decided
    return decided is not None and decided.rule == Rule.EQUAL and Changing.name in decided.learnt


def _path(url: str) -> str:
    return url.partition("#")[0].partition("?")[0].partition(";")[0]
