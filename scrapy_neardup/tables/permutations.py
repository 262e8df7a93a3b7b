"""Permutations of bit positions that bring chosen blocks to the front.

A permutation is a few mask-shift-or steps, one for each distance that bits move.

Positions count from 0, the least significant bit. *Front* and *leading* mean most significant: a
table sorted by permuted fingerprint is sorted by its leading bits (Manku et al. 2007,
section 3.1).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Self

import numpy as np
from numpy.typing import NDArray

from scrapy_neardup.errors import ConfigurationError
from scrapy_neardup.tables.design import positions

Step = tuple[int, int, int]
"""Mask of the bits that move, distance to the left, distance to the right."""


class Permutation:
    """A permutation of the bit positions of f-bit fingerprints, f at most 64.

    `order` has all positions; the first one becomes the most significant bit
    (`ConfigurationError` if one is missing or repeated). `apply` and `invert` cost O(s) for the
    s distinct distances in `steps` and `inverse_steps`. There are at most two for each run of
    chosen neighbours: about 0.1 µs a run for one fingerprint, 1 ns a run and fingerprint for
    arrays.
    """

    __slots__ = ("inverse_steps", "order", "steps")

    def __init__(self, order: Iterable[int]) -> None:
        self.order = tuple(order)
        bits = len(self.order)
        if bits > 64 or sorted(self.order) != list(range(bits)):
            raise ConfigurationError(
                f"order must name each of at most 64 bit positions once, not {self.order}"
            )
        inverse = sorted(range(bits), key=self.order.__getitem__, reverse=True)
        self.steps = _steps(self.order)
        self.inverse_steps = _steps([bits - 1 - place for place in inverse])

    @classmethod
    def leading(cls, blocks: Iterable[int], *, bits: int = 64) -> Self:
        """Return the permutation that makes `blocks`, disjoint masks, the leading ones of `bits`.

        They come first, in this order; the other bits follow. Bits keep their order within a block
        and among the others.
        """
        order = [position for block in blocks for position in positions(block)]
        chosen = set(order)
        order += [position for position in range(bits - 1, -1, -1) if position not in chosen]
        return cls(order)

    def apply(self, fingerprint: int) -> int:
        """Return `fingerprint` with its bits permuted."""
        return _apply(self.steps, fingerprint)

    def apply_many(self, fingerprints: NDArray[np.uint64]) -> NDArray[np.uint64]:
        """Return an array of fingerprints with their bits permuted; same shape, uint64."""
        permuted = np.zeros_like(fingerprints)
        for mask, left, right in self.steps:
            moved = fingerprints & np.uint64(mask)
            if left:
                moved <<= np.uint64(left)
            else:
                moved >>= np.uint64(right)
            permuted |= moved
        return permuted

    def invert(self, permuted: int) -> int:
        """Return the fingerprint from which `apply` made `permuted`."""
        return _apply(self.inverse_steps, permuted)


def _steps(order: Sequence[int]) -> tuple[Step, ...]:
    masks: dict[int, int] = {}
    for target, source in enumerate(reversed(order)):
        distance = target - source
        masks[distance] = masks.get(distance, 0) | 1 << source
    return tuple((mask, max(far, 0), max(-far, 0)) for far, mask in masks.items())


def _apply(steps: tuple[Step, ...], fingerprint: int) -> int:
    permuted = 0
    for mask, left, right in steps:
        permuted |= (fingerprint & mask) << left >> right
    return permuted
