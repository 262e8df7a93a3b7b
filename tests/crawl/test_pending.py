"""Pending pages by themselves: pages in any order, with callbacks of any length and outcome."""

import asyncio
import itertools
from collections import Counter
from dataclasses import dataclass, replace

import pytest
from crawl_stores import ToyStore
from hypothesis import given
from hypothesis import strategies as st

from scrapy_neardup.crawl.actions import KEEP, KEEP_PENDING
from scrapy_neardup.crawl.guard import GuardedStore
from scrapy_neardup.crawl.pagestate import TRANSITIONS, Ending, PageEvent, PageState, Visit
from scrapy_neardup.crawl.pending import PendingPages
from scrapy_neardup.settings.catalogue import DROP
from scrapy_neardup.stores import StoreOptions
from scrapy_neardup.verdict import Page


class Distant(ToyStore):
    """Each call takes some turns of the event loop to reach it, and so does the answer."""

    def __init__(self, ways):
        super().__init__("toy:", StoreOptions(max_distance=0))
        self.lengths = itertools.cycle(ways)

    async def _ask(self, verb, url):
        await turns(next(self.lengths))

    async def check_and_add(self, page, decide=None):
        verdict = await super().check_and_add(page, decide)
        await turns(next(self.lengths))
        return verdict

    async def forget(self, page_id):
        matched = await super().forget(page_id)
        await turns(next(self.lengths))
        return matched


async def turns(number):
    for _ in range(number):
        await asyncio.sleep(0)


class Report:
    def __init__(self):
        self.counted = Counter()
        self.orphans = 0

    def count(self, stat):
        self.counted[stat] += 1

    def orphaned(self, url, page_id, count, pages):
        assert count
        self.orphans += count


@dataclass
class Fate:
    """A page that comes after some turns, and whose callback takes some."""

    content: int
    arrives: int
    takes: int
    fails: bool
    page_id: int = 0


class Crawl:
    """What became of pages, in order: (page id, content)."""

    def __init__(self, fates, ways=(0,), patience=1e6):
        self.fates = fates
        self.report = Report()
        self.toy = Distant(ways)
        self.store = GuardedStore(self.toy, "toy:", timeout=60, on_failure=print)
        self.pending = PendingPages(self.store, self.report, patience=patience)
        self.checks = 0
        self.ended = {"confirmed": [], "failed": [], "dropped": [], "seen": [], "late": []}

    async def run(self):
        await self.store.open()
        async with asyncio.TaskGroup() as pages:
            for fate in self.fates:
                pages.create_task(self.page(fate))
        await self.pending.close()
        assert not (await self.toy.stats()).pending
        assert sum(map(len, self.ended.values())) == len(self.fates)
        return self

    async def judged(self, visit, fingerprint):
        await self.pending.begin(visit)
        self.checks += 1
        page = Page(id=visit.page_id, fingerprint=fingerprint, exact=True)
        verdict = await self.store.check_and_add(page)
        self.pending.answered(visit, verdict)
        return verdict

    async def page(self, fate):
        await turns(fate.arrives)
        visit, ending = Visit(fate.page_id), Ending.GONE
        while ending is Ending.GONE:
            verdict = await self.judged(visit, fate.content)
            action, ending = KEEP, Ending.KEPT
            if verdict.is_duplicate:
                action = DROP
                ending = await self.pending.outcome(visit, verdict.match)
        visit.pass_on()
        added = visit.pending
        if ending is Ending.LATE:
            action = KEEP_PENDING
        visit.verdict, visit.action = verdict, action
        self.pending.repeated(visit)
        if action == DROP:
            assert (verdict.match.page_id, fate.content) in self.ended["confirmed"]
            self.end("dropped", fate)
            return
        await turns(fate.takes)
        if added is not None and fate.fails:
            self.pending.withdraw(added)
            self.pending.withdraw(added)  # a failure may be told twice
        elif added is not None:
            self.pending.confirm(added)
        if action == KEEP_PENDING:
            self.end("late", fate)
        elif added is None:
            self.end("seen", fate)
        else:
            self.end("failed" if fate.fails else "confirmed", fate)

    def end(self, how, fate):
        self.ended[how].append((fate.page_id, fate.content))


def numbered(fates):
    return [replace(fate, page_id=number) for number, fate in enumerate(fates)]


a_few = st.integers(0, 9)
fates = st.builds(Fate, st.integers(0, 2), a_few, a_few, st.booleans())
refetched = st.builds(Fate, st.integers(0, 2), a_few, a_few, st.booleans(), st.integers(0, 3))
ways = st.lists(a_few, min_size=1, max_size=20)


@given(st.lists(fates, max_size=20).map(numbered), ways)
def test_no_page_is_dropped_for_one_that_was_not_confirmed(fates, ways):
    crawl = asyncio.run(Crawl(fates, ways).run())
    ended = crawl.ended
    assert not ended["seen"] + ended["late"]
    assert crawl.report.orphans == 0
    assert crawl.report.counted["pages/withdrawn"] == len(ended["failed"])
    confirmed = [content for _, content in ended["confirmed"]]
    assert len(confirmed) == len(set(confirmed))
    for content in {fate.content for fate in fates}.difference(confirmed):
        assert all(fate.fails for fate in fates if fate.content == content)


@given(st.lists(refetched, max_size=20), ways)
def test_nor_is_one_for_a_page_that_was_fetched_again_with_other_content(fates, ways):
    asyncio.run(Crawl(fates, ways).run())


@pytest.mark.parametrize("fails", [False, True])
async def test_of_two_fetches_of_a_page_the_one_with_the_later_content_ends_its_entry(fails):
    crawl = await Crawl([Fate(1, 0, 9, not fails), Fate(2, 1, 20, fails)]).run()
    left = [(each.page.id, each.page.fingerprint) for each in crawl.toy.held.entries.values()]
    assert left == ([] if fails else [(0, 2)])


@given(st.integers(0, 60), ways)
def test_the_store_is_asked_twice_about_a_page_and_once_more_for_each_failure(failures, ways):
    """Of 60 equal pages the first ones fail, each while all others wait."""
    fates = [Fate(0, 0, 200, fails=place < failures) for place in range(60)]
    crawl = asyncio.run(Crawl(numbered(fates), ways).run())
    assert len(crawl.ended["failed"]) <= failures
    assert crawl.checks <= 2 * len(fates) + failures


async def test_pages_are_judged_again_in_the_order_in_which_they_came():
    fates = [Fate(0, place, 100, fails=True) for place in range(60)]
    crawl = await Crawl(numbered(fates)).run()
    assert crawl.ended["failed"] == [(place, 0) for place in range(60)]


async def test_pages_wait_no_longer_than_they_have_patience():
    fates = [Fate(0, 0, 10_000, fails=True)] + [Fate(0, 1, 1, fails=False)] * 9
    crawl = await Crawl(numbered(fates), patience=0.001).run()
    assert len(crawl.ended["late"]) == 9
    assert crawl.ended["failed"] == [(0, 0)]


async def test_a_page_that_was_processed_confirms_no_other_content_of_its_own():
    """Confirmations wait for others, and meanwhile the page may be fetched again."""
    crawl = Crawl([])
    await crawl.store.open()
    await crawl.page(Fate(1, 0, 0, fails=False))
    await crawl.judged(Visit(0), fingerprint=2)
    await crawl.pending.close()
    assert not crawl.toy.held.entries


@pytest.mark.timeout(60)
async def test_it_closes_whenever_what_it_waits_for_ends():
    for later in range(20):
        crawl = Crawl([])
        await crawl.store.open()
        await crawl.page(Fate(0, 0, 0, fails=True))
        await turns(later)
        await crawl.pending.close()
        assert not (await crawl.toy.stats()).pending


@pytest.mark.timeout(60)
@pytest.mark.parametrize("hears", [False, True])
@pytest.mark.parametrize("order", [(0, 1), (1, 0)])
async def test_it_closes_though_pages_are_answered_while_it_waits_for_others(order, hears):
    """Orphans are told of when two answers that were under way have come, in any order.

    Pages that hear of the withdrawal are judged again, and aren't orphans.
    """
    crawl = Crawl([])
    await crawl.store.open()
    pending = crawl.pending
    lost, *asking = (Visit(number) for number in range(3))
    await crawl.judged(lost, fingerprint=0)
    answers = []
    for visit in asking:
        await pending.begin(visit)
        page = Page(id=8 + visit.page_id, fingerprint=0, exact=True)
        answers.append(await crawl.toy.check_and_add(page))
    pending.withdraw(lost.pending)
    await turns(50)
    for place in order:
        assert crawl.report.orphans == 0
        pending.answered(asking[place], answers[place])
        if hears:
            outcome = await pending.outcome(asking[place], answers[place].match)
            assert outcome is Ending.GONE
        await turns(50)
    assert crawl.report.orphans == (0 if hears else 2)
    await pending.close()


def test_a_page_that_waits_for_another_one_hears_of_its_end():
    """Every state leads to one of two in which nobody waits for the page any more."""
    left = {state for state, _ in TRANSITIONS}
    assert set(PageState) - left == {PageState.KEPT, PageState.GONE}
    reached = {PageState.KEPT, PageState.GONE}
    for _ in PageState:
        reached |= {state for (state, _), after in TRANSITIONS.items() if after in reached}
    assert reached == set(PageState)
    assert {event for _, event in TRANSITIONS} == set(PageEvent)
