"""Kinds of pages that one template serves: which of them are lost, and which copies are found.

A shop's products, a board's job ads, the stops of a timetable: fourteen pages of one form, each
of which is something else to a user. By the papers' definition many are near-duplicates, so each
preset loses some of them; this benchmark says which. Each kind (`--list` describes them) is made
in several templates and met in several orders, on a site of its own.

    python benchmarks/hazards.py --quick
    python benchmarks/hazards.py --preset best compact paper best+strict
    python benchmarks/hazards.py --kind jobs-by-city prices --show 3
    python benchmarks/hazards.py --readme           # brings README's list of kinds up to date
"""

from __future__ import annotations

import argparse
import re
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from itertools import product
from pathlib import Path
from textwrap import wrap

import hazard_answers
import hazard_boards
import hazard_records
import hazard_shops
from hazard_site import KINDS, TEMPLATES, Kind
from sites import WORKERS
from worlds_judging import Tally, judge, tally

from scrapy_neardup.options import PRESETS

MADE_BY = (hazard_shops, hazard_records, hazard_boards, hazard_answers)
"""The modules whose kinds are registered when they are imported."""

CONFIGURATIONS = (*PRESETS, "best+strict")
"""Presets, alone and with NEARDUP_TITLES."""

README = Path(__file__).parents[1] / "README.md"
LISTED = re.compile(r"(?s)(?<=<!-- kinds -->\n).*?(?=<!-- /kinds -->)")
"""README's list of the kinds that `best` loses pages of."""

KEEPS_ALL = ("exact",)
"""Presets that must lose no page that differs in its text or title."""

Results = dict[str, Tally]
"""For each preset a tally."""


def judged(name: str, presets: list[str], orders: int) -> Results:
    """Judge the pages of a kind, in each template and so many orders."""
    results = {preset: Tally() for preset in presets}
    for template, preset in product(TEMPLATES, presets):
        site = KINDS[name].site(template)
        for pages in site.orders(orders):
            results[preset] += tally(pages, judge([*site.before, *pages], preset))
    return results


def checked(kind: Kind, results: Results) -> None:
    """Raise an `AssertionError` if a preset loses what it must not lose."""
    for preset, found in results.items():
        name, _, _ = preset.partition("+")
        if name in KEEPS_ALL and kind.shown in {"text", "title"}:
            assert not found.lost, f"{preset} loses {found.lost} of {found.contents}: {kind.says}"


def rows(results: dict[str, Results], presets: list[str], *, repeats: bool) -> Iterator[str]:
    """Yield a line a kind: different pages lost, or copies found."""
    chosen = {name: found for name, found in results.items() if KINDS[name].repeats is repeats}
    if not chosen:
        return
    head = "copies found" if repeats else "different pages lost"
    yield f"\n{head:24}" + "".join(f"{preset:>12}" for preset in ("of", *presets))
    for name, found in chosen.items():
        counts = [_count(found[preset], repeats=repeats) for preset in presets]
        total = found[presets[0]].repetitions if repeats else found[presets[0]].contents
        where = "" if KINDS[name].shown == "text" else f"  ({KINDS[name].shown})"
        yield f"{name:24}" + "".join(f"{count:12,}" for count in (total, *counts)) + where
    sums = [
        sum(_count(found[preset], repeats=repeats) for found in chosen.values())
        for preset in presets
    ]
    yield f"{'total':24}{'':12}" + "".join(f"{count:12,}" for count in sums)


def _count(found: Tally, *, repeats: bool) -> int:
    return found.found if repeats else found.lost


def shown(name: str, preset: str, found: Tally, count: int) -> Iterator[str]:
    """Yield pages that were lost, and for which others."""
    for page, verdict in found.examples[:count]:
        match = verdict.match
        yield f"  {name}, {preset}: {page.url} for {match and match.url}: {verdict.explain()}"


def readme(text: str, results: dict[str, Results]) -> str:
    """Return README's text with the kinds listed of which `best` loses pages."""
    lost = sorted(name.replace("-", " ") for name, found in results.items() if found["best"].lost)
    lines = wrap(f"{', '.join(lost)}.", 100, initial_indent="  ", subsequent_indent="  ")
    changed, count = LISTED.subn("\n".join([*lines, "  "]), text)
    assert count == 1, f"{README} has no place for the list"
    return changed


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--kind", nargs="+", choices=KINDS, metavar="KIND", default=list(KINDS))
    parser.add_argument(
        "--preset", nargs="+", default=list(CONFIGURATIONS), metavar="PRESET[+TITLES]"
    )
    parser.add_argument("--orders", type=int, default=3, help="orders of the pages (default 3)")
    parser.add_argument(
        "--show", type=int, default=0, help="lost pages to show, a kind and preset"
    )
    parser.add_argument("--quick", action="store_true", help="one order")
    parser.add_argument("--list", action="store_true", help="describe the kinds and end")
    parser.add_argument("--readme", action="store_true", help="write those best loses into README")
    options = parser.parse_args()
    if options.quick:
        options.orders = 1
    if options.readme:
        options.preset = ["best"]
    return options


def main() -> None:
    options = arguments()
    if options.list:
        print(*(f"{kind.name}: {kind.says}" for kind in KINDS.values()), sep="\n")
        return
    results = {}
    with ProcessPoolExecutor(WORKERS) as workers:
        work = partial(judged, presets=options.preset, orders=options.orders)
        for name, found in zip(options.kind, workers.map(work, options.kind), strict=True):
            checked(KINDS[name], found)
            results[name] = found
    if options.readme:
        README.write_text(readme(README.read_text(encoding="utf-8"), results), encoding="utf-8")
    for repeats in (False, True):
        print(*rows(results, options.preset, repeats=repeats), sep="\n")
    for name, found in results.items():
        for preset, counts in found.items():
            for line in shown(name, preset, counts, options.show):
                print(line)


if __name__ == "__main__":
    main()
