"""Page to verdict, by what its site has shown and by what the store finds.

There is no Scrapy here, and no file and no clock.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING

from scrapy_neardup.analysis import AnalysedPage, Analyser
from scrapy_neardup.errors import StoreError
from scrapy_neardup.evidence.asking import Asked
from scrapy_neardup.evidence.context import NOTHING_KNOWN, SiteContext
from scrapy_neardup.evidence.counts import MIN_PAGES
from scrapy_neardup.evidence.layout import HEAD, Head
from scrapy_neardup.evidence.marks import Marks
from scrapy_neardup.evidence.sites import (
    EDITIONS,
    FURNITURE,
    MAX_STATES,
    PLACES,
    TITLES,
    Lesson,
    Site,
    Sites,
)
from scrapy_neardup.text import Content
from scrapy_neardup.verdict import Decision, Page, Verdict

if TYPE_CHECKING:
    from scrapy_neardup.stores import Store

_EXCHANGE_PAGES = 32
"""Number of new pages of a site after which crawlers tell each other what they have learnt."""

Learnt = Callable[[str, str, str], None]
"""Function that is told of a site, the kind of knowledge, and a sentence when something becomes
known."""


class Detector:
    """An `Analyser` with a memory of pages, and of what each site has shown.

    Parameters
    ----------
    on_learnt
        Called once for each site and kind of knowledge, when it begins to count.
    job
        What this run and a later one that goes on with it have in common, of all that share the
        store; None: no run goes on with this one. Of two at once only one may have it.
    credits_learnt
        Whether `Match.learnt` is found out: a comparison a kind of knowledge and duplicate.
    """

    def __init__(
        self,
        analyser: Analyser,
        store: Store,
        *,
        on_learnt: Learnt | None = None,
        job: str | None = None,
        credits_learnt: bool = False,
    ) -> None:
        self.analyser = analyser
        self.store = store
        self._learns = frozenset(analyser.parameters.learn)
        self._on_learnt = on_learnt
        self._sites = Sites()
        self._job = job
        self._credits_learnt = credits_learnt

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
        site = self._sites[name]
        context = self._context(page, site)
        if context.changing:
            page = self.analyser.without(page, context.changing)
        asked = self._asked(page, context)
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
            if left > 0 and (left := left - len(state := site.state())) > 0:
                await self.store.exchange(self._topic(name), site.member, state)

    def _asked(self, page: Page, context: SiteContext) -> Asked:
        settings = self.analyser.parameters
        return Asked(
            page,
            context,
            settings.matching,
            max_distance=-1 if settings.method == "minwise" else settings.max_distance,
            credits_learnt=self._credits_learnt,
        )

    def _context(self, page: AnalysedPage, site: Site) -> SiteContext:
        settings, learns, folder = self.analyser.parameters, self._learns, page.address.folder
        furniture = None
        if page.shingled is not None and FURNITURE in learns:
            known = site.furniture.of(folder)
            if len(known):
                furniture = Marks(
                    page.shingled.shingles,
                    page.shingled.minima,
                    known,
                    partial(site.furniture.sketch, folder, settings.sketch[0]),
                    settings.min_tokens - settings.shingle_size + 1,
                )
        places, titles = PLACES in learns, TITLES in learns
        strict = settings.titles == "strict"
        return SiteContext(
            min_resemblance=1.0 if page.is_alias else settings.min_resemblance,
            titles=settings.titles,
            is_exact=settings.is_exact,
            furniture=furniture,
            changing=site.places.changing if places else frozenset(),
            constant=site.constants.constant if places else frozenset(),
            common=site.titles.common if titles else frozenset(),
            editions=site.editions.known if EDITIONS in learns and not strict else frozenset(),
            young_site=site.titles.young,
            young_folder=strict
            or page.shingled is None
            or site.furniture.pages_of(folder) < MIN_PAGES,
        )

    def _learn(self, page: AnalysedPage, site: Site, verdict: Verdict, asked: Asked) -> bool:
        """Learn from a page; return whether other crawlers should know soon."""
        bins, bits = self.analyser.parameters.sketch
        head, shingled, told = page.head, page.shingled, False
        witness = asked.witness
        comparable, is_short = len(witness) == len(page.evidence), len(witness) == HEAD.size
        other = Head.unpack(witness) if comparable else Head()
        is_met_again = comparable and (
            (other.path, other.query, other.name) == (head.path, head.query, head.name)
        )
        # One page that is new each time it is met doesn't show what others share.
        if (
            verdict.decision is Decision.NEW
            and not is_met_again
            and site.is_due(page.id, Lesson.ALONE)
        ):
            site.titles.learn(head.title)
            if shingled is not None:
                site.furniture.learn(page.address.folder, shingled.shingles)
                site.constants.learn(head.places, shingled.texts)
                pages = site.furniture.pages
                told = pages == MIN_PAGES or not pages % _EXCHANGE_PAGES
        if not comparable or not site.is_due(page.id, Lesson.BESIDE):
            return told
        if (
            head.query == other.query
            and not site.editions.is_known(head.steps, other.steps)
            and (is_short or asked.is_alike(witness))
            and site.editions.learn(head.steps, other.steps)
        ):
            told = self._tell(
                page, site, EDITIONS, "pages of one name in other folders are taken for editions"
            )
        if (
            is_met_again
            and not is_short
            and site.places.learn(page.evidence, witness, bins=bins, bits=bits)
        ):
            told = self._tell(
                page, site, PLACES, "the text in a place of its pages changes with each response"
            )
        return told

    def _tell(self, page: AnalysedPage, site: Site, kind: str, sentence: str) -> bool:
        if self._on_learnt is not None and kind in self._learns and kind not in site.told:
            site.told.add(kind)
            self._on_learnt(page.address.site, kind, sentence)
        return True

    def _topic(self, name: str) -> str:
        """Return where the state of a site is left for the next run."""
        return f"{name} of {self._job}"

    async def _meet(self, name: str) -> None:
        """Go on with a site as an earlier run has left it, or hear of it from other crawlers."""
        if self._job is not None:
            with suppress(StoreError):
                for state in await self.store.exchange(self._topic(name), "", None):
                    if (site := Site.restored(state)) is not None:
                        self._sites[name] = site
                        # From now on it is behind; of a run that is killed nothing is left.
                        await self.store.exchange(self._topic(name), site.member, b"")
        await self._exchange(name)

    async def _exchange(self, name: str) -> None:
        """Tell other crawlers what was learnt of a site, and hear what they have learnt."""
        site = self._sites[name]
        mine = site.dump()
        with suppress(StoreError):  # what is missed is heard the next time
            heard = await self.store.exchange(name, site.member, mine)
            site.add_others(value for value in heard if value != mine)
