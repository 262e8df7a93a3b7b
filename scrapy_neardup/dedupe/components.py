"""Documents that have something in common, a connected component at a time, on disk.

Whatever documents have in common is a *bucket*: a number. The list of (bucket, document) grows
with them and lies in sorted runs (`sortedruns`), of which a range at a time is read. Documents
that share no bucket are left out there; the others are distributed to files by connected
component, so that each file can be decided alone, in memory.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from scrapy_neardup.clusters import UnionFind
from scrapy_neardup.dedupe.decisions import number_type
from scrapy_neardup.fingerprints.hashing import PUBLIC
from scrapy_neardup.offline.clustering.sortedruns import POSTING, Buckets, entries_of

Hashes = NDArray[np.uint64]
Integers = NDArray[np.int64]
Postings = NDArray[np.void]

_ENTRY_BYTES = 224
"""Bytes for deciding about each entry, without its share of the sketches."""
_MAX_PARTS = 512
"""Maximum number of files of components."""
_PART_BYTES = 1 << 26
"""Maximum bytes for deciding about the components of a file, so that several processes do."""
_LABELLED = 1 << 16
"""Number of entries that are distributed at once."""


def common(buckets: Buckets) -> Iterator[Postings]:
    """Yield the entries of buckets with several documents, sorted by bucket and document."""
    for part in buckets.ranges():
        entries = entries_of(part)
        entries = entries[np.lexsort((entries["page"], entries["digest"]))]
        digests = entries["digest"]
        same = np.zeros(len(entries) + 1, np.bool_)
        np.equal(digests[1:], digests[:-1], out=same[1:-1])
        yield entries[same[1:] | same[:-1]]


def components(
    parts: Iterable[Postings], documents: int, folder: str, memory: int, document_bytes: int
) -> Iterator[Postings]:
    """Yield the entries of some whole components at a time.

    Parameters
    ----------
    parts
        See `common`.
    documents
        Number of all documents.
    folder
        Of temporary files.
    memory
        Bytes of memory to work in; a component is yielded whole, however large it is.
    document_bytes
        Bytes for deciding about each document.
    """
    sets = UnionFind(documents, number_type(documents))
    path = Path(folder, "common")
    count = 0
    with path.open("wb") as file:
        for entries in parts:
            pages, buckets = entries["page"].astype(np.int64), entries["digest"]
            repeats = np.flatnonzero(buckets[1:] == buckets[:-1])
            for start in range(0, len(repeats), _LABELLED):
                some = repeats[start : start + _LABELLED]
                sets.union_many(pages[some], pages[some + 1])
            file.write(entries.tobytes())
            count += len(entries)
    part_bytes = min(memory, _PART_BYTES)
    number = min(_MAX_PARTS, 1 + count * (_ENTRY_BYTES + document_bytes) // part_bytes)
    files = [Path(folder, f"{each:03}.part") for each in range(number)]
    _deal(path, files, sets)
    path.unlink()
    for each in files:
        entries = np.fromfile(each, POSTING)
        each.unlink()
        if len(entries):
            yield entries


def _deal(path: Path, files: list[Path], sets: UnionFind) -> None:
    """Distribute the entries of a file to several, by the components of their documents."""
    opened = [each.open("wb") for each in files]
    try:
        with path.open("rb") as file:
            while content := file.read(_LABELLED * POSTING.itemsize):
                entries = np.frombuffer(content, POSTING)
                labels = sets.find_many(entries["page"].astype(np.int64))
                target = PUBLIC.mix(labels.astype(np.uint64)) % np.uint64(len(files))
                order = np.argsort(target, kind="stable")
                edges = np.searchsorted(target[order], np.arange(len(files) + 1))
                for each, start, end in zip(opened, edges[:-1], edges[1:], strict=True):
                    if start < end:
                        each.write(entries[order[start:end]].tobytes())
    finally:
        for each in opened:
            each.close()
