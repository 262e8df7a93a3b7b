"""Experiments of Xiao, Wang, Lin & Yu 2008 beside the comparison of joins (`joins.py`).

*Growth* (Figures 1 and 3 k-l): fifths of each collection, joined at one threshold: pairs,
candidates and seconds of All-Pairs, PPJoin, PPJoin+ and ours, and the root of the seconds, which
grows as a line where time grows as the square of the collection.

*Quality* (Table 2): which of the pairs that exact joins find does Broder's shingling find, and
how many of its pairs are right? A page's sketch is min-wise hashes of its word 4-shingles, 32 as
in the paper and 84 as in Broder 2000. It is judged by exact joins of numbered 4-grams of
characters, timed as `qa` (All-Pairs) and `qp` (PPJoin+), and by that of the very shingles that it
samples.

All that are timed must return the same pairs.

    python benchmarks/xiao.py --pages boost/
    python benchmarks/xiao.py --quick
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from math import sqrt

import numpy as np
from join_data import RECORDS, SEED, arguments, found, made_records, same, texts_of, timed

from scrapy_neardup.fingerprints import features, token_hashes
from scrapy_neardup.joins import (
    SimilarPairs,
    TokenSets,
    encode,
    qgrams,
    self_join,
    shingles,
    words,
)
from scrapy_neardup.joins.setjoin import Algorithm

SHINGLE_SIZE, GRAM_SIZE = 4, 4
THRESHOLDS = (0.95, 0.9, 0.85, 0.8)
MINIMA = (32, 84)
"""Min-wise hashes a page."""
PARTS = 5
PUBLISHED: tuple[Algorithm, ...] = ("all-pairs", "ppjoin", "ppjoin+")


def main() -> None:
    options = arguments(__doc__)
    what, texts = texts_of(options)
    documents = [words(text) for text in texts]
    growth(
        f"pages ({what})", len(texts), lambda count: shingles(documents[:count], SHINGLE_SIZE), 0.9
    )
    records = made_records(RECORDS // (50 if options.quick else 1))
    growth("records", len(records), lambda count: encode(records[:count]), 0.8)
    quality(texts)


def growth(what: str, count: int, encoded: Callable[[int], TokenSets], threshold: float) -> None:
    print(f"\nGrowth: {what} at {threshold}; candidates, seconds (root of the seconds)")
    names = "".join(f"{name:>27}" for name in (*PUBLISHED, "ours"))
    print(f"{'sets':>8} {'pairs':>7}{names}")
    for part in range(1, PARTS + 1):
        sets = encoded(count * part // PARTS)
        cells, expected = [], None
        for name in (*PUBLISHED, "arrays"):
            repeat = 3 if name == "arrays" else 1
            seconds, pairs = timed(
                lambda n=name, s=sets: self_join(s, threshold, algorithm=n), repeat=repeat
            )
            same(name, found(pairs), expected or found(pairs))
            expected = found(pairs)
            cells.append(f"{pairs.stats.candidates:11,} {seconds:7.3f} ({sqrt(seconds):4.2f})")
        print(f"{len(sets):8,} {len(expected or ()):7,} " + " ".join(cells), flush=True)


def quality(texts: list[str]) -> None:
    making, grams = timed(lambda: qgrams(texts, GRAM_SIZE), repeat=1)
    sketching, sketches = timed(lambda: {n: sketched(texts, n) for n in MINIMA}, repeat=1)
    exact = shingles(map(words, texts), SHINGLE_SIZE)
    print(f"\nShingling ({' and '.join(map(str, MINIMA))} minima of word {SHINGLE_SIZE}-shingles, "
          f"in {sketching:.2f} s) against exact joins of numbered {GRAM_SIZE}-grams of characters "
          f"({len(grams.tokens):,}, in {making:.2f} s) and of all the same shingles")  # fmt: skip
    print("      4-grams                                shingling              4-grams"
          "      all shingles")  # fmt: skip
    print("        pairs     ours       qa       qp   minima   pairs    join   prec. recall"
          "  prec. recall")  # fmt: skip
    for threshold in THRESHOLDS:
        joining, wanted = timed(lambda t=threshold: self_join(grams, t))
        cells = f"{len(wanted):9,} {joining:7.3f}s"
        for name in ("all-pairs", "ppjoin+"):
            taken, others = timed(
                lambda t=threshold, n=name: self_join(grams, t, algorithm=n), repeat=1
            )
            same(name, found(others), found(wanted))
            cells += f" {taken:7.2f}s"
        whole = self_join(exact, threshold)
        for number, minima in sketches.items():
            enough = -(-Fraction(str(threshold)) * number // 1)
            taken, pairs = timed(lambda m=minima, n=enough: self_join(m, n, measure="overlap"))
            print(f"{threshold:4} {cells} {number:8} {len(pairs):7,} {taken:6.3f}s "
                  f" {right(pairs, wanted)} {right(pairs, whole)}", flush=True)  # fmt: skip


def sketched(texts: list[str], count: int) -> TokenSets:
    """Sets of `count` (function, minimum) pairs: the overlap of two estimates resemblance."""
    draw = np.random.default_rng(SEED)
    flips = draw.integers(0, 2**64, count, dtype=np.uint64)
    factors = draw.integers(0, 2**64, count, dtype=np.uint64) | np.uint64(1)
    rows = []
    for text in texts:
        hashes, _ = features(token_hashes(text), shingle_size=SHINGLE_SIZE)
        if not len(hashes):
            rows.append([])
            continue
        least = [int(((hashes ^ f) * a).min()) for f, a in zip(flips, factors, strict=True)]
        rows.append(list(enumerate(least)))
    return encode(rows)


def right(estimated: SimilarPairs, wanted: SimilarPairs) -> str:
    """Return precision and recall."""
    ours, theirs = set(found(estimated)), set(found(wanted))
    hits = len(ours & theirs)
    return f"{hits / max(1, len(ours)):6.3f} {hits / max(1, len(theirs)):6.3f}"


if __name__ == "__main__":
    main()
