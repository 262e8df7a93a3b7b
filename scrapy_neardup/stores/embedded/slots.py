"""Sketches by row: slots of one size in one growing heap.

Rule of this room: bytes in, the same bytes out; what they mean is said in
`scrapy_neardup.evidence.layout`.

A row has as many slots as its page's sketch takes, and none without one; each slot leads to the
next of its row, and so do those that are free. So rows of different lengths leave no holes but at
the end of a last slot, and a slot takes its own bytes and 4.
"""

from __future__ import annotations

from array import array
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray


class SketchHeap:
    """A growing map from row numbers to sketches.

    Parameters
    ----------
    sizes
        Bytes that a sketch may have, ascending, each of another number of slots; a slot is as
        long as the shortest. Empty if nothing is to be kept.

    Notes
    -----
    All methods but `load` cost O(bytes of a row).
    """

    __slots__ = ("_first", "_free", "_heap", "_next", "_size", "_sizes")

    def __init__(self, sizes: Sequence[int]) -> None:
        self._size = sizes[0] if sizes else 0
        self._sizes = {-(-size // self._size): size for size in sizes}  # by number of slots
        self._heap = bytearray()
        # Slots are numbered from 1; 0 is none.
        self._first = array("I")  # by row
        self._next = array("I", (0,))  # by slot
        self._free = 0

    @property
    def nbytes(self) -> int:
        """Bytes of memory held."""
        return len(self._heap) + 4 * (len(self._first) + len(self._next))

    def grow(self, rows: int) -> None:
        """Make room for this number of rows."""
        if self._size:
            self._first.frombytes(bytes(4 * (rows - len(self._first))))

    def get(self, row: int) -> bytes:
        """Return the sketch of `row`; ``b""`` where there is none."""
        size = self._size
        slot = self._first[row] if size else 0
        if not slot:
            return b""
        found = self._heap[(slot - 1) * size : slot * size]
        while slot := self._next[slot]:
            found += self._heap[(slot - 1) * size : slot * size]
        return bytes(found[: self._sizes[len(found) // size]])

    def set(self, row: int, sketch: bytes) -> None:
        """Keep a sketch for a row that has none.

        Raises
        ------
        MemoryError
            Nothing is kept.
        """
        size = self._size
        if not size:
            return
        head = 0
        try:
            for start in reversed(range(0, len(sketch), size)):
                slot = self._free or len(self._next)
                part = sketch[start : start + size].ljust(size, b"\0")
                self._heap[(slot - 1) * size : slot * size] = part
                if self._free:
                    self._free = self._next[slot]
                    self._next[slot] = head
                else:
                    self._next.append(head)
                head = slot
        except MemoryError:
            self._let_go(head)
            raise
        self._first[row] = head

    def remove(self, row: int) -> None:
        """Keep nothing for `row`."""
        if self._size:
            self._let_go(self._first[row])
            self._first[row] = 0

    def load(self, rows: NDArray[np.uint32], sketches: Sequence[bytes]) -> None:
        """Keep the sketches of many rows that have none, all at once."""
        if not self._size:
            return
        size = self._size
        counts = -(-np.fromiter(map(len, sketches), np.int64, len(sketches)) // size)
        ends = np.cumsum(counts)
        before = len(self._next)
        following = np.arange(before + 1, before + 1 + int(ends[-1]), dtype=np.uint32)
        following[ends[counts > 0] - 1] = 0
        self._heap += b"".join(
            sketch.ljust(size * count, b"\0")
            for sketch, count in zip(sketches, counts.tolist(), strict=True)
        )
        self._next.frombytes(following.tobytes())
        first = np.where(counts > 0, before + ends - counts, 0)
        np.frombuffer(self._first, np.uint32)[rows] = first

    def _let_go(self, head: int) -> None:
        """Let the slots from `head` on be used again."""
        while head:
            self._next[head], self._free, head = self._free, head, self._next[head]
