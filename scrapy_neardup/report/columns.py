"""The drops of a report: those to review, and all drops as columns of JSON.

``assets/list.js`` reads the columns. Repeated texts are stored once and referred to by number;
the rows of a group are adjacent. The texts of pairs are read from the audit in a second pass, and
stay compressed (zlib, base64).
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import chain, zip_longest
from typing import Any

from scrapy_neardup.report.auditlines import Entry
from scrapy_neardup.report.patterns import split_site
from scrapy_neardup.report.summary import Drop, PageLine, Summary

MAX_DROPS = 100_000
"""Maximum number of drops in a report; a browser opens as many in a second."""

MAX_BYTES = 24 << 20
"""Maximum size in bytes of the packed texts in a report."""

MAX_OMITTED = 2_000
"""Maximum number of ranges of a text that are marked as not content."""


CROWD = 20
"""Number of pages of one pattern, dropped for one page, from which they need a review."""

NEAR = 0.02
"""Margin above the threshold within which a drop counts as near it."""

LISTED = 2_000
"""Maximum number of drops or patterns that a finding lists."""

_WORD = re.compile(r"\w+")


@dataclass(frozen=True, slots=True)
class Finding:
    """The drops to review for one reason: ``titles``, ``near`` or ``learnt``.

    It is a question to the reader, not a judgement; the page explains its name.
    `drops` are numbers in `Summary.drops`, worst first: the first `LISTED` of `count`.
    """

    name: str
    count: int
    drops: list[int]


def drops_to_look_at(summary: Summary) -> list[Finding]:
    """Return the drops to review. O(n log n) for n drops."""
    ranks = {"titles": _other_title, "near": _margin, "learnt": _learnt}
    findings = (_ranked(name, summary, rank) for name, rank in ranks.items())
    return [finding for finding in findings if finding.count]


def crowds(summary: Summary) -> list[tuple[str, int, int]]:
    """Return patterns of many pages dropped for one, its id, and their number; most first."""
    counts = Counter(
        (pattern, drop.of_id)
        for pattern, drop in zip(summary.drop_patterns, summary.drops, strict=True)
    )
    return [
        (pattern, of_id, count)
        for (pattern, of_id), count in counts.most_common(LISTED)
        if count >= CROWD
    ]


def _ranked(name: str, summary: Summary, rank: Callable[[Summary, Drop], float | None]) -> Finding:
    """Return the drops with a number of `rank`, smallest first."""
    ranked = (
        (found, number)
        for number, drop in enumerate(summary.drops)
        if (found := rank(summary, drop)) is not None
    )
    ordered = sorted(ranked)
    return Finding(name, len(ordered), [number for _, number in ordered[:LISTED]])


def _other_title(summary: Summary, drop: Drop) -> float | None:
    """Return how alike the titles and headings of a pair are; None if they are equal."""
    kept, own = summary.kept.get(drop.of_id), drop.own
    if kept is None or (own.title, own.headings) == (kept.title, kept.headings):
        return None
    mine, other = (
        set(_WORD.findall(f"{page.title} {page.headings}".lower())) for page in (own, kept)
    )
    return len(mine & other) / max(len(mine | other), 1)


def _margin(_: Summary, drop: Drop) -> float | None:
    """Return the margin of a drop above its threshold; None if it isn't small."""
    if drop.resemblance is None or drop.threshold is None:
        return None
    margin = drop.resemblance - drop.threshold
    return margin if margin < min(NEAR, (1 - drop.threshold) / 2) else None


def _learnt(_: Summary, drop: Drop) -> float | None:
    """Return the negative number of learnt rules that applied; None if none did."""
    return -len(drop.learnt) if drop.learnt else None


class Numbering(dict[str, int]):
    """The numbers of texts, in the order of their first use."""

    def __missing__(self, text: str) -> int:
        self[text] = number = len(self)
        return number


def shown_drops(
    summary: Summary, findings: Iterable[Finding], limit: int = MAX_DROPS
) -> list[int]:
    """Return the numbers of at most `limit` drops, group by group, the largest group first.

    If there are more, those to review come first, and the groups share the rest equally.
    O(n log n) for n drops.
    """
    groups: defaultdict[int, list[int]] = defaultdict(list)
    for number, drop in enumerate(summary.drops):
        groups[drop.of_id].append(number)
    ordered = sorted(groups.values(), key=len, reverse=True)
    if len(summary.drops) <= limit:
        return [number for group in ordered for number in group]
    wanted = {number for finding in findings for number in finding.drops}
    by_depth = sorted(
        (number not in wanted, depth, number)
        for group in ordered
        for depth, number in enumerate(group)
    )
    chosen = {number for *_, number in by_depth[:limit]}
    return [number for group in ordered for number in group if number in chosen]


def columns(summary: Summary, numbers: list[int], texts: dict[int, int]) -> dict[str, Any]:
    """Return the columns of the drops `numbers`, as sorted by `shown_drops`.

    `pages` are the kept pages of all groups, then the drops, row by row. `texts` maps a line to
    the number of its text, if the page holds it.
    """
    sites, titles, patterns, rules, words = (Numbering() for _ in range(5))
    sizes = Counter(drop.of_id for drop in summary.drops)
    drops = [summary.drops[number] for number in numbers]
    firsts = [
        row for row, drop in enumerate(drops) if not row or drop.of_id != drops[row - 1].of_id
    ]
    pages = []
    for page in (
        *(_kept(summary, drops[first]) for first in firsts),
        *(drop.own for drop in drops),
    ):
        site, path = split_site(page.page)
        names = titles[page.title], titles[page.headings]
        pages.append((sites[site], path, *names, page.tokens, texts.get(page.line, -1)))
    rows = [
        (
            patterns[summary.drop_patterns[number]],
            rules[drop.rule],
            drop.distance,
            _ten_thousandths(drop.resemblance),
            _ten_thousandths(drop.threshold),
            *(words[each] for each in (drop.found, drop.action, drop.detail)),
            [words[name] for name in drop.learnt],
        )
        for number, drop in zip(numbers, drops, strict=True)
    ]
    return {
        "sites": list(sites),
        "titles": list(titles),
        "patterns": list(patterns),
        "rules": list(rules),
        "words": list(words),
        "pages": _by_name(_PAGE, pages),
        "groups": {"first": firsts, "size": [sizes[drops[first].of_id] for first in firsts]},
        "rows": _by_name(_ROW, rows),
    }


_PAGE = ("site", "path", "title", "headings", "tokens", "text")
_ROW = (
    "pattern", "rule", "distance", "resemblance", "threshold", "found", "action", "detail",
    "learnt",
)  # fmt: skip


def _by_name(names: Sequence[str], rows: Sequence[Sequence[Any]]) -> dict[str, list[Any]]:
    """Return the columns of some rows."""
    return {name: [row[at] for row in rows] for at, name in enumerate(names)}


def _kept(summary: Summary, drop: Drop) -> PageLine:
    """Return the page that `drop` repeats, from its own line or else from the line of the drop."""
    return summary.kept.get(drop.of_id) or PageLine(drop.of, "", "", 0, -1, 0)


def _ten_thousandths(number: float | None) -> int | None:
    return None if number is None else round(number * 10_000)


def lines_with_texts(
    summary: Summary, numbers: list[int], findings: Iterable[Finding], limit: int = MAX_BYTES
) -> list[int]:
    """Return the lines whose texts the page holds, ascending, up to `limit` bytes.

    `numbers` are the drops of the page, the largest group first. Those of the findings and
    the first of each group take turns; the others get the rest of the space.
    """
    shown = set(numbers)
    found: dict[int, int] = {}
    left = limit
    wanted = *(finding.drops for finding in findings), _first_of_groups(summary, numbers)
    for number in chain.from_iterable(zip_longest(*wanted)):
        if number is None or number not in shown:
            continue
        drop = summary.drops[number]
        pair = drop.own, _kept(summary, drop)
        if not all(page.text_size for page in pair):
            continue
        fresh = {page.line: page.text_size for page in pair if page.line not in found}
        if (size := sum(fresh.values())) <= left:
            found |= fresh
            left -= size
    return sorted(found)


def text_of(entry: Entry) -> dict[str, Any]:
    """Return a line's packed text, and its ranges that aren't content."""
    omitted = []
    for part in (entry.get("omitted") or ())[:MAX_OMITTED]:
        match part:
            case [int(start), int(stop), *form] if 0 <= start < stop:
                omitted.append([start, stop, str(form[0])[:40] if form else "left out"])
    return {"packed": entry.get("text") or "", "omitted": sorted(omitted)}


def _first_of_groups(summary: Summary, numbers: list[int]) -> list[int]:
    """Return `numbers` with the first drop of each group before all others."""
    first = {summary.drops[number].of_id: number for number in reversed(numbers)}
    return sorted(numbers, key=lambda number: first[summary.drops[number].of_id] != number)
