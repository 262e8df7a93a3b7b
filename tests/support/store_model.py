"""The rule of `stores/base.py` once more: a list, a loop, nothing else. The oracle."""

from __future__ import annotations

from dataclasses import dataclass, field
from operator import eq

from scrapy_neardup.evidence.decision import Comparison, Decided, Rule
from scrapy_neardup.stores import Matching
from scrapy_neardup.verdict import Decision, Match, Page, Reason, Verdict


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

    def check_and_add(self, page: Page) -> Verdict:
        candidates = [entry for entry in self.entries if self.repeats(page, entry.page)]
        own = self._own(page.id)
        if own in candidates:
            return self._verdict(page, Decision.SEEN, Reason.SAME_PAGE, own, url=page.url)
        witness = self._witness(page)
        if candidates:
            match = min(candidates, key=lambda each: (_distance(each, page), each.page.id))
            match.dropped += 1
            if own is not None:
                self.entries.remove(own)
            reason = Reason.EQUAL if page.exact else Reason.NEAR
            return self._verdict(
                page, Decision.DUPLICATE, reason, match, url=match.page.url, witness=witness
            )
        new = Entry(page)
        self.entries.append(new)
        if own is None:
            return self._verdict(page, Decision.NEW, Reason.UNMATCHED, witness=witness)
        self.entries.remove(own)
        new.replaces = own.replaces if own.pending else own
        return self._verdict(page, Decision.NEW, Reason.CHANGED, witness=witness)

    def repeats(self, page: Page, other: Page) -> bool:
        """Whether the entry of `other` is a candidate for `page`, and confirmed."""
        entry = Entry(other)
        return self._is_candidate(entry, page) and self._decided(entry, page) is not None

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
        before = [entry.replaces if restores else None for entry in self.entries]
        kept = [
            old if entry.pending else entry
            for entry, old in zip(self.entries, before, strict=True)
        ]
        self.entries = [entry for entry in kept if entry is not None]

    def counts(self) -> tuple[int, int, int]:
        """Return pages, pending and dropped."""
        pending = sum(entry.pending for entry in self.entries)
        return len(self.entries), pending, sum(entry.dropped for entry in self.entries)

    def _own(self, page_id: int) -> Entry | None:
        return next((entry for entry in self.entries if entry.page.id == page_id), None)

    def _is_candidate(self, entry: Entry, page: Page) -> bool:
        other = entry.page
        return (
            (other.scope, other.exact) == (page.scope, page.exact)
            and (other.title == page.title or other.content == page.content)
            and (self._is_near(entry, page) or self._shares(entry, page))
        )

    def _is_near(self, entry: Entry, page: Page) -> bool:
        if page.exact:
            return entry.page.fingerprint == page.fingerprint
        return self.matching.by_distance and _distance(entry, page) <= self.max_distance

    def _shares(self, entry: Entry, page: Page) -> bool:
        shared = sum(map(eq, entry.page.features, page.features))
        return self.matching.features > 0 and shared >= self.matching.shared_features

    def _decided(self, entry: Entry, page: Page) -> Decided | None:
        bins, bits = self.matching.bins, self.matching.bits
        if not (bins and page.evidence):
            return Decided(Rule.WITHIN_K, None)
        return Comparison(page, bins, bits).decide(
            entry.page.evidence,
            same_embedded=entry.page.content == page.content,
        )

    def _witness(self, page: Page) -> bytes:
        """Return what is stored of the nearest page at the path, else of the nearest candidate."""
        if not self.matching.bins:
            return b""
        others = [entry for entry in self.entries if entry.page.id != page.id]
        at_path = [entry for entry in others if self._is_at_path(entry.page, page)]
        found = at_path or [entry for entry in others if self._is_candidate(entry, page)]
        nearest = min(found, key=lambda each: (_distance(each, page), each.page.id), default=None)
        return nearest.page.evidence if nearest else b""

    def _is_at_path(self, other: Page, page: Page) -> bool:
        return (other.scope, other.exact, other.features[-1:]) == (
            page.scope,
            page.exact,
            page.features[-1:],
        ) and bool(page.features)

    def _verdict(
        self,
        page: Page,
        decision: Decision,
        reason: Reason,
        entry: Entry | None = None,
        *,
        url: str | None = None,
        witness: bytes = b"",
    ) -> Verdict:
        match, rule = None, ""
        if entry is not None:
            rule, compared = self._decided(entry, page)
            match = Match(
                page_id=entry.page.id,
                distance=_distance(entry, page),
                url=url,
                resemblance=compared and compared.resemblance(self.matching.bits),
                count=entry.dropped if decision is Decision.DUPLICATE else 0,
            )
        return Verdict.on(page, decision, reason, match, rule, witness)


def _distance(entry: Entry, page: Page) -> int:
    return (entry.page.fingerprint ^ page.fingerprint).bit_count()
