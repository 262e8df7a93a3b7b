"""Beside the fingerprints of a packed file: a record for each row, and rows by their features.

A record is bytes and a feature is a number here; `scrapy_neardup.stores.packed` knows what they
mean.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from scrapy_neardup.tables.packed.checked import Checked, CheckedArray
from scrapy_neardup.tables.packed.packedcodec import Encoded, Part
from scrapy_neardup.tables.packed.postings import Postings

_AT_ONCE = 1 << 12
"""Number of records in one pass."""


@dataclass(frozen=True, slots=True)
class Unpacked:
    """Records and features of pages, as they are packed.

    Parameters
    ----------
    parameters
        What makes them comparable with others, to be recorded; JSON-able.
    record
        Returns the record of the page at a place of the input.
    features
        Returns column `i` of the features: shape (n,), uint64, in the order of the input; 0 for a
        page that has none.
    columns
        Number of these columns.
    """

    parameters: Mapping[str, Any]
    record: Callable[[int], bytes]
    features: Callable[[int], NDArray[np.uint64]]
    columns: int


def encode_records(pages: Unpacked, order: NDArray[np.intp]) -> Iterator[tuple[str, Encoded]]:
    """Yield the named pieces of the `Records` of pages.

    Parameters
    ----------
    order
        Shape (n,): the place in the input of each row.

    Notes
    -----
    O(n log n). In memory is one column of features, and 8 bytes a page; records are asked for one
    by one while the pieces are written.
    """
    ends = np.zeros(len(order), "<u8")
    parts = {"records": Part(_joined(pages.record, order, ends)), "ends": Part(ends)}
    parameters = {"columns": pages.columns, "shape": dict(pages.parameters)}
    yield "records", Encoded(parameters, parts)
    rows = np.empty_like(order)
    rows[order] = np.arange(len(order))
    for column in range(pages.columns):
        values = pages.features(column)
        having = np.flatnonzero(values)
        yield f"feature {column}", Postings.encode(values[having], rows[having])


def _joined(
    record: Callable[[int], bytes], order: NDArray[np.intp], ends: NDArray[np.uint64]
) -> Iterator[bytes]:
    """Yield the records in order, some at a time, and write down where each ends."""
    end = 0
    for start in range(0, len(order), _AT_ONCE):
        some = [record(place) for place in order[start : start + _AT_ONCE].tolist()]
        sizes = np.fromiter(map(len, some), np.uint64, len(some))
        ends[start : start + len(some)] = np.cumsum(sizes) + np.uint64(end)
        end = int(ends[start + len(some) - 1])
        yield b"".join(some)


class Records:
    """Records and features of the pages of a packed file.

    Parameters
    ----------
    parameters
        ``shape``: `Unpacked.parameters`; ``columns``.
    parts
        ``records``, and ``ends``: where the record of each row ends.
    postings
        A column of features each.

    Attributes
    ----------
    shape
        What makes records and features comparable.
    postings
        As given.
    """

    def __init__(
        self,
        parameters: Mapping[str, Any],
        parts: Mapping[str, Checked],
        postings: Sequence[Postings],
    ) -> None:
        self.shape: Mapping[str, Any] = parameters["shape"]
        self.postings = postings
        self._records = parts["records"]
        self._ends = CheckedArray(parts["ends"], "<u8")

    def __getitem__(self, row: int) -> bytes:
        """Return the record of a row; about 2 microseconds."""
        if not row:
            return self._records.read(0, self._ends[0])
        start, end = self._ends[row - 1 : row + 1]
        return self._records.read(start, end)
