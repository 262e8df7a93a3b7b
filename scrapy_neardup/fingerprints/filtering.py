"""Filters by features: their choice, and the digests of shared features.

It combines what `broder` and `minwise` compute.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations
from math import comb
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from scrapy_neardup.errors import ConfigurationError
from scrapy_neardup.fingerprints.broder import acceptance, broder_features, minima
from scrapy_neardup.fingerprints.hashing import PUBLIC
from scrapy_neardup.fingerprints.minwise import one_permutation_sketch
from scrapy_neardup.settings.arguments import whole_number
from scrapy_neardup.settings.catalogue import OPTIONS, Permutations
from scrapy_neardup.settings.validation import MAX_FEATURES

Hashes = NDArray[np.uint64]

MAX_COMBINATIONS = 5_000
"""Maximum number of ways to take r of k features, each of which costs a sort of all pages."""

FilterRule = Literal["area", "slope"]

_GRID = 400
"""Number of resemblances at which curves are compared."""


class Filter(NamedTuple):
    """Broder's k, s and r: `features` of `size` minima each, of which `shared` are to be equal."""

    features: int
    size: int
    shared: int

    @property
    def bins(self) -> int:
        """Number of bins into which the range of a single permutation is cut."""
        return max(16, 1 << (self.features * self.size - 1).bit_length())

    def acceptance(self, resemblance: float) -> float:
        """Return the probability of accepting two pages of a resemblance (`broder.acceptance`)."""
        return acceptance(resemblance, *self)

    def slope(self, resemblance: float) -> float:
        """Return how steeply the probability of `acceptance` rises at a resemblance."""
        k, s, r = self
        one = resemblance**s
        return r * comb(k, r) * one ** (r - 1) * (1 - one) ** (k - r) * s * resemblance ** (s - 1)

    def features_of(self, shingles: Hashes, permutations: Permutations = "independent") -> Hashes:
        """Return the features of a page.

        Parameters
        ----------
        shingles
            Shape (n,), uint64, distinct, uniform; not empty.
        permutations
            ``"independent"``: k * s of them, as the curve assumes; O(n * k * s).
            ``"one"``: a single one, whose range is cut into k * s bins, or the next power of
            two; O(n). It is what the plugin does (`scrapy_neardup.pipeline`), and its curve is
            the same within what can be measured (docs/quality.md).

        Returns
        -------
        ndarray of uint64, shape (features,)

        Raises
        ------
        ConfigurationError
            For other `permutations`; of one, there are at most 1,024 bins.
        NoFeaturesError
            There is no shingle.
        """
        if permutations == "independent":
            return self.digests(minima(shingles, self.features * self.size))
        if permutations == "one":
            return self.digests(one_permutation_sketch(shingles, self.bins))
        raise ConfigurationError(
            f"permutations must be 'independent' or 'one', not {permutations!r}"
        )

    def digests(self, least: Hashes) -> Hashes:
        """Return the features that are made of these minima, the first k * s of them."""
        return broder_features(least[: self.features * self.size], self.features, self.size)


def checked_filter(numbers: tuple[int, int, int] | str) -> Filter:
    """Return the filter of k, s and r, or of a text such as ``"6,14,2"``.

    Raises
    ------
    ConfigurationError
        They aren't what ``NEARDUP_FEATURES`` may be.
    """
    return Filter(*OPTIONS["features"].read(numbers))


def choose_filter(
    threshold: float, *, minima: int = 84, features: int = 8, rule: FilterRule = "area"
) -> Filter:
    """Return the filter that comes closest to accepting just the pairs from a threshold on.

    Parameters
    ----------
    threshold
        A resemblance, above 0 and below 1.
    minima
        What k * s may be: the work a page.
    features
        What k may be: the look-ups a page.
    rule
        ``"area"``: the least area between the curve and the step from 0 to 1 at the threshold; of
        as many pairs of every resemblance it decides the fewest wrongly. ``"slope"``: the steepest
        curve at the threshold (Broder 2000, section 4).

    Raises
    ------
    ConfigurationError
        For an argument out of range.

    Notes
    -----
    O(minima * features^2), some milliseconds. AltaVista's 6, 14 and 2 accept half of the pairs
    at .909 (Broder 2000, section 4).

    Examples
    --------
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
    """Yield for every choice of `shared` features a digest of each page's.

    Two pages share at least r of their k features just where one of these is equal, as far
    as 64-bit digests are: so that what has to share r features needs no counting, and its
    time is linear however many pages are alike.

    Parameters
    ----------
    features
        Shape (n, k), uint64: a row for each page.
    shared
        r, from 1 to k.

    Yields
    ------
    ndarray of uint64, shape (n,)
        C(k, r) times. Those of different choices are never equal but by accident.

    Raises
    ------
    ConfigurationError
        r is out of range, or there are more than `MAX_COMBINATIONS` choices.

    References
    ----------
    Broder 2000, section 4, counts shared features; Fetterly, Manasse & Najork, "On the
    evolution of clusters of near-duplicate web pages", 2003, section 2, look up every pair of
    six features as a mega-shingle.
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
