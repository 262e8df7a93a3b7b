"""A sample of the pages of a collection that are worth an exact comparison.

Single pages are drawn, and each is compared with the whole collection. Of pairs within a sample of
one page in three, one in nine would be left.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from scrapy_neardup.clusters import UnionFind
from scrapy_neardup.fingerprints import broder_features, one_permutation_sketch
from scrapy_neardup.offline.evaluation.truth import Texts

_FEATURES, _SIZE, _BINS = 16, 6, 128
"""Number of features that bring pages together, minima of each, and bins of a sketch: of pairs of
resemblance 0.9 one in 100,000 shares no feature, of 0.8 one in 120, of 0.5 three quarters."""

_COMPARED = 16
"""Maximum number of earlier pages that a page is compared with for each feature: the first, and
the newest."""

_DOUBT = (0.72, 0.98)
"""Resemblances by sketch, some .03 off, that leave open whether a page is a duplicate, or whether
its drop loses content."""

_DOUBTED = 0.75
"""Share of a sample that is drawn from the pages in doubt, if there are more of them."""


@dataclass(frozen=True, slots=True)
class Foreseen:
    """Estimates from the sketches of all pages.

    `alike` (n,) float64: resemblance to the nearest of all earlier pages; `groups` (n,) int64: the
    first page of those that look alike.
    """

    alike: NDArray[np.float64]
    groups: NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Sample:
    """Numbers of pages, ascending, int64, and how many pages each stands for, float64."""

    numbers: NDArray[np.int64]
    weights: NDArray[np.float64]


def foresee(texts: Texts) -> Foreseen:
    """Compare the sketches of all pages that share a feature; 0.5 kB a page of memory."""
    count = len(texts)
    holders: dict[tuple[int, int], list[int]] = {}
    sketches = np.zeros((count, _BINS), np.uint32)
    alike = np.zeros(count)
    pairs: list[tuple[int, int]] = []
    for number in range(count):
        shingles = texts.shingles(number)
        if not len(shingles):
            continue
        minima = one_permutation_sketch(shingles, _BINS)
        sketches[number] = minima.astype(np.uint32)
        near: set[int] = set()
        features = broder_features(minima[: _FEATURES * _SIZE], _FEATURES, _SIZE)
        for feature in enumerate(features.tolist()):
            known = holders.setdefault(feature, [])
            near.update(known)
            pairs += ((first, number) for first in known[:1])
            if len(known) == _COMPARED:
                del known[_COMPARED // 2]
            known.append(number)
        if near:
            others = sketches[list(near)]
            alike[number] = (others == sketches[number]).mean(axis=1).max()
    joined = UnionFind(count)
    joined.union_many(*np.array(pairs, np.int64).reshape(-1, 2).T)
    return Foreseen(alike, joined.find_many(np.arange(count)))


def draw(seen: Foreseen, dropped: NDArray[np.bool_], size: int, seed: int = 0) -> Sample:
    """Draw up to `size` of the pages that are `dropped` (n,) or share a feature with earlier ones.

    What the sketches leave open comes first, as an estimate errs by the rest alone: a stratified
    sample.
    """
    question = dropped | (seen.alike > 0)
    doubted = question & (seen.alike >= _DOUBT[0]) & (seen.alike < _DOUBT[1])
    strata = [np.flatnonzero(doubted), np.flatnonzero(question & ~doubted)]
    sizes = [len(stratum) for stratum in strata]
    first = min(sizes[0], max(int(_DOUBTED * size), size - sizes[1]))
    source = np.random.default_rng(seed)
    numbers, weights = [], []
    for stratum, wanted in zip(strata, (first, size - first), strict=True):
        drawn = source.choice(stratum, min(len(stratum), wanted), replace=False)
        numbers.append(drawn)
        weights.append(np.full(len(drawn), len(stratum) / max(len(drawn), 1)))
    order = np.argsort(together := np.concatenate(numbers))
    return Sample(together[order], np.concatenate(weights)[order])


def estimated(
    among: NDArray[np.bool_], foreseen: NDArray[np.bool_], sample: Sample, found: NDArray[np.bool_]
) -> float:
    """Estimate how many of the pages `among` (n,) have what they seem to, as `foreseen` (n,).

    `found` (m,) are the pages of the sample that have it. The difference estimator (Särndal,
    Swensson and Wretman, "Model Assisted Survey Sampling", 1992, section 6.3): what is foreseen is
    counted over all pages, and corrected by what the sample finds.
    """
    numbers = sample.numbers
    errors = found.astype(float) - foreseen[numbers]
    total = (among & foreseen).sum() + (sample.weights * errors)[among[numbers]].sum()
    return float(np.clip(total, 0, among.sum()))
