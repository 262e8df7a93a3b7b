"""Encoded tables, before they are in a file."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from scrapy_neardup.tables.packed.checked import PAGE


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
"""Fingerprint and distance -> the fingerprints near it that a table finds."""
