"""How a namespace lies in Redis: its keys, its tables, its scripts.

Rule of this room: pure; what is fixed here is fixed in the stored format. The buckets
and what they hold are described in ``lua/buckets.lua``.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from importlib.resources import files
from itertools import combinations
from urllib.parse import quote

from scrapy_neardup.errors import ConfigurationError
from scrapy_neardup.evidence.matching import Matching
from scrapy_neardup.stores.redis.evidence import constants
from scrapy_neardup.tables import Permutation, Table, TableDesign
from scrapy_neardup.verdict import Page

FORMAT = 2
"""Version of the stored format."""

MANY_PAGES = 5_000_000
"""From here on ten tables are faster than four (both for k = 3)."""

SPLIT = 128
"""Entries at which a bucket is split in two: a write rewrites its bucket."""

CAP = 4096
"""Entries that a bucket may hold which can't be split further."""

MOST_CONTRADICTED = 512
"""Entries that may be near a new page and other pages by their digests; as in the embedded
stores."""

MOST_COMPARED = 64
"""Candidates, the nearest ones, that a page is compared with; as in the embedded stores."""

PAGE_DEPTH = 40
"""Levels that the tree of page ids may be split: as far as its keys have bits, less a byte."""

_LEAST_PREFIX = 16  # a bucket holds all entries that share a prefix
_MOST_PREFIX = 40  # what the scripts compare in one number
_MOST_TABLES = 32


@dataclass(frozen=True)
class Layout:
    """A table design as the scripts know it.

    Parameters
    ----------
    blocks
        The f bits are cut into this number of blocks; there is a table for each choice of
        ``blocks - max_distance`` of them (Manku et al. 2007, section 3.1.1).
    matching
        What finds entries beside the tables, and what confirms them.
    """

    max_distance: int
    blocks: int
    split: int = SPLIT
    cap: int = CAP
    matching: Matching = field(default_factory=Matching)

    @classmethod
    def choose(cls, max_distance: int, expected_pages: int) -> Layout:
        """Return the layout for a namespace of that size.

        Raises
        ------
        ConfigurationError
            No design with prefixes of 16 bits has few enough tables.
        """
        blocks = max_distance + 1 + (expected_pages >= MANY_PAGES)
        while 64 // blocks * (blocks - max_distance) < _LEAST_PREFIX:
            blocks += 1
        layout = cls(max_distance, blocks)
        if len(layout.design.tables) > _MOST_TABLES:
            raise ConfigurationError(
                f"NEARDUP_MAX_DISTANCE is {max_distance}: a Redis store takes 6 bits at most "
                f"(it would need {len(layout.design.tables)} tables); memory: and sqlite: take 8"
            )
        return layout

    @cached_property
    def design(self) -> TableDesign:
        """The tables."""
        return TableDesign.blocks(self.max_distance, blocks=self.blocks)

    @cached_property
    def tables(self) -> tuple[Table, ...]:
        """The tables in the order in which scripts look into them.

        The first one leaves a fingerprint as it is. Each further one is that which leaves
        fewest ways to differ in few bits and be in none so far: a search for the nearest
        entry can end as soon as all that it hasn't met are farther away (`unseen`). Where
        distance finds no entry, the first is all that exact pages need.
        """
        first, *left = self.design.tables
        if not self.matching.by_distance:
            return (first,)
        ordered = [first]
        while left:
            best = min(left, key=lambda table: _missed([*ordered, table]))
            left.remove(best)
            ordered.append(best)
        return tuple(ordered)

    @property
    def unseen(self) -> list[int]:
        """For each table how many bits at least whatever isn't in it or before it differs in."""
        return [-_missed(self.tables[: count + 1])[0] for count in range(len(self.tables))]

    @cached_property
    def permutations(self) -> tuple[Permutation, ...]:
        """One for each of `tables`."""
        return tuple(table.permutation for table in self.tables)

    @cached_property
    def _prefixes(self) -> list[int]:
        return [min(table.prefix_bits, _MOST_PREFIX) for table in self.tables]

    @property
    def depth(self) -> int:
        """Levels that a table may be split: all that share a prefix stay in one bucket."""
        if not self.matching.by_distance:
            return PAGE_DEPTH  # only equal keys are looked for
        return min(self._prefixes) - _LEAST_PREFIX

    def limit(self, page: Page) -> int:
        """Return within how many bits an entry may be that `page` repeats; -1: none is."""
        if page.exact:
            return 0
        return self.max_distance if self.matching.by_distance else -1

    def permuted(self, key: int) -> list[bytes]:
        """Return `key` in the order of each table, most significant byte first."""
        return [each.apply(key).to_bytes(8, "big") for each in self.permutations]

    def script(self, *parts: str, record: str) -> str:
        """Return the text of a script for this layout: its parts, the verb last.

        `record` is the digest of the namespace's parameters (`schema.py`). Scripts of
        crawls with other parameters differ by it: none finds the other's on a server.
        """
        ranges = ",".join(str(2 ** (_MOST_PREFIX - prefix)) for prefix in self._prefixes)
        values = {
            "RECORD_DIGEST": f"'{record}'",
            "TABLES": len(self._prefixes),
            "RANGES": f"{{{ranges}}}",
            "UNSEEN": f"{{{','.join(map(str, self.unseen))}}}",
            "DEPTH": self.depth,
            "PAGE_DEPTH": PAGE_DEPTH,
            "SPLIT": self.split,
            "CAP": self.cap,
            "MOST_CONTRADICTED": MOST_CONTRADICTED,
            "MOST_COMPARED": MOST_COMPARED,
            "BY_DISTANCE": str(self.matching.by_distance).lower(),
            "HAS_BODIES": str(self.has_bodies).lower(),
            "FEATURES": self.matching.features,
            "SHARED_FEATURES": self.matching.shared_features,
            **constants(self.matching),
        }
        head = "".join(f"local {name} = {value}\n" for name, value in values.items())
        text = "".join(_source(part) for part in ("buckets", *parts))
        if "single/pages" in parts:
            head += self.permuting
        return head + text

    @property
    def has_bodies(self) -> bool:
        """Whether pages have more to store than the rule for fingerprints alone needs."""
        return self.matching != Matching()

    @cached_property
    def permuting(self) -> str:
        """Lua functions ``permuted(i, key)`` and ``original(i, key in the order of table i)``.

        Straight-line code for each table: to interpret a permutation took 12 µs a key.
        """
        forward, backward = [], []
        for permutation in self.permutations:
            moves = list(enumerate(reversed(permutation.order)))
            forward.append([(source, target) for target, source in moves])
            backward.append(moves)
        return _chain("permuted", forward) + _chain("original", backward)


def _missed(tables: Sequence[Table]) -> tuple[int, int]:
    """Return how to differ in fewest bits from an entry and share no table with it.

    A bit that differs, whichever of its block, keeps two fingerprints apart in all tables
    that this block leads.

    Returns
    -------
    minus bits, ways
        The fewest differing bits, negative, and the number of sets of blocks that they may
        lie in. The smaller, the better do the tables see.
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


def _chain(name: str, tables: list[list[tuple[int, int]]]) -> str:
    branches = "".join(
        f"  {'if' if i == 1 else 'elseif'} i == {i} then\n"
        f"    return struct.pack('>I4I4', {_half(moves, 32)}, {_half(moves, 0)})\n"
        for i, moves in enumerate(tables, 1)
    )
    head = f"local function {name}(i, f)\n  local h, l = struct.unpack('>I4I4', f)\n"
    return f"{head}{branches}  end\nend\n"


def _half(moves: list[tuple[int, int]], low: int) -> str:
    """Return a Lua expression for the bits `low` to ``low + 31`` of what `moves` make.

    Parameters
    ----------
    moves
        (from, to) of every bit. Bits that travel equally far are moved in one step.
    """
    steps: dict[tuple[str, int], int] = {}
    for source, target in moves:
        if low <= target < low + 32:
            step = "h" if source >= 32 else "l", target % 32 - source % 32
            steps[step] = steps.get(step, 0) | 1 << source % 32
    words = [
        f"bit.{'l' if far > 0 else 'r'}shift(bit.band({half},{mask}),{abs(far)})"
        for (half, far), mask in steps.items()
    ]
    return f"bit.bor({','.join(words)})%4294967296"


def _source(name: str) -> str:
    return files("scrapy_neardup.stores.redis").joinpath(f"lua/{name}.lua").read_text("utf-8")


OPEN_SCRIPT = _source("open")
EXCHANGE_SCRIPT = _source("exchange")
WEIGH_SCRIPT = _source("weigh")


def prefix(namespace: str) -> str:
    """Return the prefix of all keys of a namespace.

    Whatever could end a hash tag or match in a pattern is percent-encoded, ``%`` too, so
    that no two namespaces have one prefix.
    """
    return f"nd:{quote(namespace, safe='', errors='surrogatepass')}:"
