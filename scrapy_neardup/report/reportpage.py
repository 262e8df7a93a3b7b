"""The report on audits: what its page (`overview.py`) shows, and a digest for a terminal."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Final

from scrapy_neardup.claims.usedclaims import UsedClaim, of_audit
from scrapy_neardup.report import listing
from scrapy_neardup.report.differences import KEEPS_THEM
from scrapy_neardup.report.summary import KEPT, REPEATED, Summary
from scrapy_neardup.verdict import Decision, Reason

_LONGEST = 200
"""Maximum number of printed characters of an address or title."""
_DIGEST, _NAMED = 8, 3
"""Maximum number of patterns, and of groups with a named difference, in a digest."""

_FINDINGS = {
    "titles": "repeat a page of another title or heading",
    "near": "are near the threshold",
    "learnt": "were decided with something learnt of their site (NEARDUP_LEARN)",
}

EXPERIMENTS: Final[Mapping[str, str]] = {
    "refetch": "second request",
    "links": "followed link",
    "probe": "request for nothing",
    "claim": "new or ended claim",
}
"""Kind of an experiment -> what one of them is, after a number."""

ROWS = 200
"""Maximum number of listed hosts and patterns; one row sums up the others."""

RULES: Final[Mapping[str, str]] = {
    "equal": "Its rows of text are the same, in any order, except for what is known to change.",
    "alike": "The text without boilerplate is as alike as NEARDUP_MIN_RESEMBLANCE asks for.",
    "retitled": "The titles differ, and the text without boilerplate differs at most half as much"
    " as pages may, or a tenth where the addresses end in other names, too.",
    "within-k": "The fingerprints differ in no more bits than NEARDUP_MAX_DISTANCE allows.",
}
"""Name of a `scrapy_neardup.judge.comparison.Rule` -> a sentence that explains it."""

UNJUDGED_PAGES: Final[Mapping[str, str]] = {
    Reason.EMPTY: "with fewer than five words",
    Reason.NOT_HTML: "neither HTML nor XHTML",
    Reason.UNPARSABLE: "that no parser could read",
    Reason.TOO_LONG: "longer than 64 MiB",
    Reason.TOO_COMPLEX: "that would take seconds to read",
    Reason.TEXT_ERROR: "for which a callable of the settings failed",
    Reason.ERROR: "whose judging failed",
    Reason.DENIED: "excluded by NEARDUP_DENY",
    Reason.SKIPPED: "exempted by neardup_skip",
    Reason.OVERFLOW: "for which the store had no space",
    Reason.STORE_ERROR: "while the store failed",
    Reason.TIMEOUT: "while the store didn't answer in time",
    Reason.PAUSED: "while the store was left alone after failures",
}
"""Reason why pages weren't judged -> a description that follows their number."""


class Report:
    """What a report on the complete summary of the audits `sources` says.

    `only_from_drops` are the addresses that only dropped pages link to, if a trial has found them.
    `claims` are the claims about URLs that the crawls used. `numbers` are the listed drops,
    `lines` those whose texts the page needs; `findings` those of `listing`.
    """

    def __init__(
        self,
        summary: Summary,
        sources: Sequence[str],
        *,
        only_from_drops: Sequence[str] | None = None,
    ) -> None:
        self.summary = summary
        self.sources = sources
        self.only_from_drops = only_from_drops
        self.claims = of_audit(summary.claims)
        self.findings = listing.drops_to_look_at(summary)
        shown = listing.by_worth(summary, self.findings)[: listing.MAX_DROPS]
        self.numbers = listing.by_group(summary, shown)
        self.lines = listing.lines_with_texts(summary, shown)

    def headline(self) -> str:
        """Return the first statement of the page, as a line of text."""
        made = self.summary.decisions
        pages, repeated = made.total(), made[Decision.DUPLICATE]
        share = f"{repeated / pages:.1%}" if pages else "none"
        return (
            f"{counted(pages, 'page')}: {repeated:,} repeat another ({share}),"
            f" {made[Decision.UNJUDGED]:,} not judged"
        )

    def digest(self) -> list[str]:
        """Return a summary of the page, as lines of text."""
        lines = [f"{self.headline()}."]
        if unjudged := self.summary.unjudged.most_common(_DIGEST):
            why = "; ".join(f"{number:,} {UNJUDGED_PAGES.get(reason, reason)}"
                            for reason, number in unjudged)  # fmt: skip
            lines.append(f"Not judged, and so kept: {why}.")
        patterns = [row for row in largest(self.summary.patterns) if row[1][REPEATED]]
        for pattern, numbers in patterns[:_DIGEST]:
            lines.append(f"{numbers[REPEATED]:9,} of {sum(numbers):,}  {printable(pattern)}")
        if len(patterns) > _DIGEST:
            lines.append(f"{'…':>9}")
        if self.claims:
            lines.append(said_of_claims(self.claims))
            lines += [
                f"{each.claim.covered:9,}  {printable(f'{each.host} {each.key}')}"
                for each in self.claims[:_DIGEST]
            ]
        lines += [said_of_difference(*each) for each in self.differences[:_NAMED]]
        if ignorable := self.summary.ignorable()[:_NAMED]:
            names = [printable(selector) for selector, _ in ignorable]
            lines.append(
                f"Worth a look: {', '.join(names)} changed between two responses to one request."
                " If nothing in there is content to you, set"
                f" NEARDUP_IGNORE = {json.dumps(names)}."
            )
        if asked := self.asked():
            lines.append(printable(asked))
        looks = [f"{len(drops):,} {_FINDINGS[name]}" for name, drops in self.findings.items()]
        lines += [f"Worth a look: {look}." for look in looks]
        return lines

    def asked(self) -> str:
        """Return how many experiments the crawls have made, as a sentence; ``""`` for none."""
        made = (
            counted(number, EXPERIMENTS.get(kind, kind))
            for kind, number in self.summary.asked.most_common()
        )
        said = ", ".join(made)
        return f"The crawl asked: {said}." if said else ""

    @cached_property
    def differences(self) -> list[tuple[str, int, str]]:
        """Kept pages, the number of pages that repeat each, and how those differ."""
        drops = self.summary.drops
        sizes = Counter(drop.of_id for drop in drops)
        names = {drop.of_id: self.summary.kept_of(drop).page for drop in drops}
        rows = [
            (names.get(of_id, f"page {of_id:016x}"), sizes[of_id], difference)
            for of_id, difference in self.summary.differences.items()
        ]
        return sorted(rows, key=lambda row: row[1], reverse=True)[:ROWS]


def counted(number: int, thing: str) -> str:
    """Return `number` and `thing`, in the plural if needed."""
    plural = "es" if thing.endswith("s") else "s"
    return f"{number:,} {thing}{plural if number != 1 else ''}"


def said_of_claims(claims: Sequence[UsedClaim]) -> str:
    """Return the number of requests that claims cover, as a sentence."""
    held = counted(len(claims), "claim")
    each = ", counted for each of them" if len(claims) > 1 else ""
    withheld = sum(used.claim.withheld for used in claims)
    if withheld:
        return f"Under {held} {counted(withheld, 'request')} weren't made{each}."
    covered = sum(used.claim.covered for used in claims)
    return f"Under {held} {counted(covered, 'request')} needn't have been made{each}."


def said_of_difference(kept: str, number: int, difference: str) -> str:
    """Return how the `number` of pages that repeat a kept one differ, as a line of text."""
    return (
        f"Worth a look: {counted(number, 'page')} that repeat {printable(kept)} differ in"
        f" {printable(difference)}. If they are different pages to you, set {KEEPS_THEM}."
    )


def printable(text: str) -> str:
    """Return `text` as one line without control characters, for a terminal."""
    shown = "".join(
        character if character.isprintable() else "\ufffd" for character in text[:_LONGEST]
    )
    return shown + "…" if len(text) > _LONGEST else shown


def largest(counts: Mapping[str, Sequence[int]]) -> list[tuple[str, Sequence[int]]]:
    """Return names and their numbers of pages by outcome, those with most drops first."""
    return sorted(
        counts.items(), key=lambda row: (row[1][REPEATED], row[1][KEPT], sum(row[1])), reverse=True
    )
