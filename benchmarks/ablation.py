"""What each sentence of the judgement brings: without it, what is found and lost.

A row a sentence: pages that repeat another one and pages that are lost on real sites, in their own
order and in random ones (as `quality.py` has them), and on made-up worlds (as `worlds.py`).

    python benchmarks/ablation.py --truth DIR SITE... [--orders 1]
    python benchmarks/ablation.py --constants --truth DIR SITE...

With ``--constants``: the same sites with one constant of the judgement changed at a time, and what
each site loses by the constants that the others would choose.
"""

# ruff: noqa: SLF001  (it takes the comparison apart)
from collections.abc import Callable, Iterator
from contextlib import nullcontext
from itertools import product
from math import inf
from statistics import fmean
from unittest.mock import patch

from harness import arguments
from made.families import FAMILIES
from made.judging import Tally, judge, tally
from sites import SITE_OPTIONS, Score, Source, named, no_site
from trials import Outcome, Trial, play_all, pooled, preset

from scrapy_neardup.judge import analysis, comparison
from scrapy_neardup.judge.boilerplate import Boilerplate
from scrapy_neardup.judge.changing import Changing
from scrapy_neardup.judge.context import NOTHING
from scrapy_neardup.judge.parameters import Parameters
from scrapy_neardup.judge.records import Records
from scrapy_neardup.judge.siterule import SiteRule
from scrapy_neardup.judge.titles import Titles

OF_PAIR = comparison._Pair


def without(rule: type[SiteRule]) -> Callable[[], object]:
    return lambda: patch.object(rule, "exclude", lambda *_: NOTHING)


def in_order(pair: comparison._Pair) -> tuple[bool, bool]:
    ours, theirs = pair._ours, pair._theirs
    is_same = ours.sketches == theirs.sketches
    return ours.rows == theirs.rows and is_same, ours.named_rows == theirs.named_rows and is_same


def alike_in_all(_: comparison._Pair, views: comparison._Views) -> bool:
    return views.all.resemblance >= comparison.LEAST


WITHOUT: dict[str, Callable[[], object]] = {
    "nothing": lambda: patch.object(comparison, "RETITLED", comparison.RETITLED),
    "boilerplate of folders (1)": without(Boilerplate),
    "text that changes (1)": without(Changing),
    "elements named as boilerplate (1)": lambda: patch.object(comparison, "MIN_TEXT", inf),
    "links to pages of the same names (1)": lambda: patch.object(
        OF_PAIR, "_stays_alike", alike_in_all
    ),
    "half as much under other titles (2)": lambda: patch.object(comparison, "RETITLED", 1.0),
    "next to equal under other names, too (2)": lambda: patch.object(
        comparison, "RENAMED", comparison.RETITLED
    ),
    "what titles of a site share (2)": without(Titles),
    "canonical where titles agree (2)": lambda: patch.object(
        OF_PAIR, "_believes_canonical", lambda _: False
    ),
    "equal rows in any order (3)": lambda: patch.object(OF_PAIR, "_compare_rows", in_order),
    "equal where little is known (3)": lambda: patch.object(OF_PAIR, "_is_cold", lambda _: False),
    "equal where little counts (3)": lambda: patch.object(
        OF_PAIR, "_has_little", lambda *_: False
    ),
    "other media (4)": lambda: patch.object(OF_PAIR, "_media_contradict", lambda *_: False),
    "records (4)": without(Records),
    "empty months of calendars": lambda: patch.object(analysis, "READINGS", analysis.READINGS[1:]),
    "a page's own address": lambda: patch.object(analysis, "READINGS", analysis.READINGS[:1]),
}
"""Sentence -> what leaves it out; numbers are those of `decision.comparison`."""


CONSTANTS: dict[str, tuple[float, ...]] = {
    "RETITLED": (0.25, 1.0),
    "RENAMED": (0.25, 0.5),
    "LEAST": (0.85,),
    "MIN_TEXT": (0, 20),
    "MIN_BESIDE_MEDIA": (20, 120),
}
"""Constant of `decision.comparison` -> other values."""
PARAMETERS = {"min_resemblance": (0.87, 0.93), "min_tokens": (10, 32)}
"""Option of the judgement -> other values."""
MIN_PRECISION = 0.995
"""Precision, of the sites that choose, below which a constant isn't chosen."""
AS_IT_IS = "as it is"


def on_sites(sources: list[Source], parameters: Parameters, orders: int) -> list[Outcome]:
    trials = [Trial("", source, parameters, 0, orders) for source in sources]
    return [outcome for outcomes in play_all(trials) for outcome in outcomes]


def on_worlds(quick: bool) -> Tally:
    found = Tally()
    names = [name for name, family in FAMILIES.items() if not family.numbers_alone]
    for name, order in product(names[:: 20 if quick else 1], range(1 if quick else 2)):
        _, pages = list(FAMILIES[name].world(0).orders(2))[order]
        found += tally(pages, judge(pages, "best"))
    return found


def main() -> None:
    options = arguments(
        __doc__, "site", quick={}, check=no_site, **SITE_OPTIONS, orders=0, constants=False
    )
    with named(options) as sources:
        if options.constants:
            leave_one_out(dict(by_constant(sources)))
            return
        print(f"{'without':38} {'own order':>20} {'random orders':>20} {'worlds':>16}")
        for sentence, leaving_out in WITHOUT.items():
            with leaving_out():
                outcomes = on_sites(sources, preset("best"), options.orders)
                worlds = on_worlds(options.quick)
            cells = [
                _cell(pooled(o for o in outcomes if bool(o.order) is is_random))
                for is_random in (False, True)
            ]
            made = f"{worlds.recall:.3f} / {worlds.lost}"
            print(f"{sentence:38} {cells[0]:>20} {cells[1]:>20} {made:>16}", flush=True)


def by_constant(sources: list[Source]) -> Iterator[tuple[str, dict[str, Score]]]:
    """Yield what is found of each site, as it is and with one constant changed at a time."""
    changes = [(AS_IT_IS, 0.0)]
    changes += [(name, each) for name, found in (CONSTANTS | PARAMETERS).items() for each in found]
    for name, value in changes:
        changed = {name: value} if name in PARAMETERS else {}
        is_constant = name in CONSTANTS
        with patch.object(comparison, name, value) if is_constant else nullcontext():
            outcomes = on_sites(sources, preset("best", **changed), 0)
        label = name if name == AS_IT_IS else f"{name} {value:g}"
        scores = {outcome.site: outcome.score for outcome in outcomes}
        print(f"{label:38} {_cell([sum(scores.values(), start=Score())]):>20}", flush=True)
        yield label, scores


def leave_one_out(found: dict[str, dict[str, Score]]) -> None:
    """Print what is found of each site with the constants that the other sites would choose."""

    def chosen(site: str) -> str:
        def goodness(label: str) -> tuple[float, ...]:
            others = [score for name, score in found[label].items() if name != site]
            total = sum(others, start=Score())
            is_precise = total.precision >= MIN_PRECISION
            return is_precise, -total.lost, round(total.recall, 3), label == AS_IT_IS

        return max(found, key=goodness)

    falls = []
    for site, before in found[AS_IT_IS].items():
        after = found[chosen(site)][site]
        falls.append(before.recall - after.recall)
        print(f"without {site:12} {chosen(site):24} {_cell([before])}  ->  {_cell([after])}")
    print(f"recall falls by {fmean(falls):.4f} in the mean, by {max(falls):.4f} at most")


def _cell(scores: list) -> str:
    if not scores:
        return ""
    total = sum(scores[1:], start=scores[0])
    return f"{total.precision:.3f} / {total.recall:.3f} / {total.lost / len(scores):.1f}"


if __name__ == "__main__":
    main()
