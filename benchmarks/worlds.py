"""Made-up sites with a known truth: what the plugin loses there, and what it finds.

Each family is a kind of site (`--list` describes them). Its worlds are made from a few seeds and
judged in several orders, and every unique content that is lost and every repetition that is found
is counted. The worst families come first; those whose contents differ in numbers alone come apart.

    python benchmarks/worlds.py --preset best compact --orders 5 --seeds 3
    python benchmarks/worlds.py --family archives advert --show 5
"""

from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from itertools import product

from harness import arguments
from made.families import FAMILIES
from made.judging import Tally, judge, tally
from sites import WORKERS

from scrapy_neardup.settings.catalogue import PRESETS

ENOUGH = 0.8
"""The share of its repetitions that must be found in each family."""

HEADINGS = f"{'lost':>6} {'unique':>7} {'found':>7} {'of':>7} {'recall':>7} {'worst':>7}"
"""Over `cells`."""


def judged(name: str, presets: list[str], orders: int, seeds: int) -> dict[str, Tally]:
    found = {preset: Tally() for preset in presets}
    for seed in range(seeds):
        world = FAMILIES[name].world(seed)
        for (_, pages), preset in product(world.orders(orders), presets):
            found[preset] += tally(pages, judge(pages, preset))
    return found


def chosen(names: list[str]) -> list[str]:
    def matches(name: str, each: str) -> bool:
        return each == "all" or f"{name}-".startswith(f"{each}-")

    for each in names:
        if not any(matches(name, each) for name in FAMILIES):
            raise SystemExit(f"--family {each}: no family has this name; --list shows them")
    return [name for name in FAMILIES if any(matches(name, each) for each in names)]


def rows(preset: str, results: dict[str, Tally]) -> Iterator[str]:
    width = max(map(len, results))
    for numbers_alone in (False, True):
        tallies = {name: found for name, found in results.items()
                   if FAMILIES[name].numbers_alone is numbers_alone}  # fmt: skip
        if not tallies:
            continue
        head = f"{preset}, numbers alone" if numbers_alone else preset
        yield f"\n{head:{width}} {HEADINGS}"
        for name in sorted(tallies, key=lambda name: (-badness(tallies[name]), name)):
            yield f"{name:{width}} {cells(tallies[name])}"
        total = sum(tallies.values(), Tally())
        fine = sum(passes(each) for each in tallies.values())
        yield f"{'total':{width}} {cells(total)}"
        yield f"{fine} of {len(tallies)} families lose nothing and find {ENOUGH:.0%}"


def badness(tally: Tally) -> float:
    """Return how bad a tally is: the share of contents lost, then that of repetitions missed."""
    return 10 * (tally.lost / tally.contents) + (1 - tally.recall)


def passes(tally: Tally) -> bool:
    return not tally.lost and tally.recall >= ENOUGH


def cells(tally: Tally) -> str:
    found = f"{tally.found:7,} {tally.repetitions:7,} {tally.recall:7.3f} {tally.worst:7.3f}"
    found = found if tally.repetitions else " ".join([f"{'-':>7}"] * 4)
    return f"{tally.lost:6,} {tally.contents:7,} {found}"


def shown(name: str, tally: Tally, count: int) -> Iterator[str]:
    if not (count and (tally.examples or tally.missed)):
        return
    yield f"\n{name}: {FAMILIES[name].says}"
    for page, verdict in tally.examples[:count]:
        match = verdict.match
        taken = f" for {match.url}, distance {match.distance}" if match else ""
        yield f"  lost {page.url} ({page.content}): {verdict.reason}{taken} {verdict.detail}"
    for page, first in tally.missed[:count]:
        yield f"  missed {page.url}, which repeats {first.url} ({page.content})"


def main() -> None:
    options = arguments(
        __doc__, family=(["all"], "names of families, or their first words"),
        preset=(["best"], None, list(PRESETS)), seeds=(3, "worlds of a family"),
        orders=(3, "the site's own, the reversed one and random ones"),
        show=(0, "wrong verdicts to show, a family"),
        list=(False, "describe the families and end"), quick={"orders": 1, "seeds": 1},
    )  # fmt: skip
    names = chosen(options.family)
    if options.list:
        for name in names:
            print(f"{name}: {FAMILIES[name].says}")
        return
    given = {"presets": options.preset, "orders": options.orders, "seeds": options.seeds}
    with ProcessPoolExecutor(WORKERS) as workers:
        found = dict(zip(names, workers.map(partial(judged, **given), names), strict=True))
    for preset in options.preset:
        print(*rows(preset, {name: found[name][preset] for name in names}), sep="\n")
        for name in names:
            for line in shown(name, found[name][preset], options.show):
                print(line)


if __name__ == "__main__":
    main()
