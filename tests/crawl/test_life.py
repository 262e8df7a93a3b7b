"""A page is kept for good when its processing is over, and withdrawn when that fails."""

import asyncio
import gc
from typing import ClassVar

import pytest
import scrapy
from audits import events
from crawl_spiders import TOGETHER, Visit
from scrapy.exceptions import CloseSpider

from scrapy_neardup import signals
from scrapy_neardup.crawl import pagestate

TOY = {"NEARDUP_STORE": "toy:"}
AT_ONCE = TOGETHER | {"CONCURRENT_REQUESTS": 1, "NEARDUP_PENDING_TIMEOUT": 0}


def asked(outcome, site):
    """Return what the store was asked, without the site's name."""
    return [line.replace(site.url, "").rstrip() for line in outcome.journal]


class Callbacks(Visit):
    """Has callbacks of every kind; those of ``fails`` fail, after an item where they can."""

    kind = "page"

    def request(self, response, path, priority):
        return scrapy.Request(response.urljoin(path), getattr(self, self.kind), priority=priority)

    def check(self, response):
        self.note(response)
        self.fail_for(response)

    async def async_generator(self, response):
        yield {"path": self.path_of(response)}
        await asyncio.sleep(0)
        self.check(response)

    async def coroutine(self, response):
        await asyncio.sleep(0)
        self.check(response)
        return [{"path": self.path_of(response)}]

    def collection(self, response):
        self.check(response)
        return [{"path": self.path_of(response)}]

    def nothing(self, response):
        self.check(response)

    def iterator(self, response):
        yield {"path": self.path_of(response)}
        yield from map(self.check, [response])


KINDS = ["page", "async_generator", "coroutine", "collection", "nothing", "iterator"]


@pytest.mark.parametrize("kind", KINDS)
def test_a_page_is_confirmed_when_its_callback_is_done(crawl, site, kind):
    # Confirmations go out together, but not at the end only.
    settings = TOY | {"DOWNLOADER_MIDDLEWARES": {"crawl_middlewares.UntilConfirmed": 10}}
    outcome = crawl(Callbacks, "/a/1", "/later.json", "/b/1", kind=kind, settings=settings)
    assert asked(outcome, site) == [
        "open scrapybot.visit", "check /a/1", "confirm /a/1", "check /b/1", "confirm /b/1",
        "close",
    ]  # fmt: skip


@pytest.mark.parametrize("kind", KINDS)
def test_a_page_is_forgotten_when_its_callback_fails(crawl, site, kind):
    arguments = {"kind": kind, "fails": ["/a/1"]}
    outcome = crawl(Callbacks, "/a/1", "/a/2", "/a/3", settings=TOY, errors=True, **arguments)
    assert outcome.notes == ["/a/1", "/a/2"]
    lines = asked(outcome, site)[1:-1]
    assert lines.index("confirm /a/2") > lines.index("check /a/2")
    lines.remove("confirm /a/2")
    assert lines == ["check /a/1", "forget /a/1", "check /a/2", "check /a/3"]
    assert outcome.stats["spider_exceptions/RuntimeError"] == 1
    assert outcome.pages("dropped") == [1]


class Late(Visit):
    """Its first page is not done before all others have arrived, and then fails."""

    hears: ClassVar = {"near_duplicate": signals.near_duplicate}
    here = 1

    def near_duplicate(self):
        self.here += 1

    async def page(self, response):
        self.note(response)
        if self.path_of(response) == "/a/1":
            while self.here < len(self.paths):  # noqa: ASYNC110
                await asyncio.sleep(0.01)
            raise RuntimeError("a late error")


def test_pages_dropped_for_a_page_that_fails_are_counted_and_listed(crawl, site, audit):
    outcome = crawl(Late, "/a/1", "/a/2", "/a/3", **AT_ONCE, NEARDUP_AUDIT=str(audit), errors=True)
    assert outcome.notes == ["/a/1"]
    assert outcome.pages("orphaned") == [2]
    [orphaned] = events(audit, "orphaned")
    first, *others = (f"{site.url}/a/{number}" for number in (1, 2, 3))
    assert (orphaned["of"], orphaned["count"], orphaned["pages"]) == (first, 2, others)
    assert outcome.logged("WARNING", "scrapy_neardup") == [
        f"2 near-duplicates of {site.url}/a/1 were dropped, but its own processing failed"
    ]


@pytest.mark.parametrize("action", ["flag", "deprioritize"])
def test_pages_that_were_delivered_are_no_orphans(crawl, action):
    outcome = crawl(Late, "/a/1", "/a/2", "/a/3", **AT_ONCE, NEARDUP_ACTION=action, errors=True)
    assert sorted(outcome.notes) == ["/a/1", "/a/2", "/a/3"]
    assert outcome.pages("orphaned") == [0]


class Stops(Visit):
    """Closes the spider from a callback, amid its output or before."""

    def page(self, response):
        yield {"path": self.path_of(response)}
        raise CloseSpider("enough")


class StopsAtOnce(Visit):
    def page(self, response):
        raise CloseSpider("enough")


@pytest.mark.parametrize("spider", [Stops, StopsAtOnce])
def test_a_page_whose_callback_closes_the_spider_is_forgotten(crawl, site, spider):
    outcome = crawl(spider, "/a/1", "/a/2", settings=TOY)
    assert outcome.reason == "enough"
    _, *lines, last = asked(outcome, site)
    assert lines[:2] == ["check /a/1", "forget /a/1"]
    assert "confirm /a/1" not in lines
    assert last == "close"


class Three(Visit):
    def page(self, response):
        for number in range(3):
            yield {"path": self.path_of(response), "number": number}


def test_a_page_whose_output_is_given_up_is_forgotten(crawl, site):
    settings = TOY | {"SPIDER_MIDDLEWARES": {"crawl_middlewares.BreaksOff": 10}}
    outcome = crawl(Three, "/a/1", "/b/1", settings=settings)
    assert len(outcome.items) == 4
    lines = asked(outcome, site)
    assert {"forget /a/1", "confirm /b/1"} <= set(lines)
    assert "confirm /a/1" not in lines


def test_a_page_that_another_middleware_rejects_is_forgotten(crawl, site):
    settings = TOY | {"SPIDER_MIDDLEWARES": {"crawl_middlewares.Rejects": 500}}
    outcome = crawl(Visit, "/a/1", "/a/2", settings=settings, errors=True)
    assert outcome.notes == ["/a/2"]
    assert asked(outcome, site)[1:4] == ["check /a/1", "forget /a/1", "check /a/2"]


class Handles(Visit):
    again = False

    def failed(self, failure):
        self.notes.append(type(failure.value).__name__)
        if self.again:
            yield failure.request.replace(dont_filter=True, url=failure.request.url + "#again")


@pytest.mark.parametrize(("again", "then"), [(False, "confirm"), (True, "forget")])
def test_an_errback_that_handles_what_is_rejected_counts_as_a_callback(crawl, site, again, then):
    settings = TOY | {"SPIDER_MIDDLEWARES": {"crawl_middlewares.Rejects": 500}, "DEPTH_LIMIT": 2}
    outcome = crawl(Handles, "/a/1", again=again, settings=settings)
    assert outcome.notes[0] == "ValueError"
    assert asked(outcome, site)[1:3] == ["check /a/1", f"{then} /a/1"]


def test_a_page_that_never_arrives_is_forgotten_at_the_end(crawl, site):
    settings = TOY | {"DOWNLOADER_MIDDLEWARES": {"crawl_middlewares.Swallows": 10}}
    outcome = crawl(Visit, "/a/1", settings=settings)
    assert outcome.notes == ["/b/1"]
    assert asked(outcome, site)[1:] == [
        "check /a/1", "check /b/1", "confirm /b/1", "forget /a/1", "close",
    ]  # fmt: skip


def test_all_is_over_before_the_store_closes(crawl, site):
    settings = TOGETHER | {"NEARDUP_STORE": "toy:slow"}
    paths = [f"/{group}/1" for group in "abcdefgh"]
    outcome = crawl(Callbacks, *paths, fails=paths[:4], settings=settings, errors=True)
    lines = asked(outcome, site)
    assert lines[-1] == "close"
    assert sorted(lines[1:-1]) == sorted(
        [f"check {path}" for path in paths]
        + [f"forget {path}" for path in paths[:4]]
        + [f"confirm {path}" for path in paths[4:]]
    )


class Counts(Visit):
    def page(self, response):
        gc.collect()
        held = sum(isinstance(each, pagestate.Visit) for each in gc.get_objects())
        self.note(response, held)
        yield {"path": self.path_of(response)}


def test_of_pages_that_are_over_no_tree_is_held(crawl, site):
    paths = [f"/same/{number}" for number in range(50)]
    outcome = crawl(Counts, *paths, "/a/1", settings={"CONCURRENT_REQUESTS": 1})
    assert outcome.pages("dropped")[0] > 40
    *_, (path, held) = outcome.notes
    assert path == "/a/1"
    assert held <= 5
