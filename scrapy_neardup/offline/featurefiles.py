"""Features in files: the JSON lines of `scan`, and the Parquet files of `fingerprint_file`.

Rule of this room: a chunk of pages at a time; what is kept of the others is their names.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from functools import cache
from itertools import chain, groupby, islice
from operator import itemgetter
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from scrapy_neardup.errors import InputError
from scrapy_neardup.fingerprints.filtering import Filter
from scrapy_neardup.offline.fpparquet import reading_parquet
from scrapy_neardup.offline.lines import lines
from scrapy_neardup.offline.record import reading
from scrapy_neardup.offline.remote import opened

FILTER_KEY = b"scrapy_neardup_features"
"""Metadata of a Parquet file: k, s and r of its features, as `spelt` writes them."""
CHUNK_PAGES = 1 << 16
"""Number of pages that are read or written at a time."""


class FeatureChunk(NamedTuple):
    """Some pages of a file that have features.

    Parameters
    ----------
    rows
        Shape (n,), int64: their rows, among all pages of the file.
    names, tokens
        What they are called, and how many tokens they have.
    features
        Shape (n, k), uint64.
    """

    rows: NDArray[np.int64]
    names: list[str]
    tokens: list[int]
    features: NDArray[np.uint64]


def spelt(kind: Filter) -> str:
    """Return a filter as it is written in files and on command lines: ``6,14,2``."""
    return ",".join(map(str, kind))


class FeatureFiles:
    """The pages of several files that have features, in their order; read once.

    Parameters
    ----------
    paths
        JSON lines that ``scrapy-neardup scan`` printed (``-``: standard input), or Parquet.

    Attributes
    ----------
    filter
        Broder's k, s and r, as the first file says; None where no page has features.
    names, tokens
        Of the pages read so far.

    Raises
    ------
    InputError
        A file can't be read, says nothing of features, or has others than those before it.
    """

    def __init__(self, paths: Sequence[str]) -> None:
        if paths.count("-") > 1:
            raise InputError("-: standard input can be read only once")
        self.filter: Filter | None = None
        self.names: list[str] = []
        self.tokens: list[int] = []
        self._chunks = self._read(paths)
        self._first = [chunk for chunk in (next(self._chunks, None),) if chunk is not None]

    def __iter__(self) -> Iterator[NDArray[np.uint64]]:
        for chunk in chain(self._first, self._chunks):
            self.names += chunk.names
            self.tokens += chunk.tokens
            yield chunk.features

    def _read(self, paths: Sequence[str]) -> Iterator[FeatureChunk]:
        for path in paths:
            for kind, chunk in feature_chunks(path):
                if self.filter is None:
                    self.filter = kind
                if kind[:2] != self.filter[:2]:
                    raise InputError(
                        f"{path}: its features are {spelt(kind)} and not {spelt(self.filter)}, as"
                        " those before it; scan all pages with the same --features"
                    )
                yield chunk


def feature_chunks(path: str) -> Iterator[tuple[Filter, FeatureChunk]]:
    """Yield the pages of one file, some at a time, and of what kind their features are.

    Raises
    ------
    InputError
        See `FeatureFiles`.
    """
    if path == "-":
        yield from _json_chunks(path)
        return
    with reading(path), opened(path) as file:
        start = file.read(4)
    yield from _parquet_chunks(path) if start == b"PAR1" else _json_chunks(path)


def _json_chunks(path: str) -> Iterator[tuple[Filter, FeatureChunk]]:
    found = (_page(line, row - 1, f"{path}, line {row}") for row, line in lines(path))
    for kind, pages in groupby((page for page in found if page), key=itemgetter(0)):
        while part := list(islice(pages, CHUNK_PAGES)):
            _, rows, names, tokens, features = zip(*part, strict=True)
            chunk = FeatureChunk(
                np.array(rows, np.int64),
                list(names),
                list(tokens),
                np.array(features, np.uint64),
            )
            yield kind, chunk


_Page = tuple[Filter, int, str, int, list[int]]
"""Kind of features, row, name, tokens, features."""


def _page(line: bytes, row: int, where: str) -> _Page | None:
    """Return what a line says of its page; None where it has no features.

    Raises
    ------
    InputError
        It is something else.
    """
    try:
        item = json.loads(line)
        if not item["features"]:
            return None
        ((written, digits),) = item["features"].items()
        kind, features = read_filter(written), [int(each, 16) for each in digits]
        if len(features) == kind.features and 0 <= min(features) <= max(features) < 1 << 64:
            return kind, row, str(item["page"]), int(item["tokens"]), features
    except (ValueError, RecursionError, TypeError, KeyError, AttributeError):
        pass
    raise InputError(f'{where}: no object with "page" and "features", as scan prints them')


@cache
def read_filter(written: str) -> Filter:
    """Return what `spelt` wrote.

    Raises
    ------
    ValueError, TypeError
        It is something else.
    """
    return Filter(*map(int, written.split(",")))


def _parquet_chunks(path: str) -> Iterator[tuple[Filter, FeatureChunk]]:
    with reading_parquet(path), opened(path) as file:
        from pyarrow.parquet import (  # type: ignore[import-untyped]  # noqa: PLC0415
            ParquetFile,
        )

        parquet = ParquetFile(file)
        written = (parquet.schema_arrow.metadata or {}).get(FILTER_KEY)
        if written is None:
            raise InputError(
                f"{path}: says nothing of features; make it with a method that has them"
            )
        kind = read_filter(written.decode())
        first = 0
        for batch in parquet.iter_batches(CHUNK_PAGES, columns=["page", "tokens", "features"]):
            column = batch.column("features")
            rows = np.flatnonzero(column.is_valid().to_numpy(zero_copy_only=False))
            kept = batch.take(rows)
            yield (
                kind,
                FeatureChunk(
                    rows + first,
                    kept.column("page").to_pylist(),
                    kept.column("tokens").to_pylist(),
                    np.asarray(kept.column("features").flatten()).reshape(-1, kind.features),
                ),
            )
            first += len(batch)
