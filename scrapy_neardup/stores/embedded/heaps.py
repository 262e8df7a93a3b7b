"""Evidence and URLs of entries by row, each in a compact, growing heap."""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from typing import Final

import numpy as np
from numpy.typing import NDArray

_LENGTH_BITS: Final = 24
"""Number of bits of a place that hold the length of the URL."""
_MAX_LENGTH: Final = (1 << _LENGTH_BITS) - 1
_MIN_HOLES: Final = 1 << 16
"""Minimum number of bytes in holes for which the heap is copied."""


class UrlHeap:
    """A growing map from row numbers to URLs.

    Removed URLs leave holes. When more than half of the heap is holes it is copied without them,
    so that a removal costs O(its length) on average.
    """

    def __init__(self) -> None:
        self._heap = bytearray()
        # By row: offset << 24 | length in bytes; 0 where there is none.
        self._places = array("Q")
        self._holes = 0

    @property
    def nbytes(self) -> int:
        """Memory in bytes."""
        return len(self._heap) + self._places.itemsize * len(self._places)

    def get(self, row: int) -> str | None:
        """Return the URL of `row`, or None."""
        place = self._places[row] if row < len(self._places) else 0
        if not place:
            return None
        offset, length = place >> _LENGTH_BITS, place & _MAX_LENGTH
        return self._heap[offset : offset + length].decode("utf-8", "surrogatepass")

    def set(self, row: int, url: str | None) -> None:
        """Keep `url` for `row` instead of its earlier one.

        None, and URLs longer than 16 MiB, are not kept.
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
    """A growing map from row numbers to evidence of `size` bytes; with 0 it keeps nothing."""

    __slots__ = ("_heap", "_size")

    def __init__(self, size: int) -> None:
        self._size = size
        self._heap = bytearray()

    @property
    def nbytes(self) -> int:
        """Memory in bytes."""
        return len(self._heap)

    def get(self, row: int) -> bytes:
        """Return the evidence of `row`; ``b""`` if nothing is kept."""
        return bytes(self._heap[row * self._size : (row + 1) * self._size])

    def set(self, row: int, evidence: bytes) -> None:
        """Keep evidence for a row; after a `MemoryError`, or of another size, nothing is kept."""
        if not self._size:
            return
        if len(evidence) != self._size:
            raise ValueError(f"evidence of {len(evidence)} bytes instead of {self._size}")
        start, end = row * self._size, (row + 1) * self._size
        if (missing := start - len(self._heap)) > 0:
            self._heap += bytes(missing)
        self._heap[start:end] = evidence

    def load(self, rows: NDArray[np.uint32], evidence: Sequence[bytes]) -> None:
        """Keep the evidence of many rows at once."""
        if self._size and len(rows):
            self._heap += bytes(max(0, (int(rows.max()) + 1) * self._size - len(self._heap)))
            joined = np.frombuffer(b"".join(evidence), np.uint8)
            np.frombuffer(self._heap, np.uint8).reshape(-1, self._size)[rows] = joined.reshape(
                len(rows), self._size
            )
