"""A compressed table in Elias-Fano code (Elias 1974; Fano 1971; Vigna, WSDM 2013).

The low bits of every value are stored unchanged. The high bits of sorted values only grow, and
are stored in unary: for value i with high bits h, bit h + i of a bit string is set. So there is a
0 for each possible h, and the values with high bits h are the run of 1s before the h-th 0 (counted
from 0). A directory has the number of values before every 512th. This takes at most 2 +
log2(2^64 / n) bits a value for any distribution, and a probe decodes only the few values that
share its prefix.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from scrapy_neardup._speed import agreeing
from scrapy_neardup.tables.design import Permutation
from scrapy_neardup.tables.packed.checked import Checked, Encoded, Section, checksums, native

Probe = Callable[[int, int], list[int]]
"""Fingerprint and distance -> the fingerprints near it that a table finds."""

_CHUNK_BITS = 9
_CHUNK = 1 << _CHUNK_BITS
"""Number of high parts that share an entry of the directory."""
_MAX_LOW_BITS = 56
"""Maximum width of an item that fits a word with the bits before it in its byte."""
_AT_ONCE = 1 << 20
_WORD = np.dtype("<u8")
_GROUP = 64
"""Number of items of w bits that fill exactly w words."""
_GROUPS = 1024
"""Number of groups that are moved together, so that their words stay in cache."""
_IDENTITY = Permutation(range(63, -1, -1))


class EliasFano:
    """A compressed table: sorted, distinct values of 64 bits, decoded on demand.

    Every method raises `InputError` if the bytes that it reads are damaged. Its parts are ``low``,
    the unchanged low bits, ``high``, the high bits in unary, and ``ranks``, the directory.
    """

    def __init__(self, parameters: Mapping[str, Any], parts: Mapping[str, Checked]) -> None:
        self._count = int(parameters["count"])
        self._low_bits = int(parameters["low_bits"])
        self._low = parts["low"]
        self._high = parts["high"]
        self._ranks = native(parts["ranks"].array(_rank_type(self._count)))
        self.rank: Callable[[int], int | None] = (
            self.look_up(_compiled).rank if _compiled else self._searched
        )
        """The rank of a value (the number of smaller values), or None if it is missing; less than
        a microsecond when compiled."""

    @classmethod
    def encode(cls, values: NDArray[np.uint64]) -> Encoded:
        """Compress `values` (sorted, distinct); O(n), about 100 million a second."""
        low_bits = _low_bits(len(values))
        highs = 1 << (64 - low_bits)
        high = np.zeros(-(-(len(values) + highs) // 8), np.uint8)
        for start in range(0, len(values), _AT_ONCE):
            part = (values[start : start + _AT_ONCE] >> np.uint64(low_bits)).view(np.int64)
            part += np.arange(start, start + len(part))
            first = int(part[0]) >> 3
            length = (int(part[-1]) >> 3) + 1 - first
            flags = np.zeros(8 * length, np.bool_)
            flags[part - 8 * first] = True
            high[first : first + length] |= np.packbits(flags, bitorder="little")
        bounds = np.arange(0, highs, _CHUNK).view(np.uint64) << np.uint64(low_bits)
        ranks = np.append(np.searchsorted(values, bounds), len(values))
        return Encoded(
            {"count": len(values), "low_bits": low_bits},
            {
                "low": Section(pack_fixed(values, low_bits)),
                "high": Section(high),
                "ranks": Section(ranks.astype(_rank_type(len(values)))),
            },
        )

    def __len__(self) -> int:
        return self._count

    def probe(self, permutation: Permutation, prefix_bits: int) -> Probe:
        """Return the look-up of fingerprints in a table that this permutation made.

        About a microsecond when compiled.
        """
        if _compiled:
            compiled: Probe = self.look_up(_compiled, permutation, prefix_bits).near
            return compiled

        def probe(fingerprint: int, max_distance: int) -> list[int]:
            near = self.near(permutation.apply(fingerprint), prefix_bits, max_distance)
            return [permutation.invert(value) for value in near]

        return probe

    def look_up(
        self, compiled: Any, permutation: Permutation = _IDENTITY, prefix_bits: int = 64
    ) -> Any:
        """Return the look-up of ``_speed/packed.pyx``; for ranks any permutation will do."""
        steps = permutation.steps, permutation.inverse_steps
        return compiled.LookUp(
            *steps, prefix_bits, self._low_bits, self._low, self._high, self._ranks
        )

    def near(self, key: int, prefix_bits: int, max_distance: int) -> list[int]:
        """Return the values within `max_distance` of `key` that share its `prefix_bits`.

        The result may also have values that share fewer bits of it. Some 50 microseconds if the
        prefix has few values.
        """
        width = max(64 - prefix_bits, self._low_bits)
        _, values = self._around(key >> width << width, key | (1 << width) - 1)
        differing = values ^ np.uint64(key)
        near = (differing < 1 << width) & (np.bitwise_count(differing) <= max_distance)
        return values[near].tolist() if near.any() else []

    def _searched(self, value: int) -> int | None:
        start, values = self._around(value, value)
        place = int(np.searchsorted(values, np.uint64(value)))
        return start + place if place < len(values) and values[place] == value else None

    def _around(self, first: int, last: int) -> tuple[int, NDArray[np.uint64]]:
        """Return the values of the chunks that hold all from `first` to `last`, and their rank."""
        bits = self._low_bits + _CHUNK_BITS
        start, stop = self._ranks[first >> bits], self._ranks[(last >> bits) + 1]
        return start, self.decode(start, stop)

    def decode(self, start: int, stop: int) -> NDArray[np.uint64]:
        """Return the values of ranks `start` to `stop`; about 100 million a second."""
        if start >= stop:
            return np.empty(0, np.uint64)
        low, high = bisect_right(self._ranks, start) - 1, bisect_left(self._ranks, stop)
        before = self._ranks[low]
        # The bits of the unary code that are set, in chunks `low` to `high`.
        first, last = before + (low << _CHUNK_BITS), self._ranks[high] + (high << _CHUNK_BITS)
        data = np.frombuffer(self._high.read(first >> 3, (last + 7) >> 3), np.uint8)
        flags = np.unpackbits(data, bitorder="little")[first & 7 : last - (first & ~7)]
        positions = np.flatnonzero(flags)[start - before : stop - before] + first
        stop = start + len(positions)
        highs = positions - np.arange(start, stop)
        highs <<= self._low_bits
        bit = start * self._low_bits
        lows = self._low.read(bit >> 3, (stop * self._low_bits + 7) >> 3)
        return highs.view(np.uint64) | read_fixed(lows, bit & 7, stop - start, self._low_bits)


def pack_fixed(values: NDArray[np.uint64], width: int) -> NDArray[np.uint8]:
    """Concatenate the low `width` bits, 1 to 63, of each value.

    Values are uint64, shape (n,); the result is uint8, shape (8 * width * ceil(n / 64),). A group
    of 64 items fills `width` words; item j of all groups is moved at once, to the same word at the
    same shift.
    """
    groups = -(-len(values) // _GROUP)
    words = np.empty((groups, width), "<u8")
    mask = np.uint64((1 << width) - 1)
    for start in range(0, groups, _GROUPS):
        part = values[start * _GROUP : (start + _GROUPS) * _GROUP] & mask
        part.resize(min(_GROUPS, groups - start) * _GROUP)
        items = np.ascontiguousarray(part.reshape(-1, _GROUP).T)
        packed = np.zeros((width, items.shape[1]), np.uint64)
        for place, item in enumerate(items):
            word, shift = divmod(place * width, 64)
            packed[word] |= item << np.uint64(shift)
            if shift + width > 64:
                packed[word + 1] |= item >> np.uint64(64 - shift)
        words[start : start + _GROUPS] = packed.T
    return words.reshape(-1).view(np.uint8)


def read_fixed(data: bytes, first_bit: int, count: int, width: int) -> NDArray[np.uint64]:
    """Return `count` items of `width` bits, 1 to 57, that begin at bit `first_bit` of `data`."""
    starts = np.arange(first_bit, first_bit + count * width, width)
    padded = data + bytes(8)
    words: NDArray[np.uint64] = np.ndarray(len(data) + 1, _WORD, padded, strides=(1,))[starts >> 3]
    words >>= (starts & 7).view(np.uint64)
    words &= np.uint64((1 << width) - 1)
    return words


def _low_bits(count: int) -> int:
    """Return the number of low bits with which `count` values take the least memory."""
    return min(range(1, _MAX_LOW_BITS + 1), key=lambda low: count * low + (1 << (64 - low)))


def _rank_type(count: int) -> str:
    return "<u4" if count < 1 << 32 else "<u8"


def _example(compiled: Any) -> object:
    """Return the matches among a few values."""
    values = np.arange(0, 1 << 60, 1 << 53, dtype=np.uint64)
    encoded = EliasFano.encode(values)
    parts = {}
    for name, part in encoded.parts.items():
        (data,) = map(bytes, part.chunks())
        filled = data + bytes(-len(data) % 8)
        parts[name] = Checked(filled, 0, len(data), checksums(filled), page=part.page, name="")
    table = EliasFano(encoded.parameters, parts)
    permutation = Permutation.leading([0xFF << 52])
    near, rank = table.probe(permutation, 9), table.rank
    if compiled:
        near, rank = table.look_up(compiled, permutation, 9).near, table.look_up(compiled).rank
    keys = range(0, 1 << 60, 1 << 52)
    return [near(key, 2) for key in keys[::16]], [rank(key) for key in keys]


_compiled: Any = None  # for the example
_compiled = agreeing("packed", _example)
