"""Sections of packed files: written with checksums, verified page by page when first read.

All decoded bytes are read through a `Checked`, so a damaged byte never gives a wrong answer.
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from mmap import mmap
from typing import Any

import numpy as np
from numpy.typing import NDArray

from scrapy_neardup.errors import InputError

PAGE = 4096
"""Bytes that share a checksum, unless a section has blocks of another size."""

_CODES = {4: "I", 8: "Q"}
"""Bytes of an unsigned integer -> its code in a format of `struct`."""

Buffer = bytes | mmap
"""A buffer with sections; a slice of it is `bytes`."""


def checksums(data: bytes | memoryview, page: int = PAGE) -> NDArray[np.uint32]:
    """Return the CRC-32 of every `page` bytes of `data`; shape (ceil(n / page),)."""
    view = memoryview(data)
    return np.fromiter(
        (zlib.crc32(view[start : start + page]) for start in range(0, len(view), page)), "<u4"
    )


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


class Checked:
    """A section of a buffer, with a checksum a page; zeros fill it to a multiple of 8 bytes.

    `sums` are the `checksums` of the section, filled up, for pages of `page` bytes; errors call
    the buffer `name`.
    """

    __slots__ = ("_buffer", "_name", "_padded", "_page", "_start", "_sums", "_verified", "length")

    def __init__(
        self,
        buffer: Buffer,
        start: int,
        length: int,
        sums: NDArray[np.uint32],
        *,
        page: int,
        name: str,
    ) -> None:
        self._buffer = buffer
        self._start = start
        self.length = length
        self._padded = -(-length // 8) * 8
        self._sums = sums
        self._page = page
        self._name = name
        self._verified = bytearray(len(sums))

    @property
    def layout(self) -> tuple[Buffer, int, int, int, bytearray]:
        """Input of `_speed.packed`: buffer, start, bytes, bytes a page, verified pages."""
        return self._buffer, self._start, self._padded, self._page, self._verified

    def read(self, start: int, stop: int) -> bytes:
        """Return bytes `start` to `stop`; `InputError` if one is damaged or not in the section."""
        if start >= stop:
            return b""
        page = self._page
        verified = self._verified
        first, last = start // page, (stop - 1) // page
        if first < 0 or last >= len(verified):
            raise self.damage("an offset in it points outside of the file")
        # One or two pages are the common case, and this is the innermost call of every probe.
        if last - first > 1 or not (verified[first] and verified[last]):
            for number in range(first, last + 1):
                if not verified[number]:
                    self._verify(number)
        return self._buffer[self._start + start : self._start + stop]

    def _verify(self, number: int) -> None:
        start = number * self._page
        stop = min(start + self._page, self._padded)
        data = self._buffer[self._start + start : self._start + stop]
        if zlib.crc32(data) != int(self._sums[number]):
            raise self.damage(f"{stop - start} bytes at {self._start + start} don't match")
        self._verified[number] = 1

    def array(self, dtype: str) -> NDArray[np.generic]:
        """Return all of the section as an array over the buffer, verified now."""
        self.verify()
        count = self.length // np.dtype(dtype).itemsize
        return np.frombuffer(self._buffer, dtype, count, self._start)

    def verify(self) -> None:
        """Verify all pages that weren't verified yet; `InputError` if one is damaged."""
        for number, verified in enumerate(self._verified):
            if not verified:
                self._verify(number)

    def damage(self, what: str) -> InputError:
        """Return the error that says that the buffer is damaged."""
        return InputError(
            f"{self._name}: damaged ({what}); copy it again, or repack the fingerprints"
        )


class CheckedArray:
    """Unsigned integers of a section, each verified with its page when read."""

    __slots__ = ("_dtype", "_length", "_section", "_width")

    def __init__(self, section: Checked, dtype: str) -> None:
        self._section = section
        self._dtype = dtype
        self._width = np.dtype(dtype).itemsize
        self._length = section.length // self._width

    def __getitem__(self, index: int) -> int:
        return self.between(index, index + 1)[0]

    def between(self, start: int, stop: int) -> tuple[int, ...]:
        """Return items `start` to `stop`; `IndexError` if there are fewer."""
        if not 0 <= start <= stop <= self._length:
            raise IndexError(start)
        data = self._section.read(start * self._width, stop * self._width)
        # There are mostly few items, for which an array takes four times as long.
        return struct.unpack(f"<{stop - start}{_CODES[self._width]}", data)

    def array(self) -> NDArray[np.generic]:
        """Return all items; they are verified now."""
        return self._section.array(self._dtype)


class CheckedStrings:
    """Concatenated byte strings of a section; `ends` has the end of each."""

    __slots__ = ("_ends", "_section")

    def __init__(self, section: Checked, ends: Checked) -> None:
        self._section = section
        self._ends = CheckedArray(ends, "<u8")

    def __getitem__(self, index: int) -> bytes:
        """Return a string; about 2 microseconds."""
        start, end = self._ends.between(index - 1, index + 1) if index else (0, self._ends[0])
        return self._section.read(start, end)


def native(array: NDArray[np.generic]) -> memoryview:
    """Return little-endian unsigned integers as a view with Python ints as items."""
    return array.astype(array.dtype.newbyteorder("="), copy=False).data
