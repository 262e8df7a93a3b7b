"""Sketches of many documents: `fingerprints.batch`, document by document, and rensa's.

Time a document is the processor's, the best of several turns side by side. The error is the root
mean square of the estimates of 2,000 pairs at resemblance .9, whose sets are as large as the timed
ones. rensa, from PyPI, is left out where it isn't installed.
"""

from collections.abc import Callable
from functools import partial
from importlib.util import find_spec

import numpy as np
from harness import Table, arguments, in_turns

from scrapy_neardup._speed import TWINS
from scrapy_neardup.fingerprints import minima, one_permutation_sketch
from scrapy_neardup.fingerprints.batch import minima_of_each, permuted_minima_of_each
from scrapy_neardup.fingerprints.broder import permutations

RESEMBLANCE = 0.9


def pairs_of_sets(pairs: int, size: int) -> tuple[np.ndarray, np.ndarray]:
    drawn = np.random.default_rng(1)
    shared = round(2 * size * RESEMBLANCE / (1 + RESEMBLANCE))
    common = drawn.integers(0, 1 << 64, (pairs, 1, shared), np.uint64)
    own = drawn.integers(0, 1 << 64, (pairs, 2, size - shared), np.uint64)
    sets = np.concatenate([np.repeat(common, 2, axis=1), own], axis=2)
    return sets.ravel(), np.full(2 * pairs, size, np.int64)


def error(sketches: np.ndarray, size: int) -> float:
    shared = round(2 * size * RESEMBLANCE / (1 + RESEMBLANCE))
    estimates = (sketches[0::2] == sketches[1::2]).mean(axis=1)
    return float(np.sqrt(np.mean((estimates - shared / (2 * size - shared)) ** 2)))


def alone(sketch: Callable, hashes: np.ndarray, counts: np.ndarray, values: int) -> np.ndarray:
    return np.array([sketch(part, values) for part in hashes.reshape(len(counts), -1)])


def independent(hashes: np.ndarray, counts: np.ndarray, values: int) -> np.ndarray:
    return permuted_minima_of_each(hashes, counts, *map(np.ravel, permutations(values)))


def rensa(hashes: np.ndarray, counts: np.ndarray, values: int) -> object:
    from rensa import RMinHash

    offsets = np.concatenate([[0], np.cumsum(counts)]).astype(np.uint64)
    return RMinHash.digest_matrix_from_flat_token_hashes(hashes, offsets, values, 42)


def main() -> None:
    options = arguments(__doc__, pairs=2_000, turns=7, quick={"pairs": 20, "turns": 1})
    ways: dict[str, Callable] = {
        "one permutation": minima_of_each,
        "independent": independent,
        "one permutation, alone": partial(alone, one_permutation_sketch),
        "independent, alone": partial(alone, minima),
    } | ({"rensa": rensa} if find_spec("rensa") else {})
    print("compiled" if "features.minima_of_each" in TWINS else "pure Python")
    for hashes, values in ((300, 128), (1_000, 128), (300, 256)):
        sets = pairs_of_sets(options.pairs, hashes)
        made = in_turns({n: partial(way, *sets, values) for n, way in ways.items()}, options.turns)
        for kind in ("one permutation", "independent"):
            assert np.array_equal(made[kind][1], made[f"{kind}, alone"][1])
        table = Table(**{f"{hashes} hashes, {values} values": "<26"}, µs="8.2f", error="8.4f")
        for name, (seconds, found) in made.items():
            rows = found if isinstance(found, np.ndarray) else np.array(found.to_rows())
            table.row(name, seconds / len(sets[1]) * 1e6, error(rows, hashes))


if __name__ == "__main__":
    main()
