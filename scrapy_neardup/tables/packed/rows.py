"""The pages of a packed file: the rows of each fingerprint, their ids and URLs.

A *row* is a page's index among all pages, sorted by fingerprint and then by page id; a
*rank* is a fingerprint's index among the distinct ones (`postings.py`).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from scrapy_neardup.tables.packed.checked import Checked, CheckedArray, CheckedStrings
from scrapy_neardup.tables.packed.packedcodec import Encoded, Part
from scrapy_neardup.tables.packed.postings import Postings, Runs
from scrapy_neardup.tables.ranges import ranges

_AT_ONCE = 1 << 16
"""Number of strings in one pass."""


@dataclass(frozen=True, slots=True)
class Strings:
    """Byte strings one after another: all of them, uint8, and where each ends, int64."""

    data: NDArray[np.uint8]
    ends: NDArray[np.int64]

    @classmethod
    def of(cls, strings: Iterable[bytes]) -> Self:
        """Collect `strings`."""
        data = bytearray()
        ends = []
        for string in strings:
            data += string
            ends.append(len(data))
        return cls(np.frombuffer(data, np.uint8), np.array(ends, np.int64))

    def __len__(self) -> int:
        return len(self.ends)

    def between(self, start: int, stop: int) -> Iterator[bytes]:
        """Yield the strings from place `start` to `stop`."""
        begin = int(self.ends[start - 1]) if start else 0
        for end in self.ends[start:stop].tolist():
            yield self.data[begin:end].tobytes()
            begin = end

    def take(self, places: NDArray[np.intp]) -> Self:
        """Return the strings at `places`, in that order."""
        starts = np.concatenate(([0], self.ends[:-1])) if len(self) else self.ends
        sizes = (self.ends - starts)[places]
        data = np.empty(int(sizes.sum()), np.uint8)
        ends = np.cumsum(sizes)
        for first in range(0, len(places), _AT_ONCE):
            part = slice(first, first + _AT_ONCE)
            begin = int(ends[first] - sizes[first])
            moved = self.data[ranges(starts[places[part]], sizes[part])]
            data[begin : begin + len(moved)] = moved
        return type(self)(data, ends)


class Rows(Runs):
    """The pages of a packed file: the rows of each fingerprint.

    Its parts are those of `Runs`; perhaps ``ids``, and then `by_id`; perhaps ``urls`` and
    ``url_ends``.
    """

    def __init__(
        self,
        parameters: Mapping[str, Any],
        parts: Mapping[str, Checked],
        by_id: Postings | None = None,
    ) -> None:
        self._by_id = by_id
        self._count = int(parameters["count"])
        super().__init__(parts)
        self._ids = self._urls = None
        if "ids" in parts:
            self._ids = CheckedArray(parts["ids"], "<u8")
        if "urls" in parts:
            self._urls = CheckedStrings(parts["urls"], parts["url_ends"])

    @classmethod
    def encode_rows(
        cls, counts: NDArray[np.intp], ids: NDArray[np.uint64] | None, urls: Strings | None
    ) -> Encoded:
        """Return the rows of fingerprints that have `counts` rows each, in order."""
        parts = cls.encode(counts)
        if ids is not None:
            parts["ids"] = Part(ids.astype("<u8"))
        if urls is not None:
            parts["urls"] = Part(urls.data)
            parts["url_ends"] = Part(urls.ends.astype("<u8"))
        return Encoded({"count": int(counts.sum())}, parts)

    def __len__(self) -> int:
        return self._count

    @property
    def has_ids(self) -> bool:
        """Whether rows have page ids."""
        return self._ids is not None

    @property
    def has_urls(self) -> bool:
        """Whether rows have URLs."""
        return self._urls is not None

    def rank(self, place: int) -> int:
        """Return the rank of a row's fingerprint; `IndexError` if there is no such row."""
        if not 0 <= place < self._count:
            raise IndexError(f"no row {place}: there are {self._count}")
        return super().rank(place)

    def page_id(self, row: int) -> int:
        """Return the page id of a row; `LookupError` if the file has no ids, or no such row."""
        if self._ids is None:
            raise LookupError("this file was packed without page ids")
        return self._ids[row]

    def find_id(self, page_id: int) -> list[int]:
        """Return the rows with this page id, in order; `LookupError` if the file has no ids."""
        if self._by_id is None:
            raise LookupError("this file was packed without page ids")
        return self._by_id.rows(page_id)

    def name(self, row: int) -> str | int:
        """Return the URL of a row, or else its page id in hexadecimal, or else the row."""
        return self.url(row) or (f"{self.page_id(row):016x}" if self.has_ids else row)

    def url(self, row: int) -> str | None:
        """Return the URL of a row, or None where none is known."""
        return None if self._urls is None else self._urls[row].decode() or None
