"""The pictures of docs/quality.md: precision and recall over k, and where fingerprints lie.

They stand beside Figures 1 and 2 of Manku et al. 2007, whose curves were drawn from 2^34
fingerprints and are not repeated here.

    python benchmarks/quality_pictures.py --out docs/img --truth DIR SITE...
"""

from itertools import chain, product
from math import comb
from pathlib import Path
from statistics import fmean

import matplotlib as mpl
import numpy as np
from harness import arguments
from matplotlib.figure import Figure
from sites import SITE_OPTIONS, Source, load, named, no_site
from trials import Outcome, Reader, Trial, play_all, pooled, preset

from scrapy_neardup.verdict import Page

DISTANCES = tuple(range(11))
"""Values of k, as in Figure 1 of Manku et al.; stores take 10 at most, Redis 6."""
BLUE, ORANGE, GREY = "#1f5fa8", "#d9730d", "#8a8a8a"
CURVES = {
    "3-shingles": (preset("paper"), BLUE),
    "4-shingles": (preset("paper", shingle_size=4), ORANGE),
    "single words, counted": (preset("paper", shingle_size=1, weights="tf"), GREY),
}
MARKS = {"best": "*", "compact": "P"}
BUCKETS = 128


def points(sources: list[Source], seeds: int) -> dict[tuple[str, int], tuple[float, float]]:
    curves = {label: parameters for label, (parameters, _) in CURVES.items()}
    found: dict[tuple[str, int], list[Outcome]] = {}
    for configurations, distances in ((curves, DISTANCES), ({n: preset(n) for n in MARKS}, ())):
        tried = product(configurations.items(), range(seeds), sources)
        queue = [Trial(label, source, each, seed, distances=distances)
                 for (label, each), seed, source in tried]  # fmt: skip
        for outcome in chain.from_iterable(play_all(queue)):
            found.setdefault((outcome.label, outcome.k), []).append(outcome)
    scores = {key: pooled(outcomes) for key, outcomes in found.items()}
    return {key: (fmean(s.recall for s in each), fmean(s.precision for s in each))
            for key, each in scores.items()}  # fmt: skip


def precision_recall(sources: list[Source], seeds: int) -> Figure:
    found = points(sources, seeds)
    figure = Figure(figsize=(7, 4.6), layout="constrained")
    axes = figure.subplots()
    for label, (_, colour) in CURVES.items():
        curve = [found[label, k] for k in DISTANCES]
        axes.plot(*zip(*curve, strict=True), "o-", color=colour, markersize=4,
                  label=f"simhash alone, {label}")  # fmt: skip
        offset = (-6, -9) if colour == BLUE else (4, 4)
        for k, point in enumerate(curve):
            axes.annotate(str(k), point, offset, textcoords="offset points", fontsize=7,
                          color=colour, ha="center")  # fmt: skip
    for (label, _), point in found.items():
        if label in MARKS:
            axes.plot(*point, MARKS[label], color="black", markersize=11, label=f"preset {label}")
    axes.plot(0.75, 0.75, "s", mfc="none", mec="black",
              label="Manku et al. 2007, k = 3: both near .75")  # fmt: skip
    axes.set(xlabel="recall", ylabel="precision", xlim=(0.7, 1.005), ylim=(0.25, 1.02))
    axes.grid(alpha=0.3)
    axes.legend(fontsize=8, loc="lower left")
    return figure


def fingerprints(sources: list[Source]) -> Figure:
    readers = (Reader.of(load(source), CURVES["3-shingles"][0]) for source in sources)
    pages = (page for reader in readers for page in reader.all_pages())
    found = [page.fingerprint for page in pages if isinstance(page, Page) and not page.exact]
    values = np.sort(np.array(found, np.uint64))
    figure = Figure(figsize=(10, 3.2), layout="constrained")
    bits, leading, buckets = figure.subplots(1, 3, width_ratios=(1, 1, 1.6))

    counted = np.bincount(np.bitwise_count(values), minlength=65)
    bits.bar(range(65), counted / len(values), color=BLUE, label="pages")
    binomial = [comb(64, n) / 2**64 for n in range(65)]
    bits.plot(range(65), binomial, color=ORANGE, label="binomial")
    bits.set(xlabel="bits set", ylabel="share of pages", xlim=(12, 52))

    distinct = np.unique(values)
    random = np.sort(np.random.default_rng(1).integers(0, 2**64, len(distinct), np.uint64))
    leading.bar(range(64), differing(distinct), color=BLUE, label="pages")
    leading.plot(range(64), differing(random), color=ORANGE, label="random numbers")
    leading.set(xlabel="leading differing bit of neighbours", xlim=(30, 63), ylim=(0, 0.24))

    shift = np.uint64(64 - BUCKETS.bit_length() + 1)
    filled = np.bincount((values >> shift).astype(np.int64), minlength=BUCKETS)
    buckets.bar(range(BUCKETS), filled / len(values) * BUCKETS, width=1, color=BLUE)
    buckets.axhline(1, color=ORANGE, linewidth=1, label="even")
    buckets.set(xlabel=f"one of {BUCKETS} buckets of fingerprints", ylabel="pages, 1 = even share")
    for axes, where in ((bits, "upper right"), (leading, "upper left"), (buckets, "best")):
        axes.legend(fontsize=8, loc=where)
    return figure


def differing(values: np.ndarray) -> np.ndarray:
    highest = [int(value).bit_length() - 1 for value in values[1:] ^ values[:-1]]
    return np.bincount(highest, minlength=64) / len(highest)


def main() -> None:
    options = arguments(__doc__, "site", check=no_site, **SITE_OPTIONS, quick={},
                        out=(Path("docs/img"), "folder"), seeds=(3, "hash seeds"))  # fmt: skip
    mpl.use("agg")
    mpl.rcParams.update({"font.size": 9, "axes.spines.top": False, "axes.spines.right": False})
    with named(options) as sources:
        folder = options.cache if options.quick else options.out
        folder.mkdir(parents=True, exist_ok=True)
        drawn = {"precision-recall.png": precision_recall(sources, options.seeds),
                 "fingerprints.png": fingerprints(sources)}  # fmt: skip
        for name, figure in drawn.items():
            figure.savefig(folder / name, dpi=110, metadata={"Software": None})
            print(f"{name}: {(folder / name).stat().st_size:,} bytes")


if __name__ == "__main__":
    main()
