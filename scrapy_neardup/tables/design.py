"""Which tables solve the Hamming Distance Problem, and what they cost.

Rule of this room: arithmetic on block widths, nothing else. A design decides speed
and memory, never an answer: whatever is listed here finds every pair.

The problem (Manku, Jain & Das Sarma, WWW 2007, section 3): of 2^d stored f-bit
fingerprints find all that differ from a query in at most k bits. The f bits are cut
into blocks. At most k of r blocks hold a differing bit, so r - k blocks are equal: one
table for each choice of r - k blocks, with the chosen blocks as leading bits, and the
fingerprints that share a table's p leading bits with the query are all that need to
be compared: 2^(d - p) on average.

*Nested* designs (section 3.1.1) cut what is left of a table's bits, k blocks that can
hold all k differences, into blocks again. *Probing* designs (Norouzi, Punjani & Fleet,
CVPR 2012, "multi-index hashing") use fewer and longer blocks than k + 1: one of them has
few differing bits, and a query looks up every prefix within that radius too.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations, pairwise
from math import comb
from typing import Self

from scrapy_neardup.tables.permutations import Permutation, positions


@dataclass(frozen=True, slots=True)
class Table:
    """One table of a design: the blocks that lead, and how they are looked up.

    Parameters
    ----------
    blocks
        Disjoint masks of bit positions; together they are the table's prefix.
    bits
        f, the number of bits of a fingerprint.
    radius
        A query looks up every prefix within this Hamming distance of its own.
    """

    blocks: tuple[int, ...]
    bits: int = 64
    radius: int = 0

    @property
    def prefix_mask(self) -> int:
        """The bits that lead in this table."""
        return sum(self.blocks)

    @property
    def prefix_bits(self) -> int:
        """p, the number of leading bits."""
        return self.prefix_mask.bit_count()

    @property
    def permutation(self) -> Permutation:
        """The permutation that brings the blocks to the front."""
        return Permutation.leading(self.blocks, bits=self.bits)

    @property
    def probes(self) -> int:
        """How many prefixes a query looks up."""
        return sum(comb(self.prefix_bits, flipped) for flipped in range(self.radius + 1))

    def bucket_bits(self, expected: int) -> int:
        """Return how many leading bits choose a bucket of the embedded index.

        About 64 fingerprints share one: fewer cost memory, more cost time.
        """
        return min(self.prefix_bits, max(expected.bit_length() - 6, 4))

    def expected_retrieved(self, log2_pages: float) -> float:
        """Return how many of 2^`log2_pages` uniform fingerprints a query retrieves."""
        return self.probes * math.pow(2.0, log2_pages - self.prefix_bits)


@dataclass(frozen=True, slots=True)
class TableDesign:
    """A set of tables that together find every pair within `max_distance`.

    Made by `blocks`, `nested`, `probing`, `optimal` or `enumerate`.
    """

    name: str
    tables: tuple[Table, ...]
    max_distance: int
    bits: int = 64

    @classmethod
    def blocks(cls, max_distance: int, *, blocks: int, bits: int = 64) -> Self:
        """Return the C(blocks, k) tables of one split into `blocks` blocks.

        Raises
        ------
        ValueError
            Unless k < `blocks` <= `bits`.
        """
        return cls.nested(max_distance, levels=(blocks,), bits=bits)

    @classmethod
    def nested(cls, max_distance: int, *, levels: tuple[int, ...], bits: int = 64) -> Self:
        """Return the design that splits into ``levels[0]`` blocks, the rest again, and so on.

        Raises
        ------
        ValueError
            Unless every level has more than k blocks and a bit for each.
        """
        chosen = _nested_choices((1 << bits) - 1, max_distance, levels)
        name = " x ".join(f"C({blocks},{blocks - max_distance})" for blocks in levels)
        return cls(name, tuple(Table(blocks, bits) for blocks in chosen), max_distance, bits)

    @classmethod
    def probing(cls, max_distance: int, *, blocks: int, bits: int = 64) -> Self:
        """Return `blocks` tables of one block each, looked up with a radius.

        Notes
        -----
        With k = m * radius + a for m blocks, k differing bits leave at most `radius` of
        them in one of the first a + 1 blocks, or at most `radius` - 1 in one of the
        others; otherwise there were (a + 1)(radius + 1) + (m - a - 1) radius = k + 1.

        Raises
        ------
        ValueError
            Unless 1 <= `blocks` <= k + 1.
        """
        if not 1 <= blocks <= max_distance + 1:
            raise ValueError(f"a probing design has 1 to k + 1 blocks, not {blocks}")
        radius, extra = divmod(max_distance, blocks)
        radii = [radius] * (extra + 1) + [radius - 1] * (blocks - extra - 1)
        tables = tuple(
            Table((block,), bits, radius)
            for block, radius in zip(_split((1 << bits) - 1, blocks), radii, strict=True)
            if radius >= 0
        )
        return cls(f"{len(tables)} probed within {radius}", tables, max_distance, bits)

    @classmethod
    def online(cls, max_distance: int) -> Self:
        """Return the design that the embedded index uses for `max_distance`."""
        return cls.probing(max_distance, blocks=min(max_distance + 1, 4))

    @property
    def prefix_bits(self) -> int:
        """The smallest p of the tables."""
        return min(table.prefix_bits for table in self.tables)

    @property
    def probes(self) -> int:
        """How many prefixes a query looks up in all tables."""
        return sum(table.probes for table in self.tables)

    def expected_retrieved(self, log2_pages: float) -> float:
        """Return how many of 2^`log2_pages` uniform fingerprints a query retrieves."""
        return sum(table.expected_retrieved(log2_pages) for table in self.tables)


def _split(mask: int, blocks: int) -> list[int]:
    """Cut the bits of `mask` into blocks, from the front, the wider ones first."""
    bits = positions(mask)
    width, wider = divmod(len(bits), blocks)
    if width == 0:
        raise ValueError(f"{len(bits)} bits can't be split into {blocks} blocks")
    ends = [place * width + min(place, wider) for place in range(blocks + 1)]
    return [sum(1 << bit for bit in bits[start:end]) for start, end in pairwise(ends)]


def _nested_choices(
    mask: int, max_distance: int, levels: tuple[int, ...]
) -> Iterator[tuple[int, ...]]:
    if not levels:
        yield ()
        return
    first, *others = levels
    if first <= max_distance:
        raise ValueError(f"a split for distance {max_distance} needs more than {first} blocks")
    for chosen in combinations(_split(mask, first), first - max_distance):
        for rest in _nested_choices(mask & ~sum(chosen), max_distance, tuple(others)):
            yield chosen + rest
