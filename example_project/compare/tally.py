"""What a crawl has found, counted against the truth.

It is pure: a journal's records go in, numbers come out.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from docsite.site import Showing, Site

ENOUGH = 0.99
"""The share of the content at which a crawl has nearly all of it."""


@dataclass(frozen=True, slots=True)
class Drop:
    """A page that the plugin dropped, and why."""

    url: str
    showing: Showing
    of: str
    of_showing: Showing
    distance: int


@dataclass(slots=True)
class Tally:
    """What became of the pages of one crawl.

    A module is *covered* when one of its variants was kept, or one of a module alike
    (`docsite.lookalikes`). A dropped page is a *duplicate* if a variant of the same page
    was kept. If none was, the page is *alike* where it is covered, and otherwise *lost*
    (each counted once: what else was dropped of it are duplicates). The months of the
    calendar are neither content nor duplicates, and counted apart.
    """

    size: int
    """Modules of the site."""
    requests: int = 0
    covered: float = 0.0
    """Share of the modules."""
    requests_to_enough: int | None = None
    unique: int = 0
    duplicates_kept: Counter[str] = field(default_factory=Counter)
    """By the variant that was kept next to another one of its page."""
    months_kept: int = 0
    drops: list[Drop] = field(default_factory=list)
    duplicates_dropped: int = 0
    lookalikes_dropped: list[Drop] = field(default_factory=list)
    lost: list[Drop] = field(default_factory=list)
    months_dropped: int = 0
    stats: dict[str, Any] = field(default_factory=dict)
    """Those of Scrapy, for the whole crawl."""

    @property
    def kept_again(self) -> int:
        """Duplicates that reached the spider."""
        return self.duplicates_kept.total()

    @property
    def kept(self) -> int:
        """Pages that reached the spider."""
        return self.unique + self.kept_again + self.months_kept

    @property
    def waiting(self) -> int:
        """Requests that were in the scheduler when the crawl ended."""
        return self.stats["scheduler/enqueued"] - self.stats["scheduler/dequeued"]


def merged(journals: Iterable[list[dict[str, Any]]]) -> list[dict[str, Any]]:
    """Return the journals of crawls that ran together as that of one crawl.

    Stats are added up; the seconds are those of the longest crawl.
    """
    records: list[dict[str, Any]] = []
    stats: Counter[str] = Counter()
    seconds = 0.0
    for *pages, last in journals:
        records += pages
        numbers = {k: v for k, v in last["stats"].items() if isinstance(v, (int, float))}
        stats.update(numbers)
        seconds = max(seconds, numbers["elapsed_time_seconds"])
    records.sort(key=lambda record: record["time"])
    return [*records, {"stats": {**stats, "elapsed_time_seconds": seconds}}]


def tally(
    records: Iterable[dict[str, Any]], site: Site, alike: dict[str, set[str]], budget: int
) -> Tally:
    """Count a journal's first `budget` pages against the truth of `site`."""
    result = Tally(size=len(site.library))
    kept: set[tuple[str, str]] = set()
    covered: set[str] = set()
    for record in records:
        if "stats" in record:
            result.stats = record["stats"]
        elif result.requests == budget:
            continue  # a page that was on its way when the crawl ended
        elif "dropped" in record:
            result.requests += 1
            url, of = record["dropped"], record["of"]
            drop = Drop(url, site.locate(url), of, site.locate(of), record["distance"])
            result.drops.append(drop)
        else:
            result.requests += 1
            showing = site.locate(record["kept"])
            if showing.kind == "month":
                result.months_kept += 1
            elif showing.page in kept:
                result.duplicates_kept[showing.variant or "plain"] += 1
            else:
                kept.add(showing.page)
            if showing.kind == "module":
                covered |= {showing.name, *alike[showing.name]}
            if result.requests_to_enough is None and len(covered) >= ENOUGH * result.size:
                result.requests_to_enough = result.requests
    result.unique = len(kept)
    result.covered = len(covered) / result.size
    _judge_drops(result, kept, covered)
    return result


def _judge_drops(result: Tally, kept: set[tuple[str, str]], covered: set[str]) -> None:
    known = set(kept)
    for drop in result.drops:
        showing = drop.showing
        if showing.kind == "month":
            result.months_dropped += 1
        elif showing.page in known:
            result.duplicates_dropped += 1
        else:
            known.add(showing.page)
            alike = showing.name in covered
            (result.lookalikes_dropped if alike else result.lost).append(drop)
