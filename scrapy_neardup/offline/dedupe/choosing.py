"""From the sketches of all documents to decisions about them, in bounded memory.

A common text or feature of documents is a *bucket*, a number. The list of (bucket, document) is on
disk in sorted runs (`sortedruns`). Documents that share no bucket are left out. The others are
distributed to files by connected component, so that each file can be decided separately, in
memory, in the order of rank: a document is removed if it resembles a kept document with which it
shares a bucket. If there are several, it is removed for the most similar one, or among equally
similar ones for the one that ranks first. So a removed document always resembles the one that is
kept for it. A decision takes two numbers: the document that is kept, and why.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack
from itertools import pairwise
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from scrapy_neardup.fingerprints.hashing import PUBLIC, Integers
from scrapy_neardup.fingerprints.shingles import first_of_each
from scrapy_neardup.offline.clusters import UnionFind, tied
from scrapy_neardup.offline.dedupe.joboptions import DedupeOptions
from scrapy_neardup.offline.dedupe.jobplan import Job
from scrapy_neardup.offline.dedupe.sketching import SketchFiles
from scrapy_neardup.offline.execution import left_of, release
from scrapy_neardup.offline.files.sortedruns import POSTING, BucketRuns, sorted_entries
from scrapy_neardup.offline.readers.files import content_of, exists, is_remote, written

MAX_KEPT = 64
"""Maximum number of kept documents of a bucket with which others are compared."""

EQUAL = (1 << 16) - 1
"""Share of a document that has the same text as the kept one."""
MOST = EQUAL - 1
"""Share for a resemblance of 1."""


class Removals(NamedTuple):
    """Removed documents, the documents kept instead, and the shares that say why; (n,) each."""

    documents: Integers
    kept: Integers
    shares: NDArray[np.uint16]

    @property
    def are_removed(self) -> NDArray[np.bool_]:
        """Mask of the documents that are removed."""
        return np.not_equal(self.kept, self.documents)

    def counts(self) -> dict[str, int]:
        """Return the numbers of documents that are ``kept``, or removed for each reason."""
        reasons = self.shares[self.are_removed]
        equal = int(np.count_nonzero(reasons == EQUAL))
        return {
            "kept": len(self.documents) - len(reasons),
            "equal": equal,
            "similar": len(reasons) - equal,
        }


def resemblance(own: NDArray[np.uint64], theirs: NDArray[np.uint64]) -> float:
    """Return the resemblance of two sets of shingles, each distinct and ascending."""
    shared = len(np.intersect1d(own, theirs, assume_unique=True))
    return shared / (len(own) + len(theirs) - shared)


def decide(
    buckets: NDArray[np.uint64],
    documents: Integers,
    order: Integers,
    shingles: Sequence[NDArray[np.uint64]],
    least: float,
) -> Removals:
    """Decide about the documents of whole components, from entries (bucket, document).

    `order` has the distinct documents by rank, and `shingles` theirs. Returns the documents whose
    resemblance to a kept one is `least` or more. O(entries * `MAX_KEPT`) comparisons.
    """
    sorter = np.argsort(order)
    positions = sorter[np.searchsorted(order, documents, sorter=sorter)]
    _, numbers = np.unique(buckets, return_inverse=True)
    by_position = np.argsort(positions, kind="stable")
    edges = np.searchsorted(positions[by_position], np.arange(len(order) + 1)).tolist()
    own = numbers[by_position].tolist()
    kept: list[list[int]] = [[] for _ in range(int(numbers.max(initial=-1)) + 1)]
    removed: list[tuple[int, int, float]] = []
    for position in range(len(order)):
        mine = own[edges[position] : edges[position + 1]]
        candidates = sorted({other for bucket in mine for other in kept[bucket]})
        if candidates:
            found = [resemblance(shingles[position], shingles[other]) for other in candidates]
            best = max(found)
            if best >= least:
                removed.append((position, candidates[found.index(best)], best))
                continue
        for bucket in mine:
            if len(kept[bucket]) < MAX_KEPT:
                kept[bucket].append(position)
    gone, standing, shares = zip(*removed, strict=True) if removed else ((), (), ())
    return Removals(
        order[np.array(gone, np.int64)],
        order[np.array(standing, np.int64)],
        np.rint(np.array(shares, np.float64) * MOST).astype(np.uint16),
    )


_STEP = 1 << 16
"""Number of documents that are settled at once."""
_FILE = "decisions"


def number_type(documents: int) -> np.dtype[np.unsignedinteger]:
    """Return the smallest type for the numbers of this many documents."""
    return np.dtype("<u4" if documents < 1 << 32 else "<u8")


def _entry_type(documents: int) -> np.dtype[np.void]:
    return np.dtype([("kept", number_type(documents)), ("share", "<u2")])


class Decisions:
    """For each document the one that is kept instead, at first itself; 6 (or 10) bytes each."""

    def __init__(self, documents: int) -> None:
        self._entries = np.empty(documents, _entry_type(documents))
        self.kept, self._shares = self._entries["kept"], self._entries["share"]
        self.kept[:] = np.arange(documents, dtype=self.kept.dtype)
        self._shares[:] = MOST

    def note(self, documents: Integers, kept: Integers, shares: NDArray[np.uint16] | int) -> None:
        """Note documents removed for others, which may be removed for equal ones later."""
        self.kept[documents] = kept
        self._shares[documents] = shares

    def settle(self) -> None:
        """Replace a kept document that was itself removed by the one that is kept for it."""
        for start in range(0, len(self.kept), _STEP):
            kept = self.kept[start : start + _STEP]
            through = self.kept[kept]
            moved = through != kept
            self._shares[start : start + _STEP][moved] = self._shares[kept[moved]]
            kept[:] = through

    def write(self, folder: str) -> None:
        """Write the entries to a file."""
        with written(f"{folder}/{_FILE}") as file:
            file.write(self._entries.data)


def read_decisions(folder: str, documents: int, start: int, stop: int) -> Removals:
    """Return the decisions about documents `start` to `stop` of `documents` documents."""
    kind = _entry_type(documents)
    content = content_of(
        f"{folder}/{_FILE}", start * kind.itemsize, (stop - start) * kind.itemsize
    )
    entries = np.frombuffer(content, kind)
    return Removals(np.arange(start, stop), entries["kept"].astype(np.int64), entries["share"])


Postings = NDArray[np.void]

_ENTRY_BYTES = 224
"""Bytes that deciding takes for each entry, without its share of the sketches."""
_LABELLED = 1 << 16
"""Number of entries that are distributed at once."""


def common(buckets: BucketRuns) -> Iterator[Postings]:
    """Yield the entries of buckets with several documents, sorted by bucket and document."""
    for part in buckets.ranges():
        entries = sorted_entries(part)
        is_first = first_of_each(entries["digest"])
        is_alone = is_first & np.append(is_first[1:], [True])
        entries = entries[~is_alone]
        yield entries
        del entries


def components(
    parts: Iterable[Postings], documents: int, folder: str, memory: int, document_bytes: int
) -> Iterator[Postings]:
    """Yield the entries of some whole components at a time; even a large component is whole.

    `parts` are those of `common`; `memory` and `document_bytes`, for deciding about each of the
    `documents`, are in bytes; `folder` is that of temporary files.
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
    part_bytes = min(memory, 1 << 26)  # so that several processes decide
    number = min(512, 1 + count * (_ENTRY_BYTES + document_bytes) // part_bytes)
    files = [Path(folder, f"{each:03}.part") for each in range(number)]
    with ExitStack() as stack, path.open("rb") as file:
        opened = [stack.enter_context(each.open("wb")) for each in files]
        while content := file.read(_LABELLED * POSTING.itemsize):
            entries = np.frombuffer(content, POSTING)
            labels = sets.find_many(entries["page"].astype(np.int64))
            target = PUBLIC.mix(labels.astype(np.uint64)) % np.uint64(number)
            order = np.argsort(target, kind="stable")
            edges = np.searchsorted(target[order], np.arange(number + 1))
            for part, (start, end) in zip(opened, pairwise(edges), strict=True):
                part.write(entries[order[start:end]].tobytes())
    path.unlink()
    for each in files:
        entries = np.fromfile(each, POSTING)
        each.unlink()
        if len(entries):
            yield entries


_DOCUMENT_BYTES = 10
"""Bytes of memory for each document: its decision and its component."""


def choose(job: Job, files: SketchFiles, options: DedupeOptions) -> None:
    """Decide about all documents, and write the decisions to the job's folder, unless they are."""
    if exists(f"{job.folder}/{_FILE}"):
        return
    job.is_for_all()
    decisions = Decisions(len(files))
    memory = left_of(options.memory, _DOCUMENT_BYTES * len(files))
    local = None if is_remote(job.folder) else job.folder
    with TemporaryDirectory(prefix="candidates-", dir=local) as temporary:
        _find_equals(files, decisions, temporary, memory)
        release()
        buckets = BucketRuns(temporary, memory, options.features.shared)
        for documents, heads in _distinct(files, decisions):
            buckets.add(heads["features"].copy(), documents)
        buckets.flush()
        release()
        words = sum(int(heads["tokens"].sum(dtype=np.int64)) for _, heads in files.windows())
        size = 8 * words // max(len(files), 1)
        parts = components(common(buckets), len(files), temporary, memory, size)
        for removed in job.run(_decided, parts, files, options):
            decisions.note(*removed)
    decisions.settle()
    decisions.write(job.folder)
    del decisions
    release()


def _decided(files: SketchFiles, options: DedupeOptions, entries: Postings) -> Removals:
    """Decide about the documents of some components, from their entries."""
    documents = entries["page"].astype(np.int64)
    order = np.unique(documents)
    order = order[np.lexsort((order, files.heads(order, "rank")))]
    shingles = files.shingles(order)
    return decide(entries["digest"], documents, order, shingles, options.min_resemblance)


def _distinct(
    files: SketchFiles, decisions: Decisions
) -> Iterator[tuple[Integers, NDArray[np.void]]]:
    """Yield the numbers and heads of documents with words that aren't removed yet, in parts."""
    for first, heads in files.windows():
        documents = np.arange(first, first + len(heads))
        is_left = (heads["tokens"] > 0) & (decisions.kept[documents] == documents)
        yield documents[is_left], heads[is_left]


def _find_equals(files: SketchFiles, decisions: Decisions, folder: str, memory: int) -> None:
    """Note the documents with the same text as one that ranks before them."""
    buckets = BucketRuns(f"{folder}/equal", memory)
    for documents, heads in _distinct(files, decisions):
        buckets.add(heads["digest"][:, None].copy(), documents)
    for entries in common(buckets):
        documents = entries["page"].astype(np.int64)
        order = np.lexsort((documents, files.heads(documents, "rank")))
        kept, equal = tied(entries["digest"][order], documents[order])
        decisions.note(equal, kept, EQUAL)
