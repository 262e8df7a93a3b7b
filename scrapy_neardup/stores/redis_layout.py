"""How a namespace lies in Redis: its keys, its tables, its scripts.

Rule of this room: pure; what is fixed here is fixed in the stored format. The buckets
and what they hold are described in ``lua/buckets.lua``.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from importlib.resources import files
from itertools import pairwise
from urllib.parse import quote

from scrapy_neardup.errors import ConfigurationError
from scrapy_neardup.tables import Permutation, TableDesign

FORMAT = 1
"""Version of the stored format."""

MANY_PAGES = 5_000_000
"""From here on ten tables are faster than four (both for k = 3)."""

SPLIT = 128
"""Entries at which a bucket is split in two: a write rewrites its bucket."""

CAP = 4096
"""Entries that a bucket may hold which can't be split further."""

_LEAST_PREFIX = 16  # a bucket holds all entries that share a prefix
_MOST_PREFIX = 40  # what the scripts compare in one number
_MOST_TABLES = 32


@dataclass(frozen=True)
class Layout:
    """A table design as the scripts know it.

    Parameters
    ----------
    blocks
        The f bits are cut into so many blocks; there is a table for each choice of
        ``blocks - max_distance`` of them (Manku et al. 2007, section 3.1.1).
    """

    max_distance: int
    blocks: int
    split: int = SPLIT
    cap: int = CAP

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
    def permutations(self) -> tuple[Permutation, ...]:
        """One for each table; the first one leaves a fingerprint as it is."""
        return tuple(table.permutation for table in self.design.tables)

    def permuted(self, key: int) -> list[bytes]:
        """Return `key` in the order of each table, most significant byte first."""
        return [each.apply(key).to_bytes(8, "big") for each in self.permutations]

    def script(self, *parts: str) -> str:
        """Return the text of a script for this layout: its parts, the verb last."""
        widths, orders = self._blocks()
        prefixes = [min(table.prefix_bits, _MOST_PREFIX) for table in self.design.tables]
        constants = {
            "WIDTHS": _lua(widths),
            "ORDERS": _lua([_lua(order) for order in orders]),
            "RANGES": _lua([2 ** (_MOST_PREFIX - prefix) for prefix in prefixes]),
            "DEPTH": min(prefixes) - _LEAST_PREFIX,
            "SPLIT": self.split,
            "CAP": self.cap,
        }
        head = "".join(f"local {name} = {value}\n" for name, value in constants.items())
        return head + "".join(_source(part) for part in ("buckets", *parts))

    def _blocks(self) -> tuple[list[int], list[list[int]]]:
        """Return the widths of the runs that every table keeps together, and their orders."""
        cuts = {0, 32, 64}  # a Lua number holds no run of 64 bits
        for permutation in self.permutations:
            order = [63 - bit for bit in permutation.order]
            cuts |= {order[0], order[-1] + 1}
            for before, after in pairwise(order):
                if after != before + 1:
                    cuts |= {before + 1, after}
        starts = sorted(cuts)
        number = {start: place for place, start in enumerate(starts[:-1], 1)}
        return [end - start for start, end in pairwise(starts)], [
            [number[63 - bit] for bit in permutation.order if 63 - bit in number]
            for permutation in self.permutations
        ]


def _lua(values: list[int] | list[str]) -> str:
    return "{" + ",".join(map(str, values)) + "}"


def _source(name: str) -> str:
    return files("scrapy_neardup.stores").joinpath(f"lua/{name}.lua").read_text("utf-8")


OPEN_SCRIPT = _source("open")


def prefix(namespace: str) -> str:
    """Return what the names of all keys of a namespace begin with.

    Whatever could end a hash tag or match in a pattern is percent-encoded.
    """
    return f"nd:{quote(namespace, safe='%')}:"
