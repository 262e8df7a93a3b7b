"""Min-wise sketches: how far their estimates are off, and what they cost.

Sets are shingles of running numbers, in pairs of a known resemblance. What is printed is also
required: every estimate is unbiased and no further off than its docstring says, and filters
by features accept as often as their curve says, within four standard deviations of as many
pairs. With --out, the curve P[6, 14, 2] of Broder 2000, Figures 1 and 2, is drawn with the points
that were measured. Then sketches of many documents: `fingerprints.batch`, document by document,
and rensa's (from PyPI, where it is installed), microseconds of processor time a document.

    python benchmarks/sketches.py [--quick] [--out docs/img]
"""

from collections.abc import Callable, Iterator
from functools import partial
from importlib.util import find_spec
from itertools import count, product
from math import sqrt
from pathlib import Path

import numpy as np
from harness import Table, arguments, in_turns

from scrapy_neardup._speed import TWINS
from scrapy_neardup.fingerprints import features, token_hashes
from scrapy_neardup.fingerprints.batch import minima_of_each
from scrapy_neardup.fingerprints.broder import Filter
from scrapy_neardup.fingerprints.hashing import PUBLIC
from scrapy_neardup.fingerprints.independent import minima
from scrapy_neardup.fingerprints.minwise import one_permutation_sketch
from scrapy_neardup.judge.parameters import Parameters
from scrapy_neardup.settings.catalogue import PRESETS

RESEMBLANCES, BINS, BITS = (0.8, 0.9, 0.95), (64, 128, 256), (1, 2, 4, 8)
FILTERED = (0.7, 0.75, 0.77, 0.8, 0.825, 0.85, 0.875, 0.9, 0.925, 0.95, 0.975)
WAYS = {"independent": "#1f5fa8", "one": "#d9730d"}
"""How minima are permuted -> colour of its points."""
Points = dict[str, list[tuple[float, float]]]
"""Way -> resemblance, and share that is accepted."""
NUMBERS, RANDOM = count(), np.random.default_rng(1)


def shingles(size: int) -> np.ndarray:
    text = " ".join(str(next(NUMBERS)) for _ in range(size + 2))
    # The order that `features` returns depends on the hashes, and what is taken from the
    # front must not.
    return RANDOM.permutation(features(token_hashes(text))[0])


def pairs(number: int, size: int, resemblance: float) -> Iterator[tuple]:
    union = round(2 * size / (1 + resemblance))
    shared = round(resemblance * union)
    middle = shared + (union - shared) // 2
    for _ in range(number):
        found = shingles(union)
        yield found[:middle], np.concatenate([found[:shared], found[middle:]]), shared / union


def checked(errors: list[float], bound: float) -> float:
    """Return the root mean square of errors that have to be unbiased and within a bound."""
    error = float(np.sqrt(np.mean(np.square(errors))))
    assert abs(np.mean(errors)) <= 4 * bound / sqrt(len(errors)), (np.mean(errors), bound)
    assert error <= bound * (1 + 4 / sqrt(2 * len(errors))), (error, bound)
    return error


def estimates(number: int) -> None:
    print(f"Standard error (and its bound) of sets of 1,000 shingles, {number} pairs")
    names = {f"{bits} bit": "16" for bits in BITS} | {"M_s, s = bins": "16"}
    table = Table(resemblance="11", bins="6", **names)
    for wanted, bins in product(RESEMBLANCES, BINS):
        errors: dict[int, list[float]] = {bits: [] for bits in (*BITS, 64)}
        for *sets, truth in pairs(number, 1000, wanted):
            sketches = [PUBLIC.mix(one_permutation_sketch(each, bins)) for each in sets]
            for bits in BITS:
                a, b = (sketch & np.uint64((1 << bits) - 1) for sketch in sketches)
                errors[bits].append(1 - (a != b).mean() / (1 - 2.0**-bits) - truth)
            ours, theirs = (np.partition(each, bins)[:bins] for each in sets)
            sample = np.union1d(ours, theirs)[:bins]
            errors[64].append((np.isin(sample, ours) & np.isin(sample, theirs)).mean() - truth)
        cells = []
        for bits, found in errors.items():
            equal = truth + (1 - truth) / 2**bits
            bound = sqrt(equal * (1 - equal) / bins) / (1 - 2**-bits)
            cells.append(f"{checked(found, bound):.4f} ({bound:.3f})")
        table.row(str(wanted), bins, *cells)


def filtering(number: int, name: str, made_of: Filter) -> Points:
    count, size, shared = made_of
    print(f"\n{name}: {shared} of {count} features of {size} minima, {number} pairs")
    points: Points = {way: [] for way in WAYS}
    for wanted in FILTERED:
        accepted, expected = dict.fromkeys(WAYS, 0), 0.0
        for *sets, truth in pairs(number, 400, wanted):
            expected += made_of.acceptance(truth) / number
            for way in WAYS:
                a, b = (made_of.features_of(each, way) for each in sets)
                accepted[way] += int(np.count_nonzero(a == b) >= shared)
        bound = 4 * sqrt(expected * (1 - expected) / number) + 1 / number
        for way, each in accepted.items():
            points[way].append((truth, each / number))
            assert abs(each / number - expected) <= bound
        shares = "  ".join(f"{way} {points[way][-1][1]:.4f}" for way in WAYS)
        print(f"resemblance {truth:.3f}: by the curve {expected:.4f}  {shares}", flush=True)
    return points


def draw(made_of: Filter, points: Points, path: Path) -> None:
    from matplotlib.figure import Figure

    figure = Figure(figsize=(9, 3.6), layout="constrained")
    along = np.linspace(0.5, 1, 251)
    for axes, scale in zip(figure.subplots(1, 2), ("linear", "log"), strict=True):
        curve = [made_of.acceptance(x) for x in along]
        axes.plot(along, curve, color="#444444", linewidth=1, label="P[6, 14, 2]")
        for marker, (way, found) in zip("ox", points.items(), strict=True):
            x, y = np.array([point for point in found if point[1]]).T
            name = "independent permutations" if way == "independent" else "one permutation"
            axes.plot(x, y, marker, color=WAYS[way], fillstyle="none", label=name)
        axes.set(xlabel="resemblance", ylabel="share of pairs accepted", yscale=scale)
        axes.grid(alpha=0.3)
    axes.set(ylim=(1e-6, 2))
    axes.legend(loc="lower right", frameon=False)
    figure.savefig(path, dpi=110)


def alone(sketch: Callable, hashes: np.ndarray, counts: np.ndarray, values: int) -> np.ndarray:
    return np.array([sketch(part, values) for part in np.split(hashes, np.cumsum(counts)[:-1])])


def rensa(hashes: np.ndarray, counts: np.ndarray, values: int) -> object:
    from rensa import RMinHash

    offsets = np.concatenate([[0], np.cumsum(counts)]).astype(np.uint64)
    return RMinHash.digest_matrix_from_flat_token_hashes(hashes, offsets, values, 42)


WAYS_OF_BATCHES = {
    "one permutation": minima_of_each,
    "one permutation, alone": partial(alone, one_permutation_sketch),
    "independent, alone": partial(alone, minima),
} | ({"rensa": rensa} if find_spec("rensa") else {})  # fmt: skip


def batches(number: int, turns: int) -> None:
    print("\nMany documents:", "compiled" if "features.minima_of_each" in TWINS else "pure Python")
    for size, values in ((300, 128), (1_000, 128), (300, 256)):
        found = list(pairs(number, size, 0.9))
        sets = [each for *both, _ in found for each in both]
        given = np.concatenate(sets), np.array(list(map(len, sets))), values
        ways = {name: partial(way, *given) for name, way in WAYS_OF_BATCHES.items()}
        made = in_turns(ways, turns)
        assert np.array_equal(made["one permutation"][1], made["one permutation, alone"][1])
        table = Table(**{f"{size} hashes, {values} values": "<26"}, µs="8.2f", error="8.4f")
        for name, (seconds, sketches) in made.items():
            rows = sketches if isinstance(sketches, np.ndarray) else np.array(sketches.to_rows())
            errors = (rows[0::2] == rows[1::2]).mean(axis=1) - [truth for *_, truth in found]
            table.row(name, seconds / len(sets) * 1e6, np.sqrt(np.mean(errors**2)))


def main() -> None:
    out = (Path, "where the picture of the curve goes")
    options = arguments(__doc__, pairs=1000, turns=7, out=out, quick={"pairs": 50, "turns": 1})
    estimates(options.pairs)
    altavista, best = Filter(6, 14, 2), Filter(*Parameters(**PRESETS["best"]).features)
    points = filtering(options.pairs, "Broder's filter", altavista)
    if options.out:
        draw(altavista, points, options.out / "filter-curve.png")
    filtering(options.pairs, "Preset best, whose minima are of one permutation", best)
    batches(options.pairs, options.turns)


if __name__ == "__main__":
    main()
