"""Broder's filter: a page's minima are cut into a few groups, each digested to a feature.

Features are only compared for equality. Two pages are near-duplicates if at least r of their k
features are equal, each the digest of s minima. Features are few and rare enough for an index,
while sketches can only be compared. AltaVista took k = 6, s = 14 and r = 2 (Broder, "Identifying
and filtering near-duplicate documents", CPM 2000).
"""

from __future__ import annotations

from fractions import Fraction
from math import comb
from typing import NamedTuple

import numpy as np

from scrapy_neardup.errors import ConfigurationError
from scrapy_neardup.fingerprints.hashing import Hashes, empty_digest
from scrapy_neardup.fingerprints.minwise import one_permutation_sketch
from scrapy_neardup.settings.catalogue import OPTIONS, Permutations


def group_digests(minima: Hashes, size: int) -> Hashes:
    """Return the 64-bit `digest`, never 0, of each group of `size` minima, in their order."""
    data = minima.astype("<u8", copy=False).tobytes()
    width = 8 * size
    begun = empty_digest(None, 64).copy()
    begun.update(width.to_bytes(8, "little"))
    digests = []
    for start in range(0, len(data), width):
        state = begun.copy()
        state.update(data[start : start + width])
        digests.append(state.digest())
    found: Hashes = np.maximum(np.frombuffer(b"".join(digests), "<u8"), np.uint64(1))
    return found


class Filter(NamedTuple):
    """Broder's k, s and r: `features` of `size` minima each; `shared` of them must be equal."""

    features: int
    size: int
    shared: int

    @property
    def bins(self) -> int:
        """Number of bins into which the range of a single permutation is cut."""
        return max(16, 1 << (self.features * self.size - 1).bit_length())

    def acceptance(self, resemblance: float | Fraction) -> float:
        """Return the probability that two pages of the resemblance rho are accepted.

        P[k, s, r](rho) = sum over i >= r of C(k, i) * rho^(s * i) * (1 - rho^s)^(k - i) (Broder
        2000, section 4): the exact sum for the number that was passed, rounded once. Raises
        `ConfigurationError` unless rho is from 0 to 1, s positive and r from 1 to k.

        >>> [round(Filter(6, 14, 2).acceptance(rho), 4) for rho in (0.77, 0.909, 0.975)]
        [0.0093, 0.4965, 0.9893]
        """
        k, s, r = self
        if not (0 <= resemblance <= 1 and s >= 1 and 1 <= r <= k):
            raise ConfigurationError(
                f"{r} of {k} features of {s} minima at resemblance {resemblance}: the"
                " resemblance must be from 0 to 1, the sizes 1 or more, and the number of"
                " shared features no larger than the number of features"
            )
        equal = Fraction(resemblance) ** s
        return float(sum(comb(k, i) * equal**i * (1 - equal) ** (k - i) for i in range(r, k + 1)))

    def features_of(self, shingles: Hashes, permutations: Permutations = "independent") -> Hashes:
        """Return the features of a page, uint64 of shape (features,).

        `shingles` are uniform, uint64 of shape (n,); a repeated one counts once. `permutations`
        are ``"independent"``: k * s of them, as the curve assumes, in O(n * k * s); or ``"one"``,
        whose range is cut into k * s bins, or the next power of two, up to 1,024, in O(n). The
        plugin uses one (`scrapy_neardup.judge`). Its curve is the same, as far as can be measured
        (docs/quality.md). Raises `ConfigurationError` for others, `NoFeaturesError` if there is no
        shingle.
        """
        if permutations == "independent":
            from scrapy_neardup.fingerprints.independent import minima  # noqa: PLC0415

            return self.digests(minima(shingles, self.features * self.size))
        if permutations == "one":
            return self.digests(one_permutation_sketch(shingles, self.bins))
        raise ConfigurationError(
            f"permutations must be 'independent' or 'one', not {permutations!r}"
        )

    def digests(self, least: Hashes) -> Hashes:
        """Return a 64-bit digest, never 0, of each s of the first k * s minima: shape (features,).

        Feature i of one page is compared with feature i of another. Raises `ConfigurationError` if
        there are fewer minima.
        """
        needed = self.features * self.size
        if len(least) < needed or not needed:
            raise ConfigurationError(
                f"{self.features} features of {self.size} minima need {needed} minima, 1 or more,"
                f" not {len(least)}"
            )
        return group_digests(least[:needed], self.size)


def checked_filter(numbers: tuple[int, int, int] | str) -> Filter:
    """Return the filter of k, s and r, or of ``"6,14,2"``; see ``NEARDUP_FEATURES``."""
    return Filter(*OPTIONS["features"].read(numbers))
