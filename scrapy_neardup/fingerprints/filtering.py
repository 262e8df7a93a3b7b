"""The choice of a filter (`broder.Filter`), and the digests of features that pages share."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations
from math import comb
from typing import Literal

import numpy as np

from scrapy_neardup.errors import ConfigurationError
from scrapy_neardup.fingerprints.broder import Filter, Hashes
from scrapy_neardup.fingerprints.hashing import PUBLIC
from scrapy_neardup.settings.arguments import whole_number
from scrapy_neardup.settings.catalogue import OPTIONS
from scrapy_neardup.settings.validation import MAX_FEATURES

MAX_COMBINATIONS = 5_000
"""Maximum number of choices of r of k features; each costs a sort of all pages."""

FilterRule = Literal["area", "slope"]

_GRID = 400
"""Number of resemblances at which curves are compared."""


def checked_filter(numbers: tuple[int, int, int] | str) -> Filter:
    """Return the filter of k, s and r, or of ``"6,14,2"``; see ``NEARDUP_FEATURES``."""
    return Filter(*OPTIONS["features"].read(numbers))


def choose_filter(
    threshold: float, *, minima: int = 84, features: int = 8, rule: FilterRule = "area"
) -> Filter:
    """Return the filter that comes closest to accepting exactly the pairs above a threshold.

    `threshold` is a resemblance above 0 and below 1. `minima` is the maximum of k * s, the work a
    page, and `features` the maximum of k, the look-ups a page. The `rule` ``"area"`` takes the
    least area between the curve and the step from 0 to 1 at the threshold, which decides the
    fewest pairs wrongly if all resemblances are equally frequent. ``"slope"`` takes the steepest
    curve at the threshold (Broder 2000; AltaVista's 6, 14 and 2 accept half of the pairs at
    .909). O(minima * features^2), some milliseconds. Raises `ConfigurationError` for an argument
    out of range.

    >>> choose_filter(0.9).acceptance(0.98) > 0.95
    True
    """
    minima = whole_number("the number of minima", minima, least=1)
    features = whole_number("the number of features", features, least=1, most=MAX_FEATURES)
    if not 0 < threshold < 1:
        raise ConfigurationError(f"the threshold must be above 0 and below 1, not {threshold!r}")
    if rule == "slope":
        filters = (
            Filter(count, size, shared)
            for count in range(1, min(features, minima) + 1)
            for size in range(1, minima // count + 1)
            for shared in range(1, count + 1)
        )
        return max(filters, key=lambda each: each.slope(threshold))
    grid = (np.arange(_GRID) + 0.5) / _GRID
    wanted = (grid >= threshold).astype(np.float64)
    best = (np.inf, Filter(1, 1, 1))
    for count in range(1, min(features, minima) + 1):
        ways = np.array([comb(count, equal) for equal in range(count + 1)], np.float64)[:, None]
        equal = np.arange(count + 1)[:, None]
        for size in range(1, minima // count + 1):
            one = grid**size
            exactly = ways * one**equal * (1 - one) ** (count - equal)
            at_least = np.cumsum(exactly[::-1], axis=0)[::-1]
            areas = np.abs(at_least[1:] - wanted).sum(axis=1)
            shared = int(areas.argmin()) + 1
            best = min(best, (float(areas[shared - 1]), Filter(count, size, shared)))
    return best[1]


def mega_shingles(features: Hashes, shared: int) -> Iterator[Hashes]:
    """Yield a digest of each page, uint64 of shape (n,), for every choice of `shared` features.

    Two pages share at least r of their k features if and only if one of these digests is equal,
    apart from collisions of 64 bits. So shared features needn't be counted, and the time is linear
    for any number of similar pages. `features` are uint64 of shape (n, k). Digests of different
    choices are equal only by accident. Raises `ConfigurationError` if r isn't from 1 to k, or
    there are more than `MAX_COMBINATIONS` choices. Broder 2000 counts shared features;
    Fetterly, Manasse & Najork, "On the evolution of clusters of near-duplicate web pages", 2003,
    section 2, look up every pair of six features as a mega-shingle.
    """
    count = features.shape[1]
    shared = whole_number("the number of shared features", shared, least=1, most=count)
    if comb(count, shared) > MAX_COMBINATIONS:
        raise ConfigurationError(
            f"there are {comb(count, shared):,} ways to share {shared} of {count} features, and"
            f" {MAX_COMBINATIONS:,} at most can be looked up: take fewer features"
        )
    for number, chosen in enumerate(combinations(range(count), shared), 1):
        digests = PUBLIC.mix(np.full(len(features), number, np.uint64) * PUBLIC.seed)
        for place in chosen:
            digests = PUBLIC.mix(digests ^ features[:, place])
        yield digests
