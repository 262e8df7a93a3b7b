"""Designs: sets of tables that solve the Hamming Distance Problem, and their cost.

The problem (Manku, Jain & Das Sarma, WWW 2007, section 3): of 2^d stored f-bit fingerprints, find
all that differ from a query in at most k bits. A design decides speed and memory, never an answer.
`cuts.py` makes the designs of the paper.

A *probing* design has at most k blocks. With so few, perhaps no block is equal, but one has few
differing bits, and a query looks up every prefix within that radius (Norouzi, Punjani & Fleet,
"Fast search in Hamming space with multi-index hashing", CVPR 2012). It trades memory for look-ups.

A `Permutation` brings chosen blocks to the front. Positions count from 0, the least significant
bit. *Front* and *leading* mean most significant: a table sorted by permuted fingerprint is sorted
by its leading bits (section 3.1).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import combinations, pairwise
from math import comb, exp2, log2
from typing import Self

import numpy as np
from numpy.typing import NDArray

from scrapy_neardup.errors import ConfigurationError
from scrapy_neardup.settings.validation import whole_number

MAX_PROBES = 4096
"""Maximum number of look-ups of a query; more cost more than comparing a million fingerprints."""

_BUCKET_COUNTS = (1021, 2039, 4093, 8191, 16381, 32749, 65537)
"""Primes, because a prefix is hashed by its remainder. 65537 = 2^16 + 1 gives each value of
sixteen neighbouring bits its own bucket, wherever they are in the fingerprint."""

_LOOKUP = 160
"""Number of comparisons (1.2 ns each) in the time of one look-up (0.2 µs)."""


def positions(mask: int) -> list[int]:
    """Return the positions of the 1-bits of `mask`, the most significant first."""
    return [place for place in range(mask.bit_length() - 1, -1, -1) if mask >> place & 1]


def masks_within(mask: int, radius: int) -> list[int]:
    """Return every set of up to `radius` bits of `mask` as a mask, the empty one first."""
    bits = [1 << position for position in positions(mask)]
    return [sum(flipped) for size in range(radius + 1) for flipped in combinations(bits, size)]


@dataclass(frozen=True, slots=True)
class Table:
    """One table of a design: its leading blocks, and how they are looked up.

    `blocks` are disjoint masks of bit positions, together the table's prefix. A query looks up
    every prefix within the Hamming distance `radius` of its own.
    """

    blocks: tuple[int, ...]
    radius: int = 0

    @property
    def prefix_mask(self) -> int:
        """Mask of the leading bits of this table."""
        return sum(self.blocks)

    @property
    def prefix_bits(self) -> int:
        """p, the number of leading bits."""
        return self.prefix_mask.bit_count()

    @property
    def probes(self) -> int:
        """Number of prefixes that a query looks up."""
        return sum(comb(self.prefix_bits, flipped) for flipped in range(self.radius + 1))

    def expected_retrieved(self, log2_pages: float) -> float:
        """Return the expected number of 2^`log2_pages` fingerprints that a query retrieves."""
        return self.probes * exp2(log2_pages - self.prefix_bits)


@dataclass(frozen=True, slots=True)
class TableDesign:
    """A set of tables that together find every pair within `max_distance`.

    The `name` says how it is cut: ``C(r,c)`` for c leading blocks out of r, ``x`` between levels.
    """

    name: str
    tables: tuple[Table, ...]
    max_distance: int
    bits: int = 64

    @classmethod
    def probing(cls, max_distance: int, *, blocks: int, bits: int = 64) -> Self:
        """Return the design of `blocks` tables of one block each, looked up within a radius.

        Raises `ConfigurationError` unless 1 <= `blocks` <= k + 1 (k + 1 blocks need no radius:
        that is the cut into k + 1 blocks). Let k = r blocks + a with a < blocks. If each of the
        first a + 1 blocks had more than r differing bits and each other one more than r - 1, there
        would be at least (a + 1)(r + 1) + (blocks - a - 1)r = k + 1 of them. So the radius r is
        enough for a + 1 tables, and r - 1 for the others.
        """
        whole_number("max_distance", max_distance, least=0)
        if not 1 <= blocks <= max_distance + 1:
            raise ConfigurationError(
                f"a probing design for distance {max_distance} has 1 to {max_distance + 1} "
                f"blocks, not {blocks}"
            )
        radius, extra = divmod(max_distance, blocks)
        tables = tuple(
            Table((block,), radius if place <= extra else radius - 1)
            for place, block in enumerate(split((1 << bits) - 1, blocks))
        )
        name = f"C({blocks},1)" + (f" within {radius}" if radius else "")
        return cls(name, tables, max_distance, bits)

    @classmethod
    def online(cls, max_distance: int, expected: int) -> Self:
        """Return the design that the embedded index uses for `expected` fingerprints.

        Up to k = 3 it has k + 1 tables. Beyond that it has four or five, probed: those that cost
        less if a look-up costs as much as `_LOOKUP` comparisons. More tables only take more
        memory.
        """
        most = max_distance + 1
        designs = [
            cls.probing(max_distance, blocks=blocks)
            for blocks in range(min(most, 4), min(most, 5) + 1)
        ]
        pages = log2(max(expected, 1))
        return min(
            designs, key=lambda design: design.probes * _LOOKUP + design.expected_retrieved(pages)
        )

    @property
    def prefix_bits(self) -> int:
        """The smallest p of the tables."""
        return min(table.prefix_bits for table in self.tables)

    @property
    def probes(self) -> int:
        """Number of prefixes that a query looks up in all tables."""
        return sum(table.probes for table in self.tables)

    def expected_retrieved(self, log2_pages: float) -> float:
        """Return the expected number of fingerprints that a query retrieves from all tables."""
        return sum(table.expected_retrieved(log2_pages) for table in self.tables)

    def bucket_count(self, expected: float) -> int:
        """Return the number of buckets of a table of the embedded index.

        About one for every 32 of `expected` fingerprints, within limits: more buckets take
        memory, and fuller buckets take time to read.
        """
        longest = max(table.prefix_bits for table in self.tables)
        enough = min(expected / 32, 1 << longest)
        return next((count for count in _BUCKET_COUNTS if count >= enough), _BUCKET_COUNTS[-1])


def split(mask: int, blocks: int) -> list[int]:
    """Cut the bits of `mask` into blocks from the front, wider blocks first."""
    bits = positions(mask)
    width, wider = divmod(len(bits), blocks)
    if width == 0:
        raise ConfigurationError(f"{len(bits)} bits can't be cut into {blocks} blocks")
    ends = [place * width + min(place, wider) for place in range(blocks + 1)]
    return [sum(1 << bit for bit in bits[start:end]) for start, end in pairwise(ends)]


Step = tuple[int, int, int]
"""Mask of the bits that move, distance to the left, distance to the right."""


class Permutation:
    """A permutation of the bit positions of f-bit fingerprints, f at most 64.

    It is a few mask-shift-or steps, one for each distance that bits move. `order` has all
    positions; the first one becomes the most significant bit (`ConfigurationError` if one is
    missing or repeated). `apply` and `invert` cost O(s) for the s distinct distances in `steps`
    and `inverse_steps`. There are at most two for each run of chosen neighbours: about 0.1 µs a
    run for one fingerprint, 1 ns a run and fingerprint for arrays.
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
    def leading(cls, blocks: Iterable[int]) -> Self:
        """Return the permutation of 64 bits that makes `blocks`, disjoint masks, the leading ones.

        They come first, in this order; the other bits follow. Bits keep their order within a block
        and among the others.
        """
        order = [position for block in blocks for position in positions(block)]
        return cls(dict.fromkeys([*order, *range(63, -1, -1)]))

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
