"""The values of the protocol of a Redis Cluster: attempts, and what is known of them.

Rule of this room: plain values, as scripts want and return them.

An *attempt* is one try of one crawler to keep one page: a key and four random bytes. It is
never used again.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final, NamedTuple, Self

from scrapy_neardup.stores.redis.evidence import evidence
from scrapy_neardup.stores.redis.layout import Layout
from scrapy_neardup.stores.redis.values import feature_keys, key_and_digests, url_bytes
from scrapy_neardup.verdict import Page

TOKEN: Final = 4
"""Bytes of its own that an attempt has."""


@dataclass(frozen=True, slots=True)
class Attempt:
    """One try to keep one page: its key and four bytes of its own."""

    key: int
    token: bytes

    @classmethod
    def new(cls, key: int) -> Self:
        """Return a new attempt, with a token of its own."""
        return cls(key, os.urandom(TOKEN))

    @classmethod
    def named(cls, name: bytes) -> Self:
        """Return the attempt of this name."""
        return cls(int.from_bytes(name[:8], "big"), name[8:])

    @property
    def words(self) -> tuple[bytes, bytes]:
        """What scripts call it by."""
        return self.key.to_bytes(8, "big"), self.token

    @property
    def name(self) -> bytes:
        """Both in one, 12 bytes."""
        return b"".join(self.words)


Features = frozenset[bytes]
"""Some of a page's features, as they are looked up; see `redis_values.feature_keys`."""


@dataclass(frozen=True, slots=True)
class Arrival:
    """A page, and the parts of it that are stored and looked up.

    Parameters
    ----------
    key, digests
        See `redis_values.key_and_digests`.
    features
        All that it has.
    limit
        Within how many bits an entry may be that it repeats; -1: none is.
    body
        What an entry has no room for, as ``lua/cluster/entries.lua`` says.
    """

    page: Page
    key: int
    digests: bytes
    features: Features
    limit: int
    body: bytes

    @classmethod
    def of(cls, page: Page, layout: Layout) -> Self:
        """Return what a namespace of this layout stores of `page`."""
        key, digests = key_and_digests(page)
        features = b"".join(feature_keys(page, layout.matching))
        sizes = (0, *layout.matching.evidence_sizes)
        compared = evidence(page, layout.matching)
        head = bytes([2 * sizes.index(len(compared)) + bool(features)])
        body = features + compared + url_bytes(page)
        return cls(
            page, key, digests, separate(features), layout.limit(page), body and head + body
        )


def separate(features: bytes) -> Features:
    """Return the features that are stored so, one after the other."""
    return frozenset(features[start : start + 8] for start in range(0, len(features), 8))


class Met(NamedTuple):
    """What table 1 says of an entry, to an attempt that claims a place there."""

    page_id: bytes
    is_pending: bool

    @classmethod
    def read(cls, words: bytes) -> Self:
        """Return what follows an attempt: page id, digests, state."""
        return cls(words[:8], words[14:] == b"p")


class Claims(NamedTuple):
    """What came of claiming a place in every list."""

    granted: bool
    full: bool
    """A bucket takes no more entries."""
    near: set[Attempt]
    """All others within k bits."""
    sharing: Mapping[bytes, set[Attempt]]
    """All others that are listed under each of the features."""
    old: Attempt | None
    """The entry that the page has from an earlier time."""
    equal: Mapping[Attempt, Met] = MappingProxyType({})
    """Those near whose key is the same, as table 1 had them."""


class Entry(NamedTuple):
    """What has become of an attempt."""

    state: bytes
    """gone, pending or kept."""
    page_id: bytes = b""
    digests: bytes = b""
    features: bytes = b""
    """Of a gone one, if it was ended by this call; else if the body was asked for."""
    evidence: bytes = b""
    """What is stored of it to be compared, if the body was asked for."""
