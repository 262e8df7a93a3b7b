"""The keys and the tables of a namespace in Redis, as the stored format has them. Pure.

The buckets and what they hold are described in ``lua/buckets.lua``.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from itertools import accumulate, combinations, pairwise
from math import comb
from urllib.parse import quote

from scrapy_neardup.decision.matching import Matching
from scrapy_neardup.tables import cuts
from scrapy_neardup.tables.design import Table, TableDesign
from scrapy_neardup.tables.permutations import Permutation
from scrapy_neardup.verdict import Page

FORMAT = 5
"""Version of the stored format."""

MANY_PAGES = 5_000_000
"""Number of pages from which on six tables are faster than four (both for k = 3)."""

SPLIT = 128
"""Number of entries at which a bucket is split in two: a write rewrites its bucket."""

CAP = 4096
"""Maximum number of entries of a bucket that can't be split further."""

PAGE_DEPTH = 40
"""Number of levels that the tree of page ids may be split: bits of its keys, less three bytes."""

MAX_PREFIX = 40
"""Maximum number of leading bits that scripts compare."""

_MIN_PREFIX = 16
"""Minimum number of leading bits of a table: a bucket holds all entries that share them."""
_SUFFIX = 6
"""Number of bytes of a key that an entry of a bucket begins with."""
_MAX_TABLES = 32
"""Maximum number of tables of a cut; where it takes more, `_PROBED` tables are probed."""
_PROBED = 4


@dataclass(frozen=True)
class Layout:
    """A table design as the scripts know it.

    The bits are cut into `parts`, 1 or (for k = 3) two halves, and each part into `blocks`. There
    is a table for each choice of ``blocks - max_distance`` of them (Manku et al. 2007, section
    3.1.1), or, where there are no more blocks than bits may differ, one for each block, probed
    (`TableDesign.probing`). `matching` finds entries beside the tables, and confirms them.
    """

    max_distance: int
    blocks: int
    split: int = SPLIT
    cap: int = CAP
    matching: Matching = field(default_factory=Matching)
    parts: int = 1

    @classmethod
    def choose(cls, max_distance: int, expected_pages: int) -> Layout:
        """Return the layout for a namespace of that size, with prefixes of 16 bits at least."""
        if max_distance == 3 and expected_pages >= MANY_PAGES:
            return cls(max_distance, 3, parts=2)
        blocks = max_distance + 1 + (expected_pages >= MANY_PAGES)
        while 64 // blocks * (blocks - max_distance) < _MIN_PREFIX:
            blocks += 1
        return cls(max_distance, blocks if comb(blocks, max_distance) <= _MAX_TABLES else _PROBED)

    @cached_property
    def design(self) -> TableDesign:
        """The tables."""
        if self.parts > 1:
            return _halved()
        if self.is_probed:
            return TableDesign.probing(self.max_distance, blocks=self.blocks)
        return cuts.nested(self.max_distance, levels=(self.blocks,))

    @cached_property
    def tables(self) -> tuple[Table, ...]:
        """The tables in the order in which scripts look into them.

        The first one leaves a fingerprint as it is. Each further one is the table that leaves
        fewest ways for an entry to differ in few bits and be in no table so far: a search for the
        nearest entry can end as soon as all that it hasn't met are farther away (`unseen`). Where
        no entry is looked up by distance, exact pages need the first table alone.
        """
        tables = self.design.tables
        if not self.matching.by_distance:
            return tables[:1]
        return tables if self.is_probed else _ordered(tables)

    @property
    def is_probed(self) -> bool:
        """Whether a page is looked up under all prefixes within a radius of its own."""
        return self.parts == 1 and self.blocks <= self.max_distance

    @property
    def unseen(self) -> list[int]:
        """For each table, the minimum distance of entries that it and earlier ones miss."""
        if self.is_probed:
            return list(accumulate(table.radius + 1 for table in self.tables))
        return [-_missed(self.tables[: count + 1])[0] for count in range(len(self.tables))]

    @cached_property
    def permutations(self) -> tuple[Permutation, ...]:
        """One for each of `tables`."""
        return tuple(table.permutation for table in self.tables)

    @cached_property
    def prefixes(self) -> list[int]:
        """For each table the number of leading bits that scripts compare."""
        if self.is_probed:
            return [_MIN_PREFIX] * len(self.tables)
        return [min(table.prefix_bits, MAX_PREFIX) for table in self.tables]

    @property
    def earlier(self) -> str:
        """For each table, the prefixes of earlier ones as 24-bit masks in its order, in Lua."""
        masks = [
            [permutation.apply(table.prefix_mask) for table in self.tables[:place]]
            for place, permutation in enumerate(self.permutations)
        ]
        written = (
            ",".join(f"{mask >> 24 & 0xFFFFFF},{mask & 0xFFFFFF}" for mask in each)
            for each in masks
        )
        return "{{" + "},{".join(written) + "}}"

    @property
    def compared(self) -> str:
        """First and last bytes of the parts of a suffix, in Lua (`_parts`)."""
        return f"{{{','.join(map(str, _parts(min(self.prefixes), self.max_distance)))}}}"

    @property
    def depth(self) -> int:
        """Levels that a table may be split: all that share a prefix stay in one bucket."""
        if not self.matching.by_distance:
            return PAGE_DEPTH  # only equal keys are looked for
        return min(self.prefixes) - _MIN_PREFIX

    def limit(self, page: Page) -> int:
        """Return the maximum distance of an entry that `page` repeats, in bits; -1: no entry."""
        if page.exact:
            return 0
        return self.max_distance if self.matching.by_distance else -1

    def permuted(self, key: int) -> list[bytes]:
        """Return `key` in the order of each table, most significant byte first."""
        return [each.apply(key).to_bytes(8, "big") for each in self.permutations]

    @property
    def has_bodies(self) -> bool:
        """Whether more is stored of pages than matching by fingerprints alone needs."""
        return self.matching != Matching()


def _halved() -> TableDesign:
    """Return six tables for k = 3 with prefixes of 21 bits: between four of 16 and ten of 25.

    Of three differing bits at most one lies in one of the halves, and two of the three blocks of
    that half are equal: each pair of blocks leads a table.
    """
    half = cuts.nested(1, levels=(3,), bits=32)
    tables = tuple(
        Table(tuple(block << shift for block in table.blocks))
        for shift in (32, 0)
        for table in half.tables
    )
    return TableDesign("C(3,2) of each half", tables, 3)


def _parts(prefix: int, max_distance: int) -> list[int]:
    """Return parts of a suffix, one of which is equal in any two keys within `max_distance` bits.

    The keys share a prefix. A suffix is bytes 3 to 8 of a key; a part is its first and its last
    byte there, counted from 1.
    """
    if whole := (prefix - _MIN_PREFIX) // 8:
        return [1, whole]
    if max_distance >= _SUFFIX:
        return [1, 0]  # no bytes at all: equal in any two
    ends = [_SUFFIX * part // (max_distance + 1) for part in range(max_distance + 2)]
    return [byte for first, last in pairwise(ends) for byte in (first + 1, last)]


@lru_cache(maxsize=16)  # a tenth of a second for k = 6
def _ordered(tables: tuple[Table, ...]) -> tuple[Table, ...]:
    """Order tables greedily: after the first, each time the one with which the least is missed."""
    first, *left = tables
    ordered = [first]
    while left:
        best = min(left, key=lambda table: _missed((*ordered, table)))
        left.remove(best)
        ordered.append(best)
    return tuple(ordered)


def _missed(tables: Sequence[Table]) -> tuple[int, int]:
    """Return minus the fewest bits in which fingerprints that share no table differ, and the ways.

    A bit that differs, whichever of its block, keeps two fingerprints apart in all tables that
    this block leads. The ways are the sets of blocks that so few bits may lie in: the smaller the
    pair, the more the tables find.
    """
    blocks = sorted({block for table in tables for block in table.blocks})
    for bits in range(1, len(blocks) + 1):
        ways = sum(
            all(table.prefix_mask & sum(chosen) for table in tables)
            for chosen in combinations(blocks, bits)
        )
        if ways:
            return -bits, ways
    raise AssertionError("a bit of each block is in every table")


def prefix(namespace: str) -> str:
    """Return the prefix of all keys of a namespace.

    Whatever could end a hash tag or match in a pattern is percent-encoded, ``%`` too, so
    that no two namespaces have one prefix.
    """
    return f"nd:{quote(namespace, safe='', errors='surrogatepass')}:"
