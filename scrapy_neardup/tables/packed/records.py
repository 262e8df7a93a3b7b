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

from scrapy_neardup.tables.packed.checked import Checked, CheckedStrings
from scrapy_neardup.tables.packed.packedcodec import Encoded, Part
from scrapy_neardup.tables.packed.postings import Postings

_AT_ONCE = 1 << 12
"""Number of records in one pass."""


@dataclass(frozen=True, slots=True)
class Unpacked:
    """Records and features of pages, as they are packed.

    `parameters`, JSON-able, are what makes them comparable with others. `record` returns the
    record of the page at a place of the input, `features` one of the `columns`: uint64, shape
    (n,), in the order of the input, 0 for a page that has none.
    """

    parameters: Mapping[str, Any]
    record: Callable[[int], bytes]
    features: Callable[[int], NDArray[np.uint64]]
    columns: int


def encode_records(pages: Unpacked, order: NDArray[np.intp]) -> Iterator[tuple[str, Encoded]]:
    """Yield the named pieces of the `Records` of pages; row i is that of place `order[i]`.

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
    """Records and features of the pages of a packed file: a column of `postings` a feature.

    Its parts are ``records`` and ``ends``, where that of each row ends; `shape` is what makes
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
