"""Kinds of pages that one template serves: which of them are lost, and which copies are found.

A shop's products, a board's job ads, the stops of a timetable: fourteen pages of one form, each of
which is something else to a user. By the papers' definition many are near-duplicates, so each
preset loses some of them; this benchmark says which, and what a crawl says of them. Each kind
(`--list` describes them) is made in several templates and met in several orders, on a site of its
own.

    python benchmarks/hazards.py --preset best compact paper best+strict
    python benchmarks/hazards.py --kind jobs-by-city prices --show 3
    python benchmarks/hazards.py --readme           # brings README's list of kinds up to date
"""

import logging
import re
from collections import Counter
from collections.abc import Iterator, Mapping
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field
from functools import partial
from itertools import product
from pathlib import Path
from textwrap import wrap

from harness import arguments
from made.hazard_site import KINDS, TEMPLATES, Kind
from made.judging import Tally, judge, tally
from made.world import Page
from sites import WORKERS

from scrapy_neardup.crawl.pagestate import Visit
from scrapy_neardup.crawl.patternwarnings import PatternWarnings
from scrapy_neardup.judge.analysis import Analyser
from scrapy_neardup.judge.parameters import Parameters
from scrapy_neardup.report.differences import MIN_PAGES
from scrapy_neardup.settings.catalogue import DROP, PRESETS
from scrapy_neardup.text import parse_html
from scrapy_neardup.verdict import Verdict

CONFIGURATIONS = (*PRESETS, "best+strict")
"""Presets, alone and with NEARDUP_TITLES."""

README = Path(__file__).parents[1] / "README.md"
LISTED = re.compile(r"(?s)(?<=<!-- kinds -->\n).*?(?=<!-- /kinds -->)")
"""README's list of the kinds that `best` loses pages of."""

KEEPS_ALL = ("exact",)
"""Presets that must lose no page that differs in its text or title."""


@dataclass
class Found:
    """What a preset does to the pages of a kind, over templates and orders."""

    tally: Tally = field(default_factory=Tally)
    named: str = ""
    """What a crawl says that the pages of a group differ in."""
    unnamed: int = 0
    """Number of groups of `MIN_PAGES` pages and more of which a crawl doesn't say it."""


Results = dict[str, Found]
"""For each preset."""


def judged(name: str, presets: list[str], orders: int) -> Results:
    results = {preset: Found() for preset in presets}
    for template, preset in product(TEMPLATES, presets):
        site, found = KINDS[name].site(template), results[preset]
        for pages in site.orders(orders):
            dropped = judge([*site.before, *pages], preset)
            found.tally += tally(pages, dropped)
            named = differences(pages, dropped)
            sizes = Counter(verdict.match.page_id for verdict in dropped.values() if verdict.match)
            found.named = next(iter(named.values()), found.named)
            found.unnamed += sum(
                size >= MIN_PAGES - 1 and page_id not in named for page_id, size in sizes.items()
            )
    return results


def differences(pages: list[Page], dropped: Mapping[str, Verdict]) -> dict[int, str]:
    """Return of each kept page what a crawl says that the pages differ in that repeat it."""
    warnings, analyser = PatternWarnings(None), Analyser(Parameters())
    named = {}
    for page in pages:
        if (verdict := dropped.get(page.url)) and verdict.match:
            content = analyser.read(parse_html(page.html))
            judged = Visit(verdict=verdict, action=DROP, content=content)
            difference = warnings.page(page.url, judged)
            if difference is not None:
                named[verdict.match.page_id] = difference
    return named


def checked(kind: Kind, results: Results) -> None:
    """Raise an `AssertionError` if a preset loses what it must not lose, loses pages silently, or
    misses a copy of equal text."""
    if kind.shown not in {"text", "title"}:
        missed = [preset for preset, found in results.items() if found.tally.recall < 1]
        assert not (kind.repeats and missed), f"{missed} don't find all of {kind.says}"
        return
    if kind.repeats:
        return
    for preset, found in results.items():
        lost, count = found.tally.lost, found.tally.contents
        keeps_all = preset.partition("+")[0] in KEEPS_ALL
        assert not (lost and keeps_all), f"{preset} loses {lost} of {count}: {kind.says}"
        assert preset != "best" or not found.unnamed, f"a crawl doesn't name them: {kind.says}"


def rows(results: dict[str, Results], presets: list[str], *, repeats: bool) -> Iterator[str]:
    chosen = {name: found for name, found in results.items() if KINDS[name].repeats is repeats}
    if not chosen:
        return
    total, counted, head = ("contents", "lost", "different pages lost")
    if repeats:
        total, counted, head = ("repetitions", "found", "copies found")
    yield f"\n{head:24}" + "".join(f"{preset:>12}" for preset in ("of", *presets))
    sums: Counter[str] = Counter()
    for name, found in chosen.items():
        counts = {preset: getattr(found[preset].tally, counted) for preset in presets}
        sums.update(counts)
        first = found[presets[0]]
        where = "" if KINDS[name].shown == "text" else f"  in {KINDS[name].shown}"
        named = f"  {first.named}" if first.named else ""
        cells = (getattr(first.tally, total), *counts.values())
        yield f"{name:24}" + "".join(f"{count:12,}" for count in cells) + where + named
    yield f"{'total':24}{'':12}" + "".join(f"{sums[preset]:12,}" for preset in presets)


def readme(text: str, results: dict[str, Results]) -> str:
    lost = {KINDS[name].says: found["best"].named for name, found in results.items()
            if found["best"].tally.lost}  # fmt: skip
    named, others = ("; ".join(sorted(says for says in lost if bool(lost[says]) is is_named))
                     for is_named in (True, False))  # fmt: skip
    listed = f"{named}. It loses these without a warning: {others or 'none'}."
    lines = wrap(listed, 118, initial_indent="  ", subsequent_indent="  ")
    changed, count = LISTED.subn("\n".join([*lines, "  "]), text)
    assert count == 1, f"{README} has no place for the list"
    return changed


def main() -> None:
    options = arguments(
        __doc__, kind=(list(KINDS), None, KINDS), orders=(3, "orders of the pages"),
        preset=(list(CONFIGURATIONS), "PRESET, or PRESET+TITLES"), quick={"orders": 1},
        show=(0, "lost pages to show, a kind and preset"),
        list=(False, "describe the kinds and end"),
        readme=(False, "write those best loses into README"),
    )  # fmt: skip
    if options.list:
        print(*(f"{kind.name}: {kind.says}" for kind in KINDS.values()), sep="\n")
        return
    presets = ["best"] if options.readme else options.preset
    results = {}
    quiet = logging.getLogger("scrapy_neardup").setLevel  # what it would warn of is in the table
    with ProcessPoolExecutor(WORKERS, initializer=quiet, initargs=("ERROR",)) as workers:
        work = partial(judged, presets=presets, orders=options.orders)
        for name, found in zip(options.kind, workers.map(work, options.kind), strict=True):
            checked(KINDS[name], found)
            results[name] = found
    if options.readme:
        README.write_text(readme(README.read_text(encoding="utf-8"), results), encoding="utf-8")
    for repeats in (False, True):
        print(*rows(results, presets, repeats=repeats), sep="\n")
    for name, found in results.items():
        for preset, counts in found.items():
            for page, verdict in counts.tally.examples[: options.show]:
                match = verdict.match and verdict.match.url
                print(f"  {name}, {preset}: {page.url} for {match}: {verdict.explain()}")


if __name__ == "__main__":
    main()
