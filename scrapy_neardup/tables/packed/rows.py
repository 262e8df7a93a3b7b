"""The pages of a packed file: the rows of each fingerprint, their ids, URLs, records and features.

A *row* is a page's index among all pages, sorted by fingerprint and then by page id; a
*rank* is a fingerprint's index among the distinct ones (`Postings`). A record is bytes and a
feature is a number here; `scrapy_neardup.stores.packed` knows what they mean.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from scrapy_neardup.tables.packed.checked import (
    Checked,
    CheckedArray,
    CheckedStrings,
    Encoded,
    Section,
    native,
)
from scrapy_neardup.tables.packed.elias_fano import EliasFano


class Runs:
    """The positions of each distinct value.

    Its parts are ``repeated``, the ranks of values with more than one position, and ``copies``,
    the number of additional positions up to and including each.
    """

    def __init__(self, parts: Mapping[str, Checked]) -> None:
        self._repeated = native(parts["repeated"].array("<u8"))
        self._copies = native(parts["copies"].array("<u8"))

    @classmethod
    def encode(cls, counts: NDArray[np.intp]) -> dict[str, Section]:
        """Return the parts for sorted values with `counts` positions each, shape (n,)."""
        repeated = np.flatnonzero(counts > 1)
        return {
            "repeated": Section(repeated.astype("<u8")),
            "copies": Section(np.cumsum(counts[repeated] - 1).astype("<u8")),
        }

    def of_rank(self, rank: int) -> range:
        """Return the places of the value of this rank."""
        place = bisect_left(self._repeated, rank)
        before = self._copies[place - 1] if place else 0
        shared = place < len(self._repeated) and self._repeated[place] == rank
        after = self._copies[place] if shared else before
        return range(rank + before, rank + after + 1)

    def rank(self, place: int) -> int:
        """Return the rank of the value at a place."""
        shared = range(len(self._repeated))
        run = bisect_right(shared, place, key=lambda i: self.of_rank(self._repeated[i])[0]) - 1
        if run < 0:
            return place
        rank: int = self._repeated[run]
        return rank if place in self.of_rank(rank) else place - int(self._copies[run])

    def counts(self, start: int, stop: int) -> NDArray[np.intp]:
        """Return the number of positions of the values of ranks `start` to `stop`."""
        counts = np.ones(stop - start, np.intp)
        first, last = bisect_left(self._repeated, start), bisect_left(self._repeated, stop)
        if first < last:
            before = self._copies[first - 1] if first else 0
            copies = np.array(self._copies[first:last], np.intp)
            counts[np.array(self._repeated[first:last], np.intp) - start] += np.diff(
                copies, prepend=before
            )
        return counts


class Postings:
    """Rows by the values of a column: the parts of both, and ``rows``, sorted by value."""

    def __init__(self, parameters: Mapping[str, Any], parts: Mapping[str, Checked]) -> None:
        self._values = EliasFano(parameters, parts)
        self._runs = Runs(parts)
        self._rows = CheckedArray(parts["rows"], "<u8" if parameters["wide"] else "<u4")

    @classmethod
    def encode(cls, values: NDArray[np.uint64], rows: NDArray[np.intp]) -> Encoded:
        """Encode a column of uint64 `values` with the row of each; O(n log n).

        Rows of one value keep their order.
        """
        wide = len(values) >= 1 << 32
        order = np.argsort(values, kind="stable")
        values = values[order]
        firsts = np.flatnonzero(np.diff(values, prepend=~values[:1]))
        table = EliasFano.encode(values[firsts])
        runs = Runs.encode(np.diff(firsts, append=len(values)))
        by_value = Section(rows[order].astype("<u8" if wide else "<u4"))
        return Encoded(
            {**table.parameters, "wide": wide}, {**table.parts, **runs, "rows": by_value}
        )

    def rows(self, value: int, most: int | None = None) -> list[int]:
        """Return the rows of a value, or the first `most`, in the order of encoding."""
        rank = self._values.rank(value)
        if rank is None:
            return []
        places = self._runs.of_rank(rank)[:most]
        return list(self._rows.between(places.start, places.stop))

    def column(self, count: int) -> NDArray[np.uint64]:
        """Return the value of each of `count` rows, 0 for none; O(count)."""
        found = np.zeros(count, np.uint64)
        distinct = len(self._values)
        values = np.repeat(self._values.decode(0, distinct), self._runs.counts(0, distinct))
        found[self._rows.array()] = values
        return found


_AT_ONCE = 1 << 12
"""Number of strings that are written at once."""


class Rows(Runs):
    """The pages of a packed file: the rows of each fingerprint.

    Its parts are those of `Runs`; perhaps ``ids``, and then `by_id`; perhaps ``urls`` and
    ``url_ends``. `has_ids` and `has_urls` say whether rows have page ids, and URLs.
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
        self.has_ids, self.has_urls = "ids" in parts, "urls" in parts
        self._ids = CheckedArray(parts["ids"], "<u8") if self.has_ids else None
        self._urls = CheckedStrings(parts["urls"], parts["url_ends"]) if self.has_urls else None

    @classmethod
    def encode_rows(
        cls,
        counts: NDArray[np.intp],
        order: NDArray[np.intp],
        ids: NDArray[np.uint64] | None,
        url: Callable[[int], bytes] | None,
    ) -> Encoded:
        """Return the rows of sorted fingerprints that have `counts` rows each.

        `ids` are in the order of rows; `url` returns the URL of the page at a place of the input,
        and row i has page ``order[i]``.
        """
        parts = cls.encode(counts)
        if ids is not None:
            parts["ids"] = Section(ids.astype("<u8"))
        if url is not None:
            ends = np.zeros(len(order), "<u8")
            parts |= {"urls": Section(_joined(url, order, ends)), "url_ends": Section(ends)}
        return Encoded({"count": int(counts.sum())}, parts)

    def __len__(self) -> int:
        return self._count

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
        """Return the URL of a row, else its page id in hexadecimal, else the row number."""
        return self.url(row) or (f"{self.page_id(row):016x}" if self.has_ids else row)

    def url(self, row: int) -> str | None:
        """Return the URL of a row, or None if it has none."""
        return None if self._urls is None else self._urls[row].decode() or None


@dataclass(frozen=True, slots=True)
class Unpacked:
    """Records and features of pages before packing.

    `parameters`, for JSON, are what makes them comparable with others. `record` returns the
    record of the page at a place of the input. `features` returns one of the `columns`: uint64,
    shape (n,), in the order of the input, 0 for a page without features.
    """

    parameters: Mapping[str, Any]
    record: Callable[[int], bytes]
    features: Callable[[int], NDArray[np.uint64]]
    columns: int


def encode_records(pages: Unpacked, order: NDArray[np.intp]) -> Iterator[tuple[str, Encoded]]:
    """Yield the named pieces of the `PackedRecords` of pages; row i has page `order[i]`.

    O(n log n). Memory holds one column of features and 8 bytes a page; records are read one by
    one while the pieces are written.
    """
    ends = np.zeros(len(order), "<u8")
    parts = {"records": Section(_joined(pages.record, order, ends)), "ends": Section(ends)}
    parameters = {"columns": pages.columns, "shape": dict(pages.parameters)}
    yield "records", Encoded(parameters, parts)
    rows = np.empty_like(order)
    rows[order] = np.arange(len(order))
    for column in range(pages.columns):
        values = pages.features(column)
        having = np.flatnonzero(values)
        yield f"feature {column}", Postings.encode(values[having], rows[having])


def _joined(
    string: Callable[[int], bytes], order: NDArray[np.intp], ends: NDArray[np.uint64]
) -> Iterator[bytes]:
    """Yield the strings of places in order, some at a time, and note the end of each."""
    end = 0
    for start in range(0, len(order), _AT_ONCE):
        some = [string(place) for place in order[start : start + _AT_ONCE].tolist()]
        sizes = np.fromiter(map(len, some), np.uint64, len(some))
        ends[start : start + len(some)] = np.cumsum(sizes) + np.uint64(end)
        end = int(ends[start + len(some) - 1])
        yield b"".join(some)


class PackedRecords:
    """Records and features of the pages of a packed file, with a column of `postings` a feature.

    Its parts are ``records`` and ``ends``, the end of each row's record; `shape` is what makes
    records and features comparable (`Unpacked.parameters`).
    """

    def __init__(
        self,
        parameters: Mapping[str, Any],
        parts: Mapping[str, Checked],
        postings: Sequence[Postings],
    ) -> None:
        self.shape: Mapping[str, Any] = parameters["shape"]
        self.postings = postings
        self._records = CheckedStrings(parts["records"], parts["ends"])

    def __getitem__(self, row: int) -> bytes:
        return self._records[row]
