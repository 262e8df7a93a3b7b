"""The web page of a report: what a person asks first, what deserves a look, and the list of drops.

All but the list is markup, which needs no script. Elements with ``data-filter`` choose what is
listed (``assets/report.js``).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from html import escape
from types import MappingProxyType
from typing import Any

from scrapy_neardup.report.listing import listing
from scrapy_neardup.report.looks import looks
from scrapy_neardup.report.page import choice, listed, page, shown
from scrapy_neardup.report.reportpage import ROWS, RULES, UNJUDGED_PAGES, Report, largest
from scrapy_neardup.report.summary import KEPT, REPEATED, UNJUDGED
from scrapy_neardup.verdict import Decision

_KINDS = {REPEATED: "repeated", KEPT: "kept", UNJUDGED: "unjudged"}
"""Outcome -> the class of what shows it, in the order of a bar."""
_LEGEND = (
    '<span class="key kept"></span>kept <span class="key repeated"></span>repeat another'
    ' <span class="key unjudged"></span>not judged'
)
_FOLDED = 8
"""Number of rows from which a breakdown is folded."""


def report_page(report: Report, texts: Mapping[int, Mapping[str, Any]]) -> Iterator[str]:
    """Yield the pieces of the page; `texts` maps the report's `lines` to their `text_of`."""
    indexes = {line: number for number, line in enumerate(texts)}
    drops = listing(report.summary, report.numbers, report.findings, indexes)
    data = {"drops": drops, "texts": [*texts.values()]} if report.numbers else {}
    scripts = ("difference", "report") if data else ()
    return page("Near-duplicate report", _body(report), scripts=scripts, data=data)


def _body(report: Report) -> Iterator[str]:
    yield "<main>\n"
    yield from _header(report)
    yield from _breakdowns(report)
    if found := [*looks(report)]:
        yield f'<section class="look"><h2>Worth a look</h2><ol>{"".join(found)}</ol></section>\n'
    hidden = len(report.summary.drops) - len(report.numbers)
    if report.numbers:
        yield (
            '<section id="groups"><h2>Duplicates, and what they repeat</h2>\n'
            '<p><label for="search">Search</label> <input type="search" id="search"'
            ' placeholder="Address, title or heading" autocomplete="off" spellcheck="false">'
            ' <button type="button" class="quiet" id="all" hidden>Show all drops</button></p>\n'
            '<p class="soft" id="tally" aria-live="polite"></p>\n'
        )
        if hidden:
            yield (
                f'<p class="soft">This page holds {len(report.numbers):,} of'
                f" {len(report.summary.drops):,} drops: those that deserve a look, and the first"
                " of each group.</p>\n"
            )
        yield '<div id="list"></div><noscript>The list of drops needs JavaScript.</noscript>\n'
        yield "</section>\n"
    yield "</main>\n"


def _header(report: Report) -> Iterator[str]:
    summary = report.summary
    made = summary.decisions
    yield f'<p class="soft">Near-duplicate report</p><h1>{report.headline()}</h1>\n'
    yield f'<p class="soft">{" ".join(shown(name, 120) for name in report.sources)}</p>\n'
    if summary.crawls:
        yield _about(summary.crawls)
    figures = {
        "pages": made.total(),
        "kept": made[Decision.NEW],
        "repeat another": made[Decision.DUPLICATE],
        "dropped": summary.actions["drop"],
        "not judged": made[Decision.UNJUDGED],
        "fetched again": made[Decision.SEEN] or None,
        "links withheld (kept pages may link there, too)": summary.links,
        "orphaned": summary.orphaned or None,
    }
    rows = (
        f"<div><dt>{name}</dt><dd>{number:,}</dd></div>"
        for name, number in figures.items()
        if number is not None
    )
    yield f'<dl class="figures">{"".join(rows)}</dl>\n'


def _about(crawls: Sequence[Mapping[str, Any]]) -> str:
    """Return with which settings and versions pages were judged: in the last crawl, if several."""
    last = crawls[-1]
    names = ("spider", "bot", "preset", "store", "version", "scrapy")
    facts = {name: str(last.get(name) or "") for name in names} | {"begun": _moment(last["time"])}
    several = f"The last of {len(crawls):,} crawls" if len(crawls) > 1 else "The crawl"
    named = f"{several}: spider {shown(facts['spider'])}, preset {shown(facts['preset'])}"
    rows = (f"<div><dt>{name}</dt><dd>{shown(text)}</dd></div>" for name, text in facts.items())
    settings = "\n".join(
        shown(f"{name} = {value}", 2000) for name, value in last["settings"].items()
    )
    return (
        f'<details class="about"><summary>{named}</summary><dl class="facts">{"".join(rows)}</dl>'
        f'<pre tabindex="0">{settings or "No NEARDUP_* setting was set."}</pre></details>\n'
    )


def _stack(numbers: Sequence[int]) -> str:
    """Return rectangles as long as the numbers of pages by outcome, one behind the other."""
    drawn, start = [], 0
    for outcome, kind in _KINDS.items():
        if numbers[outcome]:
            drawn.append(
                f'<rect class="{kind}" x="{start}" width="{numbers[outcome]}" height=".9"/>'
            )
        start += numbers[outcome]
    return "".join(drawn)


def _moment(seconds: float) -> str:
    bounded = min(max(seconds, -62_135_596_800), 253_402_300_799)  # years 1 to 9999
    return f"{datetime.fromtimestamp(bounded, UTC):%Y-%m-%d %H:%M:%S} UTC"


def _breakdowns(report: Report) -> Iterator[str]:
    summary = report.summary
    rules = Counter(drop.rule for drop in summary.drops)
    distances = Counter(str(drop.distance) for drop in summary.drops if drop.distance is not None)
    yield (
        f'<section><h2>Where, and why</h2><p class="soft">{_LEGEND}</p><div class="breakdowns">\n'
    )
    yield _breakdown("By host", summary.hosts if len(summary.hosts) > 1 else {}, "host")
    yield _breakdown("By pattern of address", summary.patterns, "pattern")
    yield _breakdown("Which rule decided", _only(REPEATED, rules), "rule", RULES)
    yield _breakdown("Distance of the fingerprints, in bits", _only(REPEATED, distances))
    unjudged = _only(UNJUDGED, summary.unjudged)
    yield _breakdown("Not judged, and so kept", unjudged, about=UNJUDGED_PAGES)
    yield "</div></section>\n"


def _only(outcome: int, counts: Mapping[str, int]) -> dict[str, list[int]]:
    return {
        name: [number if each == outcome else 0 for each in range(len(_KINDS))]
        for name, number in counts.items()
    }


def _breakdown(
    title: str,
    counts: Mapping[str, Sequence[int]],
    kind: str = "",
    about: Mapping[str, str] = MappingProxyType({}),
) -> str:
    """Return a list of names with bars, those with most drops first; `kind` is their filter."""
    ordered, items = largest(counts), []
    rows = [*ordered[:ROWS]]
    if len(ordered) > ROWS:
        sums = [*map(sum, zip(*(numbers for _, numbers in ordered[ROWS:]), strict=True))]
        rows.append((f"{len(ordered) - ROWS:,} others", sums))
    most = max((sum(numbers) for _, numbers in rows), default=1)
    for row, (name, numbers) in enumerate(rows):
        total, repeated = sum(numbers), numbers[REPEATED]
        chooses = kind and repeated and row < ROWS
        items.append(
            '<div class="bar"><span>'
            f"{choice(name, **{kind: name}) if chooses else shown(name, 90)}</span>"
            f'<span class="soft">{f"{repeated:,} of " if 0 < repeated < total else ""}{total:,}'
            f'</span></div><svg viewBox="0 0 {most} 1" preserveAspectRatio="none"'
            f' aria-hidden="true">{_stack(numbers)}</svg>'
            f'<p class="soft">{escape(about.get(name, ""))}</p>'
        )
    bars = listed(items, "bars", folded=_FOLDED)
    return f"<section><h3>{title}</h3>{bars}</section>\n" if rows else ""
