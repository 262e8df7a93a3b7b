"""The report on audits: counts, drops to review, and all drops."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from typing import Any, Final

from scrapy_neardup.claims.usedclaims import UsedClaim
from scrapy_neardup.report.auditlines import Entry
from scrapy_neardup.report.columns import (
    columns,
    crowds,
    drops_to_look_at,
    lines_with_texts,
    shown_drops,
)
from scrapy_neardup.report.differences import KEEPS_THEM
from scrapy_neardup.report.page import page
from scrapy_neardup.report.summary import KEPT, REPEATED, Summary
from scrapy_neardup.verdict import Decision, Reason

_BARS = 72
"""Number of bars of the timeline."""

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

_LISTED_CLAIMS = 100
"""Maximum number of claims that are listed."""

_ROWS = 200
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
    """The web page about the complete summary of the audits `sources`.

    `claims` are the claims about URLs that they used; `only_from_drops` are the addresses that
    only dropped pages link to, if a trial has found them.
    """

    def __init__(
        self,
        summary: Summary,
        sources: Sequence[str],
        *,
        claims: Sequence[UsedClaim] = (),
        only_from_drops: Sequence[str] | None = None,
    ) -> None:
        self._summary = summary
        self._sources = sources
        self._claims = claims
        self._only_from_drops = only_from_drops
        self._findings = drops_to_look_at(summary)
        self._numbers = shown_drops(summary, self._findings)

    @cached_property
    def lines(self) -> list[int]:
        """The lines whose texts `pieces` needs, ascending."""
        return lines_with_texts(self._summary, self._numbers, self._findings)

    def pieces(self, texts: Mapping[int, Mapping[str, Any]]) -> Iterator[str]:
        """Yield the pieces of the page; `texts` maps `lines` to their `columns.text_of`."""
        indexes = {line: number for number, line in enumerate(texts)}
        return page(
            "Near-duplicate report",
            scripts=_SCRIPTS,
            early={"summary": self._counts()},
            late={
                "drops": columns(self._summary, self._numbers, indexes),
                "texts": list(texts.values()),
            },
        )

    def headline(self) -> str:
        """Return the first statement of the page, as a line of text."""
        made = self._summary.decisions
        pages, repeated = made.total(), made[Decision.DUPLICATE]
        share = f"{repeated / pages:.1%}" if pages else "none"
        return (
            f"{counted(pages, 'page')}: {repeated:,} repeat another ({share}),"
            f" {made[Decision.UNJUDGED]:,} not judged"
        )

    def digest(self) -> list[str]:
        """Return a summary of the page, as lines of text."""
        lines = [f"{self.headline()}."]
        if unjudged := self._summary.unjudged.most_common(_DIGEST):
            why = "; ".join(f"{number:,} {UNJUDGED_PAGES.get(reason, reason)}"
                            for reason, number in unjudged)  # fmt: skip
            lines.append(f"Not judged, and so kept: {why}.")
        drops = [row for row in _largest(self._summary.patterns) if row[0] and row[1 + REPEATED]]
        for pattern, kept, repeated, unjudged in drops[:_DIGEST]:
            lines.append(f"{repeated:9,} of {kept + repeated + unjudged:,}  {printable(pattern)}")
        if len(drops) > _DIGEST:
            lines.append(f"{'…':>9}")
        if self._claims:
            lines.append(f"{said_of_claims(self._claims)}")
            lines += [
                f"{each.claim.covered:9,}  {printable(f'{each.host} {each.key}')}"
                for each in self._claims[:_DIGEST]
            ]
        lines += [
            f"Worth a look: {counted(count, 'page')} that repeat {printable(of)} differ in"
            f" {printable(difference)}. If they are different pages to you, set {KEEPS_THEM}."
            for of, count, difference in self._differences()[:_NAMED]
        ]
        if ignorable := self._summary.ignorable()[:_NAMED]:
            names = [printable(selector) for selector, _ in ignorable]
            lines.append(
                f"Worth a look: {', '.join(names)} changed between two responses to one request."
                " If nothing in there is content to you, set"
                f" NEARDUP_IGNORE = {json.dumps(names)}."
            )
        if asked := self._asked():
            lines.append(printable(asked))
        looks = [f"{each.count:,} {_FINDINGS[each.name]}" for each in self._findings]
        looks += [
            f"{count:,} pages of {printable(pattern)} repeat {printable(of)}"
            for pattern, of, count in self._crowds()[:1]
        ]
        lines += [f"Worth a look: {look}." for look in looks]
        return lines

    def _counts(self) -> dict[str, Any]:
        summary = self._summary
        rows = {number: row for row, number in enumerate(self._numbers)}
        first, step, bars = summary.timeline(_BARS)
        return {
            "sources": list(self._sources),
            "pages": summary.decisions.total(),
            "decisions": summary.decisions,
            "actions": summary.actions.most_common(),
            "shown": len(self._numbers),
            "links": summary.links,
            "words": {"rules": RULES, "unjudged": UNJUDGED_PAGES},
            "crawls": [_crawl(entry) for entry in summary.crawls],
            "orphaned": summary.orphaned,
            "orphans": summary.orphans,
            "onlyFromDrops": self._only_from_drops,
            "claims": _claim_rows(self._claims),
            "experiments": {"said": self._asked(), "rows": _telling(summary.experiments)},
            "rules": summary.rules.most_common(_ROWS),
            "unjudged": summary.unjudged.most_common(_ROWS),
            "distances": sorted(summary.distances.items()),
            "hosts": _largest(summary.hosts),
            "patterns": _largest(summary.patterns),
            "time": {"first": first, "step": step, "bars": bars},
            "findings": [
                {
                    "name": finding.name,
                    "count": finding.count,
                    "rows": [rows[number] for number in finding.drops if number in rows],
                }
                for finding in self._findings
            ],
            "crowds": self._crowds(),
            "differences": self._differences(),
            "changing": {"refetched": summary.refetched, "rows": summary.ignorable()[:_ROWS]},
        }

    def _asked(self) -> str:
        """Return how many experiments the crawls have made, as a sentence; ``""`` for none."""
        made = (
            counted(number, EXPERIMENTS.get(kind, kind))
            for kind, number in self._summary.asked.most_common()
        )
        said = ", ".join(made)
        return f"The crawl asked: {said}." if said else ""

    def _crowds(self) -> list[list[Any]]:
        return [
            [pattern, self._kept_names[of_id], count]
            for pattern, of_id, count in crowds(self._summary)[:_ROWS]
        ]

    def _differences(self) -> list[list[Any]]:
        """Return rows of a kept page, the number of pages that repeat it, and their difference."""
        sizes = Counter(drop.of_id for drop in self._summary.drops)
        rows: list[list[Any]] = [
            [self._kept_names.get(of_id, f"page {of_id:016x}"), sizes[of_id], difference]
            for of_id, difference in self._summary.differences.items()
        ]
        return sorted(rows, key=lambda row: row[1], reverse=True)[:_ROWS]

    @cached_property
    def _kept_names(self) -> dict[int, str]:
        """Page id -> the address of a page that others repeat."""
        kept = self._summary.kept
        return {
            drop.of_id: kept[drop.of_id].page if drop.of_id in kept else drop.of
            for drop in self._summary.drops
        }


_SCRIPTS = (
    "shown", "charts", "overview", "difference", "pair", "list", "report",
)  # fmt: skip
"""Modules in ``assets/``, each after those that it needs."""


def _crawl(entry: Entry) -> dict[str, Any]:
    """Return the settings of a crawl, as texts."""
    names = ("version", "scrapy", "bot", "spider", "store", "preset")
    return {
        **{name: str(entry.get(name) or "") for name in names},
        "time": entry["time"],
        "settings": [f"{name} = {value}" for name, value in entry["settings"].items()],
    }


def _claim_rows(claims: Sequence[UsedClaim]) -> dict[str, Any]:
    """Return what claims covered, and host, claim, numbers and a pair of pages of each."""
    return {
        "said": said_of_claims(claims),
        "count": len(claims),
        "rows": [
            [host, str(key), claim.covered, claim.row, claim.bound, claim.example]
            for host, key, claim in claims[:_LISTED_CLAIMS]
        ],
    }


def _telling(experiments: Sequence[tuple[str, ...]]) -> list[tuple[str, ...]]:
    """Return the experiments that are listed: those first from which something followed."""
    return sorted(experiments, key=lambda each: not each[-1])[:_ROWS]


def counted(number: int, thing: str) -> str:
    """Return `number` and `thing`, in the plural if needed."""
    plural = "es" if thing.endswith("s") else "s"
    return f"{number:,} {thing}{plural if number != 1 else ''}"


def said_of_claims(claims: Sequence[UsedClaim]) -> str:
    """Return the number of requests that claims cover, as a sentence."""
    held = counted(len(claims), "claim")
    withheld = sum(each.claim.withheld for each in claims)
    if withheld:
        return f"Under {held} {counted(withheld, 'request')} weren't made."
    covered = sum(each.claim.covered for each in claims)
    return f"Under {held} {counted(covered, 'request')} needn't have been made."


def printable(text: str) -> str:
    """Return `text` as one line without control characters, for a terminal."""
    shown = "".join(
        character if character.isprintable() else "\ufffd" for character in text[:_LONGEST]
    )
    return shown + "…" if len(text) > _LONGEST else shown


def _largest(counts: dict[str, list[int]]) -> list[list[Any]]:
    """Return rows of a name and its kept, repeated and unjudged pages, most drops first."""
    ordered = sorted(
        counts.items(), key=lambda item: (item[1][REPEATED], item[1][KEPT]), reverse=True
    )
    rows = [[name, *numbers] for name, numbers in ordered[:_ROWS]]
    if rest := [numbers for _, numbers in ordered[_ROWS:]]:
        rows.append([None, *map(sum, zip(*rest, strict=True))])
    return rows
