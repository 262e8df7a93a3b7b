"""Clusters by shared features on a Dask cluster.

Rule of this room: as in `scrapy_neardup.offline.dask`; runs and ranges are those of
`scrapy_neardup.offline.featureruns`.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from scrapy_neardup.clusters import UnionFind
from scrapy_neardup.fingerprints.filtering import Filter
from scrapy_neardup.offline.dask import Cluster
from scrapy_neardup.offline.featurefiles import FeatureFiles, feature_chunks
from scrapy_neardup.offline.featureruns import Range, Run, connected_in, ranges_of, write_run
from scrapy_neardup.offline.fpfiles import open_source

if TYPE_CHECKING:
    from distributed import Client


class _FeatureFile(NamedTuple):
    """A Parquet file with features, and where its runs go."""

    path: str
    first_row: int
    shared: int
    target: str


def feature_clusters_on(
    client: Client,
    files: Sequence[str],
    folder: str,
    *,
    shared: int | None = None,
    memory: int = 1 << 28,
) -> NDArray[np.int64]:
    """Return the connected components of pages that share features.

    Parameters
    ----------
    files
        What `fingerprint_on` returned, for parameters whose method has features.
    folder
        Where sorted runs of (mega-shingle, row) go, for all workers to read, as
        ``00000-00000.run`` and so on; they are left there. 16 * C(k, r) bytes a page.
    shared
        r: minimum number of features that connected pages share; None: as their parameters say.
    memory
        Bytes for what a worker sorts at a time.

    Returns
    -------
    labels
        Shape (n,), int64, of all rows of the files: the smallest row that each is connected
        with.
    """
    sources = [open_source(path) for path in files]
    starts = list(accumulate(map(len, sources), initial=0))
    if shared is None:
        shared = (FeatureFiles(files).filter or Filter(1, 1, 1)).shared
    tasks = [
        _FeatureFile(path, start, shared, f"{folder.rstrip('/')}/{number:05}")
        for number, (path, start) in enumerate(zip(files, starts, strict=False))
    ]
    work = Cluster(client)
    nothing: dict[str, Any] = {"jobs": 1, "start": tuple, "arguments": ()}
    runs = [run for found in work(_write_runs, tasks, **nothing) for run in found]
    sets = UnionFind(starts[-1])
    for i, j in work(_connected_in, ranges_of(runs, memory), **nothing):
        sets.union_many(i, j)
    return sets.labels()


def _write_runs(_: object, task: _FeatureFile) -> list[Run]:
    return [
        write_run(
            chunk.features,
            chunk.rows + task.first_row,
            task.shared,
            f"{task.target}-{number:05}.run",
        )
        for number, (_, chunk) in enumerate(feature_chunks(task.path))
    ]


def _connected_in(_: object, part: Range) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    return connected_in(part)
