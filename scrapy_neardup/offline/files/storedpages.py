"""The stored data of pages, in lines printed by `scan` and in packed files.

=============  ==================================================================================
key of a line  value, null if the page has none
=============  ==================================================================================
``features``   {"K,S,R": its min-wise features, 16 hexadecimal digits each}
``path``       its address without parameters, as another feature
``sketch``     {"TEXTxNAMED": base64 of what `scrapy_neardup.judge.evidence` says}
=============  ==================================================================================
"""

from __future__ import annotations

from array import array
from base64 import b64decode, b64encode
from collections.abc import Callable, Mapping
from mmap import ACCESS_READ, mmap
from tempfile import TemporaryFile
from types import MappingProxyType
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from scrapy_neardup.fingerprints.broder import Filter
from scrapy_neardup.judge.evidence import stored_size
from scrapy_neardup.judge.parameters import Parameters
from scrapy_neardup.stores.entryformat import PACKED
from scrapy_neardup.stores.packed import SHAPE
from scrapy_neardup.tables.packed import PackedIndex
from scrapy_neardup.verdict import Page

SCANNED = "a page as scan prints it"
"""The expected content of a line, for messages."""


class Stored(NamedTuple):
    """The stored data of a page; its known `shape` says with which data it is comparable."""

    features: tuple[int, ...]
    evidence: bytes
    shape: Mapping[str, int] = MappingProxyType({})


def printed(page: Page | None, parameters: Parameters) -> dict[str, Any]:
    """Return the keys of a line about a page; None stands for a page that wasn't judged."""
    if page is None:
        return dict.fromkeys(("features", "path", "sketch"))
    return spelt_out(
        Stored(page.features, page.evidence),
        Filter(*parameters.features) if parameters.method != "simhash" else None,
        parameters.sketch if parameters.min_resemblance else None,
    )


def spelt_out(
    stored: Stored, kind: Filter | None, sketch: tuple[int, int] | None
) -> dict[str, Any]:
    """Return the keys of a line; without a `kind` it has no features but the path.

    `sketch` has the sizes of both sketches in bits; None where pages have none.
    """
    digits = [f"{feature:016x}" for feature in stored.features]
    features = {",".join(map(str, kind)): digits[: kind.features]} if digits and kind else None
    return {
        "features": features,
        "path": digits[-1] if digits and sketch else None,
        "sketch": {f"{sketch[0]}x{sketch[1]}": b64encode(stored.evidence).decode()}
        if sketch
        else None,
    }


def read_stored(line: Mapping[str, Any]) -> Stored:
    """Return the stored data in the keys of a line; raise any error if they are malformed."""
    if "evidence" in line:
        raise ValueError("an earlier version printed it: scan the pages again")
    features: tuple[int, ...] = ()
    sizes, evidence = (0, 0), b""
    if line.get("sketch") is not None:
        ((written, text),) = line["sketch"].items()
        text_bits, named_bits = map(int, written.split("x"))
        sizes, evidence = (text_bits, named_bits), b64decode(text, validate=True)
        if len(evidence) != stored_size(sizes):
            raise ValueError(f"its sketch has {len(evidence)} bytes")
    shape = dict(zip(("text_bits", "named_bits"), sizes, strict=True))
    if line.get("features"):
        ((written, digits),) = line["features"].items()
        kind = Filter(*map(int, written.split(",")))
        features = tuple(int(each, 16) for each in digits)
        if len(features) != kind.features:
            raise ValueError(f"{len(features)} features aren't {written}")
        shape |= zip(("features", "feature_size", "shared_features"), kind, strict=True)
    if line.get("path"):
        features += (int(line["path"], 16),)
        shape |= {"features": len(features), "feature_size": shape.get("feature_size", 0)}
    if features and not 0 <= min(features) <= max(features) < 1 << 64:
        raise ValueError("a feature or its path is out of its range")
    return Stored(features, evidence, shape)


class Spool:
    """Records and features of pages, of one `shape`, on disk until they are packed.

    A context manager: pages are added inside the block, and read after it.
    """

    def __init__(self) -> None:
        self.shape: dict[str, int] = {}
        self._files = TemporaryFile(), TemporaryFile()  # noqa: SIM115  (closed by __exit__)
        self._ends = array("Q", (0,))
        self._columns = 0
        self._records: mmap | bytes = b""
        self._features = np.empty((0, 0), np.uint64)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        records, features = self._files
        with records, features:
            records.flush()
            features.flush()
            if len(self):
                self._records = mmap(records.fileno(), 0, access=ACCESS_READ)
            if len(self) and self._columns:
                shape = len(self), self._columns
                self._features = np.memmap(features, np.dtype("<u8"), "r", shape=shape)

    def __len__(self) -> int:
        return len(self._ends) - 1

    def add(self, fingerprint: int, stored: Stored) -> None:
        """Add a page; a ValueError says that its kind differs from those before."""
        for key, value in stored.shape.items():
            if self.shape.setdefault(key, value) != value and key in SHAPE:
                raise ValueError(f"{key} is {value}, and {self.shape[key]} of the pages before it")
        records, features = self._files
        if stored.features and not self._columns:
            self._columns = len(stored.features)
            features.write(bytes(8 * self._columns * len(self)))
        if self._columns:
            values = stored.features or (0,) * self._columns
            features.write(np.array(values, "<u8").tobytes())
        record = PACKED.pack(fingerprint) + stored.evidence
        records.write(record)
        self._ends.append(self._ends[-1] + len(record))

    def record(self, row: int) -> bytes:
        """Return the record of the page at `row`."""
        return self._records[self._ends[row] : self._ends[row + 1]]

    def features(self, column: int) -> NDArray[np.uint64]:
        """Return a column of the features, shape (n,), uint64; 0 for none."""
        return np.ascontiguousarray(self._features[:, column])


def packed_lines(index: PackedIndex) -> Callable[[int, int], dict[str, Any]]:
    """Return a function from a row and its fingerprint to the line about its page.

    It holds all features.
    """
    rows, records = index.rows, index.records
    shape: Mapping[str, int] = {} if records is None else records.shape
    columns = [each.column(len(index)) for each in (records.postings if records else ())]
    sketch = (shape["text_bits"], shape["named_bits"]) if shape.get("text_bits") else None
    kind = None
    if size := shape.get("feature_size"):
        kind = Filter(shape["features"] - bool(sketch), size, shape["shared_features"])

    def line(row: int, fingerprint: int) -> dict[str, Any]:
        found: dict[str, Any] = {
            "page": rows.url(row),
            "page_id": f"{rows.page_id(row):016x}" if rows.has_ids else None,
            "fingerprint": f"{fingerprint:016x}",
        }
        if records is None:
            return found
        features = tuple(int(column[row]) for column in columns)
        stored = Stored(features if any(features) else (), records[row][PACKED.size :])
        return found | spelt_out(stored, kind, sketch) | {"schema": index.schema}

    return line
