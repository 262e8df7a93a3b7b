"""Token hashes to features: word shingles and their weights.

A feature is a 64-bit number; the words behind it are gone.

The hash of the shingle t1 ... tw is ``mix(s)`` with ``s = 0; for t: s = step(s) + t`` and
``step(s) = s * k ^ (s * k) >> 32`` (mod 2**64); `mix` is that of the token hash. It depends
on the order of the tokens, and no step of it is linear, so repeated tokens don't cancel.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from scrapy_neardup._speed import has_twin
from scrapy_neardup.errors import ConfigurationError
from scrapy_neardup.fingerprints.hashing import PUBLIC, constant
from scrapy_neardup.settings.arguments import whole_number
from scrapy_neardup.settings.catalogue import OPTIONS, Weighting

WeightFunction: TypeAlias = Callable[[NDArray[np.uint64], NDArray[np.int64]], NDArray[np.float64]]
Weights: TypeAlias = Weighting | WeightFunction
"""How much a shingle counts in a simhash, c being how often it occurs.

``"set"``: 1; ``"tf"``: c; ``"sqrt"``: the root of c; ``"log"``: 1 + ln c; or a function of
(hashes, counts), both of shape (features,), that returns as many finite weights, none of
them negative. A function sees the hashes so that it can look up, say, document frequencies
(Manku et al. 2007, section 2).
"""

_SCHEMES: dict[str, Callable[[NDArray[np.int64]], NDArray[np.float64]]] = {
    "tf": lambda counts: counts.astype(np.float64),
    "sqrt": np.sqrt,
    "log": lambda counts: 1 + np.log(counts),
}

_BLOCK = 1 << 14
"""Shingles hashed at once: what fits a core's cache."""

_STEP, _32, _48 = constant(0xD6E8FEB86659FD93), constant(32), constant(48)


def features(
    tokens: NDArray[np.uint64], *, shingle_size: int = 3, weights: Weights = "set"
) -> tuple[NDArray[np.uint64], NDArray[np.float64] | None]:
    """Return the distinct shingles of a text, ascending, and their weights (`Weights`).

    `tokens` are its token hashes, uint64 of shape (tokens,). A text with fewer than `shingle_size`
    tokens has one shingle, of all it has. The hashes are uint64 and the weights float64, both of
    shape (features,); for ``"set"``, where every weight is 1, there is None. Raises
    `ConfigurationError` for weights that can't be used. O(n) up to some 100,000 shingles; see
    `ascending`. Broder 1997, "On the resemblance and containment of documents", section 2, defines
    the shingling of a document.
    """
    weights = OPTIONS["weights"].read(weights)
    hashes = shingle_hashes(tokens, shingle_size)
    if weights == "set":
        return distinct(hashes), None
    hashes = ascending(hashes)
    starts = np.flatnonzero(_differs(hashes))
    found, counts = hashes[starts], np.diff(starts, append=len(hashes))
    if not callable(weights):
        return found, _SCHEMES[weights](counts)
    return found, checked_weights(weights(found, counts), len(found))


def ascending(hashes: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Return uniform hashes in their order.

    By the leading 16 bits in linear time, as numpy sorts 16-bit numbers by radix; few values are
    out of order then, and timsort is fast on nearly sorted input. `np.sort` takes twice as long
    for 1,000 hashes, four times for 10,000.
    """
    order = np.argsort((hashes >> _48).astype(np.uint16), kind="stable")
    ordered: NDArray[np.uint64] = hashes.take(order)
    ordered.sort(kind="stable")
    return ordered


def _differs(ordered: NDArray[np.uint64]) -> NDArray[np.bool_]:
    """Return for each value whether it is the first of its kind."""
    first = np.ones(len(ordered), np.bool_)
    np.not_equal(ordered[1:], ordered[:-1], out=first[1:])
    return first


_TWICE = np.tile(np.arange(500, dtype=np.uint64) ** np.uint64(13), 2)


@has_twin("features", _TWICE)
def distinct(hashes: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Return the distinct values of uniform hashes, ascending."""
    ordered = ascending(hashes)
    found: NDArray[np.uint64] = ordered[_differs(ordered)]
    return found


def checked_weights(weights: object, expected: int) -> NDArray[np.float64]:
    """Return what a `WeightFunction` gave for `expected` features, or raise its error."""
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


def shingle_hashes(tokens: NDArray[np.uint64], size: int) -> NDArray[np.uint64]:
    """Hash every run of `size` tokens, in their order; shape (tokens - size + 1,).

    A text with fewer tokens has one shingle, of all it has.
    """
    if size < 1:
        raise ConfigurationError(f"NEARDUP_SHINGLE_SIZE must be 1 or more, not {size}")
    size = min(size, len(tokens))
    if size == 0:
        return np.empty(0, np.uint64)
    return hashes_of(np.ascontiguousarray(tokens), size)


_EXAMPLE = np.arange(50, dtype=np.uint64) ** np.uint64(13)


@has_twin("features", _EXAMPLE, 4)
def hashes_of(tokens: NDArray[np.uint64], size: int) -> NDArray[np.uint64]:
    """Hash every run of `size` tokens, 1 to their number."""
    hashes: NDArray[np.uint64] = tokens[: len(tokens) - size + 1].copy()
    for start in range(0, len(hashes), _BLOCK):
        block = hashes[start : start + _BLOCK]
        for place in range(1, size):
            block *= _STEP
            block ^= block >> _32
            block += tokens[start + place : start + place + len(block)]
        PUBLIC.mix(block)
    return hashes


def shingles_at(
    tokens: NDArray[np.uint64], starts: NDArray[np.int64], size: int
) -> NDArray[np.uint64]:
    """Return the shingles of `size` tokens that begin at these places; see `shingle_hashes`."""
    hashes: NDArray[np.uint64] = tokens.take(starts)
    for place in range(1, size):
        hashes *= _STEP
        hashes ^= hashes >> _32
        hashes += tokens.take(starts + place)
    return PUBLIC.mix(hashes)


def mod_sketch(shingles: NDArray[np.uint64], modulus: int) -> NDArray[np.uint64]:
    """Return Broder's V_m: the shingles that are 0 modulo `modulus`, sorted; n / `modulus` of n.

    Of two documents' sketches, |A & B| / |A | B| is an unbiased estimate of their resemblance and
    |A & B| / |A| of the containment of the first in the second; of other moduli,
    ``mod_sketch(sketch, larger)`` of the one comes first. `shingles` are distinct and uniform,
    uint64 of shape (n,). Raises `ConfigurationError` if `modulus` isn't a whole number from 1;
    Broder et al. ("Syntactic clustering of the Web", 1997) took 25. O(n + m * log(m)) for m that
    are kept. Broder, "On the resemblance and containment of documents", 1997, section 3.
    """
    divisor = np.uint64(whole_number("the modulus", modulus, least=1))
    return np.sort(shingles[shingles % divisor == 0])
