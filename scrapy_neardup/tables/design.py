"""Which tables solve the Hamming Distance Problem, and what they cost.

A design is arithmetic on blocks of bits. It decides speed and memory, never an answer:
whatever is made here finds every pair.

The problem (Manku, Jain & Das Sarma, WWW 2007, section 3): of 2^d stored f-bit
fingerprints, find all that differ from a query in at most k bits. Cut the f bits into
r > k blocks. At most k blocks hold a differing bit, so some r - k blocks are equal.
Keep one table for each choice of r - k blocks, with the chosen blocks as its p leading
bits: every near-duplicate shares the query's leading bits in one of the tables, and in
each table only about 2^(d - p) fingerprints do.

The k blocks that were not chosen can hold all the k differences; a *nested* design cuts
them again and lets more blocks lead (section 3.1.1). Which cuts need the fewest tables
for a required p is a recursion (section 3.1.2).

A *probing* design has no more than k blocks. With so few, no block need be equal, but one
has few differing bits: a query looks up every prefix within that radius (Norouzi,
Punjani & Fleet, "Fast search in Hamming space with multi-index hashing", CVPR 2012).
It trades tables, and so memory, for look-ups.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from itertools import combinations, pairwise
from math import comb, exp, exp2, inf, log2
from typing import Self

from scrapy_neardup.errors import ConfigurationError
from scrapy_neardup.settings.arguments import whole_number
from scrapy_neardup.tables.permutations import Permutation, positions

MAX_PROBES = 4096
"""Maximum look-ups of a query: more cost more than comparing a million fingerprints."""

_BUCKET_COUNTS = (1021, 2039, 4093, 8191, 16381, 32749, 65537)
"""Primes, as a prefix is hashed by its remainder. 65537 = 2^16 + 1 gives each value of
sixteen neighbouring bits a bucket of its own, wherever in the fingerprint they are."""

_LOOKUP = 160
"""Number of candidates that are compared in the time of one look-up (1.2 ns each, 0.2 µs)."""

_BUCKET_OVERHEAD = 33 + 7.5
"""Bytes of a bucket beyond its content: the `bytes` object, and rounding up to 16."""


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
        """Number of prefixes that a query looks up."""
        return sum(comb(self.prefix_bits, flipped) for flipped in range(self.radius + 1))

    def expected_retrieved(self, log2_pages: float) -> float:
        """Return the expected number of fingerprints that a query retrieves of 2^`log2_pages`."""
        return self.probes * exp2(log2_pages - self.prefix_bits)


@dataclass(frozen=True, slots=True)
class TableDesign:
    """A set of tables that together find every pair within `max_distance`.

    Made by `blocks`, `nested`, `fewest`, `probing`, `online` or `enumerate`.

    Parameters
    ----------
    name
        How it is cut: ``C(r,c)`` for c leading blocks out of r, ``x`` between levels.
    """

    name: str
    tables: tuple[Table, ...]
    max_distance: int
    bits: int = 64

    @classmethod
    def blocks(cls, max_distance: int, *, blocks: int, bits: int = 64) -> Self:
        """Return the C(`blocks`, k) tables of one cut.

        Raises
        ------
        ConfigurationError
            Unless k < `blocks` <= `bits`.
        """
        return cls.nested(max_distance, levels=(blocks,), bits=bits)

    @classmethod
    def nested(cls, max_distance: int, *, levels: tuple[int, ...], bits: int = 64) -> Self:
        """Return the tables of a cut into ``levels[0]`` blocks, the rest again, and so on.

        Raises
        ------
        ConfigurationError
            Unless each level has more than k blocks, and a bit for each.
        """
        whole_number("max_distance", max_distance, least=0)
        if not levels or min(levels) <= max_distance:
            raise ConfigurationError(
                f"a cut for distance {max_distance} needs {max_distance + 1} blocks or more "
                f"on every level, not {levels}"
            )

        def cut(level: int, _left: int, _prefix: int) -> int:
            return levels[level] if level < len(levels) else 0

        return cls._cut_by(cut, max_distance, bits)

    @classmethod
    def fewest(cls, max_distance: int, *, prefix_bits: int, bits: int = 64) -> Self:
        """Return a design of as few tables as cuts can have with p >= `prefix_bits`.

        Raises
        ------
        ConfigurationError
            No design has so long a prefix.

        Notes
        -----
        The recursion of section 3.1.2 with whole bits. Its real-valued form is
        X(f, k, d) = min over r > k of C(r, k) X(fk/r, k, d - (r - k)f/r), and 1 where d
        is below a threshold; here a table ends where its prefix is long enough, the
        first blocks of a cut are a bit wider where it doesn't divide evenly, and tables
        of unequal prefix may be cut further in different ways.
        """
        whole_number("max_distance", max_distance, least=0)
        if _fewest(bits, max_distance, prefix_bits)[0] == inf:
            raise ConfigurationError(
                f"no cut of {bits} bits for distance {max_distance} leads with {prefix_bits} bits"
            )

        def cut(_level: int, left: int, prefix: int) -> int:
            return _fewest(left, max_distance, prefix_bits - prefix)[1]

        return cls._cut_by(cut, max_distance, bits)

    @classmethod
    def probing(cls, max_distance: int, *, blocks: int, bits: int = 64) -> Self:
        """Return `blocks` tables of one block each, looked up within a radius.

        Raises
        ------
        ConfigurationError
            Unless 1 <= `blocks` <= k + 1 (which needs no radius: it is the cut into
            k + 1 blocks).

        Notes
        -----
        Let k = r blocks + a with a < blocks. If each of the first a + 1 blocks had more than r
        differing bits and each other one more than r - 1, there would be at least
        (a + 1)(r + 1) + (blocks - a - 1)r = k + 1 of them. So r is radius enough for
        a + 1 tables and r - 1 for the others.
        """
        whole_number("max_distance", max_distance, least=0)
        if not 1 <= blocks <= max_distance + 1:
            raise ConfigurationError(
                f"a probing design for distance {max_distance} has 1 to {max_distance + 1} "
                f"blocks, not {blocks}"
            )
        radius, extra = divmod(max_distance, blocks)
        tables = tuple(
            Table((block,), bits, radius if place <= extra else radius - 1)
            for place, block in enumerate(_split((1 << bits) - 1, blocks))
        )
        name = f"C({blocks},1)" + (f" within {radius}" if radius else "")
        return cls(name, tables, max_distance, bits)

    @classmethod
    def online(cls, max_distance: int, expected: int) -> Self:
        """Return the design that the embedded index uses for `expected` fingerprints.

        k + 1 tables up to k = 3; beyond that four or five, probed: what costs less when
        a look-up costs as much as `_LOOKUP` candidates. More tables only take more memory.
        """
        most = max_distance + 1
        designs = [
            cls.probing(max_distance, blocks=blocks)
            for blocks in range(min(most, 4), min(most, 5) + 1)
        ]
        pages = log2(max(expected, 1))
        return min(
            designs,
            key=lambda design: design.probes * _LOOKUP + design.expected_retrieved(pages),
        )

    @classmethod
    def enumerate(
        cls,
        *,
        bits: int = 64,
        max_distance: int = 3,
        log2_pages: float = 34.0,
        max_tables: int = 64,
    ) -> tuple[Self, ...]:
        """Return the designs worth considering for 2^`log2_pages` fingerprints.

        Returns
        -------
        tuple of TableDesign
            By number of tables: the probing ones, then every cut whose shortest prefix
            no cut of as many or fewer tables reaches, up to the first that retrieves
            less than one fingerprint a table.

        Raises
        ------
        ConfigurationError
            k is negative.
        """
        whole_number("max_distance", max_distance, least=0)
        designs = [
            design
            for blocks in range(1, min(max_distance, max_tables) + 1)
            if (design := cls.probing(max_distance, blocks=blocks, bits=bits)).probes <= MAX_PROBES
        ]
        prefix_bits = 0
        while prefix_bits < max(1, min(log2_pages, bits)):
            if _fewest(bits, max_distance, prefix_bits + 1)[0] > max_tables:
                break
            design = cls.fewest(max_distance, prefix_bits=prefix_bits + 1, bits=bits)
            if designs and len(designs[-1].tables) == len(design.tables):
                designs.pop()
            designs.append(design)
            prefix_bits = design.prefix_bits
        return tuple(designs)

    @property
    def prefix_bits(self) -> int:
        """The smallest p of the tables."""
        return min(table.prefix_bits for table in self.tables)

    @property
    def probes(self) -> int:
        """Number of prefixes that a query looks up, in all tables."""
        return sum(table.probes for table in self.tables)

    def expected_retrieved(self, log2_pages: float) -> float:
        """Return the expected number of fingerprints that a query retrieves from all tables."""
        return sum(table.expected_retrieved(log2_pages) for table in self.tables)

    def bucket_count(self, expected: float) -> int:
        """Return the number of buckets of a table of the embedded index.

        About one for every 32 of `expected` fingerprints, within limits: more buckets take
        memory, and fuller ones take time to read.
        """
        longest = max(table.prefix_bits for table in self.tables)
        enough = min(expected / 32, 1 << longest)
        return next((count for count in _BUCKET_COUNTS if count >= enough), _BUCKET_COUNTS[-1])

    def bytes_per_fingerprint(self, log2_pages: float) -> float:
        """Return the bytes of a fingerprint in an embedded index of 2^`log2_pages` of them."""
        pages = exp2(log2_pages)
        buckets = self.bucket_count(pages)
        filled = buckets * (1 - exp(-pages / buckets))
        each = 8 + (8 * buckets + _BUCKET_OVERHEAD * filled) / pages
        return len(self.tables) * each

    @classmethod
    def _cut_by(cls, cut: _Cut, max_distance: int, bits: int) -> Self:
        leaves = list(_leaves((1 << bits) - 1, max_distance, cut))
        names = list(dict.fromkeys(name for name, _ in leaves))
        tables = tuple(Table(blocks, bits) for _, blocks in leaves)
        return cls(" | ".join(names), tables, max_distance, bits)


_Cut = Callable[[int, int, int], int]
"""(level, bits left, bits of prefix) -> number of blocks, or 0 to end the table here."""


def _leaves(mask: int, max_distance: int, cut: _Cut) -> Iterator[tuple[str, tuple[int, ...]]]:
    """Yield (name of the cuts, leading blocks) of each table that `cut` makes of `mask`."""

    def descend(
        level: int, left: int, name: str, lead: tuple[int, ...]
    ) -> Iterator[tuple[str, tuple[int, ...]]]:
        count = cut(level, left.bit_count(), sum(lead).bit_count())
        if not count:
            yield name, lead
            return
        label = f"C({count},{count - max_distance})"
        name = f"{name} x {label}" if name else label
        for chosen in combinations(_split(left, count), count - max_distance):
            yield from descend(level + 1, left & ~sum(chosen), name, lead + chosen)

    return descend(0, mask, "", ())


def _split(mask: int, blocks: int) -> list[int]:
    """Cut the bits of `mask` into blocks, from the front, the wider ones first."""
    bits = positions(mask)
    width, wider = divmod(len(bits), blocks)
    if width == 0:
        raise ConfigurationError(f"{len(bits)} bits can't be cut into {blocks} blocks")
    ends = [place * width + min(place, wider) for place in range(blocks + 1)]
    return [sum(1 << bit for bit in bits[start:end]) for start, end in pairwise(ends)]


@cache
def _fewest(bits: int, max_distance: int, prefix_bits: int) -> tuple[float, int]:
    """Return X, the fewest tables that lead with `prefix_bits`, and the blocks of the cut."""
    if prefix_bits <= 0:
        return 1, 0
    best: tuple[float, int] = (inf, 0)
    for blocks in range(max_distance + 1, bits + 1):
        if comb(blocks, max_distance) >= best[0]:
            break
        width, wider = divmod(bits, blocks)
        lead = blocks - max_distance
        tables: float = 0
        for wide in range(max(0, lead - (blocks - wider)), min(lead, wider) + 1):
            ways = comb(wider, wide) * comb(blocks - wider, lead - wide)
            prefix = lead * width + wide
            tables += ways * _fewest(bits - prefix, max_distance, prefix_bits - prefix)[0]
        best = min(best, (tables, blocks))
    return best
