"""Finds the units of texts to remove: those of many documents, or those that occurred before.

Units are lines, paragraphs or runs of words. The list of (digest, position) lies on disk in sorted
runs (`sortedruns`). The result is exact, as far as 64-bit digests are.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from functools import lru_cache
from itertools import pairwise
from sys import maxsize

import numpy as np

from scrapy_neardup.dedupe.joboptions import TrimOptions, Unit
from scrapy_neardup.dedupe.jobplan import Task, write_json
from scrapy_neardup.fingerprints import digest
from scrapy_neardup.fingerprints.shingles import shingle_hashes
from scrapy_neardup.offline.files.sortedruns import (
    Hashes,
    Integers,
    Range,
    Run,
    entries_of,
    write_run,
)
from scrapy_neardup.offline.readers.corpus import Corpus
from scrapy_neardup.offline.readers.record import batches
from scrapy_neardup.urls import site

_PATTERNS: dict[Unit, re.Pattern[str]] = {
    "lines": re.compile(r"[^\n]*\S[^\n]*\n?"),
    "paragraphs": re.compile(r"(?:[^\n]*\S[^\n]*(?:\n|$))+(?:[^\S\n]*\n)*"),
    "substrings": re.compile(r"\S+\s*"),
}

_word_digest: Callable[[str], int] = lru_cache(1 << 16)(digest)


def spans_of(text: str, kind: Unit, size: int) -> Integers:
    """Return the ranges of the units of a text, int64 (units, 2), in characters.

    Lines that aren't blank, paragraphs (runs of such lines), or all runs of `size` words, which
    overlap; each with the white space after it.
    """
    spans = _matches(_PATTERNS[kind], text)
    if kind != "substrings":
        return spans
    if len(spans) < size:
        return spans[:0]
    return np.stack([spans[: len(spans) - size + 1, 0], spans[size - 1 :, 1]], axis=1)


def digests_of(text: str, kind: Unit, size: int) -> Hashes:
    """Return digests of the units of a text, equal for equal units; shape (units,)."""
    if kind == "substrings":
        words = np.array([_word_digest(word) for word in text.split()], np.uint64)
        return shingle_hashes(words, size) if len(words) >= size else words[:0]
    spans = _matches(_PATTERNS[kind], text).tolist()
    return np.array([digest(text[start:end].strip()) for start, end in spans], np.uint64)


def _matches(pattern: re.Pattern[str], text: str) -> Integers:
    found = [match.span() for match in pattern.finditer(text)]
    return np.array(found, np.int64).reshape(-1, 2)


def merged(spans: Integers) -> list[tuple[int, int]]:
    """Return spans, in the order of their beginnings, with touching ones merged."""
    found: list[tuple[int, int]] = []
    for start, end in spans.tolist():
        if found and start <= found[-1][1]:
            found[-1] = found[-1][0], max(end, found[-1][1])
        else:
            found.append((start, end))
    return found


def without(text: str, spans: list[tuple[int, int]]) -> str:
    """Return a text without some ranges, as `merged` returns them."""
    kept = []
    at = 0
    for start, end in spans:
        kept.append(text[at:start])
        at = end
    return "".join([*kept, text[at:]])


UNIT_BITS = 24
"""A position is the number of a document, then that of a unit in it, if that is small enough."""
MAX_UNITS = 1 << UNIT_BITS
_ENTRIES = 1 << 20
"""Number of entries of a run."""


def list_units(options: TrimOptions, task: Task) -> int:
    """Write the runs of a shard, with positions in its rows; return the number of rows.

    The result of the task is the same number, and the runs.
    """
    rows = 0

    def units() -> Iterator[tuple[Hashes, Integers]]:
        nonlocal rows
        for record in Corpus(task.shard.paths, options.columns):
            rows = record.row + 1
            digests = digests_of(record.text or "", options.unit, options.size)[:MAX_UNITS]
            if options.per_host:
                digests = digests ^ np.uint64(digest(site(record.url or "", "host")))
            yield digests, (record.row << UNIT_BITS) + np.arange(len(digests))

    runs: list[Run] = []
    for batch in batches(units(), maxsize, lambda each: len(each[0]), _ENTRIES):
        digests, positions = map(np.concatenate, zip(*batch, strict=True))
        path = f"{task.target}-{len(runs):04}.run"
        runs.append(write_run(digests[:, None], positions, 1, path))
    write_json(task.done, (rows, runs))
    return rows


def going(part: Range, more_than: int, *, but_first: bool) -> Integers:
    """Return the positions of units of a range that are to be removed.

    Units of more documents than `more_than` are removed, 0: those that occurred anywhere before;
    with `but_first` not from the first document that has them.
    """
    found = entries_of(part)
    found = found[np.lexsort((found["page"], found["digest"]))]
    digests, positions = found["digest"], found["page"].astype(np.int64)
    is_first = np.ones(len(found), np.bool_)
    np.not_equal(digests[1:], digests[:-1], out=is_first[1:])
    if not more_than:
        return np.compress(~is_first, positions)
    documents = positions >> UNIT_BITS
    is_new = is_first.copy()
    is_new[1:] |= documents[1:] != documents[:-1]
    groups = np.cumsum(is_first) - 1
    goes = (np.bincount(groups, weights=is_new) > more_than)[groups]
    if but_first:
        goes &= documents != documents[is_first][groups]
    return np.compress(goes, positions)


def by_shard(positions: Integers, first_rows: Integers) -> Iterator[tuple[int, Integers]]:
    """Yield the number of each shard and the positions in it, counted by the shard's own rows."""
    positions = np.sort(positions)
    edges = np.searchsorted(positions, np.append(first_rows, np.iinfo(np.int64).max >> 24) << 24)
    for shard, (low, high) in enumerate(pairwise(edges.tolist())):
        if low < high:
            yield shard, positions[low:high] - (int(first_rows[shard]) << UNIT_BITS)
