"""A page that repeats one whose callback is still running waits for its outcome."""

import asyncio

import pytest
import scrapy
from audits import verdicts
from crawl_spiders import TOGETHER, Starts, Visit
from scrapy.exceptions import CloseSpider
from site_server import does, page, text
from store_registry import PLACES

from scrapy_neardup.crawl.middlewares import NearDuplicateDownloaderMiddleware

ONE_SLOT = {"CONCURRENT_REQUESTS": 1, "SCRAPER_SLOT_MAX_ACTIVE_SIZE": 5_000_000}
PATHS = [f"/a/{number}" for number in range(1, 7)]


class Running(Visit):
    """The callback of its first page is not done before some others wait for it."""

    failures = 0
    awaited = 5
    counted = "waited"

    async def page(self, response):
        self.note(response)
        order = len(self.notes)
        if order == 1:
            await self.first(response)
        if order <= self.failures:
            raise RuntimeError("an error in the callback")
        return {"path": self.path_of(response)}

    async def first(self, response):
        count = f"neardup/pages/{self.counted}"
        while self.crawler.stats.get_value(count, 0) < self.awaited:  # noqa: ASYNC110
            await asyncio.sleep(0.01)


FULL_SCRAPER = {"SCRAPER_SLOT_MAX_ACTIVE_SIZE": 1, "CONCURRENT_REQUESTS": 2}


@pytest.mark.parametrize(("settings", "awaited"), [({}, 5), (FULL_SCRAPER, 1)])
def test_pages_wait_and_are_dropped_once_the_page_they_repeat_is_done(crawl, settings, awaited):
    outcome = crawl(Running, *PATHS, settings=TOGETHER | settings, awaited=awaited)
    assert len(outcome.notes) == 1
    assert outcome.pages("dropped") == [5]
    assert [awaited] <= outcome.pages("waited") <= [5]
    assert outcome.pages("withdrawn", "orphaned", "kept-pending") == [0, 0, 0]


@pytest.fixture(params=["memory", "sqlite", "redis"])
def store(request):
    """Settings of a store; with simhash alone, as others learn from the pages of a host."""
    with PLACES[request.param]() as place:
        yield {"NEARDUP_STORE": place.uri, "NEARDUP_PRESET": "paper"}


@pytest.mark.parametrize("failures", [1, 3, 6])
def test_a_failed_page_has_no_orphans(crawl, store, failures):
    outcome = crawl(Running, *PATHS, **TOGETHER, **store, failures=failures, errors=True)
    assert len(outcome.notes) == min(failures + 1, 6)
    assert len(outcome.items) == (failures < 6)
    assert outcome.pages("withdrawn", "dropped") == [failures, 6 - len(outcome.notes)]
    assert outcome.pages("orphaned", "kept-pending") == [0, 0]


@pytest.mark.parametrize("action", ["drop-links", "drop-items", "deprioritize", "flag"])
def test_pages_wait_whatever_is_done_to_duplicates(crawl, action):
    settings = TOGETHER | {"NEARDUP_ACTION": action, "NEARDUP_PRESET": "paper"}
    outcome = crawl(Running, *PATHS, settings=settings, failures=1, errors=True)
    assert outcome.pages("waited", "new", "duplicate") == [5, 2, 4]


def test_the_audit_tells_what_became_of_pages_that_waited(crawl, audit):
    settings = TOGETHER | {"NEARDUP_AUDIT": str(audit), "NEARDUP_PRESET": "paper"}
    outcome = crawl(Running, *PATHS, settings=settings, failures=1, errors=True)
    dropped = [line for line in verdicts(audit) if line.get("verdict") == "duplicate"]
    assert len(dropped) == 4
    assert {line["of"] for line in dropped} == {dropped[0]["of"]}
    assert dropped[0]["of"].endswith(outcome.notes[1])  # and not the page that failed


class StartsBusy(Starts, Running):
    counted = "kept-start"


def test_members_of_a_budget_and_start_requests_do_not_wait(crawl):
    outcome = crawl(Running, *PATHS, **TOGETHER, NEARDUP_GROUP_BUDGET=3, awaited=3)
    assert outcome.pages("kept-budget", "dropped", "waited") == [2, 3, 3]
    outcome = crawl(StartsBusy, *PATHS, settings=TOGETHER)
    assert outcome.pages("kept-start", "waited") == [5, 0]


class Inline(Running):
    """Its first page downloads others inline once another page waits for it."""

    async def first(self, response):
        await super().first(response)
        for number in range(3):
            self.note(await self.inline(scrapy.Request(f"{self.site}/inline{number}.json")))


def test_a_page_may_download_inline_while_others_take_all_slots(crawl):
    outcome = crawl(Inline, *PATHS, settings=ONE_SLOT, awaited=1)
    assert outcome.notes == ["/a/1", "/inline0.json", "/inline1.json", "/inline2.json"]
    assert outcome.pages("dropped", "kept-pending") == [5, 0]


class Produces(Visit):
    def page(self, response):
        self.note(response)
        for number in range(20):
            yield {"path": self.path_of(response), "number": number}


@pytest.mark.parametrize("slots", [TOGETHER | {"CONCURRENT_REQUESTS": 2}, TOGETHER])
def test_items_are_processed_while_other_pages_take_all_slots(crawl, slots):
    pipeline = {"crawl_middlewares.UntilOthersWait": 1}
    outcome = crawl(Produces, *PATHS, **slots, ITEM_PIPELINES=pipeline, CONCURRENT_ITEMS=1)
    assert len(outcome.notes) == 1
    assert len(outcome.items) == 20
    assert outcome.pages("dropped", "kept-pending") == [5, 0]


class Slow(Running):
    async def first(self, response):
        while len(self.notes) < len(self.paths):  # noqa: ASYNC110
            await asyncio.sleep(0.01)


@pytest.mark.parametrize("slots", [ONE_SLOT, TOGETHER])
@pytest.mark.parametrize("failures", [0, 1])
def test_when_time_is_up_pages_are_delivered(crawl, slots, failures):
    settings = slots | {"NEARDUP_PENDING_TIMEOUT": 0.2}
    outcome = crawl(Slow, *PATHS, settings=settings, failures=failures, errors=failures)
    assert sorted(outcome.notes) == PATHS
    assert outcome.pages("kept-pending", "orphaned") == [5, 0]
    assert outcome.pages("waited") <= [5]  # who comes when time is up needn't wait
    [message] = outcome.logged("WARNING", "scrapy_neardup.crawl.reporting")
    assert "NEARDUP_PENDING_TIMEOUT" in message


class Closes(Running):
    async def first(self, response):
        await super().first(response)
        raise CloseSpider("enough")


def test_a_spider_that_closes_while_pages_wait(crawl, site):
    outcome = crawl(Closes, *PATHS, **TOGETHER, NEARDUP_STORE="toy:slow")
    assert outcome.reason == "enough"
    assert len(outcome.notes) == 2  # the first of those that waited has taken its place
    assert outcome.pages("dropped") == [4]
    assert outcome.journal[-1] == "close"


@pytest.mark.parametrize("way", ["fail", "hang", "break"])
def test_a_store_that_does_not_withdraw_a_page_loses_none(crawl, way):
    settings = TOGETHER | {"NEARDUP_STORE": f"toy:{way}=forget", "NEARDUP_TIMEOUT": 0.05}
    outcome = crawl(Running, *PATHS, settings=settings, failures=1, errors=True)
    assert sorted(outcome.notes) == PATHS
    pending, dropped = outcome.pages("kept-pending", "dropped")
    assert pending + outcome.counted().get("unjudged/paused", 0) == 5
    assert not dropped


def test_a_withdrawal_is_tried_again_when_a_page_meets_the_entry(crawl, site):
    settings = {"NEARDUP_STORE": "toy:fail=forget,recover=1"}
    outcome = crawl(Running, *PATHS, settings=settings, failures=1, awaited=0, errors=True)
    assert outcome.notes == PATHS[:2]
    assert outcome.pages("new", "dropped") == [2, 4]


def test_a_store_that_pauses_while_pages_wait(crawl):
    settings = TOGETHER | {"NEARDUP_STORE": "toy:fail=check", "NEARDUP_TIMEOUT": 0.05}
    outcome = crawl(Breaks, *PATHS, settings=settings, errors=True)
    assert sorted(outcome.notes) == PATHS
    assert outcome.pages("dropped") == [0]


class Breaks(Running):
    """Its store fails from the moment on when other pages wait, and the first page fails, too."""

    failures = 1

    def store(self):
        half = self.crawler.get_downloader_middleware(NearDuplicateDownloaderMiddleware)
        return half.session._store._store

    def parse(self, response):
        self.store().left = 0
        return super().parse(response)

    async def first(self, response):
        await super().first(response)
        self.store().left = 1000


class SlowRecord(Running):
    """The callback of one record is not done before records that repeat others are found."""

    async def page(self, response):
        self.note(response)
        again = "neardup/records/requested-again"
        while self.path_of(response) == "/job/20" and not self.crawler.stats.get_value(again):  # noqa: ASYNC110
            await asyncio.sleep(0.01)
        return {"path": self.path_of(response)}


def test_records_that_wait_for_another_one_are_requested_again(crawl, site):
    paths = [f"/job/{number}" for number in range(28)]
    for number, path in enumerate(paths):
        prose = text(path if number < 20 else "slow" if number < 22 else "job", words=200)
        site.routes[path] = page(f"{text(f'city {number}', words=1)}<p>{prose}", title="A job")
    outcome = crawl(SlowRecord, *paths, settings=TOGETHER)
    assert outcome.pages("waited")[0] > 0
    assert sorted(outcome.notes) == sorted(paths)


def test_a_page_that_is_fetched_again_before_its_callback_is_called_is_confirmed_by_it(crawl):
    outcome = crawl(Visit, *PATHS, DOWNLOADER_MIDDLEWARES={"crawl_middlewares.FetchesAgain": 10})
    assert outcome.notes == ["/a/1"]
    assert outcome.pages("dropped", "kept-pending", "orphaned", "withdrawn") == [5, 0, 0, 0]


class Both(Visit):
    """Requests ``PATH CALLBACK WORDS`` once more each time; a word says what the callback does."""

    def request(self, response, path, priority):
        path, callback, *does = path.split()
        request = super().request(response, path, priority)
        callback = {"page": self.page, "other": self.other}[callback]
        return request.replace(callback=callback, cb_kwargs={"does": does}, dont_filter=True)

    async def page(self, response, does):
        self.note(response, "page")
        for _ in range(100 if "waits" in does else 0):
            if not self.crawler.stats.get_value("neardup/pages/waited"):
                await asyncio.sleep(0.01)
        if "fails" in does:
            raise RuntimeError("an error in the callback")
        again = response.request.replace(dont_filter=True)
        return again if does == ["again"] and len(self.notes) < 3 else {"path": response.url}

    async def other(self, response, does):
        found = await self.page(response, does)
        self.notes[-1][1] = "other"
        return found


@pytest.mark.parametrize("paths", [
    # This callback has the first page like it now.
    ["/a/1 page", "/a/2 other waits fails", "/a/3 other"],
    ["/a/1 page", "/a/1 other waits fails", "/a/2 other"],
    # It has failed with the page, whose entry stays.
    ["/a/1 page", "/a/1 other fails", "/a/2 other"],
    # It has failed with the page, and another callback gets it then.
    ["/a/1 other fails", "/a/1 page", "/a/2 other"],
    # It requests its page again.
    ["/a/1 page", "/a/2 other again", "/a/3 other"],
])  # fmt: skip
def test_a_callback_that_fails_gets_the_next_page_whatever_other_callbacks_got(crawl, paths):
    outcome = crawl(Both, *paths, settings=ONE_SLOT, errors="fails" in str(paths))
    assert [paths[-1].split()[0], "other"] in outcome.notes
    assert outcome.pages("dropped", "kept-pending") == [0, 0]


def test_a_callback_gets_one_of_two_pages_that_another_one_got_before(crawl):
    paths = ["/a/1 page", "/a/2 other waits", "/a/3 other"]
    outcome = crawl(Both, *paths, settings=ONE_SLOT)
    assert outcome.pages("kept-callback", "waited", "dropped") == [1, 1, 1]


def test_a_callback_has_not_seen_the_new_content_of_a_page(crawl, site):
    paths = ["/a page", "/a other", "/turn.json page", "/a page", "/b other"]
    site.routes |= {"/a": page(text("a")), "/b": page(text("b"))}
    site.routes["/turn.json"] = does(lambda: site.routes.update({"/a": page(text("b", 1))}))
    outcome = crawl(Both, *paths, settings={"NEARDUP_EXPERIMENTS": 0})
    assert outcome.pages("kept-callback", "duplicate") == [1, 1]
