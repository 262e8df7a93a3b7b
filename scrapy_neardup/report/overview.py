"""The web page of a report: the counts, the drops that are worth a look, and the list of drops.

Everything except the list is markup, which needs no script. Elements with ``data-filter`` choose
what is listed (``assets/report.js``).

The page is self-contained. It loads nothing and runs only its own script, which a content security
policy names by its hash. Data is JSON in script elements of a type that no browser runs. ``<`` is
escaped in that JSON, so no text can end the element.
"""

from __future__ import annotations

import json
import re
from base64 import b64encode
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from hashlib import sha256
from html import escape
from importlib.resources import files
from types import MappingProxyType
from typing import Any, Final

from scrapy_neardup.claims.claim import bound
from scrapy_neardup.report import reportpage
from scrapy_neardup.report.reportpage import ROWS, Report, counted, listing
from scrapy_neardup.report.summary import KEPT, REPEATED, UNJUDGED
from scrapy_neardup.verdict import Decision

_SIGNS = re.compile(
    "[\0-\x1f\x7f-\x9f\xad\u061c\u180e\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb"
    "\U000e0000-\U000e007f]"
)
"""Controls, marks of direction and characters without width: shown by name, as they may
deceive."""


def inert(value: Any) -> str:
    """Return `value` as JSON that is safe in a script element, for any texts.

    Lone halves of surrogate pairs become ``?``.
    """
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    return text.replace("<", "\\u003c").encode("utf-8", "replace").decode()


def shown(text: str, longest: int = 400) -> str:
    """Return any text as markup that shows its first `longest` characters, as text."""
    text = re.sub(r"[\t\n\f\r ]+", " ", text.encode("utf-8", "replace").decode())
    if len(text) > longest:
        text = f"{text[:longest]}… ({len(text):,} characters)"
    named = _SIGNS.sub(
        lambda sign: f'<span class="sign">U+{ord(sign[0]):04X}</span>', escape(text)
    )
    return f"<bdi>{named}</bdi>"


def address(url: str) -> str:
    """Return a URL as markup: a link if a browser may follow it, else text."""
    if not re.match(r"https?://[^/]", url, re.IGNORECASE):
        return f'<span class="address">{shown(url, 90)}</span>'
    href = escape(url.encode("utf-8", "replace").decode())
    return (
        f'<a class="address" href="{href}" target="_blank"'
        f' rel="noopener noreferrer nofollow">{shown(url, 90)}</a>'
    )


def listed(items: Iterable[str], kind: str = "plain", *, folded: int | None = None) -> str:
    """Return markup as a list; items after the first `folded` are shown on request."""
    rows = [f"<li>{item}</li>" for item in items]
    first, rest = (rows, []) if folded is None else (rows[:folded], rows[folded:])
    whole = f'<ul class="{kind}">{"".join(first)}</ul>' if first else ""
    if not rest:
        return whole
    return (
        f"{whole}<details><summary>Show {len(rest):,} {'more' if first else 'of them'}</summary>"
        f'<ul class="{kind}">{"".join(rest)}</ul></details>'
    )


def choice(name: str, **wanted: str) -> str:
    """Return a button that lists the drops with the `wanted` values."""
    chosen = escape(json.dumps(wanted))
    return f'<button type="button" class="quiet" data-filter="{chosen}">{shown(name, 90)}</button>'


def _asset(name: str) -> str:
    return files(__package__).joinpath("assets", name).read_text(encoding="utf-8")


def _hash(content: str) -> str:
    """Return the name of an inline element with this `content` in a content security policy."""
    return "sha256-" + b64encode(sha256(content.encode()).digest()).decode()


_KINDS = {REPEATED: "repeated", KEPT: "kept", UNJUDGED: "unjudged"}
"""Outcome -> the class of the elements that show it, in the order of a bar."""
_LEGEND = (
    '<span class="key kept"></span>kept <span class="key repeated"></span>repeat another'
    ' <span class="key unjudged"></span>not judged'
)


def report_page(report: Report, texts: Mapping[int, Mapping[str, Any]]) -> Iterator[str]:
    """Yield the pieces of the page; `texts` maps the report's `lines` to their `text_of`."""
    data: dict[str, Any] = {}
    modules = ""
    if report.numbers:
        indexes = {line: number for number, line in enumerate(texts)}
        data["drops"] = listing(report.summary, report.numbers, report.findings, indexes)
        data["texts"] = [*texts.values()]
        modules = "\n".join(map(_asset, ("difference.js", "report.js")))  # the last one starts it
    style = _asset("report.css")
    script = f'"use strict";\n(() => {{\n{modules}}})();\n'
    policy = (
        f"default-src 'none'; script-src '{_hash(script)}'; style-src '{_hash(style)}';"
        " base-uri 'none'; form-action 'none'; require-trusted-types-for 'script';"
        " trusted-types 'none'"
    )
    yield (
        "<!doctype html>\n"
        '<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">\n'
        '<meta name="referrer" content="no-referrer">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        '<meta name="color-scheme" content="light dark">\n'
        f"<title>Near-duplicate report</title>\n<style>{style}</style>\n</head>\n<body>\n"
    )
    yield from _body(report)
    for name, value in data.items():
        yield f'<script type="application/json" id="{name}">'
        yield inert(value)
        yield "</script>\n"
    yield f"<script>{script}</script>\n</body>\n</html>\n"


def _body(report: Report) -> Iterator[str]:
    yield "<main>\n"
    yield from _header(report)
    yield from _breakdowns(report)
    if found := [*_looks(report)]:
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
    """Return the settings and versions with which pages were judged in the last crawl."""
    last = crawls[-1]
    names = ("spider", "bot", "preset", "store", "version", "scrapy")
    seconds = min(max(last["time"], -62_135_596_800), 253_402_300_799)  # years 1 to 9999
    begun = f"{datetime.fromtimestamp(seconds, UTC):%Y-%m-%d %H:%M:%S} UTC"
    facts = {name: str(last.get(name) or "") for name in names} | {"begun": begun}
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
    """Return rectangles as long as the numbers of pages by outcome, one after the other."""
    drawn, start = [], 0
    for outcome, kind in _KINDS.items():
        if numbers[outcome]:
            drawn.append(
                f'<rect class="{kind}" x="{start}" width="{numbers[outcome]}" height=".9"/>'
            )
        start += numbers[outcome]
    return "".join(drawn)


def _breakdowns(report: Report) -> Iterator[str]:
    summary = report.summary
    rules = Counter(drop.rule for drop in summary.drops)
    distances = Counter(str(drop.distance) for drop in summary.drops if drop.distance is not None)
    yield (
        f'<section><h2>Where, and why</h2><p class="soft">{_LEGEND}</p><div class="breakdowns">\n'
    )
    yield _breakdown("By host", summary.hosts if len(summary.hosts) > 1 else {}, "host")
    yield _breakdown("By pattern of address", summary.patterns, "pattern")
    yield _breakdown("Which rule decided", _only(REPEATED, rules), "rule", reportpage.RULES)
    yield _breakdown("Distance of the fingerprints, in bits", _only(REPEATED, distances))
    unjudged = _only(UNJUDGED, summary.unjudged)
    yield _breakdown("Not judged, and so kept", unjudged, about=reportpage.UNJUDGED_PAGES)
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
    ordered, items = reportpage.largest(counts), []
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
    bars = listed(items, "bars", folded=8)
    return f"<section><h3>{title}</h3>{bars}</section>\n" if rows else ""


_EXAMPLES = 12
"""Number of examples of each kind of page that is worth a look."""

_LOOKS: Final[Mapping[str, tuple[str, str]]] = {
    "orphans": (
        "Orphans",
        """Pages that were dropped as duplicates of a page whose own processing failed later. No
        callback has seen them; crawl them again.""",
    ),
    "only from drops": (
        "Only found on dropped pages",
        """In this crawl only duplicates link to these addresses. A crawl that drops the
        duplicates doesn't find them.""",
    ),
    "claims": (
        "Needless requests",
        """NEARDUP_URLS = "skip" withholds them while a crawl runs, and checks some of them.""",
    ),
    "differences": (
        "Pages that differ in numbers or a few words",
        """By their text these are near-duplicates. They may be different pages to you: products,
        job ads, dates. If so, set NEARDUP_PRESET = "exact".""",
    ),
    "changing": (
        "Blocks that change by themselves",
        """The crawl requested pages twice, and these parts differed: adverts, clocks, lists that
        rotate. The crawl learns to leave them out; with this setting they are left out from the
        first page on, and on all pages. So remove the blocks that hold content from it.""",
    ),
    "titles": (
        "Other titles or headings",
        """These pages have another title or heading than the page that they repeat. If titles
        distinguish your pages, NEARDUP_TITLES = "strict" keeps both.""",
    ),
    "near": (
        "Near the threshold",
        """These pages were only just alike enough to be dropped. To keep such pages, raise the
        threshold: NEARDUP_MIN_RESEMBLANCE = 0.95.""",
    ),
    "learnt": (
        "Decided by something learnt",
        """Parts of these pages didn't count, because of what the crawl had learnt about the site.
        To keep such pages, let the crawl learn less, or nothing: NEARDUP_LEARN = [].""",
    ),
}
"""Kind of page that is worth a look, in this order -> its title and explanation."""


def _looks(report: Report) -> Iterator[str]:
    """Yield the findings that are worth a look, as the markup of items of a list."""
    summary = report.summary
    lost, changing = report.only_from_drops or (), summary.ignorable()[:_EXAMPLES]
    found: dict[str, tuple[int, str]] = {
        name: (len(drops), choice("Show them, worst first", finding=name))
        for name, drops in report.findings.items()
    }
    found["orphans"] = summary.orphaned, listed(map(address, summary.orphans), folded=0)
    found["only from drops"] = len(lost), listed(map(address, lost), folded=0)
    found["claims"] = (
        len(report.claims),
        shown(reportpage.said_of_claims(report.claims))
        + listed(
            f"{shown(host, 60)}: <code>{shown(str(key), 120)}</code>,"
            f" {counted(claim.covered, 'request')} covered, {claim.withheld:,} of them not made;"
            f" {claim.checks:,} tested it, so that at most"
            f" {bound(claim.checks):.1%} of them show something new"
            + (": {} shows {}".format(*map(address, claim.example)) if claim.example else "")
            for host, key, claim in report.claims[:_EXAMPLES]
        ),
    )
    found["differences"] = (
        len(report.differences),
        listed(
            f"{counted(number, 'page')} that repeat {address(of)}: {shown(difference, 200)}"
            for of, number, difference in report.differences[:_EXAMPLES]
        ),
    )
    setting = shown(f"NEARDUP_IGNORE = {json.dumps([name for name, _ in changing])}", 2000)
    found["changing"] = (
        len(changing),
        f'<pre tabindex="0">{setting}</pre>'
        + listed(
            f"<code>{shown(name)}</code> on {counted(pages, 'page')} of {summary.refetched:,}"
            for name, pages in changing
        ),
    )
    for name, (title, text) in _LOOKS.items():
        number, markup = found.get(name, (0, ""))
        if number:
            tally = f'<span class="tally">{number:,}</span>'
            yield f"<li><h3>{title} {tally}</h3><p>{escape(text)}</p>{markup}</li>\n"
