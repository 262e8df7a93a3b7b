"""The drops of a report as columns of JSON, which ``assets/list.js`` reads, and their texts.

Texts that repeat are stored once and referred to by number; the rows of a group are adjacent. The
texts of pairs are read from the audit in a second pass and stay compressed (zlib, base64).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from itertools import chain, zip_longest
from typing import Any

from scrapy_neardup.reports.auditlines import Entry
from scrapy_neardup.reports.patterns import split_site
from scrapy_neardup.reports.review import Finding
from scrapy_neardup.reports.summary import Drop, Summary

MAX_DROPS = 100_000
"""Maximum number of drops that a report holds; a browser opens that many in a second."""

MAX_BYTES = 24 << 20
"""Maximum bytes of packed texts in a report."""

MAX_OMITTED = 2_000
"""Maximum number of ranges of one text that are shown as not judged as content."""


class Numbering(dict[str, int]):
    """The numbers of texts, in the order in which they were asked for first."""

    def __missing__(self, text: str) -> int:
        self[text] = number = len(self)
        return number


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
            sites[site],
            path,
            titles[drop.title],
            titles[drop.headings],
            patterns[summary.drop_patterns[number]],
            rules[drop.rule],
            drop.distance,
            _ten_thousandths(drop.resemblance),
            _ten_thousandths(drop.threshold),
            words[drop.found],
            words[drop.action],
            words[drop.detail],
            [words[name] for name in drop.learnt],
            drop.tokens,
            texts.get(drop.line, -1),
        )
    return {
        "sites": list(sites),
        "titles": list(titles),
        "patterns": list(patterns),
        "rules": list(rules),
        "words": list(words),
        "groups": groups,
        "rows": rows,
    }


_GROUP = ("first", "size", "site", "path", "title", "headings", "tokens", "text")
_ROW = (
    "site", "path", "title", "headings", "pattern", "rule", "distance", "resemblance",
    "threshold", "found", "action", "detail", "learnt", "tokens", "text",
)  # fmt: skip


def _kept(
    summary: Summary, drop: Drop, sites: Numbering, titles: Numbering, texts: dict[int, int]
) -> tuple[Any, ...]:
    """Return the columns of the page that `drop` repeats, from its own line or the drop's."""
    kept = summary.kept.get(drop.of_id)
    site, path = split_site(kept.page if kept else drop.of)
    return (
        sites[site],
        path,
        titles[kept.title if kept else ""],
        titles[kept.headings if kept else ""],
        kept.tokens if kept else 0,
        texts.get(kept.line, -1) if kept else -1,
    )


def _ten_thousandths(number: float | None) -> int | None:
    return None if number is None else round(number * 10_000)


def lines_with_texts(
    summary: Summary, numbers: list[int], findings: Iterable[Finding], limit: int = MAX_BYTES
) -> list[int]:
    """Return the lines whose texts the page holds, in increasing order, up to `limit` bytes.

    `numbers` are the drops that the page holds, the largest group first. Those of the findings and
    the first of each group take turns; the rest of the space is for all others.
    """
    shown = set(numbers)
    found: dict[int, int] = {}
    left = limit
    wanted = *(finding.drops for finding in findings), _first_of_groups(summary, numbers)
    for number in chain.from_iterable(zip_longest(*wanted)):
        if number is None or number not in shown:
            continue
        drop = summary.drops[number]
        kept = summary.kept.get(drop.of_id)
        if kept is None or not (drop.text_size and kept.text_size):
            continue
        fresh = {page.line: page.text_size for page in (drop, kept) if page.line not in found}
        if (size := sum(fresh.values())) <= left:
            found |= fresh
            left -= size
    return sorted(found)


def text_of(entry: Entry) -> dict[str, Any]:
    """Return a line's packed text, and the ranges that aren't judged as content."""
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
