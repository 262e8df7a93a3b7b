# ruff: noqa: E501, B905, INP001, SLF001, RUF001, S101, I001, C901, B008, PLR0911, RUF100
"""Sketches: sampled sets of shingles as bitmaps, and the resemblance of two pages without boilerplate.

A sketch of m bits at level s holds those shingles of a set whose hash is below 2^-s of the range of
hashes: bit i is set if one of them falls into the i-th of m equal parts of that range. A small set
is held whole (s = 0), a large one as a sample. Boilerplate is left out *when two sketches are
compared*: the bits that its own sketch sets don't count, in either page. So nothing that is learnt
later makes two stored sketches incomparable.

The number of elements behind n set bits of v is -v ln(1 - n/v) (linear counting: Whang,
Vander-Zanden & Taylor, "A linear-time probabilistic counting algorithm for database applications",
TODS 1990, section 3): two elements of a set may have one bit. What two sets share follows from the
sizes of both and of their union.
"""

from __future__ import annotations

from math import log
from typing import Final, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

MAX_DENSITY: Final = 0.35
"""Maximum number of sampled shingles, as a share of the bits. From .25 to .7 hardly differ."""

_HALF: Final = np.uint64(32)


class Sketch(NamedTuple):
    """A sampled set of shingles.

    Parameters
    ----------
    level
        s: about one shingle in 2^s is sampled.
    bits
        Bit i of the sketch as bit i of a number.
    """

    level: int
    bits: int

    @classmethod
    def of(cls, shingles: NDArray[np.uint64], size: int, level: int | None = None) -> Self:
        """Return the sketch of a set, at a level, or at the lowest that isn't too dense.

        Parameters
        ----------
        shingles
            Shape (n,), uint64, distinct, uniform, in any order.
        size
            m, the number of bits: a multiple of 64.

        Notes
        -----
        O(n + size). Only the upper half of a hash counts.
        """
        if level is None:
            level = 0
            while len(shingles) >> level > MAX_DENSITY * size:
                level += 1
        hashes = shingles >> _HALF
        if level:
            hashes = hashes[hashes < np.uint64(1 << (32 - level))] << np.uint64(level)
        marked = np.zeros(size, np.bool_)
        marked[((hashes * np.uint64(size)) >> _HALF).astype(np.int64)] = True
        return cls(
            level, int.from_bytes(np.packbits(marked, bitorder="little").tobytes(), "little")
        )

    def at(self, level: int, size: int, finest: int) -> int:
        """Return the bits of the part that two sketches share, at the level of the coarser one.

        Parameters
        ----------
        level
            That level, `level` of this sketch or above.
        finest
            The level of the finer of the two: each has ``size >> (level - finest)`` bits there.
        """
        steps = level - finest
        if self.level == level:  # the coarser one: neighbouring bits become one
            return merged(self.bits, size, steps)
        return self.bits & ((1 << (size >> steps)) - 1)


def merged(bits: int, size: int, steps: int) -> int:
    """Return a number of `size` bits with each 2^steps neighbouring bits as one. O(size)."""
    if not steps:
        return bits
    row = np.frombuffer(bits.to_bytes(size // 8, "little"), np.uint8)
    wide = np.unpackbits(row, bitorder="little")[: (size >> steps) << steps]
    narrow = np.packbits(wide.reshape(-1, 1 << steps).any(axis=1), bitorder="little")
    return int.from_bytes(narrow.tobytes(), "little")


class Overlap(NamedTuple):
    """Estimated numbers of shingles: in both pages, in ours only, in theirs only."""

    common: float
    ours: float
    theirs: float

    @property
    def resemblance(self) -> float:
        """Jaccard's; 1 where nothing is left."""
        union = sum(self)
        return max(self.common, 0.0) / union if union > 0 else 1.0

    @property
    def least(self) -> float:
        """Size of the smaller page."""
        return self.common + min(self.ours, self.theirs)

    def plus(self, other: Overlap) -> Overlap:
        """Return the overlap of two kinds of text together."""
        return Overlap(*map(sum, zip(self, other, strict=True)))

    def without(self, theirs: float) -> Overlap:
        """Return it without so many shingles that only their page has."""
        return self._replace(theirs=max(0.0, self.theirs - theirs))


def overlap(ours: Sketch, theirs: Sketch, boilerplate: int, size: int) -> Overlap:
    """Return how two sketches compare where neither page's folder has boilerplate.

    Parameters
    ----------
    boilerplate
        Bits at the higher of the two levels that don't count.

    Notes
    -----
    O(size / 64): 2 µs for 1,024 bits; where levels differ, some 10.
    """
    level, finest = max(ours.level, theirs.level), min(ours.level, theirs.level)
    a, b = (each.at(level, size, finest) for each in (ours, theirs))
    bits = size >> (level - finest)
    counted = ((1 << bits) - 1) & ~merged(boilerplate, size, level - finest)
    valid = counted.bit_count()
    if not valid:
        return Overlap(0.0, 0.0, 0.0)
    a, b = a & counted, b & counted
    union = _number(valid, (a | b).bit_count())
    only_b, only_a = union - _number(valid, a.bit_count()), union - _number(valid, b.bit_count())
    scale = bits / valid * 2.0**level
    return Overlap((union - only_a - only_b) * scale, only_a * scale, only_b * scale)


def _number(bits: int, marked: int) -> float:
    """Return the number of elements that mark so many of the bits."""
    return -bits * log(1 - marked / bits) if marked < bits else bits * log(2 * bits)
