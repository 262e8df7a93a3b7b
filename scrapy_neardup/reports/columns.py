"""The drops of a report as columns of JSON, which ``assets/data.js`` reads.

Columns are lists of equal length, texts that repeat are indexes of a list of names, and the rows
of a group are adjacent.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from typing import Any

from scrapy_neardup.reports.patterns import split_site
from scrapy_neardup.reports.review import Finding
from scrapy_neardup.reports.summary import Drop, Summary

MAX_DROPS = 100_000
"""Maximum number of drops that a report holds; a browser opens that many in a second."""


class Numbering:
    """Texts, each once, and their numbers."""

    def __init__(self) -> None:
        self.list: list[str] = []
        self._numbers: dict[str, int] = {}

    def number(self, text: str) -> int:
        """Return the number of `text`, a new one for a new text."""
        found = self._numbers.setdefault(text, len(self.list))
        if found == len(self.list):
            self.list.append(text)
        return found


def shown_drops(
    summary: Summary, findings: Iterable[Finding], limit: int = MAX_DROPS
) -> list[int]:
    """Return the numbers of at most `limit` drops, group by group, the largest group first.

    If there are more, those to be reviewed come first; the rest is shared equally among the
    groups. O(n log n) for n drops.
    """
    groups: defaultdict[int, list[int]] = defaultdict(list)
    for number, drop in enumerate(summary.drops):
        groups[drop.of_id].append(number)
    ordered = sorted(groups.values(), key=len, reverse=True)
    if len(summary.drops) <= limit:
        return [number for group in ordered for number in group]
    wanted = {number for finding in findings for number in finding.drops}
    wanted = set(sorted(wanted)[:limit])
    left, deep = limit - len(wanted), len(ordered)
    for depth in range(len(ordered[0])):
        while len(ordered[deep - 1]) <= depth:
            deep -= 1
        level = [group[depth] for group in ordered[:deep]]
        fresh = [number for number in level if number not in wanted]
        wanted.update(fresh[:left])
        left -= min(left, len(fresh))
        if not left:
            break
    return [number for group in ordered for number in group if number in wanted]


def columns(summary: Summary, numbers: list[int], texts: dict[int, int]) -> dict[str, Any]:
    """Return the columns of the drops `numbers`, which `shown_drops` put in order.

    `texts` maps a line to the number of its text in the page, where the page holds it.
    """
    sites, titles, patterns, rules, words = (Numbering() for _ in range(5))
    sizes: defaultdict[int, int] = defaultdict(int)
    for drop in summary.drops:
        sizes[drop.of_id] += 1
    groups: dict[str, list[Any]] = {name: [] for name in _GROUP}
    rows: dict[str, list[Any]] = {name: [] for name in _ROW}

    def add(table: dict[str, list[Any]], *values: Any) -> None:
        for column, value in zip(table.values(), values, strict=True):
            column.append(value)

    last = None
    for row, number in enumerate(numbers):
        drop = summary.drops[number]
        if drop.of_id != last:
            last = drop.of_id
            add(groups, row, sizes[last], *_kept(summary, drop, sites, titles, texts))
        site, path = split_site(drop.page)
        add(
            rows,
            sites.number(site),
            path,
            titles.number(drop.title),
            titles.number(drop.headings),
            patterns.number(summary.drop_patterns[number]),
            rules.number(drop.rule),
            drop.distance,
            _ten_thousandths(drop.resemblance),
            _ten_thousandths(drop.threshold),
            words.number(drop.found),
            words.number(drop.reason),
            words.number(drop.action),
            words.number(drop.detail),
            [words.number(name) for name in drop.learnt],
            drop.tokens,
            texts.get(drop.line, -1),
        )
    return {
        "sites": sites.list,
        "titles": titles.list,
        "patterns": patterns.list,
        "rules": rules.list,
        "words": words.list,
        "groups": groups,
        "rows": rows,
    }


_GROUP = ("first", "size", "site", "path", "title", "headings", "tokens", "text")
_ROW = (
    "site", "path", "title", "headings", "pattern", "rule", "distance", "resemblance",
    "threshold", "found", "reason", "action", "detail", "learnt", "tokens", "text",
)  # fmt: skip


def _kept(
    summary: Summary, drop: Drop, sites: Numbering, titles: Numbering, texts: dict[int, int]
) -> tuple[Any, ...]:
    """Return the columns of the page that `drop` repeats, from its own line or the drop's."""
    kept = summary.kept.get(drop.of_id)
    site, path = split_site(kept.page if kept else drop.of)
    return (
        sites.number(site),
        path,
        titles.number(kept.title if kept else ""),
        titles.number(kept.headings if kept else ""),
        kept.tokens if kept else 0,
        texts.get(kept.line, -1) if kept else -1,
    )


def _ten_thousandths(number: float | None) -> int | None:
    return None if number is None else round(number * 10_000)
