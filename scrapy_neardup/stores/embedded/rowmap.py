"""A compact multimap from the values of a column to its row numbers.

Only the column holds the values. A slot is a 4-byte row number, so a map of ten million pages
takes 6 bytes a page; a dict of Python ints takes more than 100.

It uses open addressing with linear probing, and deletion that moves later entries back instead of
leaving tombstones (Knuth, The Art of Computer Programming, volume 3, section 6.4, algorithms L and
R). The table is cut into 256 shards that grow one by one, each by a quarter. So no insertion waits
for ten million others to be moved, and with many pages at most 40 % of the slots are empty.
"""

from __future__ import annotations

from array import array
from typing import Final

import numpy as np
from numpy.typing import NDArray

from scrapy_neardup.fingerprints.shingles import first_of_each

_SHARD_BITS: Final = 8
"""Number of leading bits of a hash that choose the shard."""
_MULTIPLIER: Final = 0x9E3779B97F4A7C15
"""2^64 divided by the golden ratio, for multiplicative hashing (Knuth, section 6.4)."""
_WORD: Final = (1 << 64) - 1
_HALF: Final = (1 << 32) - 1
_MAX_LOAD: Final = 0.75
"""Maximum share of used slots of a shard."""
_GROWTH: Final = 1.25
"""Factor by which a full shard grows."""
_SMALLEST: Final = 64
"""Minimum number of slots of a shard, and of slots that it grows by, because a small shard takes
longer to grow than to fill."""


class RowMap:
    """A map from values to row numbers, at most `most` for each value; 0: any number.

    `column` holds the values, uint64, by row. Each look-up reads it, so the value of a mapped row
    must not change. All methods cost O(1) on average, and O(n) for n rows of one value.
    """

    __slots__ = ("_column", "_counts", "_most", "_shards")

    def __init__(self, column: array[int], most: int = 0) -> None:
        self._column = column
        self._most = most
        # A slot holds a row number plus one; 0 is an empty slot.
        self._shards = [array("I", bytes(4 * _SMALLEST)) for _ in range(1 << _SHARD_BITS)]
        self._counts = [0] * len(self._shards)

    def __len__(self) -> int:
        return sum(self._counts)

    @property
    def nbytes(self) -> int:
        """Memory in bytes."""
        return sum(shard.itemsize * len(shard) for shard in self._shards)

    def rows(self, value: int) -> list[int]:
        """Return all rows of `value`, in the order of their slots."""
        column, hashed = self._column, (value * _MULTIPLIER) & _WORD
        slots = self._shards[hashed >> (64 - _SHARD_BITS)]
        size = len(slots)
        slot = ((hashed >> 24 & _HALF) * size) >> 32
        found = []
        while row := slots[slot]:
            if column[row - 1] == value:
                found.append(row - 1)
            slot += 1
            if slot == size:
                slot = 0
        return found

    def add(self, row: int) -> bool:
        """Map the column's value at `row` to the row; return False if it has `most` rows.

        In that case, and after a `MemoryError`, the map doesn't change.
        """
        column, most, value = self._column, self._most, self._column[row]
        hashed = (value * _MULTIPLIER) & _WORD
        shard = hashed >> (64 - _SHARD_BITS)
        slots = self._shards[shard]
        size = len(slots)
        if self._counts[shard] + 1 > _MAX_LOAD * size:
            size = max(size + _SMALLEST, int(size * _GROWTH))
            slots = self._rebuilt(slots, np.empty(0, np.uint32), size)
            self._shards[shard] = slots
        slot = ((hashed >> 24 & _HALF) * size) >> 32
        alike = 0
        while taken := slots[slot]:
            if most and column[taken - 1] == value:
                alike += 1
                if alike == most:
                    return False
            slot += 1
            if slot == size:
                slot = 0
        slots[slot] = row + 1
        self._counts[shard] += 1
        return True

    def add_many(self, rows: NDArray[np.uint32]) -> NDArray[np.uint32]:
        """Map the column's values at `rows`, uint32 of shape (n,), as if by `add`.

        Returns the rows that are mapped now, in order. Costs O((n + m) log(n + m)) for m rows in
        the map, so call it once for many.
        """
        if self._most:
            rows = self._fitting(rows)
        shards = (_hashes(self._column, rows) >> np.uint64(64 - _SHARD_BITS)).astype(np.uint8)
        by_shard = rows[np.argsort(shards, kind="stable")]
        counts = np.bincount(shards, minlength=len(self._shards)).tolist()
        end = 0
        for shard, added in enumerate(counts):
            start, end = end, end + added
            count = self._counts[shard] + added
            size = max(len(self._shards[shard]), int(count / _MAX_LOAD * _GROWTH**0.5) + 1)
            self._shards[shard] = self._rebuilt(
                self._shards[shard], by_shard[start:end] + np.uint32(1), size
            )
            self._counts[shard] = count
        return rows

    def discard(self, row: int) -> bool:
        """Remove `row`; return whether it was in the map."""
        hashed = (self._column[row] * _MULTIPLIER) & _WORD
        shard = hashed >> (64 - _SHARD_BITS)
        slots = self._shards[shard]
        size = len(slots)
        hole = ((hashed >> 24 & _HALF) * size) >> 32
        while slots[hole] != row + 1:
            if not slots[hole]:
                return False
            hole = (hole + 1) % size
        slot = (hole + 1) % size
        while moved := slots[slot]:
            home = ((((self._column[moved - 1] * _MULTIPLIER) & _WORD) >> 24 & _HALF) * size) >> 32
            # It may move back to the hole unless its home is after the hole.
            if (slot - home) % size >= (slot - hole) % size:
                slots[hole] = moved
                hole = slot
            slot = (slot + 1) % size
        slots[hole] = 0
        self._counts[shard] -= 1
        return True

    def _fitting(self, rows: NDArray[np.uint32]) -> NDArray[np.uint32]:
        """Return the first rows of each value, as many as the map still takes."""
        slots = np.concatenate([np.frombuffer(shard, np.uint32) for shard in self._shards])
        held = slots[slots > 0] - np.uint32(1)
        values = np.frombuffer(self._column, np.uint64)[np.concatenate([held, rows])]
        order = np.argsort(values, kind="stable")
        places, is_first = np.arange(len(values)), first_of_each(values[order])
        ranks = places - np.maximum.accumulate(np.where(is_first, places, 0))
        fits = np.empty(len(values), np.bool_)
        fits[order] = ranks < self._most
        return rows[fits[len(held) :]]

    def _rebuilt(self, slots: array[int], added: NDArray[np.uint32], size: int) -> array[int]:
        """Return a shard's slots in another size, with `added` slot values."""
        held = np.frombuffer(slots, np.uint32)
        values = np.concatenate([held[held > 0], added])
        hashes = _hashes(self._column, values - np.uint32(1)) >> np.uint64(24) & np.uint64(_HALF)
        homes = (hashes * np.uint64(size)) >> np.uint64(32)
        order = np.argsort(homes)
        # Linear probing in the order of homes: each takes the first slot at or after its
        # home and after its predecessor's.
        steps = np.arange(len(values))
        places = np.maximum.accumulate(homes[order].astype(np.int64) - steps) + steps
        fitting = places < size
        rebuilt = np.zeros(size, np.uint32)
        rebuilt[places[fitting]] = values[order][fitting]
        result = array("I", rebuilt.tobytes())
        rest = order[~fitting]
        for value, home in zip(values[rest].tolist(), hashes[rest].tolist(), strict=True):
            slot = (home * size) >> 32
            while result[slot]:
                slot = (slot + 1) % size
            result[slot] = value
        return result


def _hashes(column: array[int], rows: NDArray[np.uint32]) -> NDArray[np.uint64]:
    values = np.frombuffer(column, np.uint64)[rows]
    hashes: NDArray[np.uint64] = values * np.uint64(_MULTIPLIER)
    return hashes
