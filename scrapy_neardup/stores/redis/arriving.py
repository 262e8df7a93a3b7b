"""A page that arrives, what it may repeat, and what was decided about that. Pure."""

from __future__ import annotations

from collections.abc import Iterable
from struct import Struct
from typing import Final, NamedTuple

from scrapy_neardup.stores.base import MAX_COMPARED, MAX_EQUAL
from scrapy_neardup.stores.entryformat import partition
from scrapy_neardup.stores.redis.codec import STAMP, Name, PageRecord, feature_keys, id_bytes
from scrapy_neardup.stores.redis.keyspace import PLACE, Layout
from scrapy_neardup.verdict import Candidate, Decide, Decided, Page

_HEAD: Final = Struct(">bB8sH")


class Met(NamedTuple):
    """An entry that a page may repeat: the name of its content, the candidate, and its URL."""

    name: Name
    candidate: Candidate
    url: bytes


Repeats = tuple[Met, Decided]
"""An entry that a page repeats, and why."""


class Arriving:
    """A page that a store is asked about, and the entries that it met.

    `page_id` and `record` are as they are stored, with a stamp of their own, which `name` has,
    too. `limit` is the maximum distance of what it repeats, in bits; `places` and `features` are
    its own buckets (`PageRecord.listed`), `neighbours` further ones in tables to look into; `own`
    is the record of its own entry, if it met one.
    """

    def __init__(self, page: Page, decide: Decide, layout: Layout, store_key: bytes) -> None:
        tag, mask = partition(page.scope, page.exact, store_key)
        key, features = page.fingerprint ^ mask, feature_keys(page, layout.matching, mask)
        evidence = page.evidence if layout.matching.sketch else b""
        self.page_id = id_bytes(page.id)
        self.record = PageRecord.of(page, key, tag, features, evidence)
        self.name: Name = self.page_id + self.record.stored[:STAMP]
        self.limit = layout.limit(exact=page.exact)
        self.places, self.features = layout.places(key, self.limit), layout.fields(features)
        self.neighbours = layout.neighbours(key, self.limit)
        self.own = b""
        self._decide = decide
        self._layout = layout
        self._decided: dict[Name, Decided] = {}
        self._distances: dict[Name, int] = {}  # of other pages

    def words(self, refused: bytes) -> bytes:
        """Return the page as ``check_and_add.lua`` takes it, with the names of what it refused."""
        in_tables = 0 if self.is_crowded else len(self.places) // PLACE
        buckets = self.places + self.neighbours
        head = _HEAD.pack(self.limit, in_tables, self.page_id, len(buckets))
        return b"".join((head, buckets, len(self.features).to_bytes(2), self.features, refused))

    def first_repeated(self, entries: Iterable[tuple[bytes, bytes]]) -> Repeats | None:
        """Return the first of some entries, page ids and records, that the page repeats, and why.

        Its own entry comes before all others, then the nearest; of equally near ones that of the
        smallest page id. At most `MAX_COMPARED` others are compared.
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
            if len(self._distances) <= MAX_COMPARED and (decided := self.decided(met)).is_same:
                return met, decided
        return None

    def met(self, page_id: bytes, stored: bytes) -> Met | None:
        """Return what the page may repeat; None if it is no candidate: buckets can't tell."""
        theirs, ours = PageRecord.read(stored, self._layout), self.record
        distance, shared = ours.distance(theirs), self._layout.matching.shared_features
        is_near = distance <= self.limit or (ours.features and ours.shared(theirs) >= shared)
        if not is_near or theirs.tag != ours.tag:
            return None
        candidate = Candidate(int.from_bytes(page_id), distance, theirs.evidence)
        return Met(page_id + stored[:STAMP], candidate, theirs.url)

    def decided(self, met: Met) -> Decided:
        """Return whether the page repeats a candidate, and why."""
        if met.name not in self._decided:
            self._decided[met.name] = self._decide(met.candidate)
        return self._decided[met.name]

    @property
    def is_crowded(self) -> bool:
        """Whether more entries are near than a page is compared with: its key helps no page.

        Exact pages are found by nothing else.
        """
        if len(self._distances) <= MAX_COMPARED:  # as those of almost all pages are
            return False
        near = sum(distance <= self.limit for distance in self._distances.values())
        return near >= (MAX_EQUAL if self.record.is_exact else MAX_COMPARED + 1)
