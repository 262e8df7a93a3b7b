"""The entries of an audit that a person should review, worst first.

A finding is a question to the reader, not a judgement; the page explains its name.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass

from scrapy_neardup.reports.summary import Drop, Summary

CROWD = 20
"""Minimum number of pages of one pattern, dropped for one page, that are to be reviewed."""

NEAR = 0.02
"""Margin of resemblance above the threshold within which a drop counts as near it."""

LISTED = 2_000
"""Maximum number of drops or patterns that a finding lists."""

_WORD = re.compile(r"\w+")


@dataclass(frozen=True, slots=True)
class Finding:
    """The drops to be reviewed for one reason: ``titles``, ``near`` or ``learnt``.

    `drops` are numbers in `Summary.drops`, worst first, the first `LISTED` of `count`.
    """

    name: str
    count: int
    drops: list[int]


def drops_to_look_at(summary: Summary) -> list[Finding]:
    """Return the drops to be reviewed. O(n log n) for n drops."""
    ranks = {"titles": _other_title, "near": _margin, "learnt": _learnt}
    findings = (_ranked(name, summary, rank) for name, rank in ranks.items())
    return [finding for finding in findings if finding.count]


def crowds(summary: Summary) -> list[tuple[str, int, int]]:
    """Return each pattern with many pages dropped for one, its id, and how many; most first."""
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
    """Return the drops that `rank` has a number for, smallest first."""
    ranked = (
        (found, number)
        for number, drop in enumerate(summary.drops)
        if (found := rank(summary, drop)) is not None
    )
    ordered = sorted(ranked)
    return Finding(name, len(ordered), [number for _, number in ordered[:LISTED]])


def _other_title(summary: Summary, drop: Drop) -> float | None:
    """Return how alike the titles and headings of a pair are, None where they are equal."""
    kept = summary.kept.get(drop.of_id)
    if kept is None or (drop.title, drop.headings) == (kept.title, kept.headings):
        return None
    mine, other = (
        set(_WORD.findall(f"{page.title} {page.headings}".lower())) for page in (drop, kept)
    )
    return len(mine & other) / max(len(mine | other), 1)


def _margin(_: Summary, drop: Drop) -> float | None:
    """Return the margin of a drop above its threshold, None if it isn't small."""
    if drop.resemblance is None or drop.threshold is None:
        return None
    margin = drop.resemblance - drop.threshold
    return margin if margin < min(NEAR, (1 - drop.threshold) / 2) else None


def _learnt(_: Summary, drop: Drop) -> float | None:
    """Return the negative number of learnt rules that applied, None if none did."""
    return -len(drop.learnt) if drop.learnt else None
