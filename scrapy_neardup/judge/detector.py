"""From a page to a verdict, with the knowledge about its site and the candidates of the store."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from scrapy_neardup.errors import StoreError
from scrapy_neardup.judge.analysis import AnalysedPage, Analyser
from scrapy_neardup.judge.comparison import Comparison, Refusal, Rule
from scrapy_neardup.judge.evidence import Evidence, bits_of, have_one_path
from scrapy_neardup.judge.knowledge import MIN_PAGES
from scrapy_neardup.judge.pair import AddressMatch, AtHand, compare_addresses
from scrapy_neardup.judge.sites import MAX_STATES, Context, Site, Sites
from scrapy_neardup.verdict import DUPLICATE, NEW, SEEN, Candidate, Match, Page, Verdict

if TYPE_CHECKING:
    from scrapy_neardup.judge.knowledge import Excluded, SiteRule
    from scrapy_neardup.stores import Store

_EXCHANGE_PAGES = 32
"""Number of new pages of a site after which crawlers exchange what they have learnt."""

Learnt = Callable[[str, str, str], None]
"""Function of a site, the kind of knowledge, and a sentence, for new knowledge."""
Skipped = Callable[[str, int], None]
"""Function of a site and the number of other crawlers' notices that can't be read."""


class Detector:
    """An `Analyser` with a store of pages, and with knowledge about each site.

    `on_learnt` is called once for each site and kind of knowledge, when it is first used, and
    `on_skipped` if notices of other crawlers can't be read. `job` identifies a run and the later
    run that resumes it, among all runs that share the store; None means that it is never resumed.
    Two concurrent runs must not have the same. `prefers_canonical` is as in `Context`.
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
        self._sizes = settings.sketch
        self._learns = frozenset(settings.learn)
        self._max_distance = -1 if settings.method == "minwise" else settings.max_distance
        self._sites = Sites(settings.learn)
        self._equal = replace(settings, min_resemblance=1.0)
        self._context = Context(
            knowledge=self._sites,
            parameters=settings,
            prefers_canonical=prefers_canonical,
        )

    async def decide(self, page: Page | Verdict, *, renews: bool = False) -> Verdict:
        """Judge a page made by `Analyser.page`, and remember it if it is new.

        With `renews`, the page's entry of an earlier crawl is replaced if the page has changed.
        Raises `StoreError` if the store failed.
        """
        if isinstance(page, Verdict):
            return page
        if not isinstance(page, AnalysedPage):
            comparison = Comparison(page, None, renews=renews)
            verdict = await self.store.check_and_add(page, comparison.decide)
            return self._explained(page, verdict, comparison)
        context = self._context
        site = self._sites.get(page.known.host)
        while self._sites.forgotten:  # a forgotten site continues from what is posted now
            await self._exchange(self._sites.forgotten.pop())
        site = site or await self._meet(page.known.host, page.address.site)
        site.folders.meet(page.address)
        page, excluded = self._telling(page)
        page = self.analyser.by_what_counts(page, excluded)
        if page.is_alias:
            context = replace(context, parameters=self._equal)
        at_hand = AtHand(page.known, excluded, page.text, self._sizes, context)
        comparison = Comparison(page, at_hand, renews=renews)
        verdict = await self.store.check_and_add(page, comparison.decide)
        verdict = self._explained(page, verdict, comparison)
        theirs = Evidence()
        released: tuple[int, ...] = ()
        if verdict.is_duplicate and verdict.match:
            repeated, _ = comparison.asked[verdict.match.page_id]
            theirs = Evidence.unpack(repeated.evidence, self._sizes)
            if not comparison.stands(repeated.page_id):
                released = (page.id,)
            elif "records" in self._learns:
                released = site.records.learn_drop(page, excluded, repeated.page_id, theirs)
                if released:
                    await self._spread(site, [site.records])
        await self._learn(page, site, verdict, comparison, theirs)
        released += site.records.heard()
        return replace(verdict, released=released) if released else verdict

    async def learn_response(
        self,
        first: Page | Verdict,
        second: Page | Verdict,
        release: Callable[[tuple[int, ...]], object] | None = None,
    ) -> bool:
        """Learn from two responses to one request; return whether more is known to change.

        `release` gets the ids of dropped pages that are thereby known as records, and must be
        requested again. It is called before the store is, because a crawl may end meanwhile.
        Pages that weren't judged, or are stored without evidence, are ignored.
        """
        if not (isinstance(first, AnalysedPage) and isinstance(second, AnalysedPage)):
            return False
        site = self._sites.get(first.known.host)
        if site is None:
            return False
        texts = first.text, second.text
        found: list[SiteRule[Any]] = []
        if site.changing.learn_response(first.address.place, first.known, second.known, texts):
            found.append(site.changing)
        if release and "records" in self._learns and (released := site.records.settle()):
            found.append(site.records)
            release(released)
        await self._spread(site, found)
        return site.changing in found

    async def hear(self) -> tuple[int, ...]:
        """Return the dropped pages that are records, as other crawlers have found.

        They must be requested again. Costs an exchange for each site with drops since the last.
        """
        found: tuple[int, ...] = ()
        for site in [] if self.store.is_private else [*self._sites]:
            if not site.records.has_asked:
                site.records.has_asked = True
                await self._exchange(site, posts=False)
                found += site.records.heard()
        return found

    def asks_again(self, page: AnalysedPage) -> bool:
        """Return whether a second response for a page would show what its verdict depends on.

        That is whether text that differs from that of a similar page changes by itself: then the
        page repeats the other one, and otherwise it may be another record.
        """
        site = self._sites.get(page.known.host)
        return site is not None and site.changing.questions.asks_again(page.id)

    def changing(self, page: Page) -> frozenset[int]:
        """Return the DOM paths of a page whose text is known to change with each response."""
        if not isinstance(page, AnalysedPage):
            return frozenset()
        site = self._sites.get(page.known.host)
        return frozenset() if site is None else site.changing.paths(page.address.place)

    def rows_that_count(self, page: AnalysedPage) -> NDArray[np.uint64]:
        """Return the shingles within the rows of a page, without what its folder's pages share."""
        excluded = self._sites.exclude(page.known)
        changing = bits_of([*page.known.paths], excluded.paths)
        return page.text.rows_outside(changing, excluded.shared)

    def repeats(self, page: Page | Verdict, other: Page | Verdict) -> bool | None:
        """Return whether a page repeats another one at hand.

        None if that is uncertain, because almost all of the text changes by itself.
        """
        if isinstance(page, Verdict) or isinstance(other, Verdict):
            return False
        distance = (page.fingerprint ^ other.fingerprint).bit_count()
        if not (isinstance(page, AnalysedPage) and isinstance(other, AnalysedPage)):
            return distance <= self._max_distance
        page, excluded = self._telling(page)
        other, _ = self._telling(other)
        at_hand = AtHand(page.known, excluded, page.text, self._sizes, self._context)
        candidate = Candidate(other.id, distance, other.evidence)
        decided = Comparison(page, at_hand).decide(candidate)
        return None if decided.rule == Refusal.CHANGING else decided.is_same

    def _telling(self, page: AnalysedPage) -> tuple[AnalysedPage, Excluded]:
        """Return a page whose evidence has the DOM paths that matter, and its excluded parts."""
        excluded = self._sites.exclude(page.known)
        told = self.analyser.telling(page, excluded.tells)
        return told, excluded if told is page else self._sites.exclude(told.known)

    async def close(self) -> None:
        """Save what was learnt in the store, for other crawlers and for a resumed run.

        Raises `StoreError` if the store failed.
        """
        left = MAX_STATES if self._job is not None else 0
        for site in self._sites if left or not self.store.is_private else ():
            await self.store.exchange(site.name, site.member, site.dump())
            if left > 0 and (left := left - len(state := site.dump(complete=True))) > 0:
                await self.store.exchange(self._topic(site.name), site.member, state)

    def _explained(self, page: Page, verdict: Verdict, comparison: Comparison) -> Verdict:
        """Add to a verdict how its match was found, or which page was nearest to a match."""
        match, asked = verdict.match, comparison.asked
        if verdict.decision is SEEN and match is not None:
            differs = comparison.differs(asked[page.id][0])
            return replace(verdict, match=replace(match, differs=differs))
        if verdict.decision is DUPLICATE and match is not None:
            found = self._found(page, asked[match.page_id][0])
            return replace(verdict, match=replace(match, found=found))
        others = [each for page_id, each in asked.items() if page_id != page.id]
        if verdict.decision is not NEW or not others:
            return verdict
        candidate, decided = min(others, key=lambda each: (each[0].distance, each[0].page_id))
        found = self._found(page, candidate)
        nearest = Match(
            page_id=candidate.page_id, distance=candidate.distance, decided=decided, found=found
        )
        return replace(verdict, nearest=nearest)

    def _found(self, page: Page, candidate: Candidate) -> str:
        """Return how the store found a candidate; see `Match.found`."""
        if page.exact:
            return "equal"
        if candidate.distance <= self._max_distance:
            return "distance"
        is_at_path = candidate.evidence and have_one_path(candidate.evidence, page.evidence)
        return "address" if is_at_path else "features"

    async def _learn(
        self,
        page: AnalysedPage,
        site: Site,
        verdict: Verdict,
        comparison: Comparison,
        theirs: Evidence,
    ) -> None:
        """Learn from a page, and from what it repeats or nearly repeats."""
        if verdict.decision is NEW and "changing" in self._learns:
            untested = site.changing.untested(page.known)
            if untested and comparison.would_repeat(untested):
                site.changing.doubt(page.id, page.known)
        # A page that is dropped for another one of its template shows the template. A page that is
        # new each time it is met, or has many parameters, doesn't show what other pages share.
        is_other = verdict.decision is NEW or (
            verdict.rule in {Rule.ALIKE, Rule.RETITLED}
            and compare_addresses(page.known, theirs)
            not in {AddressMatch.RESPONSE, AddressMatch.PATH}
        )
        if is_other and site.is_due(page.id):
            found = site.learn(page.address.folders, page.known, page.text)
            pages = site.folders.pages(page.known.host)
            is_time = pages == MIN_PAGES or not pages % _EXCHANGE_PAGES
            await self._spread(site, found, is_time=is_time)

    async def _spread(
        self, site: Site, found: Sequence[SiteRule[Any]], *, is_time: bool = False
    ) -> None:
        """Report what is newly known of a site, and exchange it with other crawlers."""
        self._sites.version += 1
        for rule in found:
            if self._on_learnt and rule.name in self._learns - site.reported:
                site.reported.add(rule.name)
                self._on_learnt(site.name, rule.name, rule.sentence)
        if (is_time or found) and not self.store.is_private:
            await self._exchange(site)

    def _topic(self, name: str) -> str:
        return f"{name} of {self._job}"

    async def _meet(self, host: int, name: str) -> Site:
        """Restore a site from an earlier run, or learn about it from other crawlers."""
        states: list[bytes] = []
        if self._job is not None:
            with suppress(StoreError):
                states = await self.store.exchange(self._topic(name), "", None)
        site = self._sites.get(host) or self._sites.add(host, name)
        with suppress(StoreError):
            for state in states:
                if site.restore(state):
                    # The saved state is out of date from now on; a run that is killed leaves none.
                    await self.store.exchange(self._topic(name), site.member, b"")
                else:
                    site = self._sites.add(host, name)
        await self._exchange(site, posts=False)
        return site

    async def _exchange(self, site: Site, *, posts: bool = True) -> None:
        """Post what was learnt about a site, if `posts`, and read what other crawlers learnt."""
        with suppress(StoreError):  # notices that are missed now are read the next time
            dump = site.dump() if posts else None
            dumps = await self.store.exchange(site.name, site.member, dump)
            others = [each for each in dumps if each != dump]
            skipped = site.add_others(others)
            self._sites.version += 1
            if skipped and self._on_skipped:
                self._on_skipped(site.name, skipped)
