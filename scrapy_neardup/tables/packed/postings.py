"""Rows by value, as an inverted index: distinct values in one compressed table, and their rows."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from scrapy_neardup.tables.packed.checked import Checked, CheckedArray
from scrapy_neardup.tables.packed.elias_fano import EliasFano
from scrapy_neardup.tables.packed.packedcodec import Encoded, Part
from scrapy_neardup.tables.packed.runs import Runs


class Postings:
    """Rows by the values of a column.

    Parameters
    ----------
    parameters
        Those of `EliasFano`, which holds the distinct values.
    parts
        Those of `EliasFano` and of `Runs`; and ``rows``, by value.
    """

    def __init__(self, parameters: Mapping[str, Any], parts: Mapping[str, Checked]) -> None:
        self._values = EliasFano(parameters, parts)
        self._runs = Runs(parts)
        self._rows = CheckedArray(parts["rows"], "<u8" if parameters["wide"] else "<u4")

    @classmethod
    def encode(cls, values: NDArray[np.uint64], rows: NDArray[np.intp]) -> Encoded:
        """Return a column; O(n log n). Rows of one value keep their order.

        Parameters
        ----------
        values
            Shape (n,), uint64.
        rows
            Shape (n,): the row of each.
        """
        wide = len(values) >= 1 << 32
        order = np.argsort(values, kind="stable")
        values = values[order]
        firsts = np.flatnonzero(np.diff(values, prepend=~values[:1]))
        table = EliasFano.encode(values[firsts], ranked=True)
        runs = Runs.encode(np.diff(firsts, append=len(values)))
        by_value = Part(rows[order].astype("<u8" if wide else "<u4"))
        return Encoded(
            {**table.parameters, "wide": wide}, {**table.parts, **runs, "rows": by_value}
        )

    def rows(self, value: int, most: int | None = None) -> list[int]:
        """Return the rows that have a value, or the first `most`, in the order of encoding."""
        rank = self._values.rank(value)
        if rank is None:
            return []
        places = self._runs.of_rank(rank)[:most]
        return list(self._rows[places.start : places.stop])

    def column(self, count: int) -> NDArray[np.uint64]:
        """Return the value of each of `count` rows, 0 for none; O(count)."""
        found = np.zeros(count, np.uint64)
        distinct = len(self._values)
        values = np.repeat(self._values.decode(0, distinct), self._runs.counts(0, distinct))
        found[self._rows.array(0, len(values))] = values
        return found
