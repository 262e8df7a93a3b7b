"""What `stores/base.py` says once more: a list, a loop, nothing else. The oracle."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from operator import eq

from deciders import DecideFor

from scrapy_neardup.judge.comparison import deciding
from scrapy_neardup.stores import Matching
from scrapy_neardup.stores.base import MAX_COMPARED
from scrapy_neardup.verdict import Candidate, Decide, Decided, Match, Page, Reason, Verdict


@dataclass
class Entry:
    page: Page
    pending: bool = True
    dropped: int = 0
    replaces: Entry | None = None
    """The kept entry of the same page that a durable store has until this one is kept."""


@dataclass
class ModelStore:
    max_distance: int
    matching: Matching = field(default_factory=Matching)
    entries: list[Entry] = field(default_factory=list)
    decide: DecideFor | None = None
    asked: list[Candidate] = field(default_factory=list)

    def check_and_add(self, page: Page) -> Verdict:
        own = self._own(page.id)
        candidates = [entry for entry in self.entries if self._is_candidate(entry, page)]
        candidates.sort(key=lambda each: (each is not own, _distance(each, page), each.page.id))
        self.asked = []
        for entry in candidates[: MAX_COMPARED + (own in candidates)]:
            candidate = self._candidate(entry, page)
            self.asked.append(candidate)
            decided = self._decide_for(page)(candidate)
            if decided.is_same:
                return self._repeated(page, entry, own, decided)
        new = Entry(page)
        self.entries.append(new)
        if own is None:
            return Verdict.on(page, Reason.UNMATCHED)
        self.entries.remove(own)
        new.replaces = own.replaces if own.pending else own
        return Verdict.on(page, Reason.CHANGED)

    def _repeated(self, page: Page, entry: Entry, own: Entry | None, decided: Decided) -> Verdict:
        match = Match(
            page_id=entry.page.id,
            distance=_distance(entry, page),
            url=page.url if entry is own else entry.page.url,
            decided=decided,
        )
        if entry is own:
            return Verdict.on(page, Reason.SAME_PAGE, match)
        entry.dropped += 1
        if own is not None:
            self.entries.remove(own)
        match = replace(match, count=entry.dropped)
        return Verdict.on(page, Reason.EQUAL if page.exact else Reason.NEAR, match)

    def repeats(self, page: Page, other: Page) -> bool:
        entry = Entry(other)
        is_candidate = self._is_candidate(entry, page)
        return is_candidate and self._decide_for(page)(self._candidate(entry, page)).is_same

    def confirm(self, page_id: int) -> None:
        own = self._own(page_id)
        if own is not None:
            own.pending = False
            own.replaces = None

    def forget(self, page_id: int) -> int:
        own = self._own(page_id)
        if own is None or not own.pending:
            return 0
        self.entries.remove(own)
        return own.dropped

    def reopen(self, *, restores: bool = True) -> None:
        """Keep what a durable store keeps; a shared one lets a replaced entry go at once."""
        replaced = [entry.replaces for entry in self.entries if entry.pending and restores]
        self.entries = [entry for entry in self.entries if not entry.pending]
        self.entries += filter(None, replaced)

    def counts(self) -> tuple[int, int, int]:
        pending = sum(entry.pending for entry in self.entries)
        return len(self.entries), pending, sum(entry.dropped for entry in self.entries)

    def _own(self, page_id: int) -> Entry | None:
        return next((entry for entry in self.entries if entry.page.id == page_id), None)

    def _is_candidate(self, entry: Entry, page: Page) -> bool:
        other = entry.page
        return (other.scope, other.exact) == (page.scope, page.exact) and (
            self._is_near(entry, page) or self._shares(entry, page)
        )

    def _is_near(self, entry: Entry, page: Page) -> bool:
        if page.exact:
            return entry.page.fingerprint == page.fingerprint
        return self.matching.by_distance and _distance(entry, page) <= self.max_distance

    def _shares(self, entry: Entry, page: Page) -> bool:
        shared = sum(map(eq, entry.page.features, page.features))
        return self.matching.features > 0 and shared >= self.matching.shared_features

    def _decide_for(self, page: Page) -> Decide:
        return self.decide(page) if self.decide else deciding(page, self.matching)

    @staticmethod
    def _candidate(entry: Entry, page: Page) -> Candidate:
        return Candidate(entry.page.id, _distance(entry, page), entry.page.evidence)


def _distance(entry: Entry, page: Page) -> int:
    return (entry.page.fingerprint ^ page.fingerprint).bit_count()
