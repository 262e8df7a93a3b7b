"""The URLs of entries, by row, which explain drops; stored compactly.

Rule of this room: bytes end to end in one heap, with a place of 8 bytes a row; a dict
of strings takes three times as much. No URL, no memory.
"""

from __future__ import annotations

from array import array
from typing import Final

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
