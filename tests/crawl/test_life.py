"""A page is kept for good when its processing is over, and withdrawn when that fails."""

import asyncio
import json

import pytest
import scrapy
from crawl_spiders import Visit
from scrapy.exceptions import CloseSpider

TOY = {"NEARDUP_STORE": "toy:"}


def asked(outcome, site):
    """Return what the store was asked, without the site's name."""
    return [line.replace(site.url, "").rstrip() for line in outcome.journal]


class Callbacks(Visit):
    """Has callbacks of every kind; those of ``fails`` fail, after an item where they can."""

    name = "callbacks"
    kind = "generator"
    fails = ()

    def request(self, response, path, priority):
        return scrapy.Request(
            response.urljoin(path), getattr(self, self.kind), priority=priority
        )

    def check(self, response):
        self.note(response)
        if self.path_of(response) in self.fails:
            raise RuntimeError("an error in the callback")

    def generator(self, response):
        yield {"path": self.path_of(response)}
        self.check(response)

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


KINDS = ["generator", "async_generator", "coroutine", "collection", "nothing", "iterator"]


@pytest.mark.parametrize("kind", KINDS)
def test_a_page_is_confirmed_when_its_callback_is_done(crawl, site, kind):
    outcome = crawl(Callbacks, "/a/1", "/b/1", kind=kind, settings=TOY)
    assert asked(outcome, site) == [
        "open scrapybot.callbacks",
        "check /a/1",
        "confirm /a/1",
        "check /b/1",
        "confirm /b/1",
        "close",
    ]


@pytest.mark.parametrize("kind", KINDS)
def test_a_page_is_forgotten_when_its_callback_fails(crawl, site, kind):
    arguments = {"kind": kind, "fails": ["/a/1"]}
    outcome = crawl(Callbacks, "/a/1", "/a/2", "/a/3", settings=TOY, errors=True, **arguments)
    assert outcome.notes == ["/a/1", "/a/2"]
    assert asked(outcome, site)[1:-1] == [
        "check /a/1",
        "forget /a/1",
        "check /a/2",
        "confirm /a/2",
        "check /a/3",
    ]
    assert outcome.stats["spider_exceptions/RuntimeError"] == 1
    assert outcome.counted()["pages/dropped"] == 1


class Late(Visit):
    """Its first page is not done before all others have arrived, and then fails."""

    name = "late"
    custom_settings = {"SCRAPER_SLOT_MAX_ACTIVE_SIZE": 5_000_000}
    fails = True

    async def page(self, response):
        self.note(response)
        if self.path_of(response) != "/a/1":
            return
        while self.crawler.stats.get_value("neardup/pages/duplicate", 0) < len(self.paths) - 1:
            await asyncio.sleep(0.01)
        if self.fails:
            raise RuntimeError("a late error")


def test_pages_dropped_for_a_page_that_fails_are_counted_and_listed(crawl, site, tmp_path):
    audit = tmp_path / "audit.jsonl"
    settings = {"NEARDUP_AUDIT": str(audit)}
    outcome = crawl(Late, "/a/1", "/a/2", "/a/3", settings=settings, errors=True)
    assert outcome.notes == ["/a/1"]
    assert outcome.counted()["pages/orphaned"] == 2
    lines = [json.loads(line) for line in audit.read_text().splitlines()]
    [orphaned] = [line for line in lines if line.get("event") == "orphaned"]
    assert orphaned["of"] == site.url + "/a/1"
    assert orphaned["count"] == 2
    assert orphaned["pages"] == [site.url + "/a/2", site.url + "/a/3"]
    assert outcome.logged("WARNING", "scrapy_neardup") == [
        f"2 near-duplicates of {site.url}/a/1 were dropped, but its own processing failed"
    ]


@pytest.mark.parametrize("action", ["flag", "deprioritize"])
def test_pages_that_were_delivered_are_no_orphans(crawl, action):
    settings = {"NEARDUP_ACTION": action}
    outcome = crawl(Late, "/a/1", "/a/2", "/a/3", settings=settings, errors=True)
    assert sorted(outcome.notes) == ["/a/1", "/a/2", "/a/3"]
    assert "pages/orphaned" not in outcome.counted()


class Stops(Visit):
    """Closes the spider from a callback, before or amid its output."""

    name = "stops"
    at_once = False

    def page(self, response):
        if self.at_once:
            raise CloseSpider("enough")
        return self.amid(response)

    def amid(self, response):
        yield {"path": self.path_of(response)}
        raise CloseSpider("enough")


@pytest.mark.parametrize("at_once", [False, True])
def test_a_page_whose_callback_closes_the_spider_is_forgotten(crawl, site, at_once):
    outcome = crawl(Stops, "/a/1", "/a/2", at_once=at_once, settings=TOY)
    assert outcome.reason == "enough"
    assert asked(outcome, site)[1:3] == ["check /a/1", "forget /a/1"]
    assert "confirm /a/1" not in asked(outcome, site)
    assert asked(outcome, site)[-1] == "close"


class BreaksOff:
    """A spider middleware near the engine that takes one entry of a page and no more."""

    async def process_spider_output(self, response, result, spider=None):
        async for entry in result:
            yield entry
            if "/a/1" in response.url:
                return


class Three(Visit):
    name = "three"
    custom_settings = {"SPIDER_MIDDLEWARES": {BreaksOff: 10}}

    def page(self, response):
        for number in range(3):
            yield {"path": self.path_of(response), "number": number}


def test_a_page_whose_output_is_given_up_is_forgotten(crawl, site):
    outcome = crawl(Three, "/a/1", "/b/1", settings=TOY)
    assert len(outcome.items) == 4
    lines = asked(outcome, site)
    assert "forget /a/1" in lines
    assert "confirm /a/1" not in lines
    assert "confirm /b/1" in lines


class Rejects:
    """A spider middleware that lets a page fail before its callback."""

    def process_spider_input(self, response, spider=None):
        if "/a/1" in response.url:
            raise ValueError("not this one")


class Rejected(Visit):
    name = "rejected"
    custom_settings = {"SPIDER_MIDDLEWARES": {Rejects: 500}}


def test_a_page_that_another_middleware_rejects_is_forgotten(crawl, site):
    outcome = crawl(Rejected, "/a/1", "/a/2", settings=TOY, errors=True)
    assert outcome.notes == ["/a/2"]
    assert asked(outcome, site)[1:4] == ["check /a/1", "forget /a/1", "check /a/2"]


class Swallows:
    """A downloader middleware near the engine that lets a page never reach the spider."""

    def process_response(self, request, response, spider=None):
        if "/a/1" in response.url:
            return request.replace(url=response.url.replace("/a/1", "/b/1"))
        return response


class Swallowed(Visit):
    name = "swallowed"
    custom_settings = {"DOWNLOADER_MIDDLEWARES": {Swallows: 10}}


def test_a_page_that_never_arrives_is_forgotten_at_the_end(crawl, site):
    outcome = crawl(Swallowed, "/a/1", settings=TOY)
    assert outcome.notes == ["/b/1"]
    assert asked(outcome, site)[1:] == [
        "check /a/1",
        "check /b/1",
        "confirm /b/1",
        "forget /a/1",
        "close",
    ]


def test_all_is_over_before_the_store_closes(crawl, site):
    together = {"CONCURRENT_REQUESTS": 16, "SCRAPER_SLOT_MAX_ACTIVE_SIZE": 5_000_000}
    settings = {"NEARDUP_STORE": "toy:slow", **together}
    paths = [f"/{group}/1" for group in "abcdefgh"]
    outcome = crawl(Callbacks, *paths, fails=paths[:4], settings=settings, errors=True)
    lines = asked(outcome, site)
    assert lines[-1] == "close"
    assert sorted(lines[1:-1]) == sorted(
        [f"check {path}" for path in paths]
        + [f"forget {path}" for path in paths[:4]]
        + [f"confirm {path}" for path in paths[4:]]
    )
