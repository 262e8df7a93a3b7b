"""The texts of the pairs that are shown, found again in the audit.

They stay packed as the audit has them (zlib, base64); the page unpacks two at a time.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from scrapy_neardup.reports.auditlines import Entry
from scrapy_neardup.reports.review import Finding
from scrapy_neardup.reports.summary import Summary

MAX_BYTES = 24 << 20
"""Maximum bytes of packed texts in a report."""

MAX_OMITTED = 2_000
"""Maximum number of ranges of one text that are shown as not judged as content."""


def lines_with_texts(
    summary: Summary, numbers: list[int], findings: Iterable[Finding], limit: int = MAX_BYTES
) -> list[int]:
    """Return the lines whose texts the page holds, in increasing order.

    Parameters
    ----------
    summary, numbers
        The drops that the page holds, the largest group first.
    findings
        Their drops and the first of each group take turns; the rest of the space is for all
        others.
    limit
        Bytes of their texts.
    """
    shown = set(numbers)
    found: dict[int, int] = {}
    left = limit
    for number in _by_turns(
        [*(finding.drops for finding in findings), _first_of_groups(summary, numbers)]
    ):
        if number not in shown:
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


def _by_turns(lists: list[list[int]]) -> Iterator[int]:
    """Yield the first members of the lists in turn, then the second ones, and so on."""
    for depth in range(max(map(len, lists), default=0)):
        for members in lists:
            if depth < len(members):
                yield members[depth]


def _first_of_groups(summary: Summary, numbers: list[int]) -> list[int]:
    """Return `numbers` with the first drop of each group before all others."""
    seen: set[int] = set()
    first: list[int] = []
    rest: list[int] = []
    for number in numbers:
        group = summary.drops[number].of_id
        (rest if group in seen else first).append(number)
        seen.add(group)
    return first + rest
