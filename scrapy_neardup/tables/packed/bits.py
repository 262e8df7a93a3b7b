"""Bit strings: items one after another, the least significant bit of the first byte first."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

_WORD = np.dtype("<u8")
_GROUP = 64
"""Items of w bits that fill w words exactly."""
_AT_ONCE = 1024
"""Groups that are moved together: their words stay in cache."""


def pack_fixed(values: NDArray[np.uint64], width: int) -> NDArray[np.uint8]:
    """Return the low `width` bits, 1 to 63, of each value, one after another.

    Of uint64, shape (n,), it makes uint8, shape (8 * width * ceil(n / 64),). 64 items, a group,
    fill `width` words; item j of all groups goes to the same word at the same shift, at once.
    """
    groups = -(-len(values) // _GROUP)
    words = np.empty((groups, width), "<u8")
    mask = np.uint64((1 << width) - 1)
    for start in range(0, groups, _AT_ONCE):
        part = values[start * _GROUP : (start + _AT_ONCE) * _GROUP] & mask
        part.resize(min(_AT_ONCE, groups - start) * _GROUP)
        items = np.ascontiguousarray(part.reshape(-1, _GROUP).T)
        packed = np.zeros((width, items.shape[1]), np.uint64)
        for place, item in enumerate(items):
            word, shift = divmod(place * width, 64)
            packed[word] |= item << np.uint64(shift)
            if shift + width > 64:
                packed[word + 1] |= item >> np.uint64(64 - shift)
        words[start : start + _AT_ONCE] = packed.T
    return words.reshape(-1).view(np.uint8)


def read_fixed(data: bytes, first_bit: int, count: int, width: int) -> NDArray[np.uint64]:
    """Return `count` items of `width` bits, 0 to 57, that begin at bit `first_bit` of `data`."""
    starts = np.arange(first_bit, first_bit + count * width, width) if width else np.zeros(count)
    return gather(data, starts.astype(np.int64), np.uint64((1 << width) - 1))


def gather(
    data: bytes, starts: NDArray[np.int64], masks: np.uint64 | NDArray[np.uint64]
) -> NDArray[np.uint64]:
    """Return the bits of `data` from each of `starts` on, under `masks` of up to 57 bits."""
    padded = data + bytes(8)
    words: NDArray[np.uint64] = np.ndarray(len(data) + 1, _WORD, padded, strides=(1,))[starts >> 3]
    words >>= (starts & 7).view(np.uint64)
    words &= masks
    return words


def set_bits(positions: NDArray[np.int64], length: int) -> NDArray[np.uint8]:
    """Return `length` bits (a multiple of 8) of which those at `positions` are set."""
    flags = np.zeros(length, np.bool_)
    flags[positions] = True
    return np.packbits(flags, bitorder="little")


def write_items(
    data: NDArray[np.uint8], starts: NDArray[np.int64], values: NDArray[np.uint64]
) -> None:
    """Set the bits of `values`, shape (m,), in `data`, each from its bit in `starts` on.

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
