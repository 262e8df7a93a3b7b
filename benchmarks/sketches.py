"""Min-wise sketches: how far their estimates are off, and what they cost.

Sets are shingles of running numbers, in pairs of a known resemblance. What is printed is also
required: every estimate is unbiased and no further off than its docstring says, and filters
by features accept as often as their curve says, within four standard deviations of as many
pairs.

    python benchmarks/sketches.py
    python benchmarks/sketches.py --quick
"""

import timeit
from collections.abc import Callable, Iterator
from functools import partial
from itertools import count, product
from math import sqrt

import numpy as np
from harness import Table, arguments

from scrapy_neardup.fingerprints import features, token_hashes
from scrapy_neardup.fingerprints.broder import acceptance, broder_features, minima
from scrapy_neardup.fingerprints.filtering import Filter
from scrapy_neardup.fingerprints.hashing import PUBLIC
from scrapy_neardup.fingerprints.minwise import one_permutation_sketch
from scrapy_neardup.fingerprints.resemblance import bottom_resemblance, bottom_sketch
from scrapy_neardup.settings.catalogue import PRESETS
from scrapy_neardup.settings.parameters import Parameters

RESEMBLANCES, BINS, BITS = (0.8, 0.9, 0.95), (64, 128, 256), (1, 2, 4, 8)
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
            least = [bottom_sketch(each, bins) for each in sets]
            errors[64].append(bottom_resemblance(*least, bins) - truth)
        cells = []
        for bits, found in errors.items():
            equal = truth + (1 - truth) / 2**bits
            bound = sqrt(equal * (1 - equal) / bins) / (1 - 2**-bits)
            cells.append(f"{checked(found, bound):.4f} ({bound:.3f})")
        table.row(str(wanted), bins, *cells)


def filtering(number: int, name: str, features_of: Callable, shape: tuple[int, int, int]) -> None:
    count, size, shared = shape
    print(f"\n{name}: {shared} of {count} features of {size} minima, {number} pairs")
    for wanted in (0.77, 0.8, 0.85, 0.9, 0.95, 0.975):
        accepted, expected = 0, 0.0
        for *sets, truth in pairs(number, 400, wanted):
            a, b = (np.array(features_of(each)) for each in sets)
            accepted += int(np.count_nonzero(a == b) >= shared)
            expected += acceptance(truth, count, size, shared) / number
        share = accepted / number
        assert abs(share - expected) <= 4 * sqrt(expected * (1 - expected) / number) + 1 / number
        print(f"resemblance {wanted:5}: accepted {share:.4f}, by the curve {expected:.4f}")


def timing(repeats: int) -> None:
    print("\nMicroseconds a call")
    sizes = (100, 1000, 10_000)
    table = Table(shingles="<36", **{f"{size:,}": "10.1f" for size in sizes})
    calls = {
        f"one_permutation_sketch, {bins} bins": partial(one_permutation_sketch, bins=bins)
        for bins in (*BINS, 1024)
    }
    calls["84 minima and 6 features"] = lambda each: broder_features(minima(each))
    calls["bottom_sketch, 128 hashes"] = lambda each: bottom_sketch(each, 128)
    sets = [shingles(size) for size in sizes]
    for name, call in calls.items():
        times = (timeit.repeat(partial(call, each), number=20, repeat=repeats) for each in sets)
        table.row(name, *(min(each) / 20 * 1e6 for each in times))


def main() -> None:
    options = arguments(__doc__, pairs=1000, repeats=7, quick={"pairs": 50, "repeats": 1})
    estimates(options.pairs)
    altavista, best = Filter(6, 14, 2), Filter(*Parameters(**PRESETS["best"]).features)
    independent = partial(altavista.features_of, permutations="independent")
    filtering(options.pairs, "Broder's filter", independent, altavista)
    name = "Preset best, whose minima are of one permutation"
    filtering(options.pairs, name, partial(best.features_of, permutations="one"), best)
    timing(options.repeats)


if __name__ == "__main__":
    main()
