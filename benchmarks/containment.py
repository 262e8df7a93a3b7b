"""Containment (Broder 1997, section 2): the exact join beside that of resemblance, and estimates.

The join of pages by word 4-shingles (--pages, a folder of HTML; otherwise generated ones): how
long it takes beside the join by resemblance at the same threshold (required: at most `TARGET`
times as long), and in how many pages others are held that no resemblance would find. Then how far
estimates from sketches are off, for pairs that the join has found: V_m, of one shingle in m, the
M_s of 256 hashes, and the one-permutation sketch of 1,024 bins with the numbers of shingles.
(Pairs of one template share their errors: the mean of V_m is no bias.)

    python benchmarks/containment.py --pages boost/
"""

from collections import defaultdict
from functools import partial

import numpy as np
from harness import Table, timed
from join_data import found, options_and_texts

from scrapy_neardup.fingerprints import features, one_permutation_sketch, token_hashes
from scrapy_neardup.fingerprints.shingles import mod_sketch
from scrapy_neardup.joins import SimilarPairs, self_join, shingles, words

THRESHOLDS = (0.95, 0.9, 0.8)
TARGET = 4
SHINGLE_SIZE, SAMPLED = 4, 1_000
SIZE, MODULUS, BINS = 256, 8, 1024


def containment(a: np.ndarray, b: np.ndarray) -> float:
    return len(np.intersect1d(a, b)) / len(a)


def main() -> None:
    options, what, texts = options_and_texts(__doc__)
    # Articles of five pages each, which hold what they were made of.
    texts += [" ".join(texts[start : start + 5]) for start in range(0, len(texts) // 10, 5)]
    sets = shingles(map(words, texts), SHINGLE_SIZE)
    print(f"{len(texts):,} pages ({what}), {len(sets.tokens):,} word {SHINGLE_SIZE}-shingles")
    table = Table(threshold="9", resembling="10,", join="8.3f", contained="10,", candidates="10,",
                  **{"their join": "10.3f"}, ratio="5.1f", new="7,")  # fmt: skip
    for threshold in THRESHOLDS:
        usual, alike = timed(partial(self_join, sets, threshold), 3)
        taken, held = timed(partial(self_join, sets, threshold, measure="containment"), 3)
        resembling = set(found(alike))
        new = sum((min(pair), max(pair)) not in resembling for pair in found(held))
        table.row(str(threshold), len(alike), usual, len(held), held.stats.candidates, taken,
                  taken / usual, new)  # fmt: skip
        assert options.scale > 1 or taken <= TARGET * usual
    estimates(texts, held)


def estimates(texts: list[str], held: SimilarPairs) -> None:
    chosen = np.random.default_rng(1).permutation(len(held))[:SAMPLED]
    errors: dict[str, list[float]] = defaultdict(list)
    for i, j, truth in zip(held.i[chosen], held.j[chosen], held.similarity[chosen], strict=True):
        a, b = (features(token_hashes(texts[k]), shingle_size=SHINGLE_SIZE)[0] for k in (i, j))
        sampled = [mod_sketch(each, MODULUS) for each in (a, b)]
        least = [np.sort(each)[:SIZE] for each in (a, b)]
        reach = min((each[-1] for each in least if len(each) == SIZE), default=2**64 - 1)
        ours, theirs = (one_permutation_sketch(each, BINS) for each in (a, b))
        resemblance = np.mean(ours == theirs)
        shared = resemblance / (1 + resemblance) * (len(a) + len(b))
        if len(sampled[0]):
            errors[f"V_{MODULUS}"].append(containment(*sampled) - truth)
        errors[f"M_{SIZE}"].append(containment(*(each[each <= reach] for each in least)) - truth)
        errors[f"{BINS:,} bins and sizes"].append(min(shared / len(a), 1) - truth)
    print(f"\nEstimates for {len(chosen):,} pairs of containment {THRESHOLDS[-1]} or more")
    for name, off in errors.items():
        error = np.sqrt(np.mean(np.square(off)))
        print(f"{name:22} mean error {np.mean(off):+.4f}, root mean square {error:.4f}")


if __name__ == "__main__":
    main()
