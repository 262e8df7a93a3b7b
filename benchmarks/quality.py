"""How many duplicates are found, and how many unique pages are lost, on real sites.

Every page of a site goes through an `Analyser`, a `Detector` and a memory store in judging
order, as in a crawl; a drop is right if an *earlier* page has resemblance >= .9 (word
4-shingles of the main text), and lost content if none has .8. Means over hash seeds, in the
site's own order and in random ones; `most` is the crawl that lost most.

    python benchmarks/quality.py --preset best compact paper --orders 3 --truth DIR SITE...
    python benchmarks/quality.py --preset best compact paper --traps DIR
    python benchmarks/quality.py --stress words --truth DIR SITE...
    python benchmarks/quality.py --sweep --truth DIR SITE...
    python benchmarks/quality.py --preset best --show 20 --seeds 1 --truth DIR SITE...
"""

from argparse import Namespace
from dataclasses import replace
from itertools import product
from pathlib import Path

import examples
import trap_pairs
from harness import arguments, scratch
from sites import SECTION, SITE_OPTIONS, WORDS, Source, load, named, no_site
from trials import (
    CONFIGURATION_OPTIONS,
    HEADINGS,
    Outcome,
    Trial,
    cells,
    overridden,
    play_all,
    pooled,
    preset,
)

from scrapy_neardup.settings.catalogue import PRESETS
from scrapy_neardup.settings.parameters import Parameters

DISTANCES = tuple(range(9))
SIZES = (1, 2, 3, 4)
WEIGHTS = ("set", "sqrt", "log", "tf")
Configurations = dict[str, Parameters]


def report(outcomes: list[Outcome], sites: list[str], shuffles: int, *, each_site: bool) -> None:
    first = outcomes[0]
    shown = {site: [o for o in outcomes if o.site == site] for site in sites if each_site}
    for site, found in [*shown.items(), ("POOLED", outcomes)]:
        if site == "POOLED" and len(sites) == 1 and each_site:
            continue
        own = pooled(o for o in found if o.order == 0)
        line = f"{first.label:20} {first.k:2} {site:20} {cells(own)}"
        if shuffles:
            line += f"  {cells(pooled(o for o in found if o.order))}"
        print(line + f" {own[0].dropped:8}", flush=True)


def run(
    sources: list[Source],
    configurations: Configurations,
    *,
    seeds: int,
    shuffles: int,
    distances: tuple[int, ...] = (),
    each_site: bool = True,
) -> dict[tuple[str, int], list[Outcome]]:
    sites = [source.folder.name for source in sources]
    stressed = f", stress: {sources[0].stress}" if sources[0].stress else ""
    pages = sum(len(load(source).pages) for source in sources)
    print(f"{len(sites)} sites, {pages} pages, {seeds} hash seeds{stressed}")
    print(f"{'':44} {'own order':^27}" + (f"  {f'{shuffles} random':^27}" if shuffles else ""))
    print(f"{'configuration':20} {'k':>2} {'site':20} {HEADINGS}"
          + (f"  {HEADINGS}" if shuffles else "") + f" {'dropped':>8}")  # fmt: skip
    queue = [
        Trial(label, source, parameters, seed, shuffles, distances)
        for (label, parameters), seed, source in product(
            configurations.items(), range(seeds), sources
        )
    ]
    done: dict[tuple[str, int], list[Outcome]] = {}
    for number, outcomes in enumerate(play_all(queue), 1):
        for outcome in outcomes:
            done.setdefault((outcome.label, outcome.k), []).append(outcome)
        if number % (seeds * len(sources)) == 0:
            for (label, _), found in done.items():
                if label == outcomes[0].label:
                    report(found, sites, shuffles, each_site=each_site)
    return done


def section(done: dict[tuple[str, int], list[Outcome]]) -> None:
    print("the pages of the section alone:")
    for (label, k), outcomes in done.items():
        alone = [replace(outcome, score=outcome.section) for outcome in outcomes]
        own, shuffled = ([o for o in alone if bool(o.order) is random] for random in (False, True))
        print(f"{label:20} {k:2} {'POOLED':20} {cells(pooled(own))}"
              + (f"  {cells(pooled(shuffled))}" if shuffled else ""))  # fmt: skip


def sweep(text: str) -> Configurations:
    return {
        f"{size}-shingle {weights}": preset("paper", shingle_size=size, weights=weights, text=text)
        for size, weights in product(SIZES, WEIGHTS)
    }


def traps(options: Namespace, configurations: Configurations) -> None:
    with scratch() as folder:
        if options.quick:
            trap_pairs.toy_traps(folder)
            options.traps = folder
        trap_pairs.report(options.traps, configurations, options.seeds)


def main() -> None:
    options = arguments(
        __doc__, "site", check=no_site, **SITE_OPTIONS, **CONFIGURATION_OPTIONS,
        orders=(0, "random orders besides the own"), text=("main", None, ["main", "full"]),
        preset=(["best"], "one or several, side by side", list(PRESETS)),
        stress=(str, "200 static words on every page, or on 80 of a section", [WORDS, SECTION]),
        traps=(Path, "pairs of pages that crawl traps served (trap_pairs.py)"),
        sweep=(False, "every shingle size, weight and k"),
        show=(0, "list so many wrong decisions of a kind, one by one"),
        quick={"preset": list(PRESETS), "seeds": 2, "orders": 1, "show": 3},
    )  # fmt: skip
    if options.quick:
        options.stress = options.stress or SECTION
    configurations = {
        name: replace(overridden(name, options), text=options.text) for name in options.preset
    }
    if options.sweep:
        configurations = sweep(options.text)
    if options.traps or options.quick:
        traps(options, configurations)
    with named(options) as sources:
        if not sources:
            return
        done = run(
            sources, configurations, seeds=options.seeds, shuffles=options.orders,
            distances=DISTANCES if options.sweep else (),
            each_site=not options.sweep or len(sources) == 1,
        )  # fmt: skip
        if options.stress == SECTION:
            section(done)
        for (label, _), outcomes in done.items() if options.show else ():
            examples.show(label, sources, configurations[label], outcomes, options.show)


if __name__ == "__main__":
    main()
