"""How many duplicates are found, and how many unique pages are lost, on real sites.

Every page of a site goes through an `Analyser`, a `Detector` and a memory store in judging
order, as in a crawl; a drop is right if an *earlier* page has resemblance >= .9 (word
4-shingles of the main text), and lost content if none has .8. Means over hash seeds, in the
site's own order and in random ones; `most` is the crawl that lost most. Recall is told apart by
what a user would say of the duplicate: *titled*, an earlier page with .9 has its title and first
heading; *equal*, one has equal main text under another title; *other*, neither. R is that of all.
No page may be dropped below .8 of all that it shows (`trials.all_shown`).

    python benchmarks/quality.py --preset best compact paper --orders 3 --truth DIR SITE...
    python benchmarks/quality.py --preset best compact paper --traps DIR
    python benchmarks/quality.py --sweep --truth DIR SITE...
    python benchmarks/quality.py --preset best --show 20 --seeds 1 --truth DIR SITE...
"""

from argparse import Namespace
from dataclasses import replace
from itertools import product
from pathlib import Path
from time import process_time

import examples
import numpy as np
import trap_pairs
from harness import arguments, scratch
from sites import SITE_OPTIONS, Source, load, named, no_site
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

from scrapy_neardup.judge.analysis import Analyser
from scrapy_neardup.judge.parameters import Parameters
from scrapy_neardup.offline.jobs.truth import read_pages
from scrapy_neardup.offline.jobs.tuning import measure
from scrapy_neardup.offline.readers.corpus import Corpus
from scrapy_neardup.settings.catalogue import PRESETS

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
    pages = sum(len(load(source).pages) for source in sources)
    print(f"{len(sites)} sites, {pages} pages, {seeds} hash seeds")
    print(f"{'':44} {'own order':^71}" + (f"  {f'{shuffles} random':^71}" if shuffles else ""))
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


def tuned(sources: list[Source]) -> None:
    """Print what `tune` says of the defaults, beside the truth."""
    print(f"\n{'tune':10} {'pages':>6}  {'true':>8} {'tune':>8} {'off':>5}")
    for source in sources:
        site, before = load(source), process_time()
        measured = measure(read_pages(Corpus([str(source.folder)]), Analyser(Parameters())))
        names = [str(Path(name).relative_to(source.folder)) for name in measured.names]
        assert names == site.pages, "the truth is about other pages, or in another order"
        found = measured.outcomes[0]
        true = site.judge(list(range(len(names))), set(np.flatnonzero(found.matches != -1)))
        for name in ("precision", "recall"):
            a, b = getattr(true, name), getattr(found, name).value
            print(f"{site.name:10} {len(names):6}  {a:8.3f} {b:8.3f} {abs(a - b):5.3f}"
                  f"  {name}")  # fmt: skip
        print(f"  lost {true.lost}, by tune {found.lost}; {process_time() - before:.0f} s of CPU")


def main() -> None:
    options = arguments(
        __doc__, "site", check=no_site, **SITE_OPTIONS, **CONFIGURATION_OPTIONS,
        orders=(0, "random orders besides the own"), text=("main", None, ["main", "full"]),
        preset=(["best"], "one or several, side by side", list(PRESETS)),
        traps=(Path, "pairs of pages that crawl traps served (trap_pairs.py)"),
        sweep=(False, "every shingle size, weight and k"),
        tune=(False, "what tune says, beside the truth"),
        show=(0, "list so many wrong decisions of a kind, one by one"),
        quick={"preset": list(PRESETS), "seeds": 2, "orders": 1, "show": 3,
               "tune": True},
    )  # fmt: skip
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
        for (label, _), outcomes in done.items() if options.show else ():
            examples.show(label, sources, configurations[label], outcomes, options.show)
        if options.tune:
            tuned(sources)


if __name__ == "__main__":
    main()
