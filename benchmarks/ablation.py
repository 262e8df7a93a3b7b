"""What each sentence of the judgement brings: without it, what is found and lost.

A row a sentence: pages that repeat another one and pages that are lost on real sites, in their own
order and in random ones (as `quality.py` has them), and on made-up worlds (as `worlds.py`).

    python benchmarks/ablation.py --truth DIR SITE... [--orders 1]
"""

# ruff: noqa: SLF001  (it takes the comparison apart)
from collections.abc import Callable
from itertools import product
from unittest.mock import patch

from harness import arguments
from made.families import FAMILIES
from made.judging import Tally, judge, tally
from sites import SITE_OPTIONS, Source, named, no_site
from trials import Outcome, Trial, play_all, pooled, preset

from scrapy_neardup import analysis
from scrapy_neardup.decision import comparison
from scrapy_neardup.settings.catalogue import LEARNABLE
from scrapy_neardup.settings.parameters import Parameters
from scrapy_neardup.site import sites

OF_PAIR = comparison._Pair


def learning(*names: str) -> Callable[[], object]:
    kept = tuple(rule for rule in sites.RULES if rule.name in names)
    return lambda: patch.object(sites, "RULES", kept)


def others(name: str) -> list[str]:
    return [each for each in LEARNABLE if each != name]


def in_order(pair: comparison._Pair) -> bool:
    ours, theirs = pair._ours, pair._theirs
    return ours.rows == theirs.rows and ours.sketches == theirs.sketches


WITHOUT: dict[str, Callable[[], object]] = {
    "nothing": lambda: patch.object(comparison, "RETITLED", comparison.RETITLED),
    "boilerplate of folders (1)": learning(*others("boilerplate")),
    "text that changes (1)": learning(*others("changing")),
    "elements named as boilerplate (1)": lambda: patch.object(comparison, "MAX_NAMED", -1.0),
    "half as much under other titles (2)": lambda: patch.object(comparison, "RETITLED", 1.0),
    "next to equal under other names, too (2)": lambda: patch.object(
        comparison, "RENAMED", comparison.RETITLED
    ),
    "what titles of a site share (2)": learning(*others("titles")),
    "twice as much at one address (2)": lambda: patch.object(comparison, "RESPONSE", 1.0),
    "equal rows in any order (3)": lambda: patch.object(OF_PAIR, "_compare_rows", in_order),
    "equal where little is known (3)": lambda: patch.object(OF_PAIR, "_is_cold", lambda _: False),
    "equal where little counts (3)": lambda: patch.object(
        OF_PAIR, "_has_little", lambda *_: False
    ),
    "other media (4)": lambda: patch.object(OF_PAIR, "_media_contradict", lambda *_: False),
    "empty months of calendars": lambda: patch.object(analysis, "READINGS", analysis.READINGS[1:]),
    "a page's own address": lambda: patch.object(analysis, "READINGS", analysis.READINGS[:1]),
}
"""Sentence -> what leaves it out; numbers are those of `decision.comparison`."""


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
    options = arguments(__doc__, "site", quick={}, check=no_site, **SITE_OPTIONS, orders=0)
    print(f"{'without':38} {'own order':>20} {'random orders':>20} {'worlds':>16}")
    with named(options) as sources:
        for sentence, without in WITHOUT.items():
            with without():
                outcomes = on_sites(sources, preset("best"), options.orders)
                worlds = on_worlds(options.quick)
            cells = [
                _cell(pooled(o for o in outcomes if bool(o.order) is is_random))
                for is_random in (False, True)
            ]
            made = f"{worlds.recall:.3f} / {worlds.lost}"
            print(f"{sentence:38} {cells[0]:>20} {cells[1]:>20} {made:>16}", flush=True)


def _cell(scores: list) -> str:
    if not scores:
        return ""
    total = sum(scores[1:], start=scores[0])
    return f"{total.precision:.3f} / {total.recall:.3f} / {total.lost / len(scores):.1f}"


if __name__ == "__main__":
    main()
