"""Decisions that tests make in place of `scrapy_neardup.judge`."""

from collections.abc import Callable

from scrapy_neardup.stores import Matching, Store
from scrapy_neardup.verdict import Candidate, Decide, Decided, Page, Reason, Verdict

DecideFor = Callable[[Page], Decide]

NEW = {Reason.UNMATCHED, Reason.CHANGED}
"""Reasons of an `IndexOutcome` for a page that was added."""


def everything(_page: Page) -> Decide:
    """Every candidate is repeated."""
    return lambda _candidate: Decided(is_same=True, rule="everything")


def nothing(_page: Page) -> Decide:
    """No candidate is repeated."""
    return lambda _candidate: Decided(is_same=False, rule="nothing")


def by_tokens(page: Page) -> Decide:
    """A page that has tokens repeats only what has a page id equal to their number modulo 3."""

    def decide(candidate: Candidate) -> Decided:
        is_same = not page.tokens or page.tokens % 3 == candidate.page_id % 3
        return Decided(is_same=is_same, rule="tokens")

    return decide


def by_evidence(matching: Matching, least: float = 0.75) -> DecideFor:
    """Repeated is what has this share of the bytes of its text's sketch in common with the page.

    Without evidence `by_tokens` decides.
    """
    sizes = matching.sketch

    def decide_for(page: Page) -> Decide:
        def decide(candidate: Candidate) -> Decided:
            ours, theirs = page.evidence, candidate.evidence
            if not ours:
                return by_tokens(page)(candidate)
            if not sizes:
                return Decided(is_same=ours == theirs, rule="equal")
            if len(ours) != len(theirs):
                return Decided(is_same=False, rule="other")
            size = sizes[0] // 8
            start = len(ours) - sum(sizes) // 8
            parts = [each[start : start + size] for each in (ours, theirs)]
            same_parts = sum(a == b for a, b in zip(*parts, strict=True))
            return Decided(same_parts >= least * size, "parts", same_parts / size)

        return decide

    return decide_for


class Asking:
    """A store whose pages are decided about by `decide_for`; it notes what it asked about."""

    def __init__(self, store: Store, decide_for: DecideFor) -> None:
        self.store, self.decide_for = store, decide_for
        self.asked: list[Candidate] = []
        """Those that the store asked about for the last page, in its order."""

    async def check_and_add(self, page: Page, decide: Decide | None = None) -> Verdict:
        answer = decide or self.decide_for(page)
        self.asked = []

        def noting(candidate: Candidate) -> Decided:
            self.asked.append(candidate)
            return answer(candidate)

        return await self.store.check_and_add(page, noting)

    def __getattr__(self, name: str) -> object:
        """All else is the store's."""
        return getattr(self.store, name)
