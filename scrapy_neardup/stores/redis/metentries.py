"""What a page may repeat, and what was decided about it. Pure."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from scrapy_neardup.stores.base import MAX_COMPARED, MAX_EQUAL
from scrapy_neardup.stores.redis.codec import Asked, Name, Question
from scrapy_neardup.stores.redis.keyspace import Layout
from scrapy_neardup.verdict import Decide, Decided


class Repeats(NamedTuple):
    """A candidate, and what was decided about it."""

    question: Question
    decided: Decided


class MetEntries:
    """The entries that a page met, and what was decided about them.

    `own` is the record of the page's own entry, if it has one.
    """

    def __init__(self, asked: Asked, decide: Decide, layout: Layout) -> None:
        self.own = b""
        self._asked = asked
        self._decide = decide
        self._layout = layout
        self._decided: dict[Name, Decided] = {}
        self._distances: dict[Name, int] = {}  # of other pages

    def first_repeated(self, entries: Iterable[tuple[bytes, bytes]]) -> Repeats | None:
        """Return the first of some entries, page ids and records, that the page repeats.

        Its own entry comes before all others, then the nearest; of equally near ones that of the
        smallest page id. At most `MAX_COMPARED` others are compared.
        """
        found = []
        for page_id, stored in entries:
            is_own = page_id == self._asked.page_id
            if is_own:
                self.own = stored
            if question := self.question(page_id, stored):
                found.append((not is_own, question.candidate.distance, page_id, question))
        for is_another, distance, _, question in sorted(found):
            if is_another:
                self._distances[question.name] = distance
            if len(self._distances) <= MAX_COMPARED:
                decided = self.decided(question)
                if decided.is_same:
                    return Repeats(question, decided)
        return None

    def question(self, page_id: bytes, stored: bytes) -> Question | None:
        """Return what the page may repeat; None if it is no candidate: buckets can't tell."""
        return self._asked.question(page_id, stored, self._layout)

    def decided(self, question: Question) -> Decided:
        """Return whether the page repeats a candidate, and why."""
        if question.name not in self._decided:
            self._decided[question.name] = self._decide(question.candidate)
        return self._decided[question.name]

    @property
    def is_crowded(self) -> bool:
        """Whether more entries are near than a page is compared with: its key helps no page.

        Exact pages are found by nothing else.
        """
        if len(self._distances) <= MAX_COMPARED:  # as those of almost all pages are
            return False
        near = sum(distance <= self._asked.limit for distance in self._distances.values())
        return near >= (MAX_EQUAL if self._asked.is_exact else MAX_COMPARED + 1)
