"""Permutations of bit positions that bring chosen blocks to the front.

Rule of this room: a permutation of f bit positions is a handful of mask-shift-or
steps, one for each distance that bits travel, so that it costs the same for one
Python integer and, per step, for a whole array.

Bit positions count from 0, the least significant one. *Front* and *leading* mean most
significant, so that sorting permuted fingerprints as integers sorts by prefix
(Manku et al. 2007, section 3.1: "we order the permuted fingerprints").
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Self

import numpy as np
from numpy.typing import NDArray

Step = tuple[int, int, int]
"""(mask of the bits that move, distance to the left, distance to the right)."""


class Gather:
    """Collect some bits of an integer, in a given order, into a shorter one.

    Parameters
    ----------
    sources
        Bit positions, the one that becomes the most significant bit first.

    Notes
    -----
    Costs O(s) for s distinct distances, at most two a run of neighbouring bits.
    """

    __slots__ = ("steps",)

    def __init__(self, sources: Sequence[int]) -> None:
        masks: dict[int, int] = {}
        for target, source in enumerate(reversed(sources)):
            distance = target - source
            masks[distance] = masks.get(distance, 0) | 1 << source
        self.steps: tuple[Step, ...] = tuple(
            (mask, max(distance, 0), max(-distance, 0)) for distance, mask in masks.items()
        )

    def apply(self, fingerprint: int) -> int:
        """Return the collected bits of one fingerprint."""
        collected = 0
        for mask, left, right in self.steps:
            collected |= (fingerprint & mask) << left >> right
        return collected

    def apply_many(self, fingerprints: NDArray[np.uint64]) -> NDArray[np.uint64]:
        """Return the collected bits of every fingerprint; same shape, uint64."""
        collected = np.zeros_like(fingerprints)
        for mask, left, right in self.steps:
            moved = fingerprints & np.uint64(mask)
            moved <<= np.uint64(left)
            moved >>= np.uint64(right)
            collected |= moved
        return collected


class Permutation:
    """A permutation of the bit positions of f-bit fingerprints.

    Parameters
    ----------
    order
        All f bit positions, the one that becomes the most significant bit first.

    Raises
    ------
    ValueError
        A position is missing or named twice.
    """

    __slots__ = ("_backward", "_forward", "order")

    def __init__(self, order: Iterable[int]) -> None:
        self.order = tuple(order)
        bits = len(self.order)
        if sorted(self.order) != list(range(bits)):
            raise ValueError(f"a permutation of {bits} bits names every position once")
        inverse = [0] * bits
        for place, source in enumerate(self.order):
            inverse[bits - 1 - source] = bits - 1 - place
        self._forward = Gather(self.order)
        self._backward = Gather(inverse)

    @classmethod
    def leading(cls, blocks: Iterable[int], *, bits: int = 64) -> Self:
        """Return the permutation that makes `blocks` the leading bits.

        Parameters
        ----------
        blocks
            Disjoint masks of bit positions. They come first, in this order; the other
            bits follow. Within a block and among the others the order stays.
        bits
            f, the number of bits of a fingerprint.
        """
        order = [bit for block in blocks for bit in positions(block)]
        order += positions((1 << bits) - 1 & ~sum(1 << bit for bit in order))
        return cls(order)

    def apply(self, fingerprint: int) -> int:
        """Return `fingerprint` with its bits permuted."""
        return self._forward.apply(fingerprint)

    def apply_many(self, fingerprints: NDArray[np.uint64]) -> NDArray[np.uint64]:
        """Return every fingerprint with its bits permuted; same shape, uint64."""
        return self._forward.apply_many(fingerprints)

    def invert(self, permuted: int) -> int:
        """Return the fingerprint that `apply` made `permuted` of."""
        return self._backward.apply(permuted)

    def invert_many(self, permuted: NDArray[np.uint64]) -> NDArray[np.uint64]:
        """Return the fingerprints that `apply_many` made `permuted` of."""
        return self._backward.apply_many(permuted)

    def prefix(self, length: int) -> Gather:
        """Return what collects the leading `length` bits of the permuted fingerprint."""
        return Gather(self.order[:length])


def positions(mask: int) -> list[int]:
    """Return the positions of the 1-bits of `mask`, the most significant first."""
    return [bit for bit in range(mask.bit_length() - 1, -1, -1) if mask >> bit & 1]
