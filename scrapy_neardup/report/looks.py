"""What deserves a look in a report: questions to the reader, with examples, not judgements."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from html import escape
from typing import Final

from scrapy_neardup.claims.claim import bound
from scrapy_neardup.report.page import address, choice, listed, shown
from scrapy_neardup.report.reportpage import Report, counted, said_of_claims

_EXAMPLES = 12
"""Number of examples of what deserves a look."""

_LOOKS: Final[Mapping[str, tuple[str, str]]] = {
    "orphans": (
        "Orphans",
        """Pages that were dropped for a page whose own processing failed later. Nobody has seen
        them; crawl them again.""",
    ),
    "only from drops": (
        "Only found on dropped pages",
        """As far as this crawl went, only duplicates link to these addresses. A crawl that drops
        the duplicates doesn't find them.""",
    ),
    "claims": (
        "Needless requests",
        """NEARDUP_URLS = "skip" withholds them while a crawl runs, and checks some of them.""",
    ),
    "differences": (
        "Pages that differ in numbers or a few words",
        """Near-duplicates by their text, and perhaps different pages to you: products, job ads,
        dates. If so, set NEARDUP_PRESET = "exact".""",
    ),
    "changing": (
        "Blocks that change by themselves",
        """The crawl requested pages twice, and these parts differed: adverts, clocks, lists that
        rotate. It learns them as it goes on; with this setting they are left out from the first
        page on. Then nothing in them counts, on any page, so leave out those that hold
        content.""",
    ),
    "titles": (
        "Other titles or headings",
        """These pages have another title or heading than the page that they repeat. If titles are
        what tells your pages apart, NEARDUP_TITLES = "strict" keeps both.""",
    ),
    "crowds": (
        "Many pages of one pattern that repeat one page",
        """Typical of error pages and session ids, but also of products whose pages differ in
        nothing but a name.""",
    ),
    "near": (
        "Near the threshold",
        """Had these pages been a little less alike, they would have been kept. If they should be,
        raise the threshold: NEARDUP_MIN_RESEMBLANCE = 0.95.""",
    ),
    "learnt": (
        "Decided by something learnt",
        """Parts of these pages didn't count, because of what the crawl had learnt about the site.
        If the pages should be kept, let it learn less, or nothing: NEARDUP_LEARN = [].""",
    ),
    "experiments": ("What the crawl asked", "What each experiment showed, and what followed."),
}
"""What deserves a look, in this order -> its title, and what to think of it."""


def looks(report: Report) -> Iterator[str]:
    """Yield what deserves a look, as the markup of items of a list."""
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
        shown(said_of_claims(report.claims))
        + listed(
            f"{shown(host, 60)}: <code>{shown(str(key), 120)}</code>,"
            f" {counted(claim.covered, 'request')}; {claim.checks:,} tested it, so that at most"
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
    found["crowds"] = (
        len(report.crowds),
        listed(
            f"{choice(counted(number, 'page'), pattern=pattern, of=of)} of"
            f" <code>{shown(pattern, 90)}</code> repeat {address(of)}"
            for pattern, of, number in report.crowds[:_EXAMPLES]
        ),
    )
    asked = (
        f"{shown(kind)}: {address(url)}{f' beside {address(of)}' if of else ''} showed"
        f" {shown(showed or 'nothing new')}{f'; then {shown(followed)}' if followed else ''}"
        for kind, url, of, showed, followed in report.experiments
    )
    found["experiments"] = len(report.experiments), shown(report.asked()) + listed(asked, folded=0)
    for name, (title, text) in _LOOKS.items():
        number, markup = found.get(name, (0, ""))
        if number:
            tally = f'<span class="tally">{number:,}</span>'
            yield f"<li><h3>{title} {tally}</h3><p>{escape(text)}</p>{markup}</li>\n"
