"""Sketches of many documents: `fingerprints.batch`, document by document, and rensa's.

Time a document is the processor's, the best of several turns side by side. The error is the root
mean square of the estimates of 2,000 pairs at resemblance .9, whose sets are as large as the timed
ones. rensa, from PyPI, is left out where it isn't installed.

    python benchmarks/batch_sketches.py [--quick]
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from time import process_time

import numpy as np

from scrapy_neardup._speed import TWINS
from scrapy_neardup.fingerprints import minima, one_permutation_sketch
from scrapy_neardup.fingerprints.batch import Counts, Hashes, sketches_of_each

RESEMBLANCE = 0.9


Way = Callable[[Hashes, Counts, int], object]
"""Hashes of all documents, how many are each one's, number of values -> sketches."""


def pairs_of_sets(pairs: int, size: int) -> tuple[Hashes, Counts]:
    """Return sets, each next to one that resembles it as said; `size` hashes each."""
    drawn = np.random.default_rng(1)
    shared = round(2 * size * RESEMBLANCE / (1 + RESEMBLANCE))
    common = drawn.integers(0, 1 << 64, (pairs, 1, shared), np.uint64)
    own = drawn.integers(0, 1 << 64, (pairs, 2, size - shared), np.uint64)
    sets = np.concatenate([np.repeat(common, 2, axis=1), own], axis=2)
    return sets.ravel(), np.full(2 * pairs, size, np.int64)


def error(sketches: Hashes, size: int) -> float:
    """Return the root mean square error of the estimates of neighbouring sketches."""
    shared = round(2 * size * RESEMBLANCE / (1 + RESEMBLANCE))
    estimates = (sketches[0::2] == sketches[1::2]).mean(axis=1)
    return float(np.sqrt(np.mean((estimates - shared / (2 * size - shared)) ** 2)))


def rensa_sketches() -> Way | None:
    """Return rensa's function for flat arrays of 64-bit hashes, where it is installed."""
    try:
        from rensa import RMinHash
    except ImportError:
        return None

    def sketches(hashes: Hashes, counts: Counts, values: int) -> object:
        offsets = np.concatenate([[0], np.cumsum(counts)]).astype(np.uint64)
        return RMinHash.digest_matrix_from_flat_token_hashes(hashes, offsets, values, 42)

    return sketches


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--quick", action="store_true")
    quick = parser.parse_args().quick
    pairs, turns = (20, 1) if quick else (2_000, 7)
    ways: dict[str, Way] = {
        "one permutation": sketches_of_each,
        "independent": lambda *sets: sketches_of_each(*sets, independent=True),
        "one permutation, alone": lambda h, c, size: np.array(
            [one_permutation_sketch(part, size) for part in h.reshape(len(c), -1)]
        ),
        "independent, alone": lambda h, c, size: np.array(
            [minima(part, size) for part in h.reshape(len(c), -1)]
        ),
    }
    if rensa := rensa_sketches():
        ways["rensa"] = rensa
    print("compiled" if any(name.startswith("sketches.") for name in TWINS) else "pure Python")
    for hashes, values in ((300, 128), (1_000, 128), (300, 256)):
        sets = pairs_of_sets(pairs, hashes)
        made: dict[str, object] = {}
        best = dict.fromkeys(ways, np.inf)
        for _ in range(turns):
            for name, way in ways.items():
                start = process_time()
                made[name] = way(*sets, values)
                best[name] = min(best[name], process_time() - start)
        for kind in ("one permutation", "independent"):
            assert np.array_equal(made[kind], made[f"{kind}, alone"])
        print(f"{hashes} hashes, {values} values")
        for name, seconds in best.items():
            each = seconds / len(sets[1]) * 1e6
            found = made[name]
            rows = found if isinstance(found, np.ndarray) else np.array(found.to_rows())
            print(f"  {name:24}{each:8.2f} µs   error {error(rows, hashes):.4f}")


if __name__ == "__main__":
    main()
