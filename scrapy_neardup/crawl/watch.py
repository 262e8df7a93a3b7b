"""Warnings about what a person should look at while a crawl runs, and a summary at its end.

Rule of this module: it sees verdicts and addresses, decides nothing, and remembers little.
Addresses are taken together by their pattern (``/product/N``; `scrapy_neardup.reports`).

Three things are told of a pattern, once:

- Pages that repeat one page differ in numbers or a few words alone: job ads in the city, articles
  in the price. To many users these are different pages (`scrapy_neardup.reports.differences`).
- Pages at many paths of it are taken for near-duplicates of one page. Where they are products
  or articles, they differ in too little; where they are empty answers, all is well. Session
  ids don't count: addresses that differ in parameters alone have one path.
- Hundreds of pages of it are new. It may be what the site has, or a part without end, or
  one page on which something changes with every response.
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, TypeVar

from scrapy_neardup.bounded import BoundedDict
from scrapy_neardup.options import DROP
from scrapy_neardup.reports.differences import KEEPS_THEM, Difference, Groups
from scrapy_neardup.reports.patterns import pattern_of, split_site
from scrapy_neardup.urls import redact
from scrapy_neardup.verdict import Decision, Verdict

if TYPE_CHECKING:
    from scrapy import Spider

    from scrapy_neardup.crawl.actions import Judged

logger = logging.getLogger(__name__)

MANY_REPEATS = 50
"""Minimum number of paths of one pattern, whose pages repeat one page, that a person should look
at."""

MANY_NEW = 500
"""Minimum number of new pages of one pattern that a person should look at."""

MAX_WARNINGS = 3
"""Maximum number of patterns that a warning is logged for, for each of the reasons."""

WATCHED = 512
"""Maximum number of patterns, and of pairs of a pattern and a kept page, that are counted: those
seen last."""

K = TypeVar("K")
V = TypeVar("V")


class Watch:
    """Watches the pages of one crawl.

    Parameters
    ----------
    spider
        Whose log lines these are.
    """

    def __init__(self, spider: Spider | None) -> None:
        self._spider = spider
        self._crowds: BoundedDict[tuple[int, str], set[int]] = BoundedDict(WATCHED)
        self._new: BoundedDict[str, int] = BoundedDict(WATCHED)
        self._repeated: BoundedDict[str, int] = BoundedDict(WATCHED)
        self._alike = Groups()
        self._warned: dict[str, set[str]] = {"crowd": set(), "new": set(), "differ": set()}
        self._checked = self._duplicates = self._dropped = self._groups = 0

    def page(self, url: str, judged: Judged) -> Difference | None:
        """Note what is done about the page at `url`. O(its length).

        Returns what the pages of its group differ in, if that is little, when it first shows.
        """
        self._checked += 1
        verdict = judged.verdict
        if verdict.decision is Decision.NEW:
            self._is_new(url)
        elif verdict.is_duplicate:
            self._dropped += judged.action == DROP
            difference = self._difference(url, judged)
            self._is_duplicate(url, verdict)
            return difference
        return None

    def sum_up(self, shows_all: str) -> None:
        """Log one sentence about the crawl, if any page was judged.

        `shows_all` says what shows all near-duplicates.
        """
        if not self._checked:
            return
        told = (
            f"Near-duplicates: {self._duplicates:,} of {self._checked:,} pages, which repeat "
            f"{self._groups:,} others; {self._dropped:,} were dropped"
        )
        if self._repeated:
            pattern, count = max(self._repeated.items(), key=lambda entry: entry[1])
            told += f"; {count:,} of them are like {pattern}"
        if self._duplicates:
            told += f"; {shows_all}"
        logger.info("%s", told, extra={"spider": self._spider})

    def _is_new(self, url: str) -> None:
        pattern = pattern_of(url)
        count = self._new[pattern] = _recall(self._new, pattern, 0) + 1
        if count >= MANY_NEW and self._tells("new", pattern):
            logger.warning(
                "%d pages like %s are new, such as %s. If the site has no end there, set "
                "NEARDUP_DENY or DEPTH_LIMIT; if they are one page on which something changes "
                "with every response, name that in NEARDUP_IGNORE",
                count,
                pattern,
                redact(url),
                extra={"spider": self._spider},
            )

    def _difference(self, url: str, judged: Judged) -> Difference | None:
        match, said = judged.verdict.match, judged.said
        if match is None or said is None:
            return None
        content = said.content
        difference = self._alike.add(url, match, f"{content.title}\n{content.text}")
        if difference is not None and self._tells("differ", pattern := pattern_of(url)):
            logger.warning(
                "Pages like %s are taken for near-duplicates of one page, such as %s, and differ "
                "in %s. If they are different pages to you, set %s",
                pattern,
                redact(url),
                difference,
                KEEPS_THEM,
                extra={"spider": self._spider},
            )
        return difference

    def _is_duplicate(self, url: str, verdict: Verdict) -> None:
        match, pattern = verdict.match, pattern_of(url)
        self._duplicates += 1
        self._repeated[pattern] = _recall(self._repeated, pattern, 0) + 1
        if match is None:
            return
        self._groups += match.count == 1
        path = _path(url)
        if match.url is not None and path == _path(match.url):
            return
        paths = _recall(self._crowds, (match.page_id, pattern), set())
        self._crowds[match.page_id, pattern] = paths
        if len(paths) < MANY_REPEATS:
            paths.add(hash(path))
        elif pattern not in self._warned["differ"] and self._tells("crowd", pattern):
            logger.warning(
                "More than %d pages like %s are taken for near-duplicates of one page, such as "
                "%s: %s. If they are different pages, name them in NEARDUP_DENY",
                MANY_REPEATS,
                pattern,
                redact(url),
                verdict.explain(),
                extra={"spider": self._spider},
            )

    def _tells(self, reason: str, pattern: str) -> bool:
        """Whether a pattern is to be told of; it is noted that it was."""
        warned = self._warned[reason]
        if pattern in warned or len(warned) == MAX_WARNINGS:
            return False
        warned.add(pattern)
        return True


def _recall(known: BoundedDict[K, V], key: K, default: V) -> V:
    """Return what is known of a key, and keep it longest from now on."""
    if key not in known:
        return default
    known.move_to_end(key)
    return known[key]


def _path(url: str) -> str:
    return split_site(url)[1].partition("#")[0].partition("?")[0].partition(";")[0]
