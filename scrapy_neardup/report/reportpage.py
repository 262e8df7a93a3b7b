"""The report on audits: what its page (`overview.py`) shows, and a digest for a terminal.

``assets/report.js`` reads the `listing` of drops. Repeated texts are stored once and referred to
by number. The texts of pairs are read in a second pass, and stay compressed (zlib, base64).
"""

from __future__ import annotations

import json
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from itertools import count, groupby
from typing import Any, Final

from scrapy_neardup.claims.usedclaims import UsedClaim, of_audit
from scrapy_neardup.report.differences import KEEPS_THEM
from scrapy_neardup.report.summary import (
    KEPT,
    REPEATED,
    Entry,
    PageLine,
    Summary,
    split_site,
)
from scrapy_neardup.verdict import Decision, Reason

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

    Findings are ``titles``, titles or headings that differ (the least alike first); ``near``, a
    small margin above the threshold; ``learnt``, decided by rules that the crawl had learnt (most
    rules first). They are questions to the reader, not judgements; the page explains them.
    O(n log n) for n drops.
    """
    found: dict[str, list[tuple[float, int]]] = {"titles": [], "near": [], "learnt": []}
    for number, drop in enumerate(summary.drops):
        own, kept = drop.own, summary.kept.get(drop.of_id, drop.own)
        if (own.title, own.headings) != (kept.title, kept.headings):
            mine, other = (
                set(_WORD.findall(f"{page.title} {page.headings}".lower())) for page in (own, kept)
            )
            found["titles"].append((len(mine & other) / max(len(mine | other), 1), number))
        if drop.resemblance is not None and drop.threshold is not None:
            margin = drop.resemblance - drop.threshold
            if margin < min(NEAR, (1 - drop.threshold) / 2):
                found["near"].append((margin, number))
        if drop.learnt:
            found["learnt"].append((-len(drop.learnt), number))
    return {
        name: [number for _, number in sorted(drops)] for name, drops in found.items() if drops
    }


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


def lines_with_texts(summary: Summary, numbers: Iterable[int]) -> list[int]:
    """Return the lines whose texts the page holds, ascending, up to `MAX_BYTES` bytes.

    They are the lines of drops and of the pages that these repeat. If the limit doesn't suffice,
    the drops named first in `numbers` have precedence.
    """
    found: set[int] = set()
    limit = MAX_BYTES
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


_LONGEST = 200
"""Maximum number of printed characters of an address or title."""
_DIGEST, _NAMED = 8, 3
"""Maximum number of patterns, and of groups with a named difference, in a digest."""

_FINDINGS = {
    "titles": "repeat a page of another title or heading",
    "near": "are near the threshold",
    "learnt": "were decided with something learnt about their site (NEARDUP_LEARN)",
}

EXPERIMENTS: Final[Mapping[str, str]] = {
    "refetch": "repeated request",
    "links": "followed link",
    "items": "unexpected item",
    "probe": "soft 404 probe",
    "claim": "new or ended claim",
}
"""Kind of an experiment -> its name, which follows a number."""

ROWS = 200
"""Maximum number of listed hosts and patterns; one row sums up the others."""

RULES: Final[Mapping[str, str]] = {
    "equal": "Its rows of text are the same, in any order, except for what is known to change.",
    "alike": "Without boilerplate, the texts resemble each other by NEARDUP_MIN_RESEMBLANCE.",
    "retitled": "The titles differ, and the texts differ at most half as much as under equal"
    " titles, or a tenth as much if the addresses also end in different names.",
    "within-k": "The fingerprints differ in no more bits than NEARDUP_MAX_DISTANCE allows.",
    "soft-404": "The site gives the same answer to a URL that can't exist.",
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
    """The content of a report on the complete summary of the audits `sources`.

    `only_from_drops` are the addresses that only dropped pages link to, if a trial has found them.
    `claims` are the claims about URLs that the crawls used. `numbers` are the listed drops,
    `lines` those whose texts the page needs; `findings` those of `drops_to_look_at`.
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
        self.findings = drops_to_look_at(summary)
        shown = by_worth(summary, self.findings)[:MAX_DROPS]
        self.numbers = by_group(summary, shown)
        self.lines = lines_with_texts(summary, shown)

    def headline(self) -> str:
        """Return the first statement of the page, as a line of text."""
        made = self.summary.decisions
        pages, repeated = made.total(), made[Decision.DUPLICATE]
        share = f"{repeated / pages:.1%}" if pages else "none"
        crawls = len(self.summary.crawls)
        return (
            f"{f'{crawls:,} crawls, ' if crawls > 1 else ''}"
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
                f"{each.claim.covered:9,} covered, {each.claim.withheld:,} not made:"
                f" {printable(f'{each.host} {each.key}')}"
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
        if asked := self.summary.asked.most_common():
            made = (counted(number, EXPERIMENTS.get(kind, kind)) for kind, number in asked)
            lines.append(printable(f"Experiments: {', '.join(made)}."))
        looks = [f"{len(drops):,} {_FINDINGS[name]}" for name, drops in self.findings.items()]
        lines += [f"Worth a look: {look}." for look in looks]
        return lines

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
