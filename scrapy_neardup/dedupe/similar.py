"""Pairs of documents whose fingerprints are within a distance, as buckets."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from scrapy_neardup.fingerprints.hashing import PUBLIC
from scrapy_neardup.offline.files.sources import Source
from scrapy_neardup.offline.jobs.pairjob import PairJob
from scrapy_neardup.tables.ranges import ranges

Hashes = NDArray[np.uint64]
Integers = NDArray[np.int64]

_QUERY_BYTES = 192
"""Bytes of tables for each query, for k = 3 in numpy."""


class _Values(Source):
    """Fingerprints in an array."""

    def __init__(self, values: Hashes) -> None:
        self._values = values

    def __len__(self) -> int:
        return len(self._values)

    def fingerprints(self, start: int, stop: int) -> Hashes:
        """See `Source.fingerprints`."""
        return self._values[start:stop]


def buckets_of_pairs(
    fingerprints: Hashes, documents: Integers, max_distance: int, memory: int
) -> Iterator[tuple[Hashes, Integers]]:
    """Yield buckets, and the document that is in each.

    Documents of one fingerprint are in a bucket, and so are those of each two that are within the
    distance.

    Parameters
    ----------
    fingerprints, documents
        Shape (n,): of each document its fingerprint and its number.
    max_distance
        0 to 8 bits.
    memory
        Bytes for the tables of fingerprints that others are compared with.
    """
    order = np.argsort(fingerprints, kind="stable")
    documents = documents[order]
    values, starts, counts = np.unique(fingerprints, return_index=True, return_counts=True)
    starts = np.cumsum(counts) - counts
    yield PUBLIC.mix(np.repeat(values, counts) ^ PUBLIC.seed), documents
    job = PairJob(
        collection=_Values(values),
        max_distance=max_distance,
        max_pairs=0,
        block_rows=max(1 << 16, memory // _QUERY_BYTES),
    )
    for found in job.run():
        mixed = PUBLIC.mix(values[found.a] ^ (PUBLIC.seed + np.uint64(1)))
        buckets = PUBLIC.mix(mixed ^ values[found.b])
        for side in (found.a, found.b):
            yield (
                np.repeat(buckets, counts[side]),
                documents[ranges(starts[side], counts[side])],
            )
