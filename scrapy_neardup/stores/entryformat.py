"""What every store shares: partitions, masked fingerprints, and the record of an entry.

These are pure values. Everything that is written to a file or a server is defined here, and
changes only with a new format version. If pages have features and evidence
(`judge.parameters.Matching`), those of an entry follow its record; the schema says how long they
are, and a store refuses another schema.

A page is compared only with pages of its *partition*: its scope and its kind (a
simhash, or the digest of an exact page). All partitions of a store share one set of
tables, so a million hosts don't need a million of them:

- What goes into the tables is the *masked* fingerprint, ``fingerprint XOR mask``, where the mask
  is the partition's. Inside a partition Hamming distances don't change. Pages of two partitions
  are far apart, and prefixes that are frequent in many partitions (shops with the same terms) are
  spread over all buckets.
- The partition's *tag* is stored with every entry and compared for every candidate, in case masked
  fingerprints of two partitions are near each other.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from struct import Struct
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from scrapy_neardup.fingerprints import PUBLIC_KEY, digest

ENTRY: Final = Struct("<QQQII")
"""Layout of masked fingerprint, page id, tag, number of duplicates, and time of the last meeting
in seconds since the epoch: 32 bytes."""

ENTRY_DTYPE: Final = np.dtype(
    [("masked", "<u8"), ("page_id", "<u8"), ("tag", "<u8"), ("duplicates", "<u4"), ("seen", "<u4")]
)
"""The same layout for numpy."""

PACKED: Final = Struct("<Q")
"""Layout of the fingerprint at the start of a page's record in a packed base, before its evidence
(`scrapy_neardup.judge.evidence`)."""

EXACT_BIT: Final = 1
"""Bit that is set in tags of exact pages."""


def record_dtype(features: int) -> np.dtype[np.void]:
    """Return `ENTRY_DTYPE` followed by these features (``<u8``), XOR the partition's mask."""
    if not features:
        return ENTRY_DTYPE
    return np.dtype([*ENTRY_DTYPE.descr, ("features", "<u8", (features,))])


class Chunk(NamedTuple):
    """Entries that are read in bulk: `rows`, uint32, ascend; `records` have `record_dtype`.

    `evidence` is empty if no entry has any.
    """

    rows: NDArray[np.uint32]
    records: NDArray[np.void]
    evidence: Sequence[bytes] = ()


class Partition(NamedTuple):
    """Pages that are compared with each other.

    `tag` is 64 bits of a digest of the scope, with `EXACT_BIT` set for exact pages; `mask` 64
    other bits, 0 for the simhashes of the scope ``""``, so that in the usual store nothing
    is masked.
    """

    tag: int
    mask: int


@lru_cache(maxsize=4096)
def partition(scope: str, exact: bool, key: bytes = PUBLIC_KEY) -> Partition:
    """Return the partition of the pages of this scope and kind.

    With the store's secret `key`, nobody can search for a host name that has the tag or mask of
    another host.
    """
    if not scope and not exact:
        return Partition(0, 0)
    kind = "exact" if exact else "simhash"
    mask, tag = divmod(digest(kind, scope, key=key, bits=128), 1 << 64)
    return Partition(tag | EXACT_BIT if exact else tag & ~EXACT_BIT, mask)
