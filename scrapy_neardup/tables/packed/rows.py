"""What a packed file knows of pages: which rows a fingerprint has, their ids and URLs.

A *row* is a page's place among all pages, sorted by fingerprint and then by page id; a
*rank* is a fingerprint's place among the distinct ones. As few fingerprints are shared,
only those that are take room here.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self, overload

import numpy as np
from numpy.typing import NDArray

from scrapy_neardup.tables.packed.checked import Checked, CheckedArray, native
from scrapy_neardup.tables.packed.codec import Encoded, Part
from scrapy_neardup.tables.packed.search import interpolation_search
from scrapy_neardup.tables.ranges import ranges

_AT_ONCE = 1 << 16


@dataclass(frozen=True, slots=True)
class Strings:
    """Byte strings one after another.

    Parameters
    ----------
    data
        All of them, uint8.
    ends
        Shape (n,), int64: where each ends.
    """

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


class Rows:
    """The pages of a packed file.

    Parameters
    ----------
    parameters
        ``count``, the number of rows.
    parts
        ``repeated`` and ``copies``: the ranks of fingerprints with more than one row, and
        how many more up to and with each; perhaps ``ids`` and ``by_id`` (rows in the order
        of their ids); perhaps ``urls`` and ``url_ends``.
    """

    def __init__(self, parameters: Mapping[str, Any], parts: Mapping[str, Checked]) -> None:
        self._count = int(parameters["count"])
        self._repeated = native(parts["repeated"].array("<u8"))
        self._copies = native(parts["copies"].array("<u8"))
        self._ids = self._by_id = self._urls = None
        if "ids" in parts:
            self._ids = CheckedArray(parts["ids"], "<u8")
            self._by_id = _ById(self._ids, CheckedArray(parts["by_id"], _row_type(self._count)))
        if "urls" in parts:
            self._urls = parts["urls"]
            self._url_ends = CheckedArray(parts["url_ends"], "<u8")

    @classmethod
    def encode(
        cls, counts: NDArray[np.intp], ids: NDArray[np.uint64] | None, urls: Strings | None
    ) -> Encoded:
        """Return the rows of fingerprints that have `counts` rows each, in order."""
        total = int(counts.sum())
        repeated = np.flatnonzero(counts > 1)
        parts = {
            "repeated": Part(repeated.astype("<u8")),
            "copies": Part(np.cumsum(counts[repeated] - 1).astype("<u8")),
        }
        if ids is not None:
            parts["ids"] = Part(ids.astype("<u8"))
            parts["by_id"] = Part(np.argsort(ids, kind="stable").astype(_row_type(total)))
        if urls is not None:
            parts["urls"] = Part(urls.data)
            parts["url_ends"] = Part(urls.ends.astype("<u8"))
        return Encoded({"count": total}, parts)

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

    def of_rank(self, rank: int) -> range:
        """Return the rows of the fingerprint of this rank."""
        place = bisect_left(self._repeated, rank)
        before = self._copies[place - 1] if place else 0
        shared = place < len(self._repeated) and self._repeated[place] == rank
        after = self._copies[place] if shared else before
        return range(rank + before, rank + after + 1)

    def rank(self, row: int) -> int:
        """Return the rank of a row's fingerprint.

        Raises
        ------
        IndexError
            There is no such row.
        """
        if not 0 <= row < self._count:
            raise IndexError(f"no row {row}: there are {self._count}")
        shared = range(len(self._repeated))
        place = bisect_right(shared, row, key=lambda i: self.of_rank(self._repeated[i])[0]) - 1
        if place < 0:
            return row
        rank: int = self._repeated[place]
        return rank if row in self.of_rank(rank) else row - int(self._copies[place])

    def counts(self, start: int, stop: int) -> NDArray[np.intp]:
        """Return how many rows the fingerprints of ranks `start` to `stop` have."""
        counts = np.ones(stop - start, np.intp)
        first, last = bisect_left(self._repeated, start), bisect_left(self._repeated, stop)
        if first < last:
            before = self._copies[first - 1] if first else 0
            copies = np.array(self._copies[first:last], np.intp)
            counts[np.array(self._repeated[first:last], np.intp) - start] += np.diff(
                copies, prepend=before
            )
        return counts

    def page_id(self, row: int) -> int:
        """Return the page id of a row.

        Raises
        ------
        LookupError
            The file has no ids, or no such row.
        """
        if self._ids is None:
            raise LookupError("this file was packed without page ids")
        return self._ids[row]

    def find_id(self, page_id: int) -> list[int]:
        """Return the rows with this page id, in order; O(log log n) look-ups.

        Raises
        ------
        LookupError
            The file has no ids.
        """
        if self._by_id is None:
            raise LookupError("this file was packed without page ids")
        ids, place = self._by_id, interpolation_search(self._by_id, page_id)
        rows = []
        while place < len(ids) and ids[place] == page_id:
            rows.append(ids.row(place))
            place += 1
        return rows

    def url(self, row: int) -> str | None:
        """Return the URL of a row, or None where none is known."""
        if self._urls is None:
            return None
        start = self._url_ends[row - 1] if row else 0
        return self._urls.read(start, self._url_ends[row]).decode() or None


class _ById(Sequence[int]):
    """The page ids in their order."""

    def __init__(self, ids: CheckedArray, rows: CheckedArray) -> None:
        self._ids = ids
        self._rows = rows

    def row(self, place: int) -> int:
        return self._rows[place]

    def __len__(self) -> int:
        return len(self._rows)

    @overload
    def __getitem__(self, place: int) -> int: ...

    @overload
    def __getitem__(self, place: slice) -> list[int]: ...

    def __getitem__(self, place: int | slice) -> int | list[int]:
        if isinstance(place, slice):
            return [self._ids[row] for row in self._rows[place]]
        return self._ids[self._rows[place]]


def _row_type(count: int) -> str:
    return "<u4" if count < 1 << 32 else "<u8"
