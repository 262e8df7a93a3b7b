"""The evidence and the URLs of entries by row, each in a compact heap that grows."""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from typing import Final

import numpy as np
from numpy.typing import NDArray

_LENGTH_BITS: Final = 24
"""Bits of a place that hold the length of the URL."""
_MAX_LENGTH: Final = (1 << _LENGTH_BITS) - 1
_MIN_HOLES: Final = 1 << 16
"""Minimum bytes of holes that are worth copying the heap for."""


class UrlHeap:
    """A growing map from row numbers to URLs.

    Notes
    -----
    Removed URLs leave holes. When more than half of the heap is holes it is copied
    without them, so that a removal costs O(its length) on average.
    """

    def __init__(self) -> None:
        self._heap = bytearray()
        # By row: offset << 24 | length in bytes; 0 where there is none.
        self._places = array("Q")
        self._holes = 0

    @property
    def nbytes(self) -> int:
        """Bytes of memory held."""
        return len(self._heap) + self._places.itemsize * len(self._places)

    def get(self, row: int) -> str | None:
        """Return the URL of `row`, or None."""
        place = self._places[row] if row < len(self._places) else 0
        if not place:
            return None
        offset, length = place >> _LENGTH_BITS, place & _MAX_LENGTH
        return self._heap[offset : offset + length].decode("utf-8", "surrogatepass")

    def set(self, row: int, url: str | None) -> None:
        """Keep `url` for `row`, in place of its earlier one.

        None, and what is longer than 16 MiB, is not kept.
        """
        if row < len(self._places):
            self._holes += self._places[row] & _MAX_LENGTH
            self._places[row] = 0
        packed = (url or "").encode("utf-8", "surrogatepass")
        if 0 < len(packed) <= _MAX_LENGTH:
            if row >= len(self._places):
                self._places.frombytes(bytes(8 * (row + 1 - len(self._places))))
            offset = len(self._heap)
            self._heap += packed
            self._places[row] = offset << _LENGTH_BITS | len(packed)
        if self._holes > max(_MIN_HOLES, len(self._heap) // 2):
            self._compact()

    def _compact(self) -> None:
        heap = bytearray()
        for row, place in enumerate(self._places):
            if place:
                offset, length = place >> _LENGTH_BITS, place & _MAX_LENGTH
                self._places[row] = len(heap) << _LENGTH_BITS | length
                heap += self._heap[offset : offset + length]
        self._heap = heap
        self._holes = 0


class EvidenceHeap:
    """A growing map from row numbers to evidence.

    Parameters
    ----------
    sizes
        Bytes that evidence may have. Empty if nothing is to be kept.

    Notes
    -----
    All methods but `load` cost O(bytes of a row). A row takes 4 bytes and those of its evidence;
    those of a removed one are used again for the next of its length.
    """

    __slots__ = ("_free", "_heaps", "_kinds", "_places", "_sizes")

    def __init__(self, sizes: Sequence[int]) -> None:
        self._sizes = tuple(sizes)
        self._kinds = {size: kind for kind, size in enumerate(sizes)}
        self._heaps = [bytearray() for _ in sizes]
        self._free: list[list[int]] = [[] for _ in sizes]
        # By row: 1 + kind + kinds * slot, or 0 for none.
        self._places = array("I")

    @property
    def nbytes(self) -> int:
        """Bytes of memory held."""
        return sum(map(len, self._heaps)) + 4 * len(self._places) + 8 * sum(map(len, self._free))

    def grow(self, rows: int) -> None:
        """Grow to at least this number of rows."""
        if self._sizes:
            self._places.frombytes(bytes(4 * (rows - len(self._places))))

    def get(self, row: int) -> bytes:
        """Return the evidence of `row`; ``b""`` where there is none."""
        if not self._sizes or not (place := self._places[row]):
            return b""
        slot, kind = divmod(place - 1, len(self._sizes))
        start = slot * (size := self._sizes[kind])
        return bytes(self._heaps[kind][start : start + size])

    def set(self, row: int, evidence: bytes) -> None:
        """Keep evidence for a row that has none.

        Raises
        ------
        MemoryError
            Nothing is kept.
        """
        if not evidence or not self._sizes:
            return
        kind = self._kinds[size := len(evidence)]
        heap, free = self._heaps[kind], self._free[kind]
        slot = free[-1] if free else len(heap) // size
        heap[slot * size : (slot + 1) * size] = evidence
        self._places[row] = 1 + kind + len(self._sizes) * slot
        if free:
            free.pop()

    def remove(self, row: int) -> None:
        """Keep nothing for `row`."""
        if self._sizes and (place := self._places[row]):
            slot, kind = divmod(place - 1, len(self._sizes))
            self._free[kind].append(slot)
            self._places[row] = 0

    def load(self, rows: NDArray[np.uint32], evidence: Sequence[bytes]) -> None:
        """Keep the evidence of many rows that have none, all at once."""
        lengths = np.fromiter(map(len, evidence), np.int64, len(evidence))
        for size, kind in self._kinds.items():
            heap, chosen = self._heaps[kind], np.flatnonzero(lengths == size)
            slots = np.arange(len(chosen)) + len(heap) // size
            heap += b"".join([evidence[place] for place in chosen.tolist()])
            places = np.frombuffer(self._places, np.uint32)
            places[rows[chosen]] = 1 + kind + len(self._sizes) * slots
