"""Which attempts are in the way of another one, and what follows from looking at them.

Pure, so that the decisions of the protocol (docs/cluster.md) can be read
in one place; `clusterstore.py` makes the calls.

An attempt that was seen doesn't count for a page if it has ended, is no candidate after all, or if
the page doesn't repeat it. All others are its *rivals*: one that is kept is what the page repeats;
of two that are pending the one of smaller rank goes first.
"""

from __future__ import annotations

import heapq
from collections.abc import Mapping
from typing import NamedTuple

from scrapy_neardup.decision.matching import Matching
from scrapy_neardup.stores.base import MAX_COMPARED, MAX_EQUAL, MAX_UNDER_FEATURE
from scrapy_neardup.stores.redis.cluster.values import (
    Attempt,
    AttemptEntry,
    Claims,
    ClusterPage,
    Features,
    separate,
)
from scrapy_neardup.stores.redis.codec import id_bytes
from scrapy_neardup.verdict import Candidate, Decided

MAX_LOOKED_AT = MAX_EQUAL + MAX_COMPARED
"""Maximum number of attempts that are read at once: the nearest ones."""

FEW = 4
"""Number of attempts up to which all are read at once, whatever is known of them."""


class Kept(NamedTuple):
    """A kept entry that a page repeats."""

    attempt: Attempt
    candidate: Candidate
    decided: Decided
    is_another: bool
    """Whether it is an entry of another page."""


class Looked(NamedTuple):
    """The conclusion from a look at some of the attempts in the way."""

    match: Kept | None
    gone: Mapping[Attempt, Features]
    """Attempts that have ended, and features under which they may still be listed."""
    must_wait: bool
    """Whether an attempt that goes first is undecided."""


class Rivals:
    """The attempts `seen` by one to keep a page; `wounded`: to be ended if still pending."""

    def __init__(
        self, arrived: ClusterPage, mine: Attempt, claims: Claims, matching: Matching
    ) -> None:
        self.wounded: set[Attempt] = set()
        self._arrived = arrived
        self._id = id_bytes(arrived.page.id)
        self._mine = mine
        self._matching = matching
        self._has_bodies = matching != Matching()
        self._sharing = claims.sharing
        self._near = claims.near.union(*claims.sharing.values())
        if claims.old:
            self._near.add(claims.old)  # no list may lead to it
        self._near.discard(mine)
        self.seen = len(self._near)
        self._rank = (mine.key, arrived.page.id, mine.token)
        self._rivals: dict[Attempt, tuple[Candidate, Decided]] = {}  # those that were pending
        self._kept: set[Attempt] = set()
        equal = {each: seen for each, seen in claims.equal.items() if each != mine}
        self._telling = {each for each, seen in equal.items() if not seen.is_pending}
        if self._telling and claims.old:
            self._telling.add(claims.old)  # a page is seen before it is anybody's duplicate
        ranks = {each: self._rank_of(each, seen.page_id) for each, seen in equal.items()}
        self._before = {
            each: rank
            for each, rank in ranks.items()
            if equal[each].is_pending and rank < self._rank
        }
        self._distances: list[int] = []  # of other pages' kept entries that are candidates

    # ---- what to do ------------------------------------------------------------------------

    def left(self) -> list[Attempt]:
        """Return the attempts to look at next; none if no attempt is in the way.

        Those that may decide alone come first: kept ones of the same key, as none are nearer;
        then, in a crowd, the first of those that go before this one. So of hundreds of equal
        pages that arrive together, most look at one of them, and not at each other.
        """
        if telling := self._near & self._telling:
            return heapq.nsmallest(MAX_LOOKED_AT, telling, key=self._distance)
        if len(self._near) > FEW and (before := self._near & self._before.keys()):
            return [min(before, key=self._before.__getitem__)]
        if len(self._near) <= MAX_LOOKED_AT:
            return list(self._near)
        return heapq.nsmallest(MAX_LOOKED_AT, self._near, key=self._distance)

    def needs_body(self, other: Attempt) -> bool:
        """Whether features and evidence of `other` have to be compared yet."""
        return self._has_bodies and other not in self._rivals

    @property
    def is_crowded(self) -> bool:
        """Whether more entries are near than a page is compared with: its key helps no page."""
        least = MAX_EQUAL if self._arrived.page.exact else MAX_COMPARED + 1
        if len(self._distances) < least:  # exact pages are found by nothing else
            return False
        return sorted(self._distances)[MAX_COMPARED] <= self._arrived.limit

    @property
    def boilerplate(self) -> Features:
        """The features under which too many entries are kept for them to be content."""
        return frozenset(
            feature
            for feature, seen in self._sharing.items()
            if len(seen & self._kept) >= MAX_UNDER_FEATURE
        )

    # ---- what was found --------------------------------------------------------------------

    def take(self, looked: Mapping[Attempt, AttemptEntry]) -> Looked:
        """Take in what looks at some of the attempts showed."""
        gone = {}
        must_wait = False
        candidates: dict[Attempt, Candidate] = {}
        for other, entry in looked.items():
            self._telling.discard(other)
            if entry.state == b"pending" and self._is_rival(other, entry):
                rank = self._rank_of(other, entry.page_id)
                if self._rank < rank:
                    self.wounded.add(other)
                else:
                    self._before[other] = rank
                    must_wait = True
                continue
            self._near.discard(other)
            if entry.state == b"gone":
                gone[other] = separate(entry.features) or self._seen_under(other)
            elif entry.state == b"kept":
                self._kept.add(other)
                if (candidate := self._candidate(other, entry)) is not None:
                    candidates[other] = candidate
        return Looked(self._first(candidates), gone, must_wait)

    def _first(self, candidates: Mapping[Attempt, Candidate]) -> Kept | None:
        """Return the first of some kept candidates that the page repeats: its own, the nearest."""
        own = self._arrived.page.id

        def order(attempt: Attempt) -> tuple[bool, int, int]:
            candidate = candidates[attempt]
            return candidate.page_id != own, candidate.distance, candidate.page_id

        for attempt in sorted(candidates, key=order):
            candidate = candidates[attempt]
            if is_another := candidate.page_id != own:
                self._distances.append(candidate.distance)
            if len(self._distances) > MAX_COMPARED:
                continue
            _, decided = self._rivals.get(attempt) or (None, self._arrived.decide(candidate))
            if decided.is_same:
                return Kept(attempt, candidate, decided, is_another)
        return None

    def _is_rival(self, other: Attempt, entry: AttemptEntry) -> bool:
        """Whether the page would repeat this pending one if it were kept."""
        if other not in self._rivals and (candidate := self._candidate(other, entry)) is not None:
            decided = self._arrived.decide(candidate)
            if decided.is_same:
                self._rivals[other] = candidate, decided
        return other in self._rivals

    def _candidate(self, other: Attempt, entry: AttemptEntry) -> Candidate | None:
        """Return the entry as the decision sees it; None if it is no candidate.

        Lists that were read at different moments can't tell.
        """
        if other in self._rivals:  # of which nothing is asked for again
            return self._rivals[other][0]
        distance = self._distance(other)
        shared = len(self._arrived.features & separate(entry.features))
        is_found = distance <= self._arrived.limit or shared >= self._matching.shared_features
        if entry.tag != self._arrived.tag or not is_found:
            return None
        return Candidate(int.from_bytes(entry.page_id, "big"), distance, entry.evidence)

    @staticmethod
    def _rank_of(attempt: Attempt, page_id: bytes) -> tuple[int, int, bytes]:
        return attempt.key, int.from_bytes(page_id, "big"), attempt.token

    def _distance(self, other: Attempt) -> int:
        return (other.key ^ self._mine.key).bit_count()

    def _seen_under(self, other: Attempt) -> Features:
        return frozenset(feature for feature, seen in self._sharing.items() if other in seen)
