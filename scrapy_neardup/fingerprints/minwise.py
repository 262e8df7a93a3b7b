"""A set of shingles to a small sketch from which resemblance is read: one-permutation hashing.

Rule of this room: a sketch depends on the set only, neither on the order in which its
shingles come nor on the machine. What is computed here is written into stores: a change of
any value is a new `HASH_VERSION`.

The shingles are dealt into bins by the leading bits of their hashes, and of each bin the
smallest hash is kept (Li, Owen & Zhang, "One permutation hashing", NIPS 2012). Two sets agree
in a bin with the probability of their resemblance, so its estimate is the share of equal
bins: what k minima under k permutations give, at the cost of one.

*Bins that stay empty*, as some do if there are not many more shingles than bins, are filled
by throwing all shingles again, rehashed, until each bin has been hit; what hit it first
counts (Dahlgaard, Knudsen & Thorup, "Fast similarity sketching", FOCS 2017, algorithm 1).
That keeps the probability, as copying another bin does, but never says one thing twice.
Standard errors at resemblance .9 with 256 bins (``benchmarks/densification.py``, 1,000 pairs);
of 256 minima under permutations of their own it is .0187:

======== ============== ============= ============== ========
shingles rotation, 2014 optimal, 2017 Mai et al. '20 throwing
======== ============== ============= ============== ========
20       .061           .022          .018           .013
100      .030           .021          .019           .013
200      .022           .019          .018           .013
500      .017           .017          .017           .014
======== ============== ============= ============== ========

(Shrivastava & Li, "Densifying one permutation hashing via rotation", ICML 2014; Shrivastava,
"Optimal densification for fast and accurate minwise hashing", ICML 2017; Mai et al., "On
densification for minwise hashing", UAI 2020.)
"""

from __future__ import annotations

from math import log

import numpy as np
from numpy.typing import NDArray

from scrapy_neardup._speed import has_twin
from scrapy_neardup.errors import ConfigurationError, NoFeaturesError
from scrapy_neardup.fingerprints.hashing import PUBLIC, constant
from scrapy_neardup.kinds import BITS, MAX_BINS, MIN_BINS

_RANK_BITS = 53
"""A minimum is the number of its throw (11 bits), then the low bits of its hash: they share
none with the leading ten that choose a bin."""

_RANK = constant((1 << _RANK_BITS) - 1)
_THROW = constant(_RANK_BITS)
_UNFILLED = constant((1 << 64) - 1)
_STEP = constant(0x9E3779B97F4A7C15)
"""The shingle's hash at throw t is mix(shingle + t * step): SplitMix64's stream from it."""

_BLOCK = 1 << 18
"""Bytes of sketches compared at once: what fits a core's cache."""


def one_permutation_sketch(shingles: NDArray[np.uint64], bins: int) -> NDArray[np.uint64]:
    """Return the minimum of each bin of a set of shingles.

    The share of places where two sketches are equal estimates the resemblance J of the sets
    without bias, with a standard error of at most sqrt(J * (1 - J) / `bins`).

    Parameters
    ----------
    shingles
        Shape (n,), uint64, distinct, uniform; in any order.
    bins
        A power of two from 16 to 1024.

    Returns
    -------
    ndarray of uint64, shape (bins,)

    Raises
    ------
    ConfigurationError
        `bins` is something else.
    NoFeaturesError
        There is no shingle.

    Notes
    -----
    O(n + bins * log(bins)) expected; 1,000 shingles take 10 to 50 µs.
    """
    if not MIN_BINS <= bins <= MAX_BINS or bins & (bins - 1):
        raise ConfigurationError(
            f"the bins of a sketch must be a power of two from {MIN_BINS} to {MAX_BINS},"
            f" not {bins}"
        )
    if not len(shingles):
        raise NoFeaturesError("a set without shingles has no sketch")
    return minima_of(np.ascontiguousarray(shingles), bins)


def held_by(sketch: NDArray[np.uint64], shingles: NDArray[np.uint64]) -> NDArray[np.bool_]:
    """Say of each bin whether its minimum is that of one of these shingles of the set.

    These are the bins that would have another minimum without them.

    Parameters
    ----------
    sketch
        Shape (bins,), uint64, from `one_permutation_sketch`.
    shingles
        Shape (n,), uint64, distinct: some of those that it was made of.

    Notes
    -----
    O(bins + n * throws) where the sketch took that many throws to fill: a handful, unless its
    set is small.
    """
    return owners(sketch, shingles, np.ones(len(shingles), np.uint8)) > 0


def b_bit_sketch(sketch: NDArray[np.uint64], bits: int) -> NDArray[np.uint8]:
    """Return `bits` bits of each minimum, packed.

    The bits are the lowest of the mixed minimum, so that they depend on all of it. Bin i
    takes the bits from ``i * bits % 8`` on of byte ``i * bits // 8``.

    Parameters
    ----------
    sketch
        Shape (bins,), from `one_permutation_sketch`.
    bits
        1, 2, 4 or 8.

    Returns
    -------
    ndarray of uint8, shape (bins * bits / 8,)

    Raises
    ------
    ConfigurationError
        For other `bits`.

    References
    ----------
    Li & König, "b-Bit minwise hashing", WWW 2010, section 2.
    """
    _check_bits(bits)
    lowest = PUBLIC.mix(sketch.copy()).astype(np.uint8)[:, None]
    values = np.unpackbits(lowest, axis=1, count=bits, bitorder="little")
    return np.packbits(values, bitorder="little")


def b_bit_resemblance(ours: NDArray[np.uint8], theirs: NDArray[np.uint8], bits: int) -> float:
    """Return the estimated resemblance of two sets from their b-bit sketches.

    Different minima agree in b bits by accident, one in 2^b; with a share E of equal
    values, (E - 2^-b) / (1 - 2^-b) is without bias. It is 1 for equal sets, and may fall
    below 0, to -1 / (2^b - 1), where sets have almost nothing in common.

    Its standard error is at most sqrt(E * (1 - E) / bins) / (1 - 2^-b): at a resemblance
    of .9 and 256 bins .031, .023, .020 and .019 for 1, 2, 4 and 8 bits.

    Parameters
    ----------
    ours, theirs
        Shape (bytes,), uint8, from `b_bit_sketch`, of as many bins and bits.
    bits
        1, 2, 4 or 8.

    Raises
    ------
    ConfigurationError
        For other `bits`, or sketches of different sizes.

    References
    ----------
    Li & König 2010, theorem 1, for sets that are small in the universe of 2^64 hashes: there
    C1 = C2 = 2^-b.
    """
    return float(b_bit_resemblance_many(ours, theirs[None], bits)[0])


def b_bit_resemblance_many(
    ours: NDArray[np.uint8], theirs: NDArray[np.uint8], bits: int
) -> NDArray[np.float64]:
    """Return the estimated resemblance of one set and each of many.

    Parameters
    ----------
    ours
        Shape (bytes,), uint8.
    theirs
        Shape (n, bytes), uint8.
    bits
        1, 2, 4 or 8.

    Returns
    -------
    ndarray of float64, shape (n,)
        See `b_bit_resemblance`, also for the errors.

    Notes
    -----
    O(n * bytes), some 0.1 µs a sketch of 256 bytes; apart from the result, memory is
    bounded.
    """
    _check_bits(bits)
    size = ours.shape[-1]
    if theirs.shape[1:] != ours.shape:
        raise ConfigurationError(
            f"sketches of {size} and of {theirs.shape[-1]} bytes can't be compared: make both"
            " with as many bins and bits"
        )
    # Whole words at a time; no value lies across two bytes.
    word = f"u{min(8, size)}"
    differing = np.empty(len(theirs), np.int64)
    mine = np.ascontiguousarray(ours).view(word)
    rows = max(1, _BLOCK // size)
    for start in range(0, len(theirs), rows):
        block = np.ascontiguousarray(theirs[start : start + rows]).view(word)
        differing[start : start + rows] = _count_differing(block ^ mine, bits)
    accident = 2.0**-bits
    equal = 1 - differing / (size * 8 // bits)
    return np.asarray((equal - accident) / (1 - accident), np.float64)


def _count_differing(words: NDArray[np.unsignedinteger], bits: int) -> NDArray[np.int64]:
    """Count, along the last axis, the fields of `bits` bits that are not 0; changes `words`."""
    shift = bits // 2
    while shift:
        words |= words >> words.dtype.type(shift)
        shift //= 2
    lowest = sum(1 << place for place in range(0, 8, bits)) * 0x0101010101010101
    words &= words.dtype.type(lowest & np.iinfo(words.dtype).max)
    return np.asarray(np.bitwise_count(words).sum(axis=-1, dtype=np.int64))


def _check_bits(bits: int) -> None:
    if bits not in BITS:
        raise ConfigurationError(f"the bits of a minimum must be 1, 2, 4 or 8, not {bits}")


def _throw(
    shingles: NDArray[np.uint64], throws: range, bins: int
) -> tuple[NDArray[np.int64], NDArray[np.uint64]]:
    """Return where each shingle falls at each throw, and what that bin's minimum would be.

    An earlier throw is always less.
    """
    shift = constant(65 - bins.bit_length())
    if throws == range(1):  # the first, and mostly the only one where shingles are many
        return (shingles >> shift).view(np.int64), shingles & _RANK
    column = np.arange(throws.start, throws.stop, dtype=np.uint64)[:, None]
    hashes = shingles + column * _STEP
    PUBLIC.mix(hashes if throws.start else hashes[1:])
    places = (hashes >> shift).view(np.int64)
    hashes &= _RANK
    hashes |= column << _THROW
    return places.ravel(), hashes.ravel()


def _last_throw(
    shingles: NDArray[np.uint64], unfilled: NDArray[np.int64], bins: int
) -> NDArray[np.uint64]:
    throws = (unfilled + bins).astype(np.uint64)[:, None]
    ranks = PUBLIC.mix(shingles + throws * _STEP) & _RANK
    least: NDArray[np.uint64] = ranks.min(axis=1) | (constant(bins) << _THROW)
    return least


_FEW = np.arange(1, 40, dtype=np.uint64) * _STEP


@has_twin("features", _FEW, 64)
def minima_of(shingles: NDArray[np.uint64], bins: int) -> NDArray[np.uint64]:
    """Return the minima of at least one shingle; see `one_permutation_sketch`."""
    sketch = np.full(bins, _UNFILLED)
    thrown, left = 0, bins
    while left and thrown < bins:
        # As many throws at once as are likely to do, as for a collector of coupons; more would
        # be as right.
        likely = round(bins * (log(left) + 1.5) / len(shingles))
        until = min(bins, thrown + max(1, likely))
        np.minimum.at(sketch, *_throw(shingles, range(thrown, until), bins))
        thrown, left = until, int(np.count_nonzero(sketch == _UNFILLED))
    # A handful of shingles may miss a bin for ever: it takes their minimum at a throw of
    # its own, and that ends it (the second half of the algorithm).
    if left:
        unfilled = np.flatnonzero(sketch == _UNFILLED)
        sketch[unfilled] = _last_throw(shingles, unfilled, bins)
    return sketch


@has_twin("features", minima_of(_FEW, 64), _FEW, (_FEW % np.uint64(7)).astype(np.uint8))
def owners(
    sketch: NDArray[np.uint64], shingles: NDArray[np.uint64], owner: NDArray[np.uint8]
) -> NDArray[np.uint8]:
    """Say of each bin whose shingle has its minimum.

    Parameters
    ----------
    sketch
        Shape (bins,), uint64, from `one_permutation_sketch`.
    shingles
        Shape (n,), uint64, contiguous, distinct: all or some of those that it was made of.
    owner
        Shape (n,), uint8, above 0.

    Returns
    -------
    ndarray of uint8, shape (bins,)
        0 where none of the shingles has the minimum.

    Notes
    -----
    O(bins + n * throws), as `held_by`.
    """
    bins = len(sketch)
    thrown = int(sketch.max() >> _THROW)
    throws = min(thrown + 1, bins)
    places, minima = _throw(shingles, range(throws), bins)
    held = np.zeros(bins, np.uint8)
    hits = (sketch.take(places) == minima).nonzero()[0]
    held[places[hits]] = owner[hits % len(shingles)] if len(shingles) else 0
    if thrown == bins and len(shingles):
        last = np.flatnonzero(sketch >> _THROW == bins)
        for shingle, name in zip(shingles, owner, strict=True):
            hit = _last_throw(shingle[None], last, bins) == sketch[last]
            held[last[hit]] = name
    return held
