"""The rules of addresses that an audit's verdicts confirm, and what they would have saved."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from scrapy_neardup.dust.hindsight import Findings, JudgedPage
from scrapy_neardup.dust.known import unordered_hash
from scrapy_neardup.reports.auditlines import Entry, unpacked
from scrapy_neardup.settings.catalogue import OPTIONS
from scrapy_neardup.verdict import Decision

RULED_PAGES = 10_000
"""Maximum number of pages in which a report looks for rules, a tenth of a millisecond each."""
LISTED = 100
"""Maximum number of rules of a report."""


def judged_pages(entries: Iterable[Entry]) -> Iterator[JudgedPage]:
    """Yield the pages of audits that were judged new or duplicates."""
    least = OPTIONS["min_tokens"].default
    for entry in entries:
        decision = entry.get("verdict")
        if decision not in {Decision.NEW, Decision.DUPLICATE}:
            continue
        text = unpacked(entry["text"]) if "text" in entry else ""
        is_short = (entry.get("tokens") or 0) < least
        of_id = entry.get("of_id")
        yield JudgedPage(
            entry["page"],
            entry["id"] if of_id is None else of_id,
            decision == Decision.NEW,
            entry.get("of") or "",
            unordered_hash([text], letters_only=is_short) if text else 0,
            is_short,
        )


def rule_rows(found: Findings) -> dict[str, Any]:
    """Return the rules that hold as the report has them: host, rule, pages saved, a pair."""
    return {
        "saved": found.saved,
        "pages": found.pages,
        "count": len(found.holding),
        "rules": [
            [finding.host, str(finding.rule), finding.saved, finding.example]
            for finding in found.holding[:LISTED]
        ],
    }
