"""Made-up sites with a known truth: what the plugin loses there, and what it finds.

Each family is a kind of site (`--list` describes them). Its worlds are made from a few seeds, met
in several orders, and every unique content that is lost and every repetition that is found is
counted. The worst families come first; those whose contents differ in numbers alone, where
losing them is no surprise, come apart.

    python benchmarks/worlds.py --quick
    python benchmarks/worlds.py --preset best compact --orders 5 --seeds 3
    python benchmarks/worlds.py --family archives advert --show 5
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from itertools import product

import worlds_changing
import worlds_disguised
import worlds_repeated
import worlds_shops
import worlds_texts
from sites import WORKERS
from worlds_judging import Tally, judge, tally
from worlds_site import FAMILIES

from scrapy_neardup.parameters import PRESETS

MADE_BY = (worlds_changing, worlds_disguised, worlds_repeated, worlds_shops, worlds_texts)
"""The modules whose families are registered when they are imported."""

ENOUGH = 0.8
"""The share of its repetitions that must be found in each family."""


def run(name: str, *, presets: list[str], orders: int, seeds: int) -> dict[str, Tally]:
    """Return a tally for each preset over all worlds and orders of a family, without HTTP."""
    tallies = {preset: Tally() for preset in presets}
    for seed in range(seeds):
        world = FAMILIES[name].world(seed)
        for (_, pages), preset in product(world.orders(orders), presets):
            tallies[preset] += tally(pages, judge(pages, preset))
    return tallies


def chosen(names: list[str] | None) -> list[str]:
    """Return the families whose names are, or begin with, one of `names`; all for none."""
    found = [
        name
        for name in FAMILIES
        if not names or any(name == each or name.startswith(f"{each}-") for each in names)
    ]
    for each in names or ():
        if not any(name == each or name.startswith(f"{each}-") for name in found):
            raise SystemExit(f"--family {each}: no family has this name; --list shows them")
    return found


def rows(preset: str, results: dict[str, dict[str, Tally]]) -> Iterator[str]:
    """Yield the lines of a preset's table, worst families first."""
    width = max(map(len, results))
    for numbers_alone in (False, True):
        tallies = {
            name: found[preset]
            for name, found in results.items()
            if FAMILIES[name].numbers_alone is numbers_alone
        }
        if not tallies:
            continue
        head = f"{preset}, numbers alone" if numbers_alone else preset
        names = f"{'lost':>6} {'unique':>7} {'found':>7} {'of':>7} {'recall':>7} {'worst':>7}"
        yield f"\n{head:{width}} {names}"
        ranked = sorted(tallies, key=lambda name: (-badness(tallies[name]), name))
        for name in ranked:
            yield f"{name:{width}} {cells(tallies[name])}"
        total = sum(tallies.values(), Tally())
        fine = sum(passes(each) for each in tallies.values())
        yield f"{'total':{width}} {cells(total)}"
        yield f"{fine} of {len(tallies)} families lose nothing and find {ENOUGH:.0%}"


def badness(tally: Tally) -> float:
    """Return how bad a tally is: the share of contents lost, then that of repetitions missed."""
    return 10 * (tally.lost / tally.contents) + (1 - tally.recall)


def passes(tally: Tally) -> bool:
    """Return whether nothing was lost, and enough found."""
    return not tally.lost and tally.recall >= ENOUGH


def cells(tally: Tally) -> str:
    """Return the figures of a line."""
    found = (
        f"{tally.found:7,} {tally.repetitions:7,} {tally.recall:7.3f} {tally.worst:7.3f}"
        if tally.repetitions
        else f"{'-':>7} {'-':>7} {'-':>7} {'-':>7}"
    )
    return f"{tally.lost:6,} {tally.contents:7,} {found}"


def shown(name: str, tally: Tally, count: int) -> Iterator[str]:
    """Yield the first lost pages of a family, with what they were taken for."""
    if tally.examples:
        yield f"\n{name}: {FAMILIES[name].says}"
    for page, verdict in tally.examples[:count]:
        match = verdict.match
        taken = f" for {match.url}, distance {match.distance}" if match else ""
        yield f"  {page.url} ({page.content}): {verdict.reason}{taken} {verdict.detail}"


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--family", nargs="+", help="names of families, or their first words")
    parser.add_argument("--preset", nargs="+", choices=PRESETS, default=["best"])
    parser.add_argument(
        "--orders", type=int, default=3,
        help="own, reversed and so many random ones less two (default 3)",
    )  # fmt: skip
    parser.add_argument("--seeds", type=int, default=3, help="worlds of a family (default 3)")
    parser.add_argument("--show", type=int, default=0, help="lost pages to show, a family")
    parser.add_argument("--quick", action="store_true", help="one seed, one order")
    parser.add_argument("--list", action="store_true", help="describe the families and end")
    options = parser.parse_args()
    if options.quick:
        options.orders = options.seeds = 1
    return options


def main() -> None:
    options = arguments()
    names = chosen(options.family)
    if options.list:
        for name in names:
            print(f"{name}: {FAMILIES[name].says}")
        return
    began = time.perf_counter()
    work = partial(run, presets=options.preset, orders=options.orders, seeds=options.seeds)
    with ProcessPoolExecutor(WORKERS) as workers:
        results = dict(zip(names, workers.map(work, names), strict=True))
    for preset in options.preset:
        print(*rows(preset, results), sep="\n")
        for name in names if options.show else ():
            print(*shown(name, results[name][preset], options.show), sep="\n")
    print(f"\n{time.perf_counter() - began:.0f} s")


if __name__ == "__main__":
    main()
