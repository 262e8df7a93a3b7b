"""What an audit's addresses show: rules that its verdicts confirm, and mirrored folders.

A drop shows that one folder mirrors another if its address and that of the kept page are the same
after them: ``/1.81/a/b.html`` repeats ``/1.74/a/b.html``.
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterable, Iterator
from itertools import chain, takewhile
from operator import eq
from typing import Any, NamedTuple
from zlib import crc32

from scrapy_neardup.dust.hindsight import Findings, JudgedPage
from scrapy_neardup.dust.host import SHORT
from scrapy_neardup.dust.knownurls import letters_of
from scrapy_neardup.reports.auditlines import Entry, unpacked
from scrapy_neardup.reports.patterns import split_site
from scrapy_neardup.reports.summary import Summary
from scrapy_neardup.verdict import Decision

RULED_PAGES = 10_000
"""Maximum number of pages in which a report looks for rules, a tenth of a millisecond each."""
LISTED_RULES = 100
"""Maximum number of rules of a report."""


def judged_pages(entries: Iterable[Entry], most: int = sys.maxsize) -> list[JudgedPage]:
    """Return the first pages of audits that were judged new or duplicates."""
    pages: list[JudgedPage] = []
    nothing_new = set()
    for entry in entries:
        if entry.get("event") == "nothing-new":
            nothing_new.add(entry["id"])
        decision = entry.get("verdict")
        if decision not in {Decision.NEW, Decision.DUPLICATE} or len(pages) >= most:
            continue
        text = unpacked(entry["text"]) if "text" in entry else ""
        is_short = (entry.get("tokens") or 0) < SHORT
        of_id = entry.get("of_id")
        words = 0 if is_short else sum(crc32(word.encode()) for word in text.split())
        pages.append(
            JudgedPage(
                entry["page"],
                entry["id"] if of_id is None else of_id,
                is_new=decision == Decision.NEW,
                match=entry.get("of") or "",
                words=words,
                letters=letters_of([text]) if text else 0,
                brings=None if is_short else True,
            )
        )
    return [
        page._replace(brings=False) if page.is_new and page.content in nothing_new else page
        for page in pages
    ]


def rule_rows(found: Findings) -> dict[str, Any]:
    """Return the rules that hold as the report has them: host, rule, pages saved, a pair."""
    return {
        "saved": found.saved,
        "pages": found.pages,
        "count": len(found.holding),
        "rules": [
            [finding.host, str(finding.rule), finding.saved, finding.example]
            for finding in found.holding[:LISTED_RULES]
        ],
    }


FEWEST = 10
"""Minimum number of pages that repeat those of the same name in another folder."""

MAX_ADDRESS = 2_000
"""Maximum characters of an address whose folders are compared."""

LISTED = 50
"""Maximum number of pairs of folders that are listed."""


class Mirror(NamedTuple):
    """A folder, the folder that it repeats, and its pages: those that do, and all.

    Folders are named without their host where it is the same.
    """

    folder: str
    of: str
    repeated: int
    pages: int


def mirrors(summary: Summary) -> list[Mirror]:
    """Return the folders that mirror others, those with most such pages first. O(pages)."""
    pairs = Counter(
        folders for drop in summary.drops if (folders := _folders(drop.page, drop.of)) is not None
    )
    found = [(pair, count) for pair, count in pairs.most_common(LISTED) if count >= FEWEST]
    wanted = {folder for (folder, _), _ in found}
    sizes: Counter[str] = Counter()
    for page in _pages(summary) if wanted else ():
        sizes.update(wanted.intersection(_ancestors(page)))
    return [Mirror(folder, of, count, sizes[folder]) for (folder, of), count in found]


def _pages(summary: Summary) -> Iterator[str]:
    drops, kept = (
        (drop.page for drop in summary.drops),
        (page[0] for page in summary.kept.values()),
    )
    return (page for page in chain(drops, kept) if len(page) <= MAX_ADDRESS)


def _folders(page: str, of: str) -> tuple[str, str] | None:
    """Return both addresses without their common end; None where these are equal."""
    if max(len(page), len(of)) > MAX_ADDRESS:
        return None
    (site, path), (of_site, of_path) = split_site(page), split_site(of)
    segments, of_segments = path.split("/"), of_path.split("/")
    common = sum(takewhile(bool, map(eq, reversed(segments), reversed(of_segments))))
    if not common or (site == of_site and path == of_path):
        return None
    ends = len(segments) - common, len(of_segments) - common
    folder, of_folder = "/".join(segments[: ends[0]]), "/".join(of_segments[: ends[1]])
    if site == of_site:
        return f"{folder}/", f"{of_folder}/"
    return f"{site}{folder}/", f"{of_site}{of_folder}/"


def _ancestors(page: str) -> Iterable[str]:
    """Yield the folders of a page, without and with its host."""
    site, path = split_site(page)
    end = path.find("/")
    while end >= 0:
        yield path[: end + 1]
        yield site + path[: end + 1]
        end = path.find("/", end + 1)
