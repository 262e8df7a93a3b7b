"""Token hashes to features: word shingles and their weights.

Rule of this room: arrays in, arrays out; a feature is a 64-bit number and knows nothing
of words.

The hash of the shingle t1 ... tw is ``mix(s)`` with ``s = 0; for t: s = step(s) + t`` and
``step(s) = s * k ^ (s * k) >> 32`` (mod 2**64); `mix` is that of the token hash. It depends
on the order of the tokens, and no step of it is linear, so repeated tokens don't cancel.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from scrapy_neardup.errors import ConfigurationError
from scrapy_neardup.fingerprints.hashing import PUBLIC, constant

Weights: TypeAlias = (
    Literal["set", "tf", "sqrt", "log"]
    | Callable[[NDArray[np.uint64], NDArray[np.int64]], NDArray[np.float64]]
)
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

_MAX_TABLE = 1 << 20
"""Shingles that are told apart by a hash table."""

_STEP, _32 = constant(0xD6E8FEB86659FD93), constant(32)


def features(
    tokens: NDArray[np.uint64],
    *,
    shingle_size: int = 3,
    weights: Weights = "set",
    ascending: bool = False,
) -> tuple[NDArray[np.uint64], NDArray[np.float64] | None]:
    """Return the distinct shingles of a text and their weights.

    Parameters
    ----------
    tokens : ndarray of uint64, shape (tokens,)
        Token hashes in the order of the text.
    shingle_size
        Tokens a shingle. A text with fewer has one shingle, of all it has.
    weights
        See `Weights`.
    ascending
        Whether the shingles are sorted.

    Returns
    -------
    hashes : ndarray of uint64, shape (features,)
        Distinct; unless `ascending`, in no particular order; none where there are no tokens.
    weights : ndarray of float64, shape (features,), or None
        None for ``"set"``: every weight is 1.

    Raises
    ------
    ConfigurationError
        For weights that can't be used.

    Notes
    -----
    O(n) for sets, O(n log n) with weights or in order. Broder 1997, "On the resemblance and
    containment of documents", section 2, defines the shingling of a document.
    """
    if not callable(weights) and weights not in ("set", *_SCHEMES):
        raise ConfigurationError(
            f"NEARDUP_WEIGHTS must be 'set', 'tf', 'sqrt', 'log' or a callable, not {weights!r}"
        )
    hashes = _shingles(tokens, shingle_size)
    if weights == "set":
        return _distinct(hashes, ascending), None
    hashes.sort()
    starts = np.flatnonzero(_differs(hashes))
    distinct, counts = hashes[starts], np.diff(starts, append=len(hashes))
    if not callable(weights):
        return distinct, _SCHEMES[weights](counts)
    return distinct, _checked(weights(distinct, counts), len(distinct))


def _distinct(hashes: NDArray[np.uint64], ascending: bool) -> NDArray[np.uint64]:
    """Return the distinct values; may reorder `hashes`.

    A hash table of one probe, where the few that find another value in their slot are
    sorted: a third of the time of a sort. Beyond a core's cache a sort is as fast, and
    takes no memory.
    """
    if ascending or not 0 < len(hashes) <= _MAX_TABLE:
        hashes.sort()
        return hashes[_differs(hashes)]
    bits = len(hashes).bit_length() + 2
    slots = (hashes >> constant(64 - bits)).view(np.int64)
    places = np.arange(len(hashes), dtype=np.int32)
    table = np.empty(1 << bits, np.int32)
    table[slots] = places
    owners = table.take(slots)
    owns = owners == places
    kept: NDArray[np.uint64] = hashes[owns]
    others = (~owns).nonzero()[0]
    lost = hashes.take(others)
    lost = lost[lost != hashes.take(owners.take(others))]
    if not len(lost):
        return kept
    lost.sort()
    return np.concatenate([kept, lost[_differs(lost)]])


def _differs(ordered: NDArray[np.uint64]) -> NDArray[np.bool_]:
    """Say of each value whether it is the first of its kind."""
    first = np.ones(len(ordered), np.bool_)
    np.not_equal(ordered[1:], ordered[:-1], out=first[1:])
    return first


def _checked(weights: NDArray[np.float64], expected: int) -> NDArray[np.float64]:
    values = np.asarray(weights, np.float64)
    if values.shape != (expected,) or not np.isfinite(values).all() or (values < 0).any():
        raise ConfigurationError(
            "NEARDUP_WEIGHTS: the callable must return one finite weight >= 0 for each of "
            f"{expected} features, not (shape {values.shape}) {values}"
        )
    return values


def _shingles(tokens: NDArray[np.uint64], size: int) -> NDArray[np.uint64]:
    """Hash every run of `size` tokens; shape (tokens - size + 1,)."""
    if size < 1:
        raise ConfigurationError(f"NEARDUP_SHINGLE_SIZE must be 1 or more, not {size}")
    size = min(size, len(tokens))
    if size == 0:
        return np.empty(0, np.uint64)
    hashes: NDArray[np.uint64] = tokens[: len(tokens) - size + 1].copy()
    for start in range(0, len(hashes), _BLOCK):
        block = hashes[start : start + _BLOCK]
        for place in range(1, size):
            block *= _STEP
            block ^= block >> _32
            block += tokens[start + place : start + place + len(block)]
        PUBLIC.mix(block)
    return hashes
