"""Canonical Huffman codes of bounded length (Huffman 1952).

Codes are read from the least significant bit on, so that a table indexed by the next few
bits of a string tells the code that they begin with.
"""

from __future__ import annotations

import heapq
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

NONE = 255
"""Stands for no symbol in a `decoding_table`."""
LONGEST = 12
"""Bits of the longest code: what a look-up table is indexed with."""


def code_lengths(counts: Sequence[int]) -> list[int]:
    """Return the length of each symbol's code, 0 for one that doesn't occur.

    Rare symbols are counted as more frequent until no code is longer than `LONGEST`; as these are
    the rare ones, that costs almost nothing.
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


def codes(lengths: Sequence[int]) -> list[int]:
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
    """Return the symbol that each `LONGEST` bits begin with; `NONE` where there is none."""
    table = np.full(1 << LONGEST, NONE, np.uint8)
    for symbol, (code, length) in enumerate(zip(codes(lengths), lengths, strict=True)):
        if length:
            table[code :: 1 << length] = symbol
    return table
