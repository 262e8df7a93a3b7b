"""Page to verdict, by what its site has shown and by what the store finds.

There is no Scrapy here, and no file and no clock.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING

from scrapy_neardup.decision.comparison import deciding
from scrapy_neardup.decision.context import NOTHING_KNOWN, Context, Excluded
from scrapy_neardup.decision.evidence import Evidence, have_one_address, have_one_path
from scrapy_neardup.decision.matching import Matching
from scrapy_neardup.decision.shingling import TEXT, Text
from scrapy_neardup.decision.sketch import Overlap, overlap
from scrapy_neardup.errors import StoreError
from scrapy_neardup.pipeline.analysis import AnalysedPage, Analyser
from scrapy_neardup.site.counts import MIN_PAGES
from scrapy_neardup.site.siterule import SiteRule
from scrapy_neardup.site.sites import MAX_STATES, Lesson, Site, Sites
from scrapy_neardup.text import Content
from scrapy_neardup.verdict import Candidate, Decided, Decision, Match, Page, Verdict

if TYPE_CHECKING:
    from scrapy_neardup.stores import Store

_EXCHANGE_PAGES = 32
"""Number of new pages of a site after which crawlers tell each other what they have learnt."""

Learnt = Callable[[str, str, str], None]
"""Called with a site, the kind of knowledge, and a sentence when something becomes known."""
Skipped = Callable[[str, int], None]
"""Called with a site, and the number of notices of other crawlers that can't be read."""


class Detector:
    """An `Analyser` with a memory of pages, and of what each site has shown.

    Parameters
    ----------
    on_learnt
        Called once for each site and kind of knowledge, when it begins to count.
    on_skipped
        Called when notices of other crawlers can't be read.
    job
        What this run and a later one that goes on with it have in common, of all that share the
        store; None: no run goes on with this one. Of two at once only one may have it.
    prefers_canonical
        Whether a page that another one names as its canonical doesn't repeat that one.
    """

    def __init__(
        self,
        analyser: Analyser,
        store: Store,
        *,
        on_learnt: Learnt | None = None,
        on_skipped: Skipped | None = None,
        job: str | None = None,
        prefers_canonical: bool = False,
    ) -> None:
        self.analyser = analyser
        self.store = store
        self._on_learnt, self._on_skipped = on_learnt, on_skipped
        self._job = job
        settings = analyser.parameters
        self._matching = settings.matching
        self._max_distance = -1 if settings.method == "minwise" else settings.max_distance
        self._sites = Sites(settings.learn)
        self._context = Context(
            knowledge=self._sites,
            min_resemblance=settings.min_resemblance,
            min_tokens=settings.min_tokens,
            titles=settings.titles,
            is_exact=settings.is_exact,
            prefers_canonical=prefers_canonical,
        )

    async def judge(self, content: Content, *, page_id: int, url: str | None) -> Verdict:
        """Judge a page and remember it if it is new; see `decide`."""
        return await self.decide(self.analyser.page(content, page_id=page_id, url=url))

    async def decide(self, page: Page | Verdict) -> Verdict:
        """Judge what `Analyser.page` made of a page, and remember it if it is new.

        Raises
        ------
        StoreError
            The store failed; the page is neither judged nor recorded.
        """
        if isinstance(page, Verdict):
            return page
        if not page.evidence or not isinstance(page, AnalysedPage):
            asked = self._asked(page, NOTHING_KNOWN)
            return asked.reported(await self.store.check_and_add(page, asked.decide))
        name = page.address.site
        if name not in self._sites:
            await self._meet(name)
        site, context = self._sites[name], self._context
        self._sites.name(page.known.host, name)
        excluded = self._sites.exclude(page.known)
        page = self.analyser.without(page, excluded.paths)
        if page.is_alias:
            context = replace(context, min_resemblance=1.0)
        asked = self._asked(page, context, page.text, excluded)
        verdict = asked.reported(await self.store.check_and_add(page, asked.decide))
        if self._learn(page, site, verdict, asked):
            await self._exchange(name)
        return verdict

    async def close(self) -> None:
        """Leave what was learnt in the store, for other crawlers and for a run that goes on.

        Raises
        ------
        StoreError
            The store failed.
        """
        left = MAX_STATES if self._job is not None else 0
        for name, site in self._sites.items():
            await self.store.exchange(name, site.member, site.dump())
            if left > 0 and (left := left - len(state := site.dump(complete=True))) > 0:
                await self.store.exchange(self._topic(name), site.member, state)

    def _asked(
        self,
        page: Page,
        context: Context,
        text: Text | None = None,
        excluded: Excluded | None = None,
    ) -> Asked:
        return Asked(
            page,
            context,
            self._matching,
            max_distance=self._max_distance,
            text=text,
            excluded=excluded,
        )

    def _learn(self, page: AnalysedPage, site: Site, verdict: Verdict, asked: Asked) -> bool:
        """Learn from a page; return whether to exchange what is known with other crawlers."""
        ours, found, is_time = page.known, [], False
        responses = asked.responses(ours)
        if responses and site.is_due(page.id, Lesson.RESPONSE):
            for theirs, overlap in responses:
                found += site.learn_response(ours, theirs, overlap)
        # One page that is new each time it is met doesn't show what others share.
        is_new = verdict.decision is Decision.NEW and not responses
        if is_new and site.is_due(page.id, Lesson.ALONE):
            found = site.learn(page.address.folders, ours, page.text)
            pages = site.folders.pages(ours.host)
            is_time = pages == MIN_PAGES or not pages % _EXCHANGE_PAGES
        for rule in found:
            self._report(page.address.site, site, rule)
        return is_time or (bool(found) and not self.store.is_private)

    def _report(self, name: str, site: Site, rule: SiteRule) -> None:
        is_first = rule.name not in site.reported
        if self._on_learnt and is_first and rule.name in self.analyser.parameters.learn:
            site.reported.add(rule.name)
            self._on_learnt(name, rule.name, rule.sentence)

    def _topic(self, name: str) -> str:
        """Return where the state of a site is left for the next run."""
        return f"{name} of {self._job}"

    async def _meet(self, name: str) -> None:
        """Load what an earlier run or other crawlers have learnt of a site."""
        if self._job is not None:
            with suppress(StoreError):
                for state in await self.store.exchange(self._topic(name), "", None):
                    if self._sites[name].restore(state):
                        # From now on it is behind; of a run that is killed nothing is left.
                        await self.store.exchange(self._topic(name), self._sites[name].member, b"")
                    else:
                        self._sites.forget(name)
        await self._exchange(name, posts=False)

    async def _exchange(self, name: str, *, posts: bool = True) -> None:
        """Post what was learnt of a site, and read what other crawlers have posted."""
        site = self._sites[name]
        with suppress(StoreError):  # what is missed is heard the next time
            dump = site.dump() if posts else None
            skipped = site.add_others(await self.store.exchange(name, site.member, dump))
            if skipped and self._on_skipped:
                self._on_skipped(name, skipped)


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
        """Return candidates at the page's address, sessions aside, and how their texts compare.

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
