"""Bins that stay empty: what ways to fill them do to the error of an estimate.

One-permutation sketches of few shingles leave bins empty. The literature copies other bins
(rotation, optimal densification, that of Mai et al.); ours throws the shingles again. All
start from the same sketches, and their errors are those of the share of equal minima.
Required: ours is unbiased, no worse than minima under as many permutations, and no worse than
any other.

    python benchmarks/densification.py
    python benchmarks/densification.py --quick
"""

from __future__ import annotations

import argparse
from itertools import count
from math import sqrt

import numpy as np
from sketches import checked, pairs

from scrapy_neardup.fingerprints.hashing import PUBLIC
from scrapy_neardup.fingerprints.minwise import one_permutation_sketch


def rotation(sketch: np.ndarray, empty: np.ndarray) -> np.ndarray:
    """Shrivastava & Li 2014: an empty bin takes the next one's, and says how far it is."""
    filled = np.flatnonzero(~empty)
    places = np.arange(len(sketch))
    nearest = filled[np.searchsorted(filled, places) % len(filled)]
    return sketch[nearest] + ((nearest - places) % len(sketch)).astype(np.uint64) * PUBLIC.seed


def optimal(sketch: np.ndarray, empty: np.ndarray) -> np.ndarray:
    """Shrivastava 2017: an empty bin tries others in a random order of its own."""
    bins = len(sketch)
    orders = PUBLIC.mix(np.arange(bins**2, dtype=np.uint64) * PUBLIC.seed).reshape(bins, bins)
    source = np.where(empty, np.iinfo(np.uint64).max, orders).argmin(axis=1)
    return np.where(empty, sketch[source], sketch)


def pushed(sketch: np.ndarray, empty: np.ndarray) -> np.ndarray:
    """Mai et al. 2020: round after round each filled bin tries to fill a random one."""
    sketch, sources, empty = sketch.copy(), np.flatnonzero(~empty), empty.copy()
    for turn in count(1):
        if not empty.any():
            return sketch
        drawn = PUBLIC.mix((sources + turn * 1024).astype(np.uint64) * PUBLIC.seed)
        targets = (drawn % np.uint64(len(sketch))).astype(np.int64)
        for source, target in zip(sources.tolist(), targets.tolist(), strict=True):
            if empty[target]:
                sketch[target], empty[target] = sketch[source], False
    raise AssertionError


def empty(shingles: np.ndarray) -> np.ndarray:
    """Say of each of 256 bins whether no shingle falls into it."""
    return np.bincount((shingles >> np.uint64(56)).astype(np.int64), minlength=256) == 0


def densification(number: int) -> None:
    print(f"Standard error at resemblance .9, 256 bins, whole minima, {number} pairs")
    print(f"{'shingles':>11}{'rotation':>12}{'optimal':>12}{'Mai et al.':>12}{'throwing':>12}")
    for size in (20, 100, 200, 500):
        errors: list[list[float]] = [[] for _ in range(4)]
        for *sets, truth in pairs(number, size, 0.9):
            ours = [one_permutation_sketch(each, 256) for each in sets]
            ways = [
                [fill(sketch, empty(each)) for sketch, each in zip(ours, sets, strict=True)]
                for fill in (rotation, optimal, pushed)
            ]
            for found, (a, b) in zip(errors, [*ways, ours], strict=True):
                found.append((a == b).mean() - truth)
        throwing = checked(errors[3], sqrt(truth * (1 - truth) / 256))
        others = [float(np.sqrt(np.mean(np.square(found)))) for found in errors[:3]]
        assert throwing <= min(others) * (1 + 6 / sqrt(2 * number))
        print(
            f"{size:11}" + "".join(f"{error:12.4f}" for error in (*others, throwing)), flush=True
        )


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--quick", action="store_true", help="few pairs, to see that it works")
    densification(50 if parser.parse_args().quick else 1000)


if __name__ == "__main__":
    main()
