"""What each sentence of the judgement brings: without it, what is found and lost.

A row a sentence: pages that repeat another one and pages that are lost on real sites, in their own
order and in random ones (as `quality.py` has them), and on made-up worlds (as `worlds.py`).

    python benchmarks/ablation.py --truth DIR SITE... [--orders 1] [--worlds]
    python benchmarks/ablation.py --constants --truth DIR SITE...

With ``--constants``: the same sites with one constant of the judgement changed at a time, and what
each site loses by the constants that the others would choose. Pages are fingerprinted once, as
what is left out or changed is no part of their fingerprints, but for how they are read.
"""

# ruff: noqa: SLF001  (it takes the comparison apart)
import asyncio
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import nullcontext
from functools import partial
from itertools import product
from math import inf
from statistics import fmean
from typing import Any
from unittest.mock import patch

import trials
from harness import arguments
from made.families import FAMILIES
from made.judging import Tally, judge, tally
from sites import SITE_OPTIONS, WORKERS, Score, Source, load, named, no_site
from trials import Reader, crawl, preset

from scrapy_neardup.judge import analysis, comparison, pair, readings
from scrapy_neardup.judge.boilerplate import Boilerplate
from scrapy_neardup.judge.changing import Changing
from scrapy_neardup.judge.knowledge import NOTHING, Excluded, SiteRule
from scrapy_neardup.judge.records import Records
from scrapy_neardup.judge.titles import Titles

OF_PAIR, JUDGEMENT = pair.Pair, comparison._Judgement
LEAVE_OUT = OF_PAIR.leave_out

Change = tuple[str, Callable[[], Any], dict[str, Any]]
"""A name, what returns a context in which something is changed, and options of the judgement."""


def without(rule: type[SiteRule]) -> Callable[[], object]:
    return lambda: patch.object(rule, "exclude", lambda *_: NOTHING)


def in_order(two: pair.Pair, *known: Excluded) -> None:
    LEAVE_OUT(two, *known)
    ours, theirs = two.ours, two.theirs
    is_same = ours.sketches == theirs.sketches
    two.has_equal_rows = ours.rows == theirs.rows and is_same
    two.has_equal_named = ours.named_rows == theirs.named_rows and is_same


def unread(left_out: Callable[..., object]) -> Callable[[], object]:
    """Return what leaves out one of the steps that prepare a page."""
    others = tuple(each for each in analysis.READINGS if each is not left_out)
    return lambda: patch.object(analysis, "READINGS", others)


def alike_in_all(_: comparison._Judgement, both: pair.Views) -> bool:
    return both.all.resemblance >= comparison.LEAST


WITHOUT: dict[str, Callable[[], object]] = {
    "nothing": lambda: patch.object(comparison, "RETITLED", comparison.RETITLED),
    "boilerplate of folders (1)": without(Boilerplate),
    "text that changes (1)": without(Changing),
    "elements named as boilerplate (1)": lambda: patch.object(comparison, "MIN_TEXT", inf),
    "links to pages of the same names (1)": lambda: patch.object(
        JUDGEMENT, "_stays_alike", alike_in_all
    ),
    "half as much under other titles (2)": lambda: patch.object(comparison, "RETITLED", 1.0),
    "next to equal under other names, too (2)": lambda: patch.object(
        comparison, "RENAMED", comparison.RETITLED
    ),
    "where headers and footers join the text (2)": lambda: patch.object(
        OF_PAIR, "joints", lambda _: 0
    ),
    "what titles of a site share (2)": without(Titles),
    "canonical where titles agree (2)": lambda: patch.object(
        OF_PAIR, "believes_canonical", lambda _: False
    ),
    "equal rows in any order (3)": lambda: patch.object(OF_PAIR, "leave_out", in_order),
    "equal where little is known (3)": lambda: patch.object(
        JUDGEMENT, "_is_cold", lambda _: False
    ),
    "equal where little counts (3)": lambda: patch.object(
        JUDGEMENT, "_has_little", lambda *_: False
    ),
    "other media (4)": lambda: patch.object(JUDGEMENT, "_media_contradict", lambda *_: False),
    "records (4)": without(Records),
    "empty months of calendars": unread(readings.without_year),
    "a page's own address": unread(readings.without_own_address),
}
"""Sentence -> what leaves it out; numbers are those of `judge.comparison`."""
OF_READING = list(WITHOUT)[-2:]
"""Those that change how pages are read."""


CONSTANTS: dict[str, tuple[float, ...]] = {
    "RETITLED": (0.25, 1.0),
    "RENAMED": (0.25, 0.5),
    "LEAST": (0.85,),
    "MIN_TEXT": (0, 20),
    "MIN_BESIDE_MEDIA": (20, 120),
}
"""Constant of `judge.comparison` -> other values."""
PARAMETERS = {"min_resemblance": (0.87, 0.93), "min_tokens": (10, 32)}
"""Option of the judgement -> other values."""
MIN_PRECISION = 0.995
"""Precision, of the sites that choose, below which a constant isn't chosen."""
AS_IT_IS = "as it is"


def on_site(source: Source, orders: int, *, constants: bool) -> dict[str, list[Score]]:
    """Return what is found of a site, in its own order and some of chance, by what is changed."""
    site, found = load(source), {}
    reader = Reader.of(site, preset("best"))
    with patch.object(trials, "LOWEST", -inf):  # without a sentence the promise may not hold
        for label, changing, changed in changes() if constants else left_out():
            with changing():
                player = Reader.of(site, preset("best", **changed))
                if label not in OF_READING:
                    player.pages = reader.pages
                found[label] = [
                    site.judge(order, set(asyncio.run(crawl(player, order))))
                    for order in site.orders(orders)
                ]
    return found


def left_out() -> Iterator[Change]:
    """Yield what leaves out each sentence, by its name."""
    yield from ((sentence, leaving_out, {}) for sentence, leaving_out in WITHOUT.items())


def changes() -> Iterator[Change]:
    """Yield what changes each constant, by name and value; first nothing."""
    yield AS_IT_IS, nullcontext, {}
    for name, value in ((name, each) for name, values in CONSTANTS.items() for each in values):
        yield f"{name} {value:g}", partial(patch.object, comparison, name, value), {}
    for name, value in ((name, each) for name, values in PARAMETERS.items() for each in values):
        yield f"{name} {value:g}", nullcontext, {name: value}


def on_worlds(quick: bool) -> Tally:
    found = Tally()
    names = [name for name, family in FAMILIES.items() if not family.numbers_alone]
    for name, order in product(names[: 1 if quick else None], range(1 if quick else 2)):
        _, pages = list(FAMILIES[name].world(0).orders(2))[order]
        found += tally(pages, judge(pages, "best"))
    return found


def main() -> None:
    options = arguments(
        __doc__, "site", quick={}, check=no_site, **SITE_OPTIONS, orders=0, constants=False,
        worlds=(False, "made-up worlds, too; as --quick does for a few"),
    )  # fmt: skip
    with named(options) as sources, ProcessPoolExecutor(WORKERS) as workers:
        play = partial(on_site, orders=options.orders, constants=options.constants)
        by_site = dict(zip(sources, workers.map(play, sources), strict=True))
    print(f"{'':41} {'own order':>20} {'random orders':>20} {'worlds':>16}")
    for label in next(iter(by_site.values())):
        own, *others = map(_sum, zip(*[found[label] for found in by_site.values()], strict=True))
        worlds = ""
        if (options.worlds or options.quick) and not options.constants:
            with WITHOUT[label]():
                tallied = on_worlds(options.quick)
            worlds = f"{tallied.recall:.3f} / {tallied.lost}"
        print(f"{label:41} {_cell([own]):>20} {_cell(others):>20} {worlds:>16}", flush=True)
    if options.constants:
        leave_one_out({
            label: {source.folder.name: found[label][0] for source, found in by_site.items()}
            for label in next(iter(by_site.values()))
        })  # fmt: skip


def leave_one_out(found: dict[str, dict[str, Score]]) -> None:
    """Print what is found of each site with the constants that the other sites would choose."""

    def chosen(site: str) -> str:
        def goodness(label: str) -> tuple[float, ...]:
            others = [score for name, score in found[label].items() if name != site]
            total = _sum(others)
            is_precise = total.precision >= MIN_PRECISION
            return is_precise, -total.lost, round(total.recall, 3), label == AS_IT_IS

        return max(found, key=goodness)

    falls = []
    for site, before in found[AS_IT_IS].items():
        after = found[chosen(site)][site]
        falls.append(before.recall - after.recall)
        print(f"without {site:12} {chosen(site):24} {_cell([before])}  ->  {_cell([after])}")
    print(f"recall falls by {fmean(falls):.4f} in the mean, by {max(falls):.4f} at most")


def _sum(scores: Iterable[Score]) -> Score:
    return sum(scores, start=Score())


def _cell(scores: list[Score]) -> str:
    if not scores:
        return ""
    total = _sum(scores)
    return f"{total.precision:.3f} / {total.recall:.3f} / {total.lost / len(scores):.1f}"


if __name__ == "__main__":
    main()
