"""Experiments of Xiao, Wang, Lin & Yu 2008 beside the comparison of joins (`joins.py`).

*Growth* (Figures 1 and 3 k-l): fifths of each collection, joined at one threshold: pairs,
candidates, seconds of All-Pairs, PPJoin, PPJoin+ and ours, and the root of the seconds, which
grows as a line where time grows as the square. *Quality* (Table 2): which of the pairs that exact
joins find (of numbered 4-grams of characters, `qa` by All-Pairs and `qp` by PPJoin+, and of word
4-shingles) does Broder's shingling find, with 32 minima as in the paper and 84 as in Broder 2000?
All that are timed must return the same pairs.

    python benchmarks/xiao.py --pages boost/
"""

from collections.abc import Callable
from fractions import Fraction
from functools import partial
from math import sqrt

import numpy as np
from harness import Table, timed
from join_data import RECORDS, SEED, found, made_records, options_and_texts, same

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

SHINGLE_SIZE, GRAM_SIZE = 4, 4
THRESHOLDS = (0.95, 0.9, 0.85, 0.8)
MINIMA = (32, 84)
"""Min-wise hashes a page."""
PARTS = 5
ALGORITHMS = {"all-pairs": 1, "ppjoin": 1, "ppjoin+": 1, "arrays": 3}
"""Algorithm -> how often it is timed; the last is ours."""


def main() -> None:
    options, what, texts = options_and_texts(__doc__)
    documents = [words(text) for text in texts]
    part = lambda count: shingles(documents[:count], SHINGLE_SIZE)  # noqa: E731
    growth(f"pages ({what})", len(texts), part, 0.9)
    records = made_records(RECORDS // options.scale)
    growth("records", len(records), lambda count: encode(records[:count]), 0.8)
    quality(texts)


def growth(what: str, count: int, encoded: Callable[[int], TokenSets], threshold: float) -> None:
    print(f"\nGrowth: {what} at {threshold}; candidates, seconds (root of the seconds)")
    table = Table(sets="8,", pairs="7,", **dict.fromkeys([*list(ALGORITHMS)[:3], "ours"], "27"))
    for part in range(1, PARTS + 1):
        sets = encoded(count * part // PARTS)
        cells, expected = [], None
        for name, repeat in ALGORITHMS.items():
            seconds, pairs = timed(partial(self_join, sets, threshold, algorithm=name), repeat)
            same(name, found(pairs), expected := expected or found(pairs))
            cells.append(f"{pairs.stats.candidates:,} {seconds:7.3f} ({sqrt(seconds):4.2f})")
        table.row(len(sets), len(expected or ()), *cells)


def quality(texts: list[str]) -> None:
    making, grams = timed(lambda: qgrams(texts, GRAM_SIZE))
    sketching, sketches = timed(lambda: {n: sketched(texts, n) for n in MINIMA})
    exact = shingles(map(words, texts), SHINGLE_SIZE)
    print(f"\nShingling ({' and '.join(map(str, MINIMA))} minima of word {SHINGLE_SIZE}-shingles, "
          f"in {sketching:.2f} s) against exact joins of numbered {GRAM_SIZE}-grams of characters "
          f"({len(grams.tokens):,}, in {making:.2f} s) and of all the same shingles;\n"
          "precision and recall by the one and by the other")  # fmt: skip
    table = Table(at="4", pairs="9,", ours="8.3f", qa="8.2f", qp="8.2f",
                  minima="6", found="7,", join="7.3f", grams="13", shingles="13")  # fmt: skip
    for threshold in THRESHOLDS:
        joining, wanted = timed(partial(self_join, grams, threshold), 3)
        exactly = []
        for name in ("all-pairs", "ppjoin+"):
            taken, others = timed(partial(self_join, grams, threshold, algorithm=name))
            same(name, found(others), found(wanted))
            exactly.append(taken)
        whole = self_join(exact, threshold)
        for number, minima in sketches.items():
            enough = -(-Fraction(str(threshold)) * number // 1)
            taken, pairs = timed(partial(self_join, minima, enough, measure="overlap"), 3)
            table.row(str(threshold), len(wanted), joining, *exactly, number, len(pairs), taken,
                      right(pairs, wanted), right(pairs, whole))  # fmt: skip


def sketched(texts: list[str], count: int) -> TokenSets:
    """Return sets of `count` (function, minimum): the overlap of two estimates resemblance."""
    draw = np.random.default_rng(SEED)
    flips = draw.integers(0, 2**64, count, dtype=np.uint64)
    factors = draw.integers(0, 2**64, count, dtype=np.uint64) | np.uint64(1)
    rows = []
    for text in texts:
        hashes, _ = features(token_hashes(text), shingle_size=SHINGLE_SIZE)
        both = zip(flips, factors, strict=True) if len(hashes) else ()
        rows.append(list(enumerate(int(((hashes ^ f) * a).min()) for f, a in both)))
    return encode(rows)


def right(estimated: SimilarPairs, wanted: SimilarPairs) -> str:
    ours, theirs = set(found(estimated)), set(found(wanted))
    hits = len(ours & theirs)
    return f"{hits / max(1, len(ours)):6.3f} {hits / max(1, len(theirs)):6.3f}"


if __name__ == "__main__":
    main()
