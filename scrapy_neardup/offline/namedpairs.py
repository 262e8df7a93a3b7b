"""Clusters of pages that are known by pairs of their names only.

Rule of this room: pairs stream by; what is kept is a number for each name.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from itertools import count, islice

import numpy as np
from numpy.typing import NDArray

from scrapy_neardup.clusters import UnionFind
from scrapy_neardup.errors import InputError
from scrapy_neardup.offline.fpparquet import reading_parquet
from scrapy_neardup.offline.lines import lines
from scrapy_neardup.offline.remote import opened

Name = str | int
"""A page's URL or path, or its row number."""

_BATCH = 1 << 16
"""Number of pairs joined at once."""


def cluster_pairs(pairs: Iterable[tuple[Name, Name]]) -> tuple[list[Name], NDArray[np.int64]]:
    """Return the names in `pairs`, in the order of their first appearance, and their clusters.

    Returns
    -------
    names, labels
        The label of a name is the place of the first name of its cluster.
    """
    numbers: defaultdict[Name, int] = defaultdict(count().__next__)
    clusters = UnionFind()
    rest = iter(pairs)
    while batch := [(numbers[a], numbers[b]) for a, b in islice(rest, _BATCH)]:
        clusters.grow(len(numbers))
        clusters.union_many(*np.array(batch, dtype=np.int64).T)
    return list(numbers), clusters.labels()


def read_pairs(paths: Sequence[str]) -> Iterator[tuple[Name, Name]]:
    """Yield the pairs of Parquet files and JSON lines, which have ``a`` and ``b``.

    ``-`` is JSON lines on standard input.

    Raises
    ------
    InputError
        A file can't be read, or a line isn't such an object.
    """
    if paths.count("-") > 1:
        raise InputError("-: standard input can be read only once")
    for path in paths:
        if path.endswith(".parquet"):
            yield from _parquet_pairs(path)
            continue
        for number, line in lines(path):
            yield _pair(line, f"{path}, line {number}")


def _parquet_pairs(path: str) -> Iterator[tuple[Name, Name]]:
    with reading_parquet(path), opened(path) as file:
        from pyarrow.parquet import (  # type: ignore[import-untyped]  # noqa: PLC0415
            ParquetFile,
        )

        parquet = ParquetFile(file)
        if not {"a", "b"} <= {*parquet.schema_arrow.names}:
            raise InputError(f'{path}: holds no pairs, which are in columns "a" and "b"')
        for batch in parquet.iter_batches(_BATCH, columns=["a", "b"]):
            yield from zip(
                batch.column("a").to_pylist(), batch.column("b").to_pylist(), strict=True
            )


def _pair(line: bytes, where: str) -> tuple[Name, Name]:
    try:
        item = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise InputError(f"{where}: not a line of JSON ({error})") from error
    names = (item.get("a"), item.get("b")) if isinstance(item, dict) else ()
    match names:
        case (str() | int() as a, str() | int() as b):
            return a, b
    raise InputError(f'{where}: not a pair, an object with "a" and "b"')
