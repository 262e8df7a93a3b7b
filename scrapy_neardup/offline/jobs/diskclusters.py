"""Groups of pages that have something in common, of collections larger than memory.

What pages have in common is a *bucket*, a number; the list of (bucket, page) is on disk in sorted
runs (`sortedruns`). Python holds 8 bytes a page.
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import pairwise
from tempfile import TemporaryDirectory

import numpy as np

from scrapy_neardup.offline.clusters import UnionFind
from scrapy_neardup.offline.clusters.components import tied
from scrapy_neardup.offline.files.sortedruns import BucketRuns, Hashes, Integers, entries_of
from scrapy_neardup.offline.jobs.pagesets import HashSets
from scrapy_neardup.offline.joins.measures import Measure
from scrapy_neardup.settings.arguments import whole_number

_COUNTED = 1 << 22
"""Number of counters of hashes, by their leading bits."""


def _connected(buckets: BucketRuns, pages: int) -> Integers:
    """Return the first page of each page's connected component by buckets."""
    sets = UnionFind(pages)
    for part in buckets.ranges():
        entries = entries_of(part)
        sets.union_many(*tied(entries["digest"], entries["page"].astype(np.int64)))
    return sets.labels()


def feature_clusters(pages: Iterable[Hashes], shared: int, *, memory: int = 1 << 28) -> Integers:
    """Return the first page, int64, of each page's connected component by `shared` features.

    Pages are near-duplicates if at least r of their k features are equal (Broder 2000); shared
    ones aren't counted (`mega_shingles`). `pages` are arrays of features (any number, k), uint64,
    read once. `memory` is the bytes sorted at a time. Runs, 16 * C(k, r) bytes a page, are in a
    temporary folder.
    """
    memory = whole_number("memory", memory, least=1 << 20)
    with TemporaryDirectory(prefix="neardup-") as folder:
        buckets = BucketRuns(folder, memory)
        count = 0
        for features in pages:
            buckets.add(features, np.arange(count, count + len(features)), shared)
            count += len(features)
        buckets.flush(shared)
        return _connected(buckets, count)


def groups_of(sets: HashSets, measure: Measure, costs: Integers, memory: int) -> list[Integers]:
    """Return the numbers of sets in groups that fit into memory, if connected sets do.

    Similar sets share one of their rarest hashes (`Measure.probing_prefix`), whatever order of
    hashes "rarest" stands for: here, how many have the same leading bits. Sets that share such a
    hash are connected on disk, 16 bytes a hash. Sets that are connected with none are in no group.
    """
    windows = [np.arange(*run) for run in runs_of(costs, memory)]
    shift = np.uint64(64 - _COUNTED.bit_length() + 1)
    counts = np.zeros(_COUNTED, np.uint32)
    for numbers in windows:
        hashes, _ = sets.hashes(numbers)
        np.add.at(counts, (hashes >> shift).view(np.int64), np.uint32(1))
    different, which = np.unique(sets.sizes, return_inverse=True)
    prefixes = [measure.probing_prefix(size) if size else 0 for size in different.tolist()]
    rarest = np.array(prefixes, np.int64)[which]
    with TemporaryDirectory(prefix="neardup-") as folder:
        buckets = BucketRuns(folder, memory)
        for numbers in windows:
            hashes, sizes = sets.hashes(numbers)
            ends, firsts = np.cumsum(sizes).tolist(), rarest[numbers].tolist()
            parts = [hashes[:0]]
            for start, end, first in zip([0, *ends], ends, firsts, strict=False):
                own = hashes[start:end]
                order = np.argsort(counts[(own >> shift).view(np.int64)], kind="stable")
                parts.append(own[order[:first]])
            rows = np.repeat(numbers, rarest[numbers])
            buckets.add(np.concatenate(parts)[:, None], rows, 1)
        buckets.flush(1)
        labels = _connected(buckets, len(sets.sizes))
    together = np.flatnonzero(np.bincount(labels, minlength=len(labels))[labels] > 1)
    together = together[np.argsort(labels[together], kind="stable")]
    firsts = np.flatnonzero(np.diff(labels[together], prepend=-1))
    runs = runs_of(np.add.reduceat(costs[together], firsts), memory) if len(firsts) else []
    edges = np.append(firsts, len(together))
    return [np.sort(together[edges[start] : edges[stop]]) for start, stop in runs]


def runs_of(costs: Integers, most: int) -> list[tuple[int, int]]:
    """Return runs of items, from one place to another: of one item, or of at most `most` cost."""
    edges, held = [0], 0
    for at, cost in enumerate(costs.tolist()):
        if held and held + cost > most:
            edges.append(at)
            held = 0
        held += cost
    return [*pairwise([*edges, len(costs)])]
