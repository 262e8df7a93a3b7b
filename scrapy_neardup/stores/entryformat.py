"""What every store shares: partitions, masked fingerprints, the records of an entry and of a key.

Apart from a new key, these are pure values. Everything that is written to a file or a server is
defined here, and changes only with a new format version. If pages have features and evidence
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

Anyone who writes a page and knows the key that the pages of a namespace are hashed with can
compute how it is stored, and so forge a page that another site's page seems to repeat. So a new
namespace makes its own key, unless one is requested.
"""

from __future__ import annotations

import secrets
from collections.abc import Mapping, Sequence
from functools import lru_cache
from struct import Struct
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from scrapy_neardup.errors import StoreMismatchError
from scrapy_neardup.fingerprints import PUBLIC_KEY, digest
from scrapy_neardup.fingerprints.hashing import key_digest

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

CROWD_BIT: Final = 2
"""Bit that an embedded store sets in the tag of an entry that distance doesn't find (rule 4 of
`stores.base`), and clears in other tags."""


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


OWN: Final = "own"
"""Kind of a key that the namespace has made."""
FIELDS: Final = ("hash_key", "key")
"""Names of the fields of a `KeyRecord`. The second field is a key, and is never shown."""


class KeyRecord(NamedTuple):
    """A namespace's record of its key.

    `kind` is ``own``, ``public``, or the digest of the requested key; `own` is the
    namespace's own key in hexadecimal digits.
    """

    kind: str
    own: str = ""

    @classmethod
    def new(cls, asked: bytes | None) -> KeyRecord:
        """Return the record of a new namespace, with its own key unless one is requested."""
        if asked is None:
            return cls(OWN, secrets.token_hex(16))
        return cls(key_digest(asked) or "public")

    @classmethod
    def read(cls, fields: Mapping[str, object]) -> KeyRecord:
        """Return the record from the fields of a namespace."""
        kind, own = (str(fields.get(name, "")) for name in FIELDS)
        return cls(kind, own)

    def fields(self) -> dict[str, str]:
        """Return the fields of the record."""
        return {name: value for name, value in zip(FIELDS, self, strict=True) if value}

    def key(self, asked: bytes | None, where: str) -> bytes:
        """Return the key of the namespace; errors call the namespace `where`.

        Raises `StoreMismatchError` if another key is requested, or if the store doesn't hold it
        and none is requested.
        """
        key: bytes | None
        match self.kind:
            case "own":
                key, made = bytes.fromhex(self.own), "a key of its own"
            case "public":
                key, made = PUBLIC_KEY, "the public key"
            case digest:
                key, made = asked if digest == key_digest(asked) else None, "another key"
        if key is not None and asked in (None, key):
            return key
        raise StoreMismatchError(
            f"NEARDUP_STORE: {where} was made with {made}, and its pages can't be compared with"
            " those of this key. Set NEARDUP_HASH_KEY as it was then (or leave it unset if the"
            " store made the key), or use another NEARDUP_NAMESPACE or store"
        )
