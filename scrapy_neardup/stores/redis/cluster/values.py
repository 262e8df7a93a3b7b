"""The values of a cluster's store: pages, attempts to keep them, entries as seen. Pure."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final, NamedTuple, Self

from scrapy_neardup.decision.comparison import deciding
from scrapy_neardup.fingerprints import PUBLIC_KEY
from scrapy_neardup.stores.redis.codec import (
    body_kind,
    evidence,
    feature_keys,
    key_and_tag,
    url_bytes,
)
from scrapy_neardup.stores.redis.keyspace import Layout
from scrapy_neardup.verdict import Decide, Page

TOKEN: Final = 4
"""Number of random bytes in an attempt."""


@dataclass(frozen=True, slots=True)
class Attempt:
    """One try to keep one page: its key and a random token."""

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
        """Key and token, as scripts take them."""
        return self.key.to_bytes(8, "big"), self.token

    @property
    def name(self) -> bytes:
        """Key and token in one word of 12 bytes."""
        return b"".join(self.words)


Features = frozenset[bytes]
"""Some of a page's features, as they are looked up; see `codec.feature_keys`."""


@dataclass(frozen=True, slots=True)
class ClusterPage:
    """A page, and the parts of it that are stored and looked up.

    See `codec.key_and_tag` for `key` and `tag`, `Layout.limit` for `limit`, and
    ``lua/cluster.lua`` for `body`: features, evidence and URL.
    """

    page: Page
    decide: Decide
    key: int
    tag: bytes
    features: Features
    limit: int
    body: bytes

    @classmethod
    def of(
        cls,
        page: Page,
        layout: Layout,
        decide: Decide | None = None,
        *,
        store_key: bytes = PUBLIC_KEY,
    ) -> Self:
        """Encode `page` for a namespace of this layout and key."""
        decide = decide or deciding(page, layout.matching)
        key, tag = key_and_tag(page, store_key)
        features = b"".join(feature_keys(page, layout.matching, store_key))
        compared = evidence(page, layout.matching)
        head = bytes([body_kind(compared, bool(features))])
        body = features + compared + url_bytes(page)
        return cls(
            page, decide, key, tag, separate(features), layout.limit(page), body and head + body
        )


def separate(features: bytes) -> Features:
    """Return the features in a stored string of them."""
    return frozenset(features[start : start + 8] for start in range(0, len(features), 8))


class Seen(NamedTuple):
    """An entry that an attempt has seen in table 1, where it claimed a place."""

    page_id: bytes
    is_pending: bool

    @classmethod
    def read(cls, words: bytes) -> Self:
        """Decode the page id, tag and state that follow an attempt."""
        return cls(words[:8], words[-1:] == b"p")


class Claims(NamedTuple):
    """The result of claiming a place in every list."""

    granted: bool
    full: bool
    """Whether a bucket is full."""
    near: set[Attempt]
    """All other attempts within k bits."""
    sharing: Mapping[bytes, set[Attempt]]
    """Feature -> other attempts that are listed under it."""
    old: Attempt | None
    """Entry of the page from an earlier fetch."""
    equal: Mapping[Attempt, Seen] = MappingProxyType({})
    """Near attempts of the same key, as table 1 had them."""


class AttemptEntry(NamedTuple):
    """The entry of an attempt, as a look shows it."""

    state: bytes
    """``gone``, ``pending`` or ``kept``."""
    page_id: bytes = b""
    tag: bytes = b""
    features: bytes = b""
    """Features of an attempt that this call ended, or, if the body was asked for, of any."""
    evidence: bytes = b""
    """Stored evidence, if the body was asked for."""
