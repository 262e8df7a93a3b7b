"""Measures of similarity, and the overlaps that their thresholds require, as whole numbers.

A threshold becomes a ratio of integers, from which every bound follows without rounding.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Hashable
from dataclasses import dataclass, replace
from fractions import Fraction
from math import isqrt
from numbers import Rational, Real
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from scrapy_neardup.errors import ConfigurationError
from scrapy_neardup.fingerprints.hashing import Integers
from scrapy_neardup.settings.validation import whole_number

MeasureName = Literal["jaccard", "cosine", "dice", "overlap", "containment", "hamming"]
Floats = NDArray[np.float64]

LARGEST_UNION = 1 << 26
"""Number of distinct tokens of two sets below which their resemblance is decided exactly."""

UNREACHABLE = 1 << 40
"""An overlap that no two sets reach, because tokens have 32-bit numbers."""


def resemblance(a: Collection[Hashable], b: Collection[Hashable]) -> float:
    """Return the Jaccard coefficient of two sets, 0 if both are empty (Broder 1997, section 2)."""
    a, b = set(a), set(b)
    union = len(a | b)
    return len(a & b) / union if union else 0.0


def containment(a: Collection[Hashable], b: Collection[Hashable]) -> float:
    """Return the share of `a` that is in `b`, 0 if `a` is empty (Broder 1997, section 2)."""
    a, b = set(a), set(b)
    return len(a & b) / len(a) if a else 0.0


class IntegerMeasure(NamedTuple):
    """A measure in whole numbers, for compiled joins; x and y are sizes, o is an overlap.

    Sets are similar for ``"jaccard"`` where ``o * (p + q) >= p * (x + y)``; ``"cosine"``: ``(o *
    q) ** 2 >= p * p * x * y``; ``"overlap"``: ``o >= p``; ``"containment"``: ``o * q >= p * x``;
    ``"hamming"``: ``o >= max(1, x + y - p - o)``. p and q are 0 to `UNREACHABLE`, those of a ratio
    at most `LARGEST_UNION`.
    """

    kind: str
    p: int
    q: int = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Measure:
    """A similarity with its threshold, as the overlap that a pair of sizes requires.

    Sizes are numbers of distinct tokens, at least 1. `smallest_partner` is the least size of a set
    that can be similar to a set that isn't smaller, or that can contain it if the measure is
    directed (containment of x in y). `required` is the least overlap with which sets of sizes x, y
    are similar, ints or int64 arrays, `value_many` the similarity, float64, by overlap, x and y.
    `rule` is for compiled code; None if its numbers are too large.
    """

    smallest_partner: Callable[[int], int]
    required: Callable[[Any, Any], Any]
    value_many: Callable[[Integers, Integers, Integers], Floats]
    directed: bool = False
    disjoint: int = 0
    """Sum of two sizes up to which sets without a common token are similar."""
    rule: IntegerMeasure | None = None

    def probing_prefix(self, size: int) -> int:
        """Return the number of a set's rarest tokens that meet each similar set that isn't larger.

        The prefix filtering principle (Xiao et al. 2008, section 3, lemma 1).
        """
        return max(0, size - int(self.required(size, self.smallest_partner(size))) + 1)

    def indexing_prefix(self, size: int) -> int:
        """Return the same for partners that aren't smaller; fewer suffice (section 4.3)."""
        return max(0, size - int(self.required(size, size)) + 1)


def jaccard(threshold: float | Fraction) -> Measure:
    """Return the resemblance: overlap / union."""
    p, q = comparable(exact_share("jaccard", threshold)).as_integer_ratio()
    return Measure(
        smallest_partner=lambda size: -(-p * size // q),
        required=lambda x, y: -(-p * (x + y) // (p + q)),
        value_many=lambda overlap, x, y: overlap / (x + y - overlap),
        rule=IntegerMeasure("jaccard", p, q),
    )


def cosine(threshold: float | Fraction) -> Measure:
    """Return the overlap divided by the geometric mean of the sizes."""
    p, q = exact_share("cosine", threshold).as_integer_ratio()

    def required(x: Any, y: Any) -> Any:
        # o >= p/q * sqrt(x * y) if and only if o * o >= p * p * x * y / (q * q).
        if isinstance(x, int):
            return isqrt(-(-p * p * x * y // (q * q)) - 1) + 1
        # There are few products; multiplied by p * p they only fit into Python's integers.
        products, which = np.unique(x * y, return_inverse=True)
        table = [required(product, 1) for product in products.tolist()]
        return np.array(table, dtype=np.int64)[which]

    return Measure(
        smallest_partner=lambda size: -(-p * p * size // (q * q)),
        required=required,
        value_many=lambda overlap, x, y: overlap / np.sqrt((x * y).astype(np.float64)),
        rule=IntegerMeasure("cosine", p, q) if q <= LARGEST_UNION else None,
    )


def dice(threshold: float | Fraction) -> Measure:
    """Return the overlap divided by the mean size: Dice t is Jaccard t / (2 - t)."""
    share = exact_share("dice", threshold)
    measure = jaccard(share / (2 - share))
    return replace(measure, value_many=lambda overlap, x, y: 2 * overlap / (x + y))


def overlap(threshold: float | Fraction) -> Measure:
    """Return the number of common tokens."""
    least = min(whole_number("the overlap threshold", threshold, least=1), UNREACHABLE)
    return Measure(
        smallest_partner=lambda _: least,
        required=lambda x, _: least + 0 * x,
        value_many=lambda overlap, _, __: overlap.astype(np.float64),
        rule=IntegerMeasure("overlap", least),
    )


def hamming(distance: float | Fraction) -> Measure:
    """Return the number of tokens that only one set has, at most `distance` (section 2.1).

    Sets without a common token may be as close if they are small: the caller adds these.
    """
    most = min(whole_number("the Hamming distance", distance, least=0), UNREACHABLE)
    return Measure(
        smallest_partner=lambda size: max(1, size - most),
        required=lambda x, y: np.maximum(1, -(-(x + y - most) // 2)),
        value_many=lambda overlap, x, y: (x + y - 2 * overlap).astype(np.float64),
        disjoint=most,
        rule=IntegerMeasure("hamming", most),
    )


def contained(threshold: float | Fraction) -> Measure:
    """Return the overlap divided by the size of x: the share of x that is in y."""
    p, q = comparable(exact_share("containment", threshold)).as_integer_ratio()
    return Measure(
        smallest_partner=lambda size: -(-p * size // q),
        required=lambda x, _: -(-p * x // q),
        value_many=lambda overlap, x, _: overlap / x,
        directed=True,
        rule=IntegerMeasure("containment", p, q),
    )


MEASURES: dict[str, Callable[[float | Fraction], Measure]] = {
    "jaccard": jaccard,
    "cosine": cosine,
    "dice": dice,
    "overlap": overlap,
    "containment": contained,
    "hamming": hamming,
}


def open_measure(name: MeasureName, threshold: float | Fraction) -> Measure:
    """Return a measure by name; its threshold is at most 1, or for `overlap` a whole number."""
    try:
        factory = MEASURES[name]
    except (KeyError, TypeError):
        known = ", ".join(repr(known) for known in MEASURES)
        raise ConfigurationError(f"measure must be one of {known}, not {name!r}") from None
    return factory(threshold)


def exact_share(measure: str, threshold: float | Fraction) -> Fraction:
    """Return the ratio that a threshold stands for: 0.8 is four fifths, not the nearest double.

    At most one of the ratios that round to a double has a denominator up to `LARGEST_UNION`. So
    a pair is a result if and only if ``overlap / union >= threshold`` in double precision.
    """
    number = isinstance(threshold, Real) and not isinstance(threshold, bool)
    if not number or not 0 < threshold <= 1:  # NaN fails every comparison
        raise ConfigurationError(
            f"the {measure} threshold must be a number above 0 and at most 1, not {threshold!r}"
        )
    exact = Fraction(threshold if isinstance(threshold, Rational) else float(threshold))
    simple = exact.limit_denominator(LARGEST_UNION)
    return simple if float(simple) == float(exact) else exact


def comparable(ratio: Fraction) -> Fraction:
    """Return the least ratio >= `ratio` with a denominator up to `LARGEST_UNION`.

    No overlap / union lies between the two, and products with a number of tokens fit into 64 bits.
    """
    near = ratio.limit_denominator(LARGEST_UNION)
    if near >= ratio:
        return near
    # The next larger one of the Farey sequence: c/d with c*b - a*d = 1 and the largest d.
    a, b = near.as_integer_ratio()
    d = LARGEST_UNION - (LARGEST_UNION + pow(a, -1, b)) % b if a else LARGEST_UNION
    return Fraction(1 + a * d, b * d)
