"""What a byte of a sketch buys: quality by its bits; and features against their curve.

First: precision, recall and lost pages of presets with sketches of other sizes, by the truth
of `quality.py` in the sites' own orders, and what a store keeps of a page beside its simhash.

Then: real pairs of texts by their exact resemblance, the share of them that the plugin's
features make candidates, and what the exact curve says (Broder 2000, section 4) of minima
under independent permutations. The plugin takes its minima from a single one.

    python benchmarks/sketch_sizes.py --truth DIR SITE...
"""

from collections import defaultdict
from collections.abc import Iterable
from functools import cache, partial
from itertools import product
from statistics import fmean

import numpy as np
from harness import arguments
from sites import SITE_OPTIONS, Source, load, named, no_site
from trials import HEADINGS, Outcome, Trial, cells, play_all, pooled, preset, seeded

from scrapy_neardup.analysis import AnalysedPage, Analyser
from scrapy_neardup.fingerprints.broder import acceptance
from scrapy_neardup.joins import self_join
from scrapy_neardup.settings.parameters import Parameters
from scrapy_neardup.text import Content

TEXT, NAMED = (256, 512, 1024, 1792, 3584), (64, 128, 256, 512)
CLASSES = (0.5, 0.6, 0.7, 0.8, 0.85, 0.9, 0.95, 0.98, 1.0)


def sizes(sources: list[Source], presets: Iterable[str], seeds: int, quick: bool) -> None:
    print(f"{'':20} {'bytes':>7}  {HEADINGS}")
    every = list(product(TEXT, NAMED))
    for name in presets:
        queue = [
            Trial(
                f"{name} {text} + {named_too}",
                source,
                preset(name, sketch=(text, named_too)),
                seed,
            )
            for (text, named_too), seed, source in product(
                every[::5] if quick else every, range(seeds), sources
            )
        ]
        done: list[Outcome] = []
        for outcomes in play_all(queue):
            done += outcomes
            if len(done) == seeds * len(sources):
                pages = [outcome.score.pages - outcome.score.dropped for outcome in done]
                size = np.average([outcome.kept_bytes for outcome in done], weights=pages)
                print(f"{done[0].label:20} {size:7.0f}  {cells(pooled(done))}", flush=True)
                done = []


def analysed(texts: list[Content], parameters: Parameters) -> list[AnalysedPage]:
    analyser = Analyser(parameters)
    pages = [analyser.page(text, page_id=number, url=None) for number, text in enumerate(texts)]
    return [page for page in pages if isinstance(page, AnalysedPage) and page.text]


def curve(sources: list[Source], seeds: int) -> None:
    parameters = preset("best")
    count, size, shared = parameters.features
    expected = cache(partial(acceptance, features=count, size=size, threshold=shared))
    found: dict[float, list[tuple[bool, float]]] = defaultdict(list)
    for source in sources:
        texts = [Content(content.text) for content in load(source).contents]
        shingles = [page.text.shingles for page in analysed(texts, parameters)]
        pairs = self_join(shingles, CLASSES[0])
        for seed in range(seeds):
            hashed = [page.features for page in analysed(texts, seeded(parameters, seed))]
            for a, b, resemblance in zip(pairs.i, pairs.j, pairs.similarity, strict=True):
                # The last one is the path.
                equal = sum(x == y for x, y in zip(hashed[a][:-1], hashed[b], strict=False))
                lowest = max(least for least in CLASSES if least <= resemblance)
                found[lowest].append((equal >= shared, float(resemblance)))
    print(f"\nCandidates by {shared} of {count} features of {size} minima, {seeds} hash seeds")
    print(f"{'resemblance':14} {'pairs':>9} {'found':>7} {'by the curve':>13}")
    for least, above in zip(CLASSES, (*CLASSES[1:], None), strict=True):
        if cases := found[least]:
            name = f"{least:.2f} to {above:.2f}" if above else "1"
            by_curve = fmean(expected(rho) for _, rho in cases)
            print(f"{name:14} {len(cases) // seeds:9} {fmean(hit for hit, _ in cases):7.3f}"
                  f" {by_curve:13.3f}", flush=True)  # fmt: skip


def main() -> None:
    presets = ["best", "compact"]
    options = arguments(
        __doc__,
        "site",
        check=no_site,
        **SITE_OPTIONS,
        seeds=(2, "hash seeds"),
        preset=(presets, None, presets),
        quick={},
    )
    with named(options) as sources:
        print(f"{len(sources)} sites, {options.seeds} hash seeds")
        sizes(sources, options.preset, options.seeds, options.quick)
        curve(sources, options.seeds)


if __name__ == "__main__":
    main()
