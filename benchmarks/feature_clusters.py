"""Clusters by shared features: a million pages on disk, and the same in memory.

Synthetic pages with Broder's 6 features each, of which 2 have to be equal; two fifths of the pages
share some with an earlier one. Required: the same clusters, and at most
`MAX_MEMORY` for the process that finds them on disk, pages and clusters included.
"""

import resource
import time
from collections.abc import Iterator

import numpy as np
from harness import arguments

from scrapy_neardup.offline.clusters import UnionFind, tied
from scrapy_neardup.offline.files.sortedruns import mega_shingles
from scrapy_neardup.offline.jobs.joining import feature_clusters

PAGES, CHUNK, FEATURES, SHARED = 1_000_000, 50_000, 6, 2
MEMORY, MAX_MEMORY = 1 << 27, 512
"""Bytes that are sorted at a time; megabytes of the whole process."""


def made(pages: int) -> Iterator[np.ndarray]:
    """Chunks of pages; a page repeats features of one of its chunk or of the one before it."""
    before = np.empty((0, FEATURES), np.uint64)
    for chunk in range(-(-pages // CHUNK)):
        draw = np.random.default_rng(chunk)
        count = min(CHUNK, pages - chunk * CHUNK)
        features = draw.integers(0, 2**64, (count, FEATURES), dtype=np.uint64)
        known = np.concatenate([before, features])
        alike = np.flatnonzero(draw.random(count) < 0.4)
        originals = known[draw.integers(0, np.maximum(1, len(before) + alike))]
        kept = draw.random((len(alike), FEATURES)) < draw.random((len(alike), 1))
        features[alike] = np.where(kept, originals, features[alike])
        before = features
        yield features


def main() -> None:
    pages = arguments(__doc__, pages=PAGES, quick={"pages": PAGES // 50}).pages
    start = time.perf_counter()
    on_disk = feature_clusters(made(pages), SHARED, memory=MEMORY)
    took = time.perf_counter() - start
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    sizes = np.unique(on_disk, return_counts=True)[1]
    several = sizes[sizes > 1]
    print(f"{pages:,} pages, {SHARED} of {FEATURES} features: {len(several):,} clusters of"
          f" {several.sum():,} pages, the largest {several.max()}")  # fmt: skip
    print(f"on disk   {took:6.1f} s, {memory:5.0f} MB for the whole process")
    features = np.concatenate(list(made(pages)))
    start = time.perf_counter()
    sets = UnionFind(pages)
    for digests in mega_shingles(features, SHARED):
        sets.union_many(*tied(digests, np.arange(pages)))
    print(f"in memory {time.perf_counter() - start:6.1f} s")
    assert np.array_equal(on_disk, sets.labels())
    assert memory < MAX_MEMORY


if __name__ == "__main__":
    main()
