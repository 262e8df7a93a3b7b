"""What a crawl of `trapsite` found, counted against the truth.

**The truth about a response** is which page it shows (`TrapSite.locate`) and that page's main
text: without templates, footer and what the traps add. Resemblance J is the exact Jaccard
resemblance of the word 4-shingles of two such texts. A response is a *duplicate* if an
earlier response of the same crawl, kept or dropped, shows the same page or reaches J >= .9.
A drop is *right* if an earlier kept response does. A page of the folder is *covered* when
a response that shows it, or one of J >= .9 to it, was kept.

Pages that aren't covered at the end are *lost*, if responses showed them and all were
dropped, or *withheld*: no response ever showed them, as only dropped pages led there. The
months of the calendar are neither content nor duplicates, and counted apart.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from urllib.parse import urlsplit, urlunsplit

from crawling import Crawl, Record
from sites import DUPLICATE, exact, exact_truth
from trapsite import CALENDAR, HOME, MISSING, Showing, TrapSite

from scrapy_neardup.text import Content, Extractor, parse_html

CLASSES = {"J = 1": 1.0, ".99 <= J < 1": 0.99, ".95 <= J < .99": 0.95, ".9 <= J < .95": DUPLICATE}
FIRST = 500
"""Requests of a crawl after which duplicates count as needless: rules need some to be learnt."""
SORTED = "J < .9, same page"
"""The class of duplicates whose text is the same in another order."""


@dataclass(slots=True)
class Tally:
    """What became of the responses of one crawl."""

    requests: int = 0
    kept: int = 0
    dropped: int = 0
    failed: int = 0
    """True 404s."""
    duplicates: Counter[str] = field(default_factory=Counter)
    """By class of J, and by the trap that made them."""
    found: Counter[str] = field(default_factory=Counter)
    """Dropped duplicates, in the same way."""
    needless: int = 0
    """Duplicates after the first `FIRST` requests."""
    right: int = 0
    """Drops whose content had been delivered, months apart."""
    months: Counter[bool] = field(default_factory=Counter)
    """Months of the calendar, by whether they were dropped."""
    coverage: list[float] = field(default_factory=list)
    """After each request, the share of the pages."""
    lost: list[str] = field(default_factory=list)
    withheld: list[str] = field(default_factory=list)
    direct: int = 0
    """Withheld pages that a dropped page links to itself; the others are behind these."""
    wrong: list[Record] = field(default_factory=list)
    missed: list[tuple[Record, str]] = field(default_factory=list)
    """Kept duplicates, and an earlier kept response that they repeat."""

    @property
    def precision(self) -> float:
        """Right among the dropped."""
        drops = self.dropped - self.months[True]
        return self.right / drops if drops else 1.0

    def covered(self, requests: float) -> float:
        """Return the coverage after so many requests, or at the end if it came before."""
        return self.coverage[min(int(requests), len(self.coverage)) - 1]

    def to_reach(self, share: float) -> str:
        """Return after how many requests so much was covered."""
        found = (n for n, covered in enumerate(self.coverage, 1) if covered >= share)
        return f"{number:,}" if (number := next(found, 0)) else "never"


class Truth:
    """Knows all texts that `crawls` met, and how far they resemble each other."""

    def __init__(self, site: TrapSite, crawls: Iterable[Crawl]) -> None:
        self.site = site
        shown = {site.locate(r.url) for crawl in crawls for r in crawl.records if r.status < 400}
        keys = {(s.page, s.order) for s in shown if s and s.page != CALENDAR}
        keys |= {(page, "") for page, _ in keys}
        texts: dict[str, int] = {}
        self._number = {
            key: texts.setdefault(site.content(*key).text, len(texts)) for key in sorted(keys)
        }
        found = exact_truth([Content.of_text(text) for text in texts])
        self._alike = [
            {number: 1.0} | {other: j for other, j in found[number] if j >= DUPLICATE}
            for number in range(len(texts))
        ]
        self.pages = {page for page, _ in keys} - {HOME, MISSING}
        """The folder's pages that were met."""
        self._plain: dict[int, set[str]] = {}
        for page in self.pages:
            self._plain.setdefault(self._number[page, ""], set()).add(page)

    def text(self, showing: Showing) -> int:
        """Return the number of the main text that is shown."""
        return self._number[showing.page, showing.order]

    def alike(self, text: int) -> dict[int, float]:
        """Return the texts of J >= .9 to this one, itself among them."""
        return self._alike[text]

    def covers(self, showing: Showing) -> set[str]:
        """Return the pages whose content a response that shows this delivers."""
        plain = (self._plain.get(other, set()) for other in self.alike(self.text(showing)))
        return {showing.page}.union(*plain) & self.pages

    def example(self, record: Record, of: str) -> str:
        """Return how far two responses resemble each other, truly and as a filter sees them."""
        truly, served = (
            exact(*(read(url) for url in (record.url, of))) for read in (self._main, self._served)
        )
        distance = "" if record.distance is None else f", distance {record.distance}"
        return (
            f"J = {truly:.3f} (as served {served:.3f}{distance})\n      {record.url}\n      {of}"
        )

    def _main(self, url: str) -> str:
        showing = self.site.locate(url)
        month = showing.page == CALENDAR
        return self._served(url) if month else self.site.content(showing.page, showing.order).text

    def _served(self, url: str) -> str:
        path = urlunsplit(urlsplit(url)._replace(scheme="", netloc=""))
        return Extractor().extract(parse_html(self.site.answer(path)[1])).text


def judge(crawl: Crawl, truth: Truth) -> Tally:
    """Count a crawl, response by response in their order."""
    tally = Tally(requests=len(crawl.records))
    covered: set[str] = set()
    met = _Earlier(truth)
    kept = _Earlier(truth)
    for record in crawl.records:
        showing = truth.site.locate(record.url)
        if showing is None:
            tally.failed += 1
        else:
            tally.kept += not record.dropped
            tally.dropped += record.dropped
            if showing.page == CALENDAR:
                tally.months[record.dropped] += 1
            else:
                _judge(tally, record, showing, met, kept)
                met.add(showing, record.url)
                if not record.dropped:
                    kept.add(showing, record.url)
                    covered |= truth.covers(showing)
        tally.coverage.append(len(covered) / len(truth.pages))
    missing = truth.pages - covered
    tally.lost = sorted(missing & met.pages.keys())
    tally.withheld = sorted(missing - met.pages.keys())
    led = {target for page in met.pages for target in truth.site.links.get(page, ())}
    tally.direct = len(led.intersection(tally.withheld))
    return tally


def _judge(tally: Tally, record: Record, showing: Showing, met: _Earlier, kept: _Earlier) -> None:
    same_page, nearest, _ = met.nearest(showing)
    kept_page, kept_nearest, of = kept.nearest(showing)
    if same_page or nearest:
        tally.needless += len(tally.coverage) >= FIRST
        kind = next((name for name, least in CLASSES.items() if nearest >= least), SORTED)
        for group in ("all", kind, showing.trap or "another page"):
            tally.duplicates[group] += 1
            tally.found[group] += record.dropped
        if not record.dropped and of:
            tally.missed.append((record, of))
    if record.dropped:
        right = bool(kept_page or kept_nearest)
        tally.right += right
        if not right:
            tally.wrong.append(record)


class _Earlier:
    """The responses before one, as far as they can be its duplicates."""

    def __init__(self, truth: Truth) -> None:
        self._truth = truth
        self._texts: dict[int, str] = {}
        self.pages: dict[str, str] = {}

    def add(self, showing: Showing, url: str) -> None:
        self._texts.setdefault(self._truth.text(showing), url)
        self.pages.setdefault(showing.page, url)

    def nearest(self, showing: Showing) -> tuple[bool, float, str]:
        """Return whether the page was shown, the highest J >= .9 or 0, and where."""
        alike = self._truth.alike(self._truth.text(showing))
        found = [(j, text) for text, j in alike.items() if text in self._texts]
        nearest, text = max(found, default=(0.0, -1))
        same_page = self.pages.get(showing.page, "")
        return bool(same_page), nearest, self._texts.get(text, same_page)
