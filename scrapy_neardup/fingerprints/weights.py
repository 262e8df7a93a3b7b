"""Features with weights, and their simhash.

Weights are rounded to multiples of 2**-16 and summed exactly, so neither the order of the
features nor the machine's arithmetic decides a bit.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from scrapy_neardup.errors import ConfigurationError, NoFeaturesError
from scrapy_neardup.fingerprints.hashing import token_hashes
from scrapy_neardup.fingerprints.shingles import distinct, first_of_each, shingle_hashes
from scrapy_neardup.fingerprints.simhashes import majority, set_bits
from scrapy_neardup.settings.catalogue import OPTIONS, Weighting

WeightFunction: TypeAlias = Callable[[NDArray[np.uint64], NDArray[np.int64]], NDArray[np.float64]]
Weights: TypeAlias = Weighting | WeightFunction
"""The weight in a simhash of a shingle that occurs c times.

``"set"``: 1; ``"tf"``: c; ``"sqrt"``: the root of c; ``"log"``: 1 + ln c; or a function of
(hashes, counts), both of shape (features,), that returns as many finite weights, none of
them negative. A function gets the hashes so that it can look up document frequencies, for
example (Manku et al. 2007, section 2).
"""

_SCHEMES: dict[str, Callable[[NDArray[np.int64]], NDArray[np.float64]]] = {
    "tf": lambda counts: counts.astype(np.float64),
    "sqrt": np.sqrt,
    "log": lambda counts: 1 + np.log(counts),
}

_WEIGHT_UNITS = 1 << 16
"""Units of a weight of 1: sums of whole units don't depend on their order."""

_BLOCK = 1 << 14
"""Number of weighted hashes summed in one pass."""
_PLACES = np.arange(8) * 256
_BYTE_BITS = (np.arange(256)[:, None] >> np.arange(8)) & 1


def features(
    tokens: NDArray[np.uint64], *, shingle_size: int = 3, weights: Weights = "set"
) -> tuple[NDArray[np.uint64], NDArray[np.float64] | None]:
    """Return the distinct shingles of a text, ascending, and their weights (`Weights`).

    `tokens` are its token hashes, uint64 of shape (tokens,). A text with fewer than `shingle_size`
    tokens has one shingle, of all its tokens. The hashes are uint64 and the weights float64, both
    of shape (features,); for ``"set"`` the weights, all 1, are None. Raises
    `ConfigurationError` for wrong weights. O(n log n). Broder 1997, "On the
    resemblance and containment of documents", section 2, defines the shingling of a document.
    """
    weights = OPTIONS["weights"].read(weights)
    hashes = shingle_hashes(tokens, shingle_size)
    if weights == "set":
        return distinct(hashes), None
    hashes = np.sort(hashes)
    starts = np.flatnonzero(first_of_each(hashes))
    found, counts = hashes[starts], np.diff(starts, append=len(hashes))
    if not callable(weights):
        return found, _SCHEMES[weights](counts)
    return found, checked_weights(weights(found, counts), len(found))


def checked_weights(weights: object, expected: int) -> NDArray[np.float64]:
    """Return a `WeightFunction`'s weights of `expected` features, or raise their error."""
    try:
        values = np.asarray(weights, np.float64)
    except (TypeError, ValueError):
        values = np.full(expected, np.nan)
    if values.shape != (expected,) or not np.isfinite(values).all() or (values < 0).any():
        raise ConfigurationError(
            "NEARDUP_WEIGHTS: the callable must return one finite weight >= 0 for each of "
            f"{expected} features, not {weights!r:.200}"
        )
    return values


def simhash(
    text: str, *, shingle_size: int = 3, weights: Weights = "set", key: bytes | None = None
) -> int:
    """Return the 64-bit simhash of a text; about 0.1 ms for 1,000 tokens.

    See `features` for `shingle_size` and `weights`, `token_hashes` for `key`. Raises
    `NoFeaturesError` if the text has no token.

    >>> from scrapy_neardup.fingerprints import hamming_distance
    >>> a = simhash("the quick brown fox jumps over the lazy dog")
    >>> b = simhash("The quick brown fox jumps over the lazy dog!")
    >>> hamming_distance(a, b)
    0
    """
    tokens = token_hashes(text, key=key)
    return simhash_features(*features(tokens, shingle_size=shingle_size, weights=weights))


def simhash_features(hashes: NDArray[np.uint64], weights: NDArray[np.float64] | None) -> int:
    """Return the 64-bit simhash of weighted features.

    `hashes` are uint64 of shape (n,). `weights` are float64 of that shape, not negative, and
    rounded to multiples of 2**-16; with None all are 1. O(n), about 10 ns a feature without
    weights and 25 ns with; memory is bounded. Raises `NoFeaturesError` if there is no feature, or
    none has a weight; `ConfigurationError` if the number of weights differs, one is negative, or
    they add up to 2**37 or more.
    """
    if weights is None:
        if not len(hashes):
            raise NoFeaturesError("a text without tokens has no fingerprint")
        return majority(np.ascontiguousarray(hashes))
    if weights.shape != hashes.shape or (weights < 0).any():
        raise ConfigurationError(
            f"NEARDUP_WEIGHTS: {hashes.shape} features need as many weights, none negative,"
            f" not (shape {weights.shape}) {weights}"
        )
    units = np.rint(weights * _WEIGHT_UNITS)
    total = float(units.sum())
    if not total < 1 << 53:  # below it sums of whole numbers are exact
        raise ConfigurationError(
            f"NEARDUP_WEIGHTS add up to {weights.sum():.3g}: they must stay below 2**37"
        )
    if not total:
        raise NoFeaturesError("a text without tokens or weights has no fingerprint")
    return set_bits(2 * _weigh(hashes, units) > total)


def _weigh(hashes: NDArray[np.uint64], units: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return for each of 64 bits the sum of the units of hashes that have it set."""
    sums = np.zeros(8 * 256)
    for start in range(0, len(hashes), _BLOCK):
        octets = hashes[start : start + _BLOCK].astype("<u8").view(np.uint8).reshape(-1, 8)
        weights = np.repeat(units[start : start + _BLOCK], 8)
        sums += np.bincount((octets + _PLACES).ravel(), weights=weights, minlength=len(sums))
    return np.asarray(sums.reshape(8, 256) @ _BYTE_BITS, np.float64).ravel()
