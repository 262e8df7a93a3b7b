"""What a store asked about a page, and what is reported of the answers."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from scrapy_neardup.evidence.decision import Comparison, deciding
from scrapy_neardup.evidence.layout import Head
from scrapy_neardup.evidence.sites import EDITIONS, FURNITURE, PLACES, TITLES
from scrapy_neardup.verdict import Candidate, Decided, Decision, Match, Page, Verdict

if TYPE_CHECKING:
    from scrapy_neardup.evidence.context import SiteContext
    from scrapy_neardup.parameters import Parameters

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
    parameters
        Those that decide.
    credits_learnt
        Whether `Match.learnt` is found out: a comparison a kind of knowledge and duplicate.
    """

    __slots__ = ("_context", "_credits", "_decide", "_others", "_page", "_parameters", "_repeated")

    def __init__(
        self,
        page: Page,
        context: SiteContext,
        parameters: Parameters,
        *,
        credits_learnt: bool = False,
    ) -> None:
        self._page, self._context, self._parameters = page, context, parameters
        self._credits = credits_learnt
        self._decide = deciding(page, parameters.matching, context)
        self._others: list[tuple[Candidate, Decided]] = []
        self._repeated: Candidate | None = None

    def decide(self, candidate: Candidate) -> Decided:
        """Return whether the page repeats a candidate, and why."""
        decided = self._decide(candidate)
        if candidate.page_id != self._page.id:
            self._others.append((candidate, decided))
        if decided.is_same:
            self._repeated = candidate
        return decided

    @property
    def witness(self) -> bytes:
        """Evidence of the nearest candidate at the page's path, or else of the nearest one."""
        ours = self._page.evidence
        if not (self._others and ours):
            return b""
        known = [each.evidence for each, _ in self._others if each.evidence]
        path = Head.unpack(ours).path
        return next(
            (each for each in known if Head.unpack(each).path == path), (known or [b""])[0]
        )

    def is_alike(self, evidence: bytes) -> bool:
        """Return whether the core of another page with a sketch is alike."""
        bins, bits = self._parameters.sketch
        return Comparison(self._page, bins, bits, self._context).is_alike(evidence)

    def reported(self, verdict: Verdict) -> Verdict:
        """Return the verdict with how its match was found, or with the nearest candidate."""
        if verdict.is_duplicate and verdict.match is not None:
            found, learnt = self._found(verdict.match), self._learnt()
            return replace(verdict, match=replace(verdict.match, found=found, learnt=learnt))
        if verdict.decision is Decision.NEW and self._others:
            candidate, decided = min(self._others, key=lambda each: each[0][1::-1])
            nearest = Match(
                page_id=candidate.page_id, distance=candidate.distance, decided=decided
            )
            return replace(verdict, nearest=replace(nearest, found=self._found(nearest)))
        return verdict

    def _found(self, match: Match) -> str:
        page, settings = self._page, self._parameters
        if page.exact:
            return "equal"
        if settings.method != "minwise" and match.distance <= settings.max_distance:
            return "distance"
        evidence = next(e.evidence for e, _ in self._others if e.page_id == match.page_id)
        at_path = evidence and Head.unpack(evidence).path == Head.unpack(page.evidence).path
        return "address" if at_path else "features"

    def _learnt(self) -> tuple[str, ...]:
        """Return the kinds of knowledge without any of which the page would be new."""
        if not (self._credits and self._page.evidence and self._repeated):
            return ()
        page, matching = self._page, self._parameters.matching
        return tuple(
            kind
            for kind, nothing in _NOTHING.items()
            if not deciding(page, matching, replace(self._context, **nothing))(
                self._repeated
            ).is_same
        )
