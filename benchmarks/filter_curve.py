"""Figures 1 and 2 of Broder 2000: how likely 2 of 6 features of 14 minima are shared.

The curve P[6, 14, 2] over resemblance, on a linear and on a logarithmic scale, and on it what was
measured on made-up sets, with minima under independent permutations and under one. Required: each
within four standard deviations of the curve.

    python benchmarks/filter_curve.py --out docs/img
    python benchmarks/filter_curve.py --quick
"""

from math import sqrt
from pathlib import Path

import matplotlib as mpl
import numpy as np
from harness import arguments
from matplotlib.figure import Figure
from sketches import pairs

from scrapy_neardup.fingerprints.filtering import Filter

ALTAVISTA = Filter(6, 14, 2)
RESEMBLANCES = (0.7, 0.75, 0.8, 0.825, 0.85, 0.875, 0.9, 0.925, 0.95, 0.975)
WAYS = {"independent": "#1f5fa8", "one": "#d9730d"}
Points = dict[str, list[tuple[float, float]]]
"""Way -> resemblance, and share that is accepted."""


def measured(number: int) -> Points:
    points: Points = {way: [] for way in WAYS}
    for wanted in RESEMBLANCES:
        accepted, expected = dict.fromkeys(WAYS, 0), 0.0
        for *sets, truth in pairs(number, 400, wanted):
            expected += ALTAVISTA.acceptance(truth) / number
            for way in WAYS:
                a, b = (ALTAVISTA.features_of(each, way) for each in sets)
                accepted[way] += int(np.count_nonzero(a == b) >= ALTAVISTA.shared)
        for way, count in accepted.items():
            points[way].append((truth, count / number))
            error = sqrt(expected * (1 - expected) / number)
            assert abs(count / number - expected) <= 4 * error + 1 / number
        shares = "  ".join(f"{way} {points[way][-1][1]:.4f}" for way in WAYS)
        print(f"resemblance {truth:.3f}: by the curve {expected:.4f}  {shares}", flush=True)
    return points


def drawn(points: Points) -> Figure:
    figure = Figure(figsize=(9, 3.6), layout="constrained")
    along = np.linspace(0.5, 1, 251)
    curve = [ALTAVISTA.acceptance(x) for x in along]
    for axes, scale in zip(figure.subplots(1, 2), ("linear", "log"), strict=True):
        axes.plot(along, curve, color="#444444", linewidth=1, label="P[6, 14, 2]")
        for marker, (way, found) in zip("ox", points.items(), strict=True):
            x, y = np.array([point for point in found if point[1]]).T
            name = "independent permutations" if way == "independent" else "one permutation"
            axes.plot(x, y, marker, color=WAYS[way], fillstyle="none", label=name)
        axes.set(xlabel="resemblance", ylabel="share of pairs accepted", yscale=scale)
        if scale == "log":
            axes.set(ylim=(1e-6, 2))
        axes.grid(alpha=0.3)
    axes.legend(loc="lower right", frameon=False)
    return figure


def main() -> None:
    options = arguments(
        __doc__, out=(Path, "where the picture goes"), pairs=2000, quick={"pairs": 50}
    )
    points = measured(options.pairs)
    mpl.rcParams["svg.hashsalt"] = "neardup"
    figure = drawn(points)
    if options.out:
        figure.savefig(options.out / "filter-curve.png", dpi=110)


if __name__ == "__main__":
    main()
