"""Which attempts are in the way of another one, and what follows from looking at them.

Rule of this module: pure, so that the decisions of the protocol (docs/cluster.md) can be read
in one place; `protocol.py` makes the calls.

An attempt that was met doesn't count for a page if it has ended, is another page by its digests,
is no candidate after all, or isn't taken for the same page. All others are its *rivals*:
one that is kept is what the page repeats; of two that are pending the one of smaller rank
goes first.
"""

from __future__ import annotations

import heapq
from collections.abc import Mapping
from typing import NamedTuple

from scrapy_neardup.evidence.decision import Comparison, Decided, Rule
from scrapy_neardup.evidence.matching import Matching
from scrapy_neardup.stores.base import MAX_COMPARED, MAX_CONTRADICTED, MAX_UNDER_FEATURE
from scrapy_neardup.stores.redis.clustervalues import (
    Attempt,
    AttemptEntry,
    Claims,
    ClusterPage,
    Features,
    separate,
)
from scrapy_neardup.stores.redis.values import contradict, feature_keys, id_bytes

MAX_LOOKED_AT = MAX_CONTRADICTED + MAX_COMPARED
"""Maximum number of attempts that are read at once: the nearest ones."""

FEW = 4
"""Number of attempts up to which all are read at once, whatever is known of them."""


class Kept(NamedTuple):
    """A kept entry that a page repeats; the smallest one is preferred."""

    is_another: bool
    """Whether it is an entry of another page."""
    distance: int
    page_id: bytes
    attempt: Attempt
    decided: Decided

    def resemblance(self, bits: int) -> float | None:
        """Return the resemblance of texts and cores; None if none were compared."""
        compared = self.decided.compared
        return None if compared is None else compared.resemblance(bits)


_Ranked = tuple[tuple[bool, int, bytes], Attempt, AttemptEntry]
"""First three fields of a `Kept`, its attempt, and its entry."""


class Looked(NamedTuple):
    """What followed from looking at some of the attempts in the way."""

    match: Kept | None
    gone: Mapping[Attempt, Features]
    """Attempts that have ended, and features under which they may still be listed."""
    must_wait: bool
    """Whether an attempt that goes first is undecided."""


class Rivals:
    """The attempts that were met by one attempt to keep a page.

    Attributes
    ----------
    wounded
        Attempts to be ended if they are still pending.
    met
        Number of attempts that were met.
    contradicted
        Number of kept entries within k bits that are other pages by their digests.
    witness
        Evidence of the nearest kept entry at the page's path, or else of the nearest kept
        candidate.
    """

    def __init__(
        self, arrived: ClusterPage, mine: Attempt, claims: Claims, matching: Matching
    ) -> None:
        self.wounded: set[Attempt] = set()
        self.contradicted = 0
        self.witness = b""
        self._arrived = arrived
        self._id = id_bytes(arrived.page.id)
        self._mine = mine
        self._matching = matching
        self._has_bodies = matching != Matching()
        self._sharing = claims.sharing
        self._near = claims.near.union(*claims.sharing.values())
        if claims.old and self._has_bodies:
            self._near.add(claims.old)  # no list may lead to it
        self._near.discard(mine)
        self.met = len(self._near)
        self._rank = (mine.key, arrived.page.id, mine.token)
        self._comparison: Comparison | None = None
        self._known: dict[Attempt, tuple[Decided, bytes]] = {}  # rivals, and their evidence
        self._path = feature_keys(arrived.page, matching)[-1:] if matching.bins else []
        self._nearest = (True, 65, b"")  # of the witness: isn't at the path, distance, page id
        self._kept: set[Attempt] = set()
        equal = {each: met for each, met in claims.equal.items() if each != mine}
        self._telling = {each for each, met in equal.items() if not met.is_pending}
        if self._telling and claims.old:
            self._telling.add(claims.old)  # a page is seen before it is anybody's duplicate
        ranks = {each: self._rank_of(each, met.page_id) for each, met in equal.items()}
        self._before = {
            each: rank
            for each, rank in ranks.items()
            if equal[each].is_pending and rank < self._rank
        }
        self._candidates: list[int] = []  # distances of those that are kept

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
        return self._has_bodies and other not in self._known

    @property
    def is_crowded(self) -> bool:
        """Whether more entries are near than a page is compared with: its key helps no page."""
        least = MAX_CONTRADICTED if self._arrived.page.exact else MAX_COMPARED + 1
        if len(self._candidates) < least:  # exact pages are found by nothing else
            return False
        return sorted(self._candidates)[MAX_COMPARED] <= self._arrived.limit

    @property
    def furniture(self) -> Features:
        """The features under which too many entries are kept for them to be content."""
        return frozenset(
            feature
            for feature, met in self._sharing.items()
            if len(met & self._kept) >= MAX_UNDER_FEATURE
        )

    # ---- what was found --------------------------------------------------------------------

    def take(self, looked: Mapping[Attempt, AttemptEntry]) -> Looked:
        """Take in what looks at some of the attempts showed."""
        gone = {}
        must_wait = False
        candidates: list[_Ranked] = []
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
                gone[other] = separate(entry.features) or self._met_under(other)
            elif entry.state == b"kept":
                self._kept.add(other)
                is_candidate = self._fits(other, entry)
                self._witness(other, entry, is_candidate=is_candidate)
                if is_candidate:
                    order = entry.page_id != self._id, self._distance(other), entry.page_id
                    candidates.append((order, other, entry))
        return Looked(self._first(candidates), gone, must_wait)

    def _first(self, candidates: list[_Ranked]) -> Kept | None:
        """Return the first of the nearest candidates that the page repeats."""
        candidates.sort(key=lambda each: each[0])
        others = [distance for (is_another, distance, _), *_ in candidates if is_another]
        self._candidates += others
        for order, attempt, entry in candidates[: len(candidates) - len(others) + MAX_COMPARED]:
            if decided := self._decide(attempt, entry):
                return Kept(*order, attempt, decided)
        return None

    def _witness(self, other: Attempt, entry: AttemptEntry, *, is_candidate: bool) -> None:
        """Note the evidence of a kept entry if that is the best witness so far."""
        is_at_path = any(other in self._sharing.get(feature, ()) for feature in self._path)
        if entry.page_id == self._id or not (is_at_path or is_candidate):
            return
        nearest = not is_at_path, self._distance(other), entry.page_id
        if nearest < self._nearest:
            _, before = self._known.get(other, (None, b""))
            self._nearest, self.witness = nearest, entry.evidence or before

    def _is_rival(self, other: Attempt, entry: AttemptEntry) -> bool:
        """Whether the page would repeat this pending one if it were kept."""
        if other in self._known:
            return True
        if not self._fits(other, entry):
            return False
        decided = self._decide(other, entry)
        if decided:
            self._known[other] = decided, entry.evidence
        return decided is not None

    def _fits(self, other: Attempt, entry: AttemptEntry) -> bool:
        """Whether it is a candidate; lists that were read at different moments can't tell."""
        if other in self._known:
            return True
        distance = self._distance(other)
        if contradict(self._arrived.digests, entry.digests):
            if entry.state == b"kept" and distance <= self._arrived.limit:
                self.contradicted += 1
            return False
        if distance <= self._arrived.limit:
            return True
        shared = len(self._arrived.features & separate(entry.features))
        return shared >= self._matching.shared_features

    def _decide(self, other: Attempt, entry: AttemptEntry) -> Decided | None:
        """Return the rule by which the page repeats a candidate, and the counts, or None."""
        if other in self._known:
            return self._known[other][0]
        page, matching = self._arrived.page, self._matching
        if not (matching.bins and page.evidence):
            return Decided(Rule.WITHIN_K, None)
        if self._comparison is None:
            self._comparison = Comparison(page, matching.bins, matching.bits)
        same_embedded = self._arrived.digests[4:] == entry.digests[4:]
        return self._comparison.decide(entry.evidence, same_embedded=same_embedded)

    @staticmethod
    def _rank_of(attempt: Attempt, page_id: bytes) -> tuple[int, int, bytes]:
        return attempt.key, int.from_bytes(page_id, "big"), attempt.token

    def _distance(self, other: Attempt) -> int:
        return (other.key ^ self._mine.key).bit_count()

    def _met_under(self, other: Attempt) -> Features:
        return frozenset(feature for feature, met in self._sharing.items() if other in met)
