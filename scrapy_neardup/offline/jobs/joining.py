"""Joins of sets, and clusters by features, in several processes and bounded memory.

Sets have the 64-bit hashes of pages' shingles. The result is that of comparing the shingles,
unless two different ones have the same hash: for 10^8 shingles the chance is 1 in 3,700.

What pages of a collection larger than memory have in common is a *bucket*, a number; the list of
(bucket, page) is on disk in sorted runs (`sortedruns`). Python holds 8 bytes a page.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import astuple, replace
from fractions import Fraction
from functools import partial
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from scrapy_neardup.offline.execution import ALONE, Workers, left_of
from scrapy_neardup.offline.files.sortedruns import BucketRuns, Hashes, Integers
from scrapy_neardup.offline.jobs.grouping import connected, groups_of, runs_of
from scrapy_neardup.offline.jobs.pagesets import HashSets
from scrapy_neardup.offline.joins import JoinStats, SimilarPairs, self_join
from scrapy_neardup.offline.joins.measures import MeasureName, open_measure
from scrapy_neardup.offline.joins.setjoin import Share
from scrapy_neardup.settings.arguments import whole_number

SHINGLE_BYTES = 100
"""Bytes of memory for each shingle while sets are made and joined."""


def join_sets(
    sets: HashSets,
    threshold: float | Fraction,
    *,
    memory: int,
    measure: MeasureName = "jaccard",
    boundary: int | None = None,
    work: Workers = ALONE,
    **how: Any,
) -> SimilarPairs:
    """Return the similar pairs of some sets, or of two collections, the second from `boundary` on.

    `how` is as in `self_join`. It takes some 100 bytes of memory a hash. Where `memory`, in bytes,
    is too small for all, sets are joined in groups that have no similar pair between them.
    """
    opened = open_measure(measure, threshold)
    if how.get("algorithm", "bitmap") != "bitmap":
        work = ALONE
    left = left_of(memory, 0)
    costs = sets.sizes * SHINGLE_BYTES
    groups = [np.arange(len(sets.sizes))]
    if costs.sum() > left and not (opened.directed or opened.disjoint):
        groups = groups_of(sets, opened, costs, left)

    found = []
    for one, other in parts_of(groups, costs, left, boundary=boundary, directed=opened.directed):
        both, start = (one, None) if other is None else (np.append(one, other), len(one))
        pairs = joined(
            self_join, sets.token_sets(both), threshold,
            measure=measure, boundary=start, work=work, **how,
        )  # fmt: skip
        i, j = one[pairs.i], (one if other is None else other)[pairs.j]
        found.append(replace(pairs, i=i, j=j - (boundary or 0)))
    return _merged(found)


def parts_of(
    groups: Sequence[Integers],
    costs: Integers,
    memory: int,
    *,
    boundary: int | None = None,
    directed: bool = False,
) -> Iterator[tuple[Integers, Integers | None]]:
    """Yield what is joined at once: some documents of a group, perhaps with some others of it.

    `costs` is the bytes that each document takes, `memory` those to work in. A group that takes
    more is divided into runs, and each run is joined with itself and each other one; for a join
    that is `directed`, both ways. The second of two collections begins at `boundary`, and each run
    of the first one is joined with those of the second one.
    """
    for numbers in groups:
        own = costs[numbers]
        most = memory if own.sum() <= memory else memory // 2
        cut = len(numbers) if boundary is None else int(np.searchsorted(numbers, boundary))
        left = [numbers[:cut][slice(*run)] for run in runs_of(own[:cut], most)]
        right = [numbers[cut:][slice(*run)] for run in runs_of(own[cut:], most)]
        for place, one in enumerate(left):
            for other in right if boundary is not None else left[0 if directed else place :]:
                yield one, None if one is other else other


def joined(
    search: Callable[..., Any], *collections: object, work: Workers = ALONE, **options: object
) -> SimilarPairs:
    """Return the result of `search`, one of the joins, for its collections and options.

    Each process looks for the partners of some of the sets, and holds and indexes all of them.
    """
    tasks = [(share, work.size) for share in range(work.size)]
    found = [*work(partial, tasks, _of_share, partial(search, *collections, **options))]
    merged = _merged(found)
    return replace(merged, stats=replace(merged.stats, sets=found[0].stats.sets))


def _merged(parts: Iterable[SimilarPairs]) -> SimilarPairs:
    """Return the pairs of all parts, and the sum of their work."""
    nothing = np.empty(0, np.int64)
    found = [SimilarPairs(nothing, nothing, np.empty(0), JoinStats()), *parts]
    i, j, values = map(np.concatenate, zip(*(each.columns for each in found), strict=True))
    order = np.lexsort((j, i))
    total = JoinStats(*map(sum, zip(*(astuple(each.stats) for each in found), strict=True)))
    return SimilarPairs(i[order], j[order], values[order], total)


def _of_share(find: Callable[..., SimilarPairs], share: Share) -> SimilarPairs:
    return find(share=share)


def feature_clusters(pages: Iterable[Hashes], shared: int, *, memory: int = 1 << 28) -> Integers:
    """Return the first page, int64, of each page's connected component by `shared` features.

    Pages are near-duplicates if at least r of their k features are equal (Broder 2000); shared
    ones aren't counted (`mega_shingles`). `pages` are arrays of features (any number, k), uint64,
    read once. `memory` is the bytes sorted at a time. On disk a page takes 16 * C(k, r) bytes.
    """
    memory = whole_number("memory", memory, least=1 << 20)
    with TemporaryDirectory(prefix="neardup-") as folder:
        buckets = BucketRuns(folder, memory)
        count = 0
        for features in pages:
            buckets.add(features, np.arange(count, count + len(features)), shared)
            count += len(features)
        buckets.flush(shared)
        return connected(buckets, count)
