"""The drops of a report: those to review, and all drops as JSON.

``assets/report.js`` reads it. Repeated texts are stored once and referred to by number. The texts
of pairs are read from the audit in a second pass, and stay compressed (zlib, base64).
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from itertools import count, groupby
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


NEAR = 0.02
"""Margin above the threshold within which a drop counts as near it."""

_WORD = re.compile(r"\w+")


def drops_to_look_at(summary: Summary) -> dict[str, list[int]]:
    """Return the drops to review: a finding -> their numbers in `Summary.drops`, worst first.

    Findings are ``titles``, ``near`` and ``learnt``. They are questions to the reader, not
    judgements; the page explains them. O(n log n) for n drops.
    """
    found = {}
    for name, rank in {"titles": _other_title, "near": _margin, "learnt": _learnt}.items():
        ranked = ((rank(summary, drop), number) for number, drop in enumerate(summary.drops))
        ordered = sorted((worth, number) for worth, number in ranked if worth is not None)
        if ordered:
            found[name] = [number for _, number in ordered]
    return found


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


def by_worth(summary: Summary, findings: Mapping[str, list[int]]) -> list[int]:
    """Return the numbers of all drops: those to review, the first of each group, the second ...

    O(n log n) for n drops.
    """
    wanted = {number for drops in findings.values() for number in drops}
    depths: Counter[int] = Counter()
    ranked = []
    for number, drop in enumerate(summary.drops):
        ranked.append((number not in wanted, depths[drop.of_id], number))
        depths[drop.of_id] += 1
    return [number for *_, number in sorted(ranked)]


def by_group(summary: Summary, numbers: Iterable[int]) -> list[int]:
    """Return drops group by group, the largest group of the audit first."""
    sizes = Counter(drop.of_id for drop in summary.drops)
    places = {of_id: place for place, (of_id, _) in enumerate(sizes.most_common())}
    return sorted(numbers, key=lambda number: (places[summary.drops[number].of_id], number))


def listing(
    summary: Summary,
    numbers: list[int],
    findings: Mapping[str, list[int]],
    texts: Mapping[int, int],
) -> dict[str, Any]:
    """Return the drops `numbers`, as `by_group` sorts them, for ``assets/report.js``.

    A group is its kept page, its size and its drops; a row of `findings` is the place of a drop
    among those of all groups. `texts` maps a line to the number of its text, if the page holds it.
    """
    names: defaultdict[str, int] = defaultdict(count().__next__)
    sizes = Counter(drop.of_id for drop in summary.drops)

    def stored(page: PageLine) -> list[Any]:
        site, path = split_site(page.page)
        named = names[page.title], names[page.headings]
        return [names[site], path, *named, page.tokens, texts.get(page.line, -1)]

    def row(number: int) -> list[Any]:
        drop = summary.drops[number]
        return [
            stored(drop.own),
            names[summary.drop_patterns[number]],
            names[drop.rule],
            *(drop.distance, drop.resemblance, drop.threshold),
            *(names[each] for each in (drop.found, drop.action, drop.detail)),
            [names[name] for name in drop.learnt],
        ]

    places = {number: place for place, number in enumerate(numbers)}
    groups = []
    for of_id, members in groupby(numbers, lambda number: summary.drops[number].of_id):
        drops = [*members]
        kept = stored(summary.kept_of(summary.drops[drops[0]]))
        groups.append([kept, sizes[of_id], [*map(row, drops)]])
    return {
        "names": [*names],
        "groups": groups,
        "findings": {
            name: [places[number] for number in found if number in places]
            for name, found in findings.items()
        },
    }


def lines_with_texts(
    summary: Summary, numbers: Iterable[int], limit: int = MAX_BYTES
) -> list[int]:
    """Return the lines whose texts the page holds, ascending, up to `limit` bytes.

    They are those of drops and of the pages that these repeat; the first of the `numbers` come
    first.
    """
    found: set[int] = set()
    for number in numbers:
        drop = summary.drops[number]
        pair = drop.own, summary.kept_of(drop)
        fresh = {page.line: page.text_size for page in pair if page.line not in found}
        if all(page.text_size for page in pair) and (size := sum(fresh.values())) <= limit:
            found |= fresh.keys()
            limit -= size
    return sorted(found)


def text_of(entry: Entry) -> dict[str, Any]:
    """Return a line's packed text, and its ranges that aren't content."""
    omitted = []
    for part in (entry.get("omitted") or ())[:MAX_OMITTED]:
        match part:
            case [int(start), int(stop), *form] if 0 <= start < stop:
                omitted.append([start, stop, str(form[0])[:40] if form else "left out"])
    return {"packed": entry.get("text") or "", "omitted": sorted(omitted)}
