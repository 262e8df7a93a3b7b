"""An inverted index from values to rows: distinct values in a compressed table, and their rows.

A value's *position* is its index in a sorted column; its *rank* is its index among the distinct
values. Few values are repeated, so `Runs` holds only those.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from scrapy_neardup.tables.packed.checked import Checked, CheckedArray, Encoded, Section, native
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
