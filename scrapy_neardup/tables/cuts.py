"""Designs made by cutting fingerprints into blocks, and the fewest tables that they need.

Cut the f bits into r > k blocks (Manku, Jain & Das Sarma, WWW 2007, section 3). At most k blocks
hold a differing bit, so some r - k blocks are equal. Keep one table for each choice of r - k
blocks, with the chosen blocks as its p leading bits: every near-duplicate shares the query's
leading bits in one of the tables, and in each table only about 2^(d - p) fingerprints do. A
*nested* design cuts the other k blocks again and lets more blocks lead (section 3.1.1). Which cuts
need the fewest tables for a required p is a recursion (section 3.1.2).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cache
from itertools import combinations
from math import comb, inf

from scrapy_neardup.errors import ConfigurationError
from scrapy_neardup.settings.validation import whole_number
from scrapy_neardup.tables.design import MAX_PROBES, Table, TableDesign, split


def nested(max_distance: int, *, levels: tuple[int, ...], bits: int = 64) -> TableDesign:
    """Return the tables of a cut into ``levels[0]`` blocks, of the rest into ``levels[1]`` ...

    Raises `ConfigurationError` unless each level has more than k blocks, and a bit for each.
    """
    whole_number("max_distance", max_distance, least=0)
    if not levels or min(levels) <= max_distance:
        raise ConfigurationError(
            f"a cut for distance {max_distance} needs {max_distance + 1} blocks or more "
            f"on every level, not {levels}"
        )

    def cut(level: int, _left: int, _prefix: int) -> int:
        return levels[level] if level < len(levels) else 0

    return _cut_by(cut, max_distance, bits)


def fewest(max_distance: int, *, prefix_bits: int, bits: int = 64) -> TableDesign:
    """Return the design of cuts with the fewest tables that has p >= `prefix_bits`.

    Raises `ConfigurationError` if no design has so long a prefix. This is the recursion of section
    3.1.2 with whole bits. Its real-valued form is X(f, k, d) = min over r > k of C(r, k)
    X(fk/r, k, d - (r - k)f/r), and 1 if d is below a threshold. Here a table ends when its
    prefix is long enough; if a cut doesn't divide evenly, its first blocks are a bit wider; and
    tables of unequal prefix may be cut further in different ways.
    """
    whole_number("max_distance", max_distance, least=0)
    if _fewest(bits, max_distance, prefix_bits)[0] == inf:
        raise ConfigurationError(
            f"no cut of {bits} bits for distance {max_distance} has prefixes of {prefix_bits} bits"
        )

    def cut(_level: int, left: int, prefix: int) -> int:
        return _fewest(left, max_distance, prefix_bits - prefix)[1]

    return _cut_by(cut, max_distance, bits)


def designs(
    *, bits: int = 64, max_distance: int = 3, log2_pages: float = 34.0, max_tables: int = 64
) -> tuple[TableDesign, ...]:
    """Return the useful designs for 2^`log2_pages` fingerprints, by number of tables.

    These are the probing designs, then each cut whose shortest prefix is longer than that of all
    cuts with as many or fewer tables. The last one retrieves less than one fingerprint a table.
    """
    whole_number("max_distance", max_distance, least=0)
    found = [
        design
        for blocks in range(1, min(max_distance, max_tables) + 1)
        for design in [TableDesign.probing(max_distance, blocks=blocks, bits=bits)]
        if design.probes <= MAX_PROBES
    ]
    prefix_bits = 0
    while prefix_bits < max(1, min(log2_pages, bits)):
        if _fewest(bits, max_distance, prefix_bits + 1)[0] > max_tables:
            break
        design = fewest(max_distance, prefix_bits=prefix_bits + 1, bits=bits)
        if found and len(found[-1].tables) == len(design.tables):
            found.pop()
        found.append(design)
        prefix_bits = design.prefix_bits
    return tuple(found)


def _cut_by(cut: _Cut, max_distance: int, bits: int) -> TableDesign:
    leaves = list(_leaves(cut, max_distance, (1 << bits) - 1))
    names = list(dict.fromkeys(name for name, _ in leaves))
    tables = tuple(Table(blocks) for _, blocks in leaves)
    return TableDesign(" | ".join(names), tables, max_distance, bits)


_Cut = Callable[[int, int, int], int]
"""(level, remaining bits, bits of prefix) -> number of blocks, or 0 to end the table."""


def _leaves(
    cut: _Cut,
    max_distance: int,
    left: int,
    names: tuple[str, ...] = (),
    lead: tuple[int, ...] = (),
) -> Iterator[tuple[str, tuple[int, ...]]]:
    """Yield name and leading blocks of each table that `cut` makes, from the bits `left` on."""
    count = cut(len(names), left.bit_count(), sum(lead).bit_count())
    if not count:
        yield " x ".join(names), lead
        return
    names = (*names, f"C({count},{count - max_distance})")
    for chosen in combinations(split(left, count), count - max_distance):
        yield from _leaves(cut, max_distance, left & ~sum(chosen), names, lead + chosen)


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
