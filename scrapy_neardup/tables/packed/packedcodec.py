"""The interface of compressed tables."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from scrapy_neardup.tables.packed.checked import PAGE, Checked
from scrapy_neardup.tables.permutations import Permutation


@dataclass(frozen=True, slots=True)
class Section:
    """A part of an encoded table: bytes, with a checksum for every `page` of them.

    An array is contiguous, and little-endian if items are wider than a byte; an iterator of
    bytes is read once.
    """

    data: NDArray[Any] | Iterator[bytes]
    page: int = PAGE

    def chunks(self) -> Iterator[memoryview]:
        """Yield the bytes; all chunks except the last are whole pages."""
        if isinstance(self.data, np.ndarray):
            yield self.data.view(np.uint8).data
            return
        rest = b""
        for some in self.data:
            rest += some
            whole = len(rest) // self.page * self.page
            yield memoryview(rest)[:whole]
            rest = rest[whole:]
        yield memoryview(rest)


@dataclass(frozen=True, slots=True)
class Encoded:
    """A compressed table, ready to write: parameters for JSON, and named parts."""

    parameters: dict[str, Any]
    parts: dict[str, Section]


Probe = Callable[[int, int], list[int]]
"""Fingerprint and distance -> fingerprints; `PackedTable.near` for unpermuted values."""


class PackedTable(Protocol):
    """A compressed table: sorted, distinct values of 64 bits, decoded on demand.

    Every method raises `InputError` if the bytes that it reads are damaged.
    """

    def __init__(self, parameters: Mapping[str, Any], parts: Mapping[str, Checked]) -> None:
        """Open a table made by `encode`."""

    @classmethod
    def encode(cls, values: NDArray[np.uint64], *, ranked: bool) -> Encoded:
        """Compress `values` (sorted, distinct); `ranked` tables have `rank` and `decode`."""

    def __len__(self) -> int: ...

    def probe(self, permutation: Permutation, prefix_bits: int) -> Probe:
        """Return the look-up of fingerprints in a table that this permutation made."""

        def probe(fingerprint: int, max_distance: int) -> list[int]:
            near = self.near(permutation.apply(fingerprint), prefix_bits, max_distance)
            return [permutation.invert(value) for value in near] if near else near

        return probe

    def near(self, key: int, prefix_bits: int, max_distance: int) -> list[int]:
        """Return the values within `max_distance` of `key` that share its `prefix_bits`.

        Others within `max_distance` may be among them.
        """

    def rank(self, value: int) -> int | None:
        """Return the rank of `value` (the number of smaller values), or None if it is missing."""

    def decode(self, start: int, stop: int) -> NDArray[np.uint64]:
        """Return the values of ranks `start` to `stop`."""
