"""The bytes of a page's record, of questions about candidates, and of answers to them. Pure.

A record is the value of the key ``page:ID`` (``docs/redis.md``): 4 bytes of *stamp*, the key 8,
the tag 8, features 8 each, evidence, URL. The stamp is random but for three bits, which say
whether tag, features and evidence are there. It tells the contents of one page id apart, so that
an answer about one is none about the next.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from struct import Struct, pack, unpack
from typing import Final, NamedTuple, Self

from scrapy_neardup.judge.matching import Matching
from scrapy_neardup.stores.entryformat import EXACT_BIT, partition
from scrapy_neardup.stores.redis.keyspace import NAME, Layout
from scrapy_neardup.verdict import Candidate, Page

STAMP: Final = 4
"""Bytes of a stamp."""
_HAS_FEATURES, _HAS_EVIDENCE, _HAS_TAG = 1, 2, 4
_HEAD: Final = Struct(">BI")
"""Whether something is left to do where the page repeats the first candidate, and the number of
pages dropped for that one, this one included; 0: it isn't counted yet."""
_QUESTION: Final = Struct(">8sBI")
"""Page id and distance of a candidate, and bytes of its record."""
_COUNT: Final = Struct(">I")
_MULTIPLIER, _STEP = 0x9E37_79B9_7F4A_7C15, 0xD1B5_4A32_D192_ED03  # both odd, so one to one


class Record(NamedTuple):
    """What is stored of a page, or is to be: the whole, and its parts."""

    stored: bytes
    key: bytes
    tag: bytes
    features: bytes
    evidence: bytes
    url: bytes

    @classmethod
    def read(cls, stored: bytes, matching: Matching) -> Self:
        """Separate a stored record into its parts."""
        flags, at = stored[0], STAMP + 8
        parts = []
        for flag, size in (
            (_HAS_TAG, 8), (_HAS_FEATURES, 8 * matching.features),
            (_HAS_EVIDENCE, matching.evidence_size),
        ):  # fmt: skip
            parts.append(stored[at : at + size] if flags & flag else b"")
            at += len(parts[-1])
        tag, features, evidence = parts
        return cls(stored, stored[STAMP : STAMP + 8], tag, features, evidence, stored[at:])

    @property
    def stamp(self) -> bytes:
        """The first bytes, which tell it apart from others of its page."""
        return self.stored[:STAMP]

    def distance(self, other: Record) -> int:
        """Return the number of bits in which the keys differ."""
        return (int.from_bytes(self.key, "big") ^ int.from_bytes(other.key, "big")).bit_count()

    def shared(self, other: Record) -> int:
        """Return the number of features that both have."""
        theirs, places = other.features, range(0, len(self.features), 8)
        return sum(self.features[at : at + 8] == theirs[at : at + 8] for at in places)


class Asked(NamedTuple):
    """A page as a store is asked about it: its id, its record, and where it is listed.

    `limit` is the maximum distance of what it repeats, in bits; `places` are its own buckets in
    the tables (`Layout.places`), `neighbours` further ones to look into, and `features` the
    names of the buckets of its features.
    """

    page_id: bytes
    record: Record
    limit: int
    places: list[bytes]
    neighbours: list[bytes]
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
            pack(f">{len(features)}Q", *features),
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
            Record(stored, *parts),
            limit,
            layout.places(key, limit),
            layout.neighbours(key, limit) if layout.is_probed else [],
            layout.feature_names(features) if features else b"",
        )

    @property
    def name(self) -> bytes:
        """The id and the stamp: of one content of one page."""
        return self.page_id + self.record.stamp

    @property
    def is_exact(self) -> bool:
        """Whether only an equal page repeats it."""
        return self.record.tag[-1:] > b"" and bool(self.record.tag[-1] & EXACT_BIT)


def listed(record: Record, layout: Layout) -> tuple[list[bytes], list[bytes]]:
    """Return where a stored page may be listed: in tables (`Layout.places`), and by its features.

    Of each of these the name of the bucket, and the field there.
    """
    places = layout.places(int.from_bytes(record.key, "big"), layout.max_distance)
    features = record.features
    names = layout.feature_names(unpack(f">{len(features) // 8}Q", features))
    return places, [
        names[NAME * n : NAME * (n + 1)] + features[8 * n + 4 : 8 * n + 8]
        for n in range(len(features) // 8)
    ]


class Question(NamedTuple):
    """Whether a page repeats a candidate: its id, its distance in bits, and its record.

    `counted` is the number of pages dropped for it, this one included; 0: it isn't counted yet.
    """

    page_id: bytes
    distance: int
    record: Record
    counted: int = 0

    def candidate(self) -> Candidate:
        """Return the candidate as the decision sees it."""
        return Candidate(int.from_bytes(self.page_id, "big"), self.distance, self.record.evidence)

    @property
    def name(self) -> bytes:
        """The id and the stamp: of one content of one page."""
        return self.page_id + self.record.stamp


class Questions(NamedTuple):
    """A reply that asks: what, nearest candidate first, and what is left to do for the first one.

    `is_old`: the page has an entry of its own, which goes where it repeats another one;
    `is_due`: the time of the first candidate starts anew if the page repeats it.
    """

    asked: list[Question]
    is_old: bool
    is_due: bool

    @classmethod
    def read(cls, reply: bytes, matching: Matching) -> Self:
        """Decode a reply of ``check_and_add.lua``."""
        left, counted = _HEAD.unpack_from(reply, 1)
        found = _questions(reply, 1 + _HEAD.size, matching)
        asked = [each._replace(counted=0 if n else counted) for n, each in enumerate(found)]
        return cls(asked, bool(left & 2), bool(left & 1))


def _questions(reply: bytes, at: int, matching: Matching) -> Iterator[Question]:
    while at < len(reply):
        page_id, distance, size = _QUESTION.unpack_from(reply, at)
        start = at + _QUESTION.size
        at = start + size
        yield Question(page_id, distance, Record.read(reply[start:at], matching))


def read_count(reply: bytes) -> int:
    """Return the count of the entry that a page was counted for."""
    count: int = _COUNT.unpack_from(reply, 1)[0]
    return count


def id_bytes(page_id: int) -> bytes:
    """Return a page id as scripts take it."""
    return page_id.to_bytes(8, "big")


def ids_in(joined: bytes) -> list[bytes]:
    """Return the page ids in one string of them."""
    return [joined[at : at + 8] for at in range(0, len(joined), 8)]


def feature_keys(page: Page, matching: Matching, mask: int) -> list[int]:
    """Return the features of `page` as they are looked up; none where a store looks up none.

    Two of them are equal if the features are, are of one partition (`mask`), and have the same
    place among their page's features. They are spread evenly, however the features are made.
    """
    if not matching.features:
        return []
    return [
        (feature * _MULTIPLIER + place * _STEP) % 2**64 ^ mask
        for place, feature in enumerate(page.features)
    ]
