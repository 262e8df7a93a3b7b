"""What stands in the way of a page that is to be added, as far as it is known.

Pure, so that the decisions of the protocol (``docs/cluster.md``) can be read in one place;
`clusterstore.py` makes the calls.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from typing import Any, NamedTuple

from scrapy_neardup.stores.base import MAX_COMPARED, MAX_EQUAL, MAX_UNDER_FEATURE
from scrapy_neardup.stores.redis.codec import STAMP, Asked, Question, Record
from scrapy_neardup.stores.redis.keyspace import Layout
from scrapy_neardup.verdict import Decide, Decided

Name = bytes
"""Page id and stamp of an attempt to add a page, or of the entry that it became."""
ATTEMPT = 8 + STAMP
"""Bytes of a name."""

UNDECIDED, ADDED, GONE = b"u", b"k", b"g"
"""States of an attempt, as ``see.lua`` tells them."""


class Repeats(NamedTuple):
    """A candidate, and what was decided about it."""

    question: Question
    decided: Decided


class Rivals:
    """The attempts that a page met in its buckets, and what was decided about them.

    Those that the page doesn't repeat, or that are gone, are in nobody's way. An added one is what
    the page repeats. Of two undecided ones that of the smaller name goes first: `wounded` are
    those that the page goes before, to be ended. `is_full`: a bucket had no room for the page.
    """

    def __init__(self, asked: Asked, decide: Decide, layout: Layout) -> None:
        self.wounded: list[Name] = []
        self.is_full = False
        self._asked = asked
        self._decide = decide
        self._layout = layout
        self._left: set[Name] = set()
        self._listing: dict[Name, dict[Any, None]] = defaultdict(dict)
        self._decided: dict[Name, Decided] = {}
        self._distances: list[int] = []  # of the added ones of other pages
        self._added: set[Name] = set()

    def meet(self, name: Name, bucket: Any) -> None:
        """Note that a bucket lists an attempt."""
        if name == self._asked.name:
            return
        self._listing[name][bucket] = None
        if name not in self._added:
            self._left.add(name)

    def left(self) -> list[Name]:
        """Return the attempts in the way, to be seen; none if the page is to be added."""
        return list(self._left)

    def listing(self, name: Name) -> list[Any]:
        """Return the buckets that list an attempt, as far as they were looked into."""
        return list(self._listing[name])

    def take(self, seen: Mapping[Name, bytes]) -> Repeats | None:
        """Take in what was seen of some attempts; return the added one that the page repeats.

        Its own entry comes before all others, then the nearest; of equally near ones that of the
        smallest page id. At most `MAX_COMPARED` others are compared.
        """
        self.wounded.clear()
        added: list[tuple[bool, int, Name, Question]] = []
        for name, reply in seen.items():
            state, is_own = reply[:1], name[:8] == self._asked.page_id
            question = None if state == GONE else self._candidate(name, reply[1:])
            if state == UNDECIDED and question and not is_own and self._is_same(question):
                self._left.add(name)
                if self._asked.name < name:
                    self.wounded.append(name)
                continue
            self._left.discard(name)
            if state == ADDED:
                self._added.add(name)
                if question:
                    added.append((not is_own, question.distance, name, question))
        for is_another, distance, name, question in sorted(added):
            if is_another:
                self._distances.append(distance)
            if len(self._distances) <= MAX_COMPARED and self._is_same(question):
                return Repeats(question, self._decided[name])
        return None

    @property
    def is_crowded(self) -> bool:
        """Whether more entries are near than a page is compared with: its key helps no page."""
        least = MAX_EQUAL if self._asked.is_exact else MAX_COMPARED + 1
        if len(self._distances) < least:  # exact pages are found by nothing else
            return False
        return sorted(self._distances)[MAX_COMPARED] <= self._asked.limit

    def boilerplate(self) -> set[int]:
        """Return the places of features under which too many are listed for them to be content."""
        counts: dict[int, int] = defaultdict(int)
        for name in self._added:
            for bucket in self._listing[name]:
                if bucket.feature is not None:
                    counts[bucket.feature] += 1
        return {feature for feature, count in counts.items() if count >= MAX_UNDER_FEATURE}

    def _is_same(self, question: Question) -> bool:
        if question.name not in self._decided:
            self._decided[question.name] = self._decide(question.candidate())
        return self._decided[question.name].is_same

    def _candidate(self, name: Name, stored: bytes) -> Question | None:
        """Return what the page may repeat; None if it is no candidate: buckets can't tell."""
        record, mine = Record.read(stored, self._layout.matching), self._asked.record
        distance = mine.distance(record)
        akin = mine.features and mine.shared(record) >= self._layout.matching.shared_features
        if record.tag != mine.tag or not (distance <= self._asked.limit or akin):
            return None
        return Question(name[:8], distance, record)
