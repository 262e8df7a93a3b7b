"""The bytes of a page's record, of questions about candidates, and of answers to them. Pure.

A record is the value of the key ``page:ID`` (``docs/redis.md``): 4 bytes of *stamp*, the key 8,
the tag 8, features 6 each, evidence, URL. The stamp is random but for three bits, which say
whether tag, features and evidence are there. It tells the contents of one page id apart, so that
an answer about one is none about the next.
"""

from __future__ import annotations

import os
from struct import Struct
from typing import Final, NamedTuple, Self

from scrapy_neardup.judge.parameters import Matching
from scrapy_neardup.stores.entryformat import EXACT_BIT, partition
from scrapy_neardup.stores.redis.keyspace import FEATURE, PLACE, Layout
from scrapy_neardup.verdict import Candidate, Page

STAMP: Final = 4
"""Bytes of a stamp."""
Name = bytes
"""Page id and stamp: of one content of one page."""
_HAS_FEATURES, _HAS_EVIDENCE, _HAS_TAG = 1, 2, 4
_SIZES: Final = Struct(">I")
"""A count, or bytes of a record."""
_COUNT: Final = Struct(">H")
_HEAD: Final = Struct(">bB8sH")
_MULTIPLIER, _STEP = 0x9E37_79B9_7F4A_7C15, 0xD1B5_4A32_D192_ED03  # both odd, so one to one


class PageRecord(NamedTuple):
    """What is stored of a page, or is to be: the whole, and its parts."""

    stored: bytes
    key: bytes
    tag: bytes
    features: bytes
    evidence: bytes
    url: bytes

    @classmethod
    def read(cls, stored: bytes, layout: Layout) -> Self:
        """Separate a stored record into its parts."""
        flags, (features, evidence) = stored[0], layout.sizes
        tagged = STAMP + 8 + 8 * bool(flags & _HAS_TAG)
        featured = tagged + features * bool(flags & _HAS_FEATURES)
        evident = featured + evidence * bool(flags & _HAS_EVIDENCE)
        return cls(
            stored,
            stored[STAMP : STAMP + 8],
            stored[STAMP + 8 : tagged],
            stored[tagged:featured],
            stored[featured:evident],
            stored[evident:],
        )

    def distance(self, other: PageRecord) -> int:
        """Return the number of bits in which the keys differ."""
        return (int.from_bytes(self.key) ^ int.from_bytes(other.key)).bit_count()

    def shared(self, other: PageRecord) -> int:
        """Return the number of features that both have."""
        ours, theirs = self.features, other.features
        starts = range(0, len(ours), FEATURE)
        return sum(ours[at : at + FEATURE] == theirs[at : at + FEATURE] for at in starts)


class Asked(NamedTuple):
    """A page as a store is asked about it: its id, its record, and where it is listed.

    `limit` is the maximum distance of what it repeats, in bits; `places` are its own buckets in
    the tables (`Layout.places`), `neighbours` further ones to look into, and `features` those of
    its features (`Layout.fields`).
    """

    page_id: bytes
    record: PageRecord
    limit: int
    places: bytes
    neighbours: bytes
    features: bytes

    @classmethod
    def of(cls, page: Page, layout: Layout, store_key: bytes) -> Self:
        """Encode `page` for a namespace of this layout and key, with a stamp of its own."""
        matching, limit = layout.matching, layout.limit(page)
        tag, mask = partition(page.scope, page.exact, store_key)
        key, features = page.fingerprint ^ mask, feature_keys(page, matching, mask)
        parts = (
            key.to_bytes(8, "big"),
            tag.to_bytes(8, "big") if tag else b"",
            b"".join([each.to_bytes(FEATURE, "big") for each in features]),
            page.evidence if matching.sketch else b"",
            page.url.encode("utf-8", "surrogatepass") if page.url else b"",
        )
        flags = (
            _HAS_TAG * bool(tag) | _HAS_FEATURES * bool(features) | _HAS_EVIDENCE * bool(parts[3])
        )
        stamp = os.urandom(STAMP)
        stored = b"".join((bytes((stamp[0] & ~7 | flags,)), stamp[1:], *parts))
        return cls(
            page.id.to_bytes(8, "big"),
            PageRecord(stored, *parts),
            limit,
            layout.places(key, limit),
            layout.neighbours(key, limit) if layout.is_probed else b"",
            layout.fields(features),
        )

    def words(self, refused: bytes, *, is_crowded: bool) -> bytes:
        """Return the page as ``check_and_add.lua`` takes it, with the names of what it refused."""
        in_tables = 0 if is_crowded else len(self.places) // PLACE
        buckets = self.places + self.neighbours
        head = _HEAD.pack(self.limit, in_tables, self.page_id, len(buckets))
        return b"".join((head, buckets, _COUNT.pack(len(self.features)), self.features, refused))

    @property
    def name(self) -> Name:
        """What tells this content of the page apart."""
        return self.page_id + self.record.stored[:STAMP]

    @property
    def is_exact(self) -> bool:
        """Whether only an equal page repeats it."""
        return self.record.tag[-1:] > b"" and bool(self.record.tag[-1] & EXACT_BIT)

    def question(self, page_id: bytes, stored: bytes, layout: Layout) -> Question | None:
        """Return the candidate that a stored page is; None if it is none: lists can't tell."""
        record, mine = PageRecord.read(stored, layout), self.record
        distance = mine.distance(record)
        is_near = distance <= self.limit or (
            mine.features and mine.shared(record) >= layout.matching.shared_features
        )
        if not is_near or record.tag != mine.tag:
            return None
        candidate = Candidate(int.from_bytes(page_id), distance, record.evidence)
        return Question(page_id + stored[:STAMP], candidate, record.url)


def listed(stored: bytes, layout: Layout) -> tuple[list[bytes], list[bytes]]:
    """Return where a stored page may be listed, in tables and by its features (`lists`)."""
    if not stored:
        return [], []
    record = PageRecord.read(stored, layout)
    places = layout.places(int.from_bytes(record.key, "big"), layout.max_distance)
    starts = range(0, len(record.features), FEATURE)
    features = [int.from_bytes(record.features[at : at + FEATURE]) for at in starts]
    return lists(places, record.key, layout.fields(features))


def lists(places: bytes, key: bytes, features: bytes) -> tuple[list[bytes], list[bytes]]:
    """Separate buckets in tables and of features; of each its name and what lists a page there."""
    return (
        [places[at : at + PLACE] + key for at in range(0, len(places), PLACE)],
        [features[at : at + 8] for at in range(0, len(features), 8)],
    )


class Question(NamedTuple):
    """Whether a page repeats a candidate: its content's name, the candidate, and its URL."""

    name: Name
    candidate: Candidate
    url: bytes


def read_count(reply: bytes) -> int:
    """Return the count of the entry that a page was counted for; 0: it isn't yet."""
    count: int = _SIZES.unpack_from(reply, 1)[0]
    return count


def entries(reply: bytes, at: int = 0) -> list[tuple[bytes, bytes]]:
    """Return page ids and records: of each the length of the record 4, page id 8, record."""
    found = []
    while at < len(reply):
        [size] = _SIZES.unpack_from(reply, at)
        start = at + _SIZES.size + 8
        at = start + size
        found.append((reply[start - 8 : start], reply[start:at]))
    return found


def id_bytes(page_id: int) -> bytes:
    """Return a page id as scripts take it."""
    return page_id.to_bytes(8, "big")


def feature_keys(page: Page, matching: Matching, mask: int) -> list[int]:
    """Return the features of `page` as they are looked up; none where a store looks up none.

    Two of them are equal if the features are, are of one partition (`mask`), and have the same
    place among their page's features; otherwise by chance, 1 of 2^48. They are spread evenly,
    however the features are made.
    """
    if not matching.features:
        return []
    return [
        ((feature * _MULTIPLIER + place * _STEP) % 2**64 ^ mask) >> 64 - 8 * FEATURE
        for place, feature in enumerate(page.features)
    ]
