"""Features in the JSON lines that `scan` prints, some pages at a time."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from functools import cache
from itertools import chain, groupby, islice
from operator import itemgetter

import numpy as np
from numpy.typing import NDArray

from scrapy_neardup.errors import InputError
from scrapy_neardup.fingerprints.filtering import Filter
from scrapy_neardup.offline.readers.files import check_stdin, lines

CHUNK_PAGES = 1 << 16
"""Number of pages that are read at a time."""

_Page = tuple[Filter, str, int, list[int]]
"""Kind of features, name, tokens, features."""


class FeatureFiles:
    """The features of the pages of several files, in their order: arrays of shape (n, k), uint64.

    Iterate over it once.

    Parameters
    ----------
    paths
        JSON lines that ``scrapy-neardup scan`` printed; ``-`` is standard input.

    Attributes
    ----------
    filter
        Broder's k, s and r, as the first file says; None where no page has features.
    names, tokens
        Of the pages read so far.
    """

    def __init__(self, paths: Sequence[str]) -> None:
        check_stdin(paths)
        self.filter: Filter | None = None
        self.names: list[str] = []
        self.tokens: list[int] = []
        chunks = self._read(paths)
        self._chunks = chain([*islice(chunks, 1)], chunks)  # the first one sets the filter

    def __iter__(self) -> Iterator[NDArray[np.uint64]]:
        for pages in self._chunks:
            _, names, tokens, features = zip(*pages, strict=True)
            self.names += names
            self.tokens += tokens
            yield np.array(features, np.uint64)

    def _read(self, paths: Sequence[str]) -> Iterator[list[_Page]]:
        for path in paths:
            found = (_page(line, f"{path}, line {number}") for number, line in lines(path))
            for kind, pages in groupby((page for page in found if page), key=itemgetter(0)):
                if self.filter is None:
                    self.filter = kind
                if kind[:2] != self.filter[:2]:
                    raise InputError(
                        f"{path}: its features are {spelt(kind)} and not {spelt(self.filter)}, as"
                        " those before it; scan all pages with the same --features"
                    )
                while part := list(islice(pages, CHUNK_PAGES)):
                    yield part


def spelt(kind: Filter) -> str:
    """Return a filter as it is written in files and on command lines: ``6,14,2``."""
    return ",".join(map(str, kind))


@cache
def read_filter(written: str) -> Filter:
    """Return the filter that `spelt` wrote."""
    return Filter(*map(int, written.split(",")))


def _page(line: bytes, where: str) -> _Page | None:
    """Return the features of a line's page; None where it has none."""
    try:
        item = json.loads(line)
        if not item["features"]:
            return None
        ((written, digits),) = item["features"].items()
        kind, features = read_filter(written), [int(each, 16) for each in digits]
        if len(features) == kind.features and 0 <= min(features) <= max(features) < 1 << 64:
            return kind, str(item["page"]), int(item["tokens"]), features
    except (ValueError, RecursionError, TypeError, KeyError, AttributeError):
        pass
    raise InputError(f'{where}: no object with "page" and "features", as scan prints them')
