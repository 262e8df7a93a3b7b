"""A page, and the candidates that its store has asked about."""

from __future__ import annotations

from dataclasses import replace

from scrapy_neardup.decision.comparison import deciding
from scrapy_neardup.decision.context import Context, Excluded
from scrapy_neardup.decision.evidence import Evidence, have_one_address, have_one_path
from scrapy_neardup.decision.matching import Matching
from scrapy_neardup.decision.shingling import TEXT, Text
from scrapy_neardup.decision.sketch import Overlap, overlap
from scrapy_neardup.verdict import Candidate, Decided, Decision, Match, Page, Verdict


class Asked:
    """A page, and the candidates that a store has asked about.

    Parameters
    ----------
    page
        The page.
    context
        What is known of its site, and asked of a match.
    matching
        What a store keeps of pages.
    max_distance
        Hamming distance up to which a candidate is found by its fingerprint; -1: none is.
    text
        Its shingles; None where they aren't at hand.
    excluded
        What of it doesn't count, where that is known already.
    """

    def __init__(
        self,
        page: Page,
        context: Context,
        matching: Matching,
        *,
        max_distance: int,
        text: Text | None = None,
        excluded: Excluded | None = None,
    ) -> None:
        self._page, self._matching, self._max_distance = page, matching, max_distance
        self._decide = deciding(page, matching, context, text, excluded)
        self._asked: list[tuple[Candidate, Decided]] = []

    def decide(self, candidate: Candidate) -> Decided:
        """Return whether the page repeats a candidate, and why."""
        decided = self._decide(candidate)
        self._asked.append((candidate, decided))
        return decided

    def responses(self, ours: Evidence) -> list[tuple[Evidence, Overlap]]:
        """Return other candidates at the page's address but for a session, and how texts compare.

        Parameters
        ----------
        ours
            The page's own evidence.
        """
        found: list[tuple[Evidence, Overlap]] = []
        sizes, stored = self._matching.sketch, self._page.evidence
        for each, _ in self._asked:
            if (
                sizes
                and each.page_id != self._page.id
                and len(each.evidence) == len(stored)
                and have_one_address(each.evidence, stored)
            ):
                theirs = Evidence.unpack(each.evidence, sizes)
                a, b = ours.sketches[TEXT], theirs.sketches[TEXT]
                found.append((theirs, overlap(a, b, 0, sizes[TEXT])))
        return found

    def reported(self, verdict: Verdict) -> Verdict:
        """Return the verdict with how its match was found, or with the nearest candidate."""
        if verdict.is_duplicate and verdict.match is not None:
            repeated = next(
                each
                for each, decided in self._asked
                if each.page_id == verdict.match.page_id and decided.is_same
            )
            return replace(verdict, match=replace(verdict.match, found=self._found(repeated)))
        others = [each for each in self._asked if each[0].page_id != self._page.id]
        if verdict.decision is not Decision.NEW or not others:
            return verdict
        candidate, decided = min(others, key=lambda each: (each[0].distance, each[0].page_id))
        nearest = Match(
            page_id=candidate.page_id,
            distance=candidate.distance,
            decided=decided,
            found=self._found(candidate),
        )
        return replace(verdict, nearest=nearest)

    def _found(self, candidate: Candidate) -> str:
        """Return how the store found a candidate; see `Match.found`."""
        if self._page.exact:
            return "equal"
        if candidate.distance <= self._max_distance:
            return "distance"
        return "address" if self._is_at_path(candidate.evidence) else "features"

    def _is_at_path(self, evidence: bytes) -> bool:
        return bool(evidence) and have_one_path(evidence, self._page.evidence)
