"""The compressed table of Manku, Jain & Das Sarma (WWW 2007, section 3.2), to compare with.

The sorted, distinct fingerprints of a table fill blocks of 1,024 bytes. A block holds its first
fingerprint whole, and for each further one the exclusive or with its predecessor: the position h
of the leading 1-bit in a Huffman code made for the table, then the h bits to the right of it. A
block's key, stored separately, is its last fingerprint. A probe finds its block by binary search
(the paper interpolates, which takes twice as long in Python), and decodes that block and those
that follow while the prefix continues.

Codes are canonical and of bounded length (Huffman 1952). They are read from the least significant
bit on, so a table that is indexed by the next few bits of a string has the code that they begin
with.
"""

from __future__ import annotations

import heapq
from bisect import bisect_left
from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from scrapy_neardup.tables.packed.checked import Checked, Encoded, Section, native

BLOCK = 1024
"""Number of bytes of a block (the paper's B)."""
_FIRST = 64
"""Number of bits of a block's first fingerprint."""
_END = BLOCK * 8
_TWO_BYTES, _WORD = np.dtype("<u2"), np.dtype("<u8")
_AT_ONCE = 1 << 20
"""Number of gaps written in one pass."""
_GATHERED = 57
"""Number of bits that one word can hold, at any start within a byte."""
_NONE = 255
"""Entry of a `decoding_table` for no symbol."""
LONGEST = 12
"""Number of bits of the longest code, by which a look-up table is indexed."""
_ONE = np.uint64(1)
_CODE = np.uint16((1 << LONGEST) - 1)


class HuffmanBlocks:
    """Sorted, distinct values in blocks of Huffman-coded gaps.

    Its parts are ``blocks``, and ``keys``, each block's last fingerprint. A parameter has the
    ``lengths`` of the 64 codes.
    """

    def __init__(self, parameters: Mapping[str, Any], parts: Mapping[str, Checked]) -> None:
        lengths = parameters["lengths"]
        # Of the code that each twelve bits begin with: its length, that with its tail, and
        # the leading bit that it stands for.
        symbols = decoding_table(lengths)
        known = symbols != _NONE
        sizes = np.array([*lengths, *[0] * (_NONE + 1 - len(lengths))], np.uint8)
        self._head_sizes = sizes[symbols].astype(np.uint64)
        self._whole_sizes = np.where(known, self._head_sizes + symbols, 0).astype(np.uint8)
        self._leading = np.where(known, _ONE << symbols, _ONE)
        self._blocks = parts["blocks"]
        self._keys = native(parts["keys"].array("<u8"))

    @classmethod
    def encode(cls, values: NDArray[np.uint64]) -> Encoded:
        """Compress `values`; O(n), about 2 million a second."""
        gaps = values[1:] ^ values[:-1]
        leading = _leading_bits(gaps)
        lengths = code_lengths(np.bincount(leading, minlength=_FIRST).tolist())
        head_sizes = np.array(lengths, np.int64)[leading]
        ends = np.cumsum(head_sizes + leading)
        begins = np.concatenate(([0], ends))[: len(values)]
        starts = _block_starts(ends, len(values))
        firsts = np.arange(len(starts)) * (BLOCK * 8)
        counts = np.diff(starts, append=len(values))
        # Gap i leads to value i + 1; those that lead into another block aren't written.
        begins += np.repeat(firsts + _FIRST - begins[starts], counts)
        written = np.ones(len(gaps), np.bool_)
        written[starts[1:] - 1] = False

        data = np.zeros(len(starts) * BLOCK, np.uint8)
        write_items(data, firsts, values[starts])
        codes = np.array(codes_of(lengths), np.uint64)
        for first in range(0, len(gaps), _AT_ONCE):
            part = first + np.flatnonzero(written[first : first + _AT_ONCE])
            write_items(data, begins[part], codes[leading[part]])
            part = part[leading[part] > 0]
            tails = gaps[part] ^ np.uint64(1) << leading[part].astype(np.uint64)
            write_items(data, begins[part] + head_sizes[part], tails)

        parts = {
            "blocks": Section(data, page=BLOCK),
            "keys": Section(values[starts + counts - 1].astype("<u8")),
        }
        return Encoded({"lengths": lengths}, parts)

    def near(self, key: int, prefix_bits: int, max_distance: int) -> list[int]:
        """Return the values within `max_distance` of `key` that share its `prefix_bits`.

        Others within `max_distance` may be among them. Decodes each block that the prefix reaches
        into.
        """
        low = key >> (64 - prefix_bits) << (64 - prefix_bits)
        high = low | (1 << (64 - prefix_bits)) - 1
        found: list[int] = []
        number = bisect_left(self._keys, low)
        while number < len(self._keys):
            block = self._blocks.read(number * BLOCK, (number + 1) * BLOCK)
            if int.from_bytes(block[:8], "little") > high:
                break
            values = self._decoded(block, number)
            distances = np.bitwise_count(values ^ np.uint64(key))
            if distances.min() <= max_distance:
                found += values[distances <= max_distance].tolist()
            if self._keys[number] >= high:
                break
            number += 1
        return found

    def _decoded(self, block: bytes, number: int) -> NDArray[np.uint64]:
        """Return the values of a block.

        For every bit of the block, the end of a code and tail that begins there is looked up at
        once. Following these steps from the first code finds the real ones. Tails are then read
        together. Each value is the exclusive or of all gaps before it with the first value, so one
        accumulation gives all values.
        """
        padded = block + bytes(8)
        pairs = np.ndarray(BLOCK + 1, _TWO_BYTES, padded, strides=(1,)).copy()
        twelves = np.empty((BLOCK + 1, 2), np.uint16)
        np.bitwise_and(pairs, _CODE, out=twelves[:, 0])
        np.right_shift(pairs, 4, out=twelves[:, 1])
        steps = self._steps.take(twelves).tobytes()
        place, end = _FIRST, _END
        followed = bytearray((_FIRST,))
        while place < end and (step := steps[place] or self._long_step(block, place)):
            followed.append(step)
            place += step
        sizes = np.frombuffer(followed, np.uint8)
        starts = sizes.cumsum(dtype=np.int64)[:-1]
        items = np.ndarray(BLOCK + 1, _WORD, padded, strides=(1,))[starts >> 3]
        items >>= (starts & 7).view(np.uint64)
        codes = (items & _CODE).view(np.int64)
        heads = self._head_sizes.take(codes)
        leading = self._leading.take(codes)
        items >>= heads
        items &= leading - _ONE
        for wide in np.flatnonzero(sizes[1:] > _GATHERED).tolist():
            tail = int(starts[wide]) + int(heads[wide])
            word = int.from_bytes(block[tail >> 3 : (tail >> 3) + 9], "little") >> (tail & 7)
            items[wide] = word & int(leading[wide]) - 1
        values = np.empty(len(items) + 1, np.uint64)
        values[0] = int.from_bytes(block[:8], "little")
        np.bitwise_or(items, leading, out=values[1:])
        np.bitwise_xor.accumulate(values, out=values)
        # What follows the block's key is what its last, unused bits happen to say.
        count = int((values == self._keys[number]).argmax()) + 1
        if values[count - 1] != self._keys[number]:
            raise self._blocks.damage(f"block {number} doesn't end with its key")
        return values[:count]

    @cached_property
    def _steps(self) -> NDArray[np.uint32]:
        """For twelve bits of a block, the lengths of code and tail at each of the first four bits.

        0 stands for a length that the remaining bits don't tell.
        """
        words = np.arange(1 << LONGEST)
        steps = np.empty((len(words), 4), np.uint8)
        for bit in range(4):
            codes = words >> bit
            sizes = self._head_sizes[codes]
            steps[:, bit] = np.where(sizes > LONGEST - bit, 0, self._whole_sizes[codes])
        return steps.view(np.uint32).reshape(-1)

    def _long_step(self, block: bytes, place: int) -> int:
        """Return the length of the code and tail at bit `place`, or 0 if no code begins there."""
        three = int.from_bytes(block[place >> 3 : (place >> 3) + 3], "little")
        return int(self._whole_sizes[three >> (place & 7) & int(_CODE)])


def _leading_bits(gaps: NDArray[np.uint64]) -> NDArray[np.uint8]:
    """Return the position of each gap's most significant 1-bit."""
    filled = gaps.copy()
    for distance in (1, 2, 4, 8, 16, 32):
        filled |= filled >> np.uint64(distance)
    return np.bitwise_count(filled) - np.uint8(1)


def write_items(
    data: NDArray[np.uint8], starts: NDArray[np.int64], values: NDArray[np.uint64]
) -> None:
    """Set the bits of each of `values`, shape (m,), in `data`, from its bit in `starts` on.

    `data`, contiguous uint8 of shape (8 * n,), is zero where items go; `starts` increase, and no
    value is longer than the distance to the next one.
    """
    if not len(starts):
        return
    words = data.view("<u8")
    places = starts >> 6
    shifts = (starts & 63).view(np.uint64)
    firsts = np.flatnonzero(np.diff(places, prepend=-1))
    low = np.bitwise_or.reduceat(values << shifts, firsts)
    # At most the last item of a word goes on in the next; two shifts, as one by 64 does nothing.
    lasts = np.append(firsts[1:], len(values)) - 1
    high = (values[lasts] >> (np.uint64(63) - shifts[lasts])) >> np.uint64(1)
    words[places[firsts]] |= low
    spilled = np.flatnonzero(high)
    words[places[lasts[spilled]] + 1] |= high[spilled]


def _block_starts(ends: NDArray[np.int64], count: int) -> NDArray[np.int64]:
    """Return which values begin a block; the gaps up to value i + 1 take ``ends[i]`` bits."""
    starts = []
    start = 0
    while start < count:
        starts.append(start)
        room = (int(ends[start - 1]) if start else 0) + _END - _FIRST
        start = int(np.searchsorted(ends, room, side="right")) + 1
    return np.array(starts, np.int64)


def code_lengths(counts: Sequence[int]) -> list[int]:
    """Return the length of each symbol's code, 0 for one that doesn't occur.

    Rare symbols count as more frequent until no code is longer than `LONGEST`, which costs almost
    nothing because they are rare.
    """
    floor = 1
    while True:
        lengths = _unbounded([max(count, floor) if count else 0 for count in counts])
        if max(lengths, default=0) <= LONGEST:
            return lengths
        floor *= 2


def _unbounded(counts: Sequence[int]) -> list[int]:
    lengths = [0] * len(counts)
    heap = [(count, symbol, [symbol]) for symbol, count in enumerate(counts) if count]
    if len(heap) == 1:
        lengths[heap[0][1]] = 1
    heapq.heapify(heap)
    while len(heap) > 1:
        count, symbol, symbols = heapq.heappop(heap)
        other = heapq.heappop(heap)
        symbols += other[2]
        for deeper in symbols:
            lengths[deeper] += 1
        heapq.heappush(heap, (count + other[0], symbol, symbols))
    return lengths


def codes_of(lengths: Sequence[int]) -> list[int]:
    """Return each symbol's canonical code, its first bit the least significant one.

    Raises `ValueError` if no code has such lengths.
    """
    if not all(0 <= length <= LONGEST for length in lengths):
        raise ValueError(f"a code is at most {LONGEST} bits long")
    assigned = [0] * len(lengths)
    code = previous = 0
    for length, symbol in sorted((length, s) for s, length in enumerate(lengths) if length):
        code <<= length - previous
        previous = length
        if code >> length:
            raise ValueError("the lengths belong to no prefix code")
        assigned[symbol] = int(f"{code:0{length}b}"[::-1], 2)
        code += 1
    return assigned


def decoding_table(lengths: Sequence[int]) -> NDArray[np.uint8]:
    """Return the symbol that each `LONGEST` bits begin with; `NONE` if there is none."""
    table = np.full(1 << LONGEST, _NONE, np.uint8)
    for symbol, (code, length) in enumerate(zip(codes_of(lengths), lengths, strict=True)):
        if length:
            table[code :: 1 << length] = symbol
    return table
