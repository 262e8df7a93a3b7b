"""The tables of a namespace in Redis, and the names of its keys. Pure.

``docs/redis.md`` has the whole layout: key, type, content, who writes it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from math import ceil, log2
from struct import pack
from urllib.parse import quote

from scrapy_neardup.judge.parameters import Matching
from scrapy_neardup.tables import cuts
from scrapy_neardup.tables.design import Permutation, Table, TableDesign, masks_within

FORMAT = 10
"""Version of the stored format."""

MANY_PAGES = 5_000_000
"""Number of pages from which six tables are faster than four (both for k = 3)."""

CAP = 4096
"""Maximum number of entries of a bucket, which take the server 1 ms to compare."""

HOMES = 256
"""Number of homes in a cluster: prefixes of keys that lie in one slot."""

PLACE = 8
"""Bytes that say where a page is listed: a bucket 5, and what the bucket lists the page by 3. Of a
key these are the bits after those that name the bucket, of a feature the last ones."""
_END_BITS = 24
_DIGITS = b"123456789a"
"""Digits of tables."""
FEATURE = 6
"""Bytes of a feature."""

_ENTRIES = 32
"""Maximum average number of entries of a bucket, with as many pages as expected. A key takes 80
bytes; comparing an entry takes the server less than .1 µs."""
_FEWEST_BITS, _MOST_BITS = 8, 20
_PROBED = 4
"""Number of tables for distances above three bits: each is looked up within a radius."""


@dataclass(frozen=True)
class Layout:
    """The tables of a namespace, and by how many leading bits their buckets are named.

    The bits of a fingerprint are cut into `parts`, 1 or (for k = 3) two halves, and each part into
    `blocks`. There is a table for each choice of ``blocks - max_distance`` of them (Manku et al.
    2007, section 3.1.1). If there are no more blocks than bits may differ, there is one for each
    block, which is probed (`TableDesign.probing`). `matching` finds entries beside the tables, and
    confirms them.
    """

    max_distance: int
    blocks: int
    parts: int = 1
    bits: int = 16
    cap: int = CAP
    matching: Matching = field(default_factory=Matching)

    @classmethod
    def choose(cls, max_distance: int, expected_pages: int) -> Layout:
        """Return the layout for a namespace of that size."""
        bits = ceil(log2(max(expected_pages, 1) / _ENTRIES)) if expected_pages > _ENTRIES else 0
        bits = min(max(bits, _FEWEST_BITS), _MOST_BITS)
        if max_distance == 3 and expected_pages >= MANY_PAGES:
            return cls(max_distance, 3, parts=2, bits=bits)
        return cls(max_distance, min(max_distance + 1, _PROBED), bits=min(bits, 16))

    @cached_property
    def tables(self) -> tuple[Table, ...]:
        """The tables; if no entry is looked up by distance, only the first, for exact pages."""
        if self.parts > 1:
            tables = _halved()
        elif self.blocks <= self.max_distance:
            tables = TableDesign.probing(self.max_distance, blocks=self.blocks).tables
        else:
            tables = cuts.nested(self.max_distance, levels=(self.blocks,)).tables
        return tables if self.matching.by_distance else tables[:1]

    @cached_property
    def unseen(self) -> int:
        """By how much, 1 or 0, each table raises the least distance of entries not found yet.

        A search for the nearest entry ends as soon as all other entries are farther away. This is
        known if each table has one block, looked up without a radius: entries that differ in fewer
        bits than there are such blocks share one of them.
        """
        return int(not any(table.radius or len(table.blocks) > 1 for table in self.tables))

    @cached_property
    def _placed(self) -> list[Callable[[int], int]]:
        """For each table, the function from a key to its place."""
        return [
            _placing((ord("t") << 8 | digit) << 48, table, self._name_bits(table) + _END_BITS)
            for digit, table in zip(_DIGITS, self.tables, strict=False)
        ]

    @cached_property
    def _probed(self) -> list[tuple[Callable[[int], int], list[int]]]:
        """For each table with a radius, that function, and the bits that neighbours flip."""
        return [
            (place, masks_within((1 << self._name_bits(table)) - 1 << _END_BITS, table.radius)[1:])
            for place, table in zip(self._placed, self.tables, strict=True)
            if table.radius
        ]

    def _name_bits(self, table: Table) -> int:
        return min(self.bits, table.prefix_bits)

    def places(self, key: int, limit: int) -> bytes:
        """Return where tables list a page of this key, `PLACE` bytes each."""
        used = self._placed[: 1 if limit == 0 else None if limit > 0 else 0]
        return pack(f">{len(used)}Q", *[place(key) for place in used])

    def neighbours(self, key: int, limit: int) -> bytes:
        """Return the further places to look at, within the radius of each table."""
        if limit <= 0 or not self._probed:
            return b""
        found = [place(key) ^ mask for place, masks in self._probed for mask in masks]
        return pack(f">{len(found)}Q", *found)

    def fields(self, features: Sequence[int]) -> bytes:
        """Return where features list a page, `PLACE` bytes each."""
        start, shift = ord("f") << 56, 8 * FEATURE - self.feature_bits
        found = [start | each >> shift << _END_BITS | each & 0xFF_FFFF for each in features]
        return pack(f">{len(found)}Q", *found)

    @cached_property
    def feature_bits(self) -> int:
        """Number of leading bits that name the bucket of a feature: some 32 share one."""
        return self.bits + max(self.matching.features // 2, 1).bit_length()


def _placing(start: int, table: Table, bits: int) -> Callable[[int], int]:
    """Return the function that joins the start of places in `table` and leading bits of a key."""
    if len(table.blocks) > 1:
        permutation = Permutation.leading(table.blocks)
        return lambda key: start | permutation.apply(key) >> 64 - bits
    shift, ones = 64 + table.prefix_mask.bit_length() - bits, (1 << bits) - 1
    return lambda key: start | (key << 64 | key) >> shift & ones


def _halved() -> tuple[Table, ...]:
    """Return six tables for k = 3 with prefixes of 21 bits: between four of 16 and ten of 25.

    If three bits differ, one of the halves has at most one of them, so two of its three blocks are
    equal. There is a table for each pair of blocks of a half.
    """
    half = cuts.nested(1, levels=(3,), bits=32)
    return tuple(
        Table(tuple(block << shift for block in table.blocks))
        for shift in (32, 0)
        for table in half.tables
    )


def prefix(namespace: str) -> str:
    """Return the prefix of all keys of a namespace.

    Characters that could end a hash tag or match in a pattern are percent-encoded, and so is
    ``%``, so that no two namespaces have one prefix.
    """
    return f"nd:{quote(namespace, safe='', errors='surrogatepass')}:"


def homes(prefix: str, *, clustered: bool) -> list[str]:
    """Return the prefixes of the homes of a namespace; in a cluster each is a hash tag."""
    return [f"{{{prefix}{number:02x}}}:" for number in range(HOMES)] if clustered else [prefix]


def key_of(prefix: str, name: str, *, clustered: bool) -> str:
    """Return a key of a namespace that belongs to no home; in a cluster it has its own slot."""
    return f"{{{prefix}{name}}}" if clustered else f"{prefix}{name}"
