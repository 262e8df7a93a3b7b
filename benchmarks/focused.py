"""Focused crawls: pages that share nearly everything, and yet each is a page of its own.

Made-up sites whose truth is known, as each page is made to be one of its own or made to repeat
another: short pages, products that share a template, reports that differ in their numbers,
calendars, tables. Each page comes three times, and at each time something changes that says
nothing: the session in its links, the clock, a counter, the advertisement. All arrive in random
order through an `Analyser` and a memory store, as in a crawl.

A line a family, all in percent. Lost: pages of which no arrival was kept, where each has a title
of its own and where all have that of the site. Kept again: arrivals of a page after its first
that was kept that were kept too, by what changes. Of versions, which differ in their number
alone, it depends on the crawl whether they are pages of their own.

    python benchmarks/focused.py
    python benchmarks/focused.py --preset best --seeds 5
    python benchmarks/focused.py --preset best --titles strict
    python benchmarks/focused.py --quick
"""

from __future__ import annotations

import argparse
import asyncio
from collections import Counter
from dataclasses import dataclass, field
from itertools import product
from random import Random

from focused_pages import CHANGES, FAMILIES, UNRELATED, VERSIONS, Arrival, arrivals

from scrapy_neardup.analysis import Analyser
from scrapy_neardup.detector import Detector
from scrapy_neardup.settings.catalogue import OPTIONS, PRESETS
from scrapy_neardup.settings.parameters import Parameters
from scrapy_neardup.stores import open_store
from scrapy_neardup.text import Content, parse_html

TIMES = 3
"""How often each page comes."""


@dataclass
class Count:
    """What became of a family's pages, over several sites."""

    pages: Counter[bool] = field(default_factory=Counter)
    """By whether each has a title of its own."""
    lost: Counter[bool] = field(default_factory=Counter)
    repeats: Counter[str] = field(default_factory=Counter)
    """By what changes: arrivals after the first that was kept."""
    again: Counter[str] = field(default_factory=Counter)

    def add(self, other: Count) -> None:
        """Add up."""
        for name, counted in vars(other).items():
            getattr(self, name).update(counted)

    def row(self, name: str) -> str:
        """Return a line of the table."""
        lost = (percent(self.lost[titled], self.pages[titled]) for titled in (True, False))
        again = (percent(self.again[change], self.repeats[change]) for change in CHANGES)
        return f"{name:22}{''.join(lost)}   {''.join(again)}"


async def kept(
    arrived: list[Arrival], contents: list[Content], parameters: Parameters
) -> list[bool]:
    """Return which arrivals a crawl keeps that meets them in this order."""
    store = open_store(
        "memory:",
        max_distance=parameters.max_distance,
        expected_pages=len(arrived),
        matching=parameters.matching,
    )
    found = []
    async with store:
        detector = Detector(Analyser(parameters), store)
        for number, (arrival, content) in enumerate(zip(arrived, contents, strict=True)):
            verdict = await detector.judge(content, page_id=number, url=arrival.url)
            await store.confirm(number)
            found.append(not verdict.is_duplicate)
    return found


def check(arrived: list[Arrival], contents: list[Content]) -> None:
    """Require the truth: pages differ in title or text, and what each says is what is judged."""
    for arrival, content in zip(arrived, contents, strict=True):
        words = " ".join(content.text.split())
        assert all(block in words for block in arrival.draft.blocks), (arrival.html, words)
    drafts = {arrival.page: arrival.draft.blocks for arrival in arrived}
    assert len(set(drafts.values())) == len(drafts)


def judged(family: str, parameters: Parameters, *, seeds: int, pages: int) -> Count:
    """Count what becomes of a family's pages."""
    count = Count()
    analyser = Analyser(parameters)
    for change, titled, seed in product(CHANGES, (True, False), range(seeds)):
        chance = Random(f"{family} {change} {titled} {seed}")
        arrived = arrivals(family, change, chance, pages=pages, times=TIMES, titled=titled)
        contents = [analyser.read(parse_html(arrival.html.encode())) for arrival in arrived]
        check(arrived, contents)
        met: Counter[int] = Counter()
        for arrival, is_kept in zip(
            arrived, asyncio.run(kept(arrived, contents, parameters)), strict=True
        ):
            count.repeats[change] += met[arrival.page] > 0
            count.again[change] += is_kept and met[arrival.page] > 0
            met[arrival.page] += is_kept
        count.pages[titled] += len(met)
        count.lost[titled] += sum(not number for number in met.values())
    return count


def percent(part: int, whole: int) -> str:
    return f"{100 * part / whole:9.1f}" if whole else f"{'-':>9}"


def run(preset: str, titles: str, *, seeds: int, pages: int) -> None:
    """Print a preset's table."""
    print(f"{preset}: {pages} pages a site, {TIMES} times each; {seeds} sites a line and column")
    print(f"{'':22}{'---- lost ----':>18}   {'-------- kept again --------':>36}")
    print(f"{'':22}{'titled':>9}{'untitled':>9}   " + "".join(f"{c:>9}" for c in CHANGES))
    pooled = Count()
    for family in FAMILIES:
        parameters = Parameters(**PRESETS[preset], titles=titles)
        count = judged(family, parameters, seeds=seeds, pages=pages)
        # What is the same down to the last word is dropped, what has nothing in common isn't.
        assert not count.again["links"]
        assert family not in UNRELATED or not count.lost.total()
        print(count.row(family), flush=True)
        if family != VERSIONS:
            pooled.add(count)
    print(pooled.row("all but versions") + "\n")


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--preset", choices=list(PRESETS), action="append", help="default: all")
    parser.add_argument(
        "--titles", choices=OPTIONS["titles"].kind.choices, default="learn", help="NEARDUP_TITLES"
    )
    parser.add_argument("--seeds", type=int, default=3, help="sites a cell (default 3)")
    parser.add_argument("--pages", type=int, default=60, help="pages a site (default 60)")
    parser.add_argument("--quick", action="store_true", help="few pages, to see that it works")
    options = parser.parse_args()
    if options.quick:
        options.seeds, options.pages = 1, 8
    for preset in options.preset or PRESETS:
        run(preset, options.titles, seeds=options.seeds, pages=options.pages)


if __name__ == "__main__":
    main()
