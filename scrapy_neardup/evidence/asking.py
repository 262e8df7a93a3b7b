"""What a store asked about a page, and what is reported of the answers."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from scrapy_neardup.evidence.decision import Comparison, deciding
from scrapy_neardup.evidence.layout import Head
from scrapy_neardup.evidence.sites import EDITIONS, FURNITURE, PLACES, TITLES
from scrapy_neardup.verdict import (
    Candidate,
    Decide,
    Decided,
    Decision,
    Match,
    Page,
    Verdict,
)

if TYPE_CHECKING:
    from scrapy_neardup.evidence.context import SiteContext
    from scrapy_neardup.evidence.matching import Matching

_NOTHING: dict[str, dict[str, Any]] = {
    FURNITURE: {"furniture": None},
    PLACES: {"changing": frozenset(), "constant": frozenset()},
    TITLES: {"common": frozenset()},
    EDITIONS: {"editions": frozenset()},
}
"""Kind of knowledge -> fields of a `SiteContext` without it."""


class Asked:
    """A page, and the candidates that a store has asked about.

    Parameters
    ----------
    page
        The page.
    context
        What is known of its site.
    matching
        What a store keeps of pages.
    max_distance
        Hamming distance up to which a candidate is found by its fingerprint; -1: none is.
    credits_learnt
        Whether `Match.learnt` is found out: a comparison a kind of knowledge and duplicate.
    """

    __slots__ = (
        "_asked", "_context", "_credits", "_decide", "_matching", "_max_distance", "_page",
    )  # fmt: skip

    def __init__(
        self,
        page: Page,
        context: SiteContext,
        matching: Matching,
        *,
        max_distance: int,
        credits_learnt: bool = False,
    ) -> None:
        self._page, self._context, self._matching = page, context, matching
        self._max_distance, self._credits = max_distance, credits_learnt
        self._decide = deciding(page, matching, context)
        self._asked: list[tuple[Candidate, Decided]] = []

    def decide(self, candidate: Candidate) -> Decided:
        """Return whether the page repeats a candidate, and why."""
        decided = self._decide(candidate)
        self._asked.append((candidate, decided))
        return decided

    @property
    def witness(self) -> bytes:
        """Evidence of the nearest other candidate at the page's path, or else of the nearest."""
        page = self._page
        known = [each.evidence for each, _ in self._asked if each.page_id != page.id]
        return next(filter(self._is_at_path, known), next(iter(known), b""))

    def is_alike(self, evidence: bytes) -> bool:
        """Return whether the core of another page with a sketch is alike."""
        matching = self._matching
        return Comparison(self._page, matching.bins, matching.bits, self._context).is_alike(
            evidence
        )

    def reported(self, verdict: Verdict) -> Verdict:
        """Return the verdict with how its match was found, or with the nearest candidate."""
        match, page_id = verdict.match, self._page.id
        if verdict.is_duplicate and match is not None:
            repeated = next(
                each
                for each, decided in self._asked
                if each.page_id == match.page_id and decided.is_same
            )
            found, learnt = self._found(repeated), self._learnt(repeated)
            return replace(verdict, match=replace(match, found=found, learnt=learnt))
        others = [each for each in self._asked if each[0].page_id != page_id]
        if verdict.decision is not Decision.NEW or not others:
            return verdict
        nearest, decided = min(others, key=lambda each: (each[0].distance, each[0].page_id))
        return replace(
            verdict,
            nearest=Match(
                page_id=nearest.page_id,
                distance=nearest.distance,
                decided=decided,
                found=self._found(nearest),
            ),
        )

    def _is_at_path(self, evidence: bytes) -> bool:
        ours = self._page.evidence
        return bool(evidence and ours) and Head.unpack(evidence).path == Head.unpack(ours).path

    def _found(self, candidate: Candidate) -> str:
        """Return how the store found a candidate; see `Match.found`."""
        if self._page.exact:
            return "equal"
        if candidate.distance <= self._max_distance:
            return "distance"
        return "address" if self._is_at_path(candidate.evidence) else "features"

    def _learnt(self, repeated: Candidate) -> tuple[str, ...]:
        """Return the kinds of knowledge without any of which the page would be new."""
        if not (self._credits and self._page.evidence):
            return ()
        return tuple(
            kind
            for kind, nothing in _NOTHING.items()
            if not self._decided_without(nothing)(repeated).is_same
        )

    def _decided_without(self, nothing: dict[str, Any]) -> Decide:
        return deciding(self._page, self._matching, replace(self._context, **nothing))
