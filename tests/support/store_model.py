"""The rule of `stores/base.py` once more: a list, a loop, nothing else. The oracle."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from operator import eq

from scrapy_neardup.stores import Matching
from scrapy_neardup.stores.confirmation import Compared, resemblance
from scrapy_neardup.verdict import Decision, Match, Page, Reason, Sketch, Verdict


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
            return self._verdict(page, Decision.SEEN, Reason.SAME_PAGE, own, page.url)
        if candidates:
            match = min(candidates, key=lambda each: (_distance(each, page), each.page.id))
            match.dropped += 1
            if own is not None:
                self.entries.remove(own)
            reason = Reason.EQUAL if page.exact else Reason.NEAR
            return self._verdict(page, Decision.DUPLICATE, reason, match, match.page.url)
        new = Entry(page)
        self.entries.append(new)
        if own is None:
            return self._verdict(page, Decision.NEW, Reason.UNMATCHED)
        self.entries.remove(own)
        new.replaces = own.replaces if own.pending else own
        return self._verdict(page, Decision.NEW, Reason.CHANGED)

    def repeats(self, page: Page, other: Page) -> bool:
        """Whether the entry of `other` is a candidate for `page`, and confirmed."""
        entry = Entry(other)
        return self._is_candidate(entry, page) and self._is_confirmed(entry, page)

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

    def _compared(self, entry: Entry, page: Page) -> list[Compared] | None:
        """Compare the sketches bin by bin; None if there are none to compare."""
        bits = self.matching.sketch_bits
        ours, theirs = page.sketch, entry.page.sketch
        if not bits or ours is None or theirs is None:
            return None
        parts = (_bins(each, bits) for each in (ours.text, theirs.text, ours.furniture))
        texts = list(zip(*parts, strict=True))
        named = {bin_ for each in (ours, theirs) for bin_ in _named(each, bits)}
        cores = [triple for bin_, triple in enumerate(texts) if bin_ not in named]
        compared = []
        for triples in (texts, cores) if ours.named or theirs.named else (texts,):
            differing = sum(mine != yours for mine, yours, _ in triples)
            shared = sum(mine == yours and common > 0 for mine, yours, common in triples)
            compared.append(Compared(differing, len(triples) - shared))
        return compared

    def _is_confirmed(self, entry: Entry, page: Page) -> bool:
        compared = self._compared(entry, page)
        has_another_title = len({page.title, entry.page.title} - {0}) == 2
        if compared is None:
            return not has_another_title or _distance(entry, page) == 0
        most = page.sketch.most_differing * (page.sketch.other_title if has_another_title else 1)
        return all(differing <= most * counted for differing, counted in compared)

    def _verdict(
        self,
        page: Page,
        decision: Decision,
        reason: Reason,
        entry: Entry | None = None,
        url: str | None = None,
    ) -> Verdict:
        match = None
        if entry is not None:
            compared = self._compared(entry, page)
            match = Match(
                page_id=entry.page.id,
                distance=_distance(entry, page),
                url=url,
                resemblance=compared and resemblance(compared, self.matching.sketch_bits),
                count=entry.dropped if decision is Decision.DUPLICATE else 0,
            )
        return Verdict.on(page, decision, reason, match)


def _bins(sketch: bytes, bits: int) -> list[int]:
    return [byte >> place & (1 << bits) - 1 for byte in sketch for place in range(0, 8, bits)]


def _named(sketch: Sketch, bits: int) -> Iterator[int]:
    """Yield the numbers of the bins that are named."""
    each, size = 8 // bits, len(sketch.named)
    for place in range(8 * size):
        if sketch.named[place // 8] >> place % 8 & 1:
            in_byte, part = divmod(place % 8, bits)
            yield (place // 8 + size * part) * each + in_byte


def _distance(entry: Entry, page: Page) -> int:
    return (entry.page.fingerprint ^ page.fingerprint).bit_count()
