"""A page as it is stored, and a page as it arrives, with its candidates and decisions. Pure.

A record is the value of the key ``p:ID`` (``docs/redis.md``): *stamp* 4 bytes, key 8, tag 8,
features 6 each, evidence without blanks, URL. Three bits of the stamp say whether tag, features
and evidence exist; the others are random. Each content of a page id has another stamp, so that an
answer about one content isn't taken for an answer about the next.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from itertools import count
from struct import Struct
from typing import Final, NamedTuple, Self

from scrapy_neardup.judge.evidence import shortened, whole
from scrapy_neardup.judge.parameters import Matching
from scrapy_neardup.stores.base import MAX_COMPARED, MAX_EQUAL, limit_of
from scrapy_neardup.stores.entryformat import EXACT_BIT, partition
from scrapy_neardup.stores.redis.keyspace import FEATURE, PLACE, Layout
from scrapy_neardup.verdict import Candidate, Decide, Decided, Page

STAMP: Final = 4
"""Bytes of a stamp."""
Name = bytes
"""Page id and stamp, which name one content of one page."""
UNDECIDED, ADDED, GONE = b"u", b"k", b"g"
"""States of an attempt, or of an entry, as ``see.lua`` returns them."""
_HEAD: Final = Struct(">bB8sH")
"""Start of a page as ``check_and_add.lua`` takes it."""
_HAS_FEATURES, _HAS_EVIDENCE, _HAS_TAG = 1, 2, 4
_SIZE: Final = 4
"""Bytes of the length of a reply or a record, and of a count."""
_MULTIPLIER, _STEP = 0x9E37_79B9_7F4A_7C15, 0xD1B5_4A32_D192_ED03  # both odd, so one to one
_ONES = 2**64 - 1


class PageRecord(NamedTuple):
    """The stored record of a page, whole and in parts."""

    stored: bytes
    key: bytes
    tag: bytes
    features: bytes
    evidence: bytes
    url: bytes

    @classmethod
    def of(cls, page: Page, key: int, tag: int, features: Sequence[int], evidence: bytes) -> Self:
        """Encode `page`, whose features are `feature_keys`, with a new stamp."""
        head = (
            key.to_bytes(8),
            tag.to_bytes(8) if tag else b"",
            b"".join([each.to_bytes(FEATURE) for each in features]),
        )
        url = page.url.encode("utf-8", "surrogatepass") if page.url else b""
        has = _HAS_TAG * bool(tag) | _HAS_FEATURES * bool(features)
        stamp = os.urandom(STAMP)
        first = stamp[0] & ~7 | has | _HAS_EVIDENCE * bool(evidence)
        short = shortened(evidence) if evidence else b""
        stored = b"".join((bytes((first,)), stamp[1:], *head, short, url))
        return cls(stored, *head, evidence, url)

    @classmethod
    def read(cls, stored: bytes, layout: Layout) -> Self:
        """Separate a stored record into its parts, which are empty if the record is lost."""
        flags, matching = stored[0] if stored else 0, layout.matching
        tagged = STAMP + 8 + 8 * bool(flags & _HAS_TAG)
        featured = tagged + FEATURE * matching.features * bool(flags & _HAS_FEATURES)
        evidence, url = b"", stored[featured:]
        if flags & _HAS_EVIDENCE:
            evidence, url = whole(url, matching.evidence_size)
        key, tag = stored[STAMP : STAMP + 8], stored[STAMP + 8 : tagged]
        return cls(stored, key, tag, stored[tagged:featured], evidence, url)

    @property
    def is_exact(self) -> bool:
        """Whether only an equal page repeats it."""
        return bool(self.tag) and bool(self.tag[-1] & EXACT_BIT)

    def listed(self, layout: Layout) -> bytes:
        """Return where tables and features list the page, `PLACE` bytes each."""
        features = [int.from_bytes(each) for each in cut(self.features, FEATURE)]
        limit = limit_of(layout.matching, layout.max_distance, exact=self.is_exact)
        return layout.places(int.from_bytes(self.key), limit) + layout.fields(features)


def replaced(old: bytes, new: bytes, layout: Layout) -> bytes:
    """Return the places that list an old record and not the new one."""
    theirs, ours = (
        cut(PageRecord.read(each, layout).listed(layout), PLACE) for each in (old, new)
    )
    return b"".join([each for each in theirs if each not in ours])


class Met(NamedTuple):
    """An entry that a page may repeat: the name of its content, the candidate, and its URL."""

    name: Name
    candidate: Candidate
    url: bytes


Repeats = tuple[Met, Decided]
"""An entry that a page repeats, and why."""


class Arriving:
    """A page that a store is called for, and the entries that it found.

    `decide` says whether it repeats one. `page_id` and `record` are as they are stored, with a new
    stamp, which `name` has, too. `limit` is the maximum distance of candidates in bits; `places`
    and `features` are where tables and features list it (`PageRecord.listed`), `neighbours` the
    other places to look at; `own` is the record of its own entry, if it has one.
    """

    def __init__(self, page: Page, decide: Decide, layout: Layout, store_key: bytes) -> None:
        tag, mask = partition(page.scope, page.exact, store_key)
        key, features = page.fingerprint ^ mask, feature_keys(page, layout.matching, mask)
        evidence = page.evidence if layout.matching.sketch else b""
        self.page_id = page.id.to_bytes(8)
        self.record = PageRecord.of(page, key, tag, features, evidence)
        self.name: Name = self.page_id + self.record.stored[:STAMP]
        self.limit = limit_of(layout.matching, layout.max_distance, exact=page.exact)
        self.places, self.features = layout.places(key, self.limit), layout.fields(features)
        self.neighbours = layout.neighbours(key, self.limit)
        self.own = b""
        self.decide = decide
        self._layout = layout
        self._distances: dict[Name, int] = {}  # of other pages

    def words(self, refused: bytes) -> bytes:
        """Return the page as ``check_and_add.lua`` takes it, with the names of refused entries."""
        in_tables = 0 if self.is_crowded else len(self.places) // PLACE
        tables = self.places + self.neighbours
        head = _HEAD.pack(self.limit, in_tables, self.page_id, len(tables))
        return b"".join((head, tables, len(self.features).to_bytes(2), self.features, refused))

    def first_repeated(self, entries: Iterable[tuple[bytes, bytes]]) -> Repeats | None:
        """Return the first of some entries, page ids and records, that the page repeats, and why.

        Its own entry comes first, then the nearest; of equally near ones that with the smallest
        page id. At most `MAX_COMPARED` others are compared.
        """
        found = []
        for page_id, stored in entries:
            is_own = page_id == self.page_id
            if is_own:
                self.own = stored
            if met := self.met(page_id, stored):
                found.append((not is_own, met.candidate.distance, page_id, met))
        for is_another, distance, _, met in sorted(found):
            if is_another:
                self._distances[met.name] = distance
            if len(self._distances) <= MAX_COMPARED:
                decided = self.decide(met.candidate)
                if decided.is_same:
                    return met, decided
        return None

    def met(self, page_id: bytes, stored: bytes) -> Met | None:
        """Return an entry as a candidate; None if it isn't one, which buckets alone don't show."""
        theirs, ours = PageRecord.read(stored, self._layout), self.record
        distance = (int.from_bytes(ours.key) ^ int.from_bytes(theirs.key)).bit_count()
        shared = map(bytes.__eq__, cut(ours.features, FEATURE), cut(theirs.features, FEATURE))
        is_near = distance <= self.limit or (
            ours.features and sum(shared) >= self._layout.matching.shared_features
        )
        if not is_near or theirs.tag != ours.tag:
            return None
        candidate = Candidate(int.from_bytes(page_id), distance, theirs.evidence)
        return Met(page_id + stored[:STAMP], candidate, theirs.url)

    @property
    def is_crowded(self) -> bool:
        """Whether more than `MAX_COMPARED` entries are near. Then the tables don't list the page.

        Exact pages are listed up to another limit, because nothing else finds them.
        """
        if len(self._distances) <= MAX_COMPARED:  # as for almost all pages
            return False
        near = sum(distance <= self.limit for distance in self._distances.values())
        return near >= (MAX_EQUAL if self.record.is_exact else MAX_COMPARED + 1)


def cut(joined: bytes, size: int) -> list[bytes]:
    """Cut bytes into parts of one size."""
    return [joined[at : at + size] for at in range(0, len(joined), size)]


def separate(joined: bytes, ids: int = 0) -> list[bytes]:
    """Return the parts of a reply, each after its length; or records, after further bytes.

    ValueError if it isn't whole.
    """
    found, at = [], 0
    while at < len(joined):
        start, at = at + _SIZE, at + _SIZE + ids + int.from_bytes(joined[at : at + _SIZE])
        found.append(joined[start:at])
    if at != len(joined):
        raise ValueError(f"a reply of {len(joined)} bytes instead of {at}")
    return found


def entries(reply: bytes) -> list[tuple[bytes, bytes]]:
    """Return page ids and records from bytes: length of the record 4, page id 8, record."""
    return [(each[:8], each[8:]) for each in separate(reply, 8)]


def feature_keys(page: Page, matching: Matching, mask: int) -> list[int]:
    """Return the features of `page` as they are looked up; none if a store looks up none.

    Two of them are equal if the features are, belong to one partition (`mask`), and have the same
    place among their page's features; otherwise with a probability of 2^-48. They are spread
    evenly, however the features are made.
    """
    if not matching.features:
        return []
    return [
        ((feature * _MULTIPLIER + step & _ONES) ^ mask) >> 64 - 8 * FEATURE
        for feature, step in zip(page.features, count(0, _STEP), strict=False)
    ]
