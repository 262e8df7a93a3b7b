"""Lists of (digest, page) larger than memory, as sorted runs on disk.

A *run* is the list of (mega-shingle, page) of some pages, sorted by digest and cut at the leading
byte. A range of leading bytes is read from all runs and sorted.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import combinations, pairwise
from math import ceil, comb
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from scrapy_neardup.errors import ConfigurationError
from scrapy_neardup.fingerprints.hashing import PUBLIC, Hashes, Integers
from scrapy_neardup.offline.readers.files import content_of, written
from scrapy_neardup.settings.validation import whole_number

POSTING = np.dtype([("digest", "<u8"), ("page", "<i8")])
"""An entry of a run: 16 bytes."""
CUTS = 256
"""Number of parts of a run, by the leading byte of the digest."""
_WORKING = 4
"""Bytes of memory that sorting takes for each byte of the entries."""

MAX_COMBINATIONS = 5_000
"""Maximum number of choices of r of k features; each costs a sort of all pages."""
_ROW = 256
"""Bytes of a page whose features wait in a separate array."""


class Run(NamedTuple):
    """A sorted file, in which ``cuts[b]`` entries have a leading byte below b; CUTS + 1 cuts.

    `first` is added to its pages when they are read.
    """

    path: str
    cuts: Sequence[int]
    first: int = 0


class Range(NamedTuple):
    """The entries of all runs with a leading byte from `low` to below `high`."""

    runs: Sequence[Run]
    low: int
    high: int


def mega_shingles(features: Hashes, shared: int) -> Iterator[Hashes]:
    """Yield a digest of each page, uint64 of shape (n,), for every choice of `shared` features.

    Two pages share at least r of their k features if and only if one of these digests is equal,
    apart from collisions of 64 bits. So shared features needn't be counted, and the time is linear
    for any number of similar pages. `features` are uint64 of shape (n, k). Digests of different
    choices are equal only by accident. Raises `ConfigurationError` if r isn't from 1 to k, or
    there are more than `MAX_COMBINATIONS` choices. Broder 2000 counts shared features;
    Fetterly, Manasse & Najork, "On the evolution of clusters of near-duplicate web pages", 2003,
    section 2, look up every pair of six features as a mega-shingle.
    """
    count = features.shape[1]
    shared = whole_number("the number of shared features", shared, least=1, most=count)
    if comb(count, shared) > MAX_COMBINATIONS:
        raise ConfigurationError(
            f"there are {comb(count, shared):,} ways to share {shared} of {count} features, and"
            f" {MAX_COMBINATIONS:,} at most can be looked up: take fewer features"
        )
    for number, chosen in enumerate(combinations(range(count), shared), 1):
        digests = PUBLIC.mix(np.full(len(features), number, np.uint64) * PUBLIC.seed)
        for place in chosen:
            digests = PUBLIC.mix(digests ^ features[:, place])
        yield digests


def write_run(features: Hashes, pages: Integers, shared: int, path: str) -> Run:
    """Write the run of pages, int64 numbers of shape (n,), by their features, (n, k) uint64."""
    parts = list(mega_shingles(features, shared))
    entries = np.empty(len(parts) * len(pages), POSTING)
    for number, digests in enumerate(parts):
        part = entries[number * len(pages) : (number + 1) * len(pages)]
        part["digest"], part["page"] = digests, pages
    del parts
    entries = entries[np.argsort(entries["digest"])]
    leading = np.arange(CUTS, dtype=np.uint64) << np.uint64(56)
    cuts = np.searchsorted(entries["digest"], leading).tolist()
    with written(path) as file:
        file.write(entries.data)
    return Run(path, (*cuts, len(entries)))


def entries_of(part: Range) -> NDArray[np.void]:
    """Return the entries of a range, those of each run sorted by digest."""
    found = np.empty(sum(run.cuts[part.high] - run.cuts[part.low] for run in part.runs), POSTING)
    at = 0
    for path, cuts, first in part.runs:
        start, stop = cuts[part.low], cuts[part.high]
        content = content_of(path, start * POSTING.itemsize, (stop - start) * POSTING.itemsize)
        entries = found[at : at + stop - start]
        entries[:] = np.frombuffer(content, POSTING)
        entries["page"] += first
        at += stop - start
    return found


def sorted_entries(part: Range) -> NDArray[np.void]:
    """Return the entries of a range, sorted by digest and page."""
    entries = entries_of(part)
    return entries[np.lexsort((entries["page"], entries["digest"]))]


def ranges_of(runs: Sequence[Run], memory: int) -> Iterator[Range]:
    """Cut all runs into ranges that take about `memory` bytes each to sort."""
    total = sum(run.cuts[-1] for run in runs) * POSTING.itemsize
    parts = min(CUTS, max(1, ceil(total * _WORKING / memory)))
    edges = [CUTS * number // parts for number in range(parts + 1)]
    for low, high in pairwise(edges):
        yield Range(runs, low, high)


class BucketRuns:
    """A growing list of (bucket, page) in sorted runs, within `memory` bytes.

    A page is in a bucket for each choice of `shared` of its features.
    """

    def __init__(self, folder: str, memory: int, shared: int = 1) -> None:
        self._folder, self._memory, self._shared = folder, memory, shared
        self._runs: list[Run] = []
        self._waiting: list[tuple[Hashes, Integers]] = []
        self._held = 0

    def add(self, features: Hashes, pages: Integers) -> None:
        """Put pages (n,) into the buckets of their features (n, k); all have k of them."""
        each = max(1, comb(features.shape[1], self._shared)) * POSTING.itemsize * _WORKING + _ROW
        most = max(1, self._memory // each)
        for start in range(0, len(pages), most):
            part = pages[start : start + most]
            if self._held + len(part) > most:
                self.flush()
            self._waiting.append((features[start : start + most], part))
            self._held += len(part)

    def flush(self) -> None:
        """Write all pages added since the last run, which frees their memory."""
        if self._waiting:
            features, pages = map(np.concatenate, zip(*self._waiting, strict=True))
            path = f"{self._folder}/{len(self._runs):06}.run"
            self._runs.append(write_run(features, pages, self._shared, path))
            self._waiting, self._held = [], 0

    def ranges(self) -> Iterator[Range]:
        """Cut all runs into ranges that fit into memory."""
        self.flush()
        return ranges_of(self._runs, self._memory)
