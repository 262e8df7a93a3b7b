"""How the plugin is switched on, and what stops a crawl at its start."""

import asyncio
from importlib.util import find_spec
from pathlib import Path
from typing import ClassVar

import forked
import pytest
import scrapy
import scrapy.crawler
from crawl_spiders import Visit
from scrapy.core.spidermw import SpiderMiddlewareManager
from scrapy.utils.test import get_crawler

from scrapy_neardup.crawl.stopping import close_spider

DOWNLOADER = "scrapy_neardup.crawl.middlewares.NearDuplicateDownloaderMiddleware"
SPIDER = "scrapy_neardup.crawl.middlewares.NearDuplicateSpiderMiddleware"
BY_HAND = {
    "ADDONS": {},
    "DOWNLOADER_MIDDLEWARES": {DOWNLOADER: 90},
    "SPIDER_MIDDLEWARES": {SPIDER: 60},
}


SUPPORT = Path(__file__).parent.parent / "support"


def scrapy_command(*arguments, **settings):
    settings = {"ADDONS": '{"scrapy_neardup.Addon": 500}', "TELNETCONSOLE_ENABLED": 0, **settings}
    options = [part for name, value in settings.items() for part in ("-s", f"{name}={value}")]
    return forked.run("scrapy.cmdline", "execute", *arguments, *options, cwd=SUPPORT)


class Early(Visit):
    """Hands its requests to the engine while the store is being opened."""

    hears: ClassVar = {"opened": scrapy.signals.spider_opened}

    def opened(self):
        self.sending = asyncio.get_running_loop().create_task(self.send())

    async def send(self):
        await asyncio.sleep(0.1)
        for place, path in enumerate(self.paths):
            self.crawler.engine.crawl(scrapy.Request(self.site + path, priority=-place))

    def parse(self, response):
        if not response.url.endswith(".json"):
            yield from self.page(response)


def test_what_arrives_before_the_store_is_open_is_judged_as_well(crawl):
    outcome = crawl(Early, "/a/1", "/a/2", settings={"NEARDUP_STORE": "toy:late"})
    assert outcome.notes == ["/a/1"]
    assert outcome.counted()["pages/dropped"] == 1


class Stops(Early):
    """Is closed while the store is being opened."""

    async def send(self):
        await asyncio.sleep(0.1)
        await close_spider(self.crawler, "early")


def test_a_store_that_opens_after_the_spider_was_closed_is_closed(crawl):
    outcome = crawl(Stops, "/a/1", settings={"NEARDUP_STORE": "toy:late"})
    assert (outcome.reason, outcome.notes) == ("early", [])
    assert outcome.journal == ["open scrapybot.visit", "close"]


def test_by_hand_is_the_same_as_by_the_add_on(crawl, site):
    by_add_on = crawl(Visit, "/a/1", "/a/2", "/b/1")
    by_hand = crawl(Visit, "/a/1", "/a/2", "/b/1", settings=BY_HAND)
    assert by_hand.notes == by_add_on.notes == ["/a/1", "/b/1"]
    assert by_hand.counted() == by_add_on.counted()


def test_the_add_on_leaves_middlewares_where_the_project_has_them(crawl):
    settings = BY_HAND | {"ADDONS": {"scrapy_neardup.Addon": 1}}
    outcome = crawl(Visit, "/a/1", "/a/2", settings=settings)
    assert outcome.counted()["pages/checked"] == 3
    enabled = outcome.logged("INFO", "scrapy.middleware")
    assert sum(text.count("NearDuplicate") for text in enabled) == 2


@pytest.mark.parametrize(("settings", "off"), [({}, False), ({}, "0"), (BY_HAND, "False")])
def test_off_is_off(crawl, settings, off):
    outcome = crawl(Visit, "/a/1", "/a/2", settings=settings | {"NEARDUP_ENABLED": off})
    assert outcome.notes == ["/a/1", "/a/2"]
    assert outcome.counted() == {}
    assert not any(name.startswith("scrapy_neardup") for _, name, _ in outcome.log)


ADDON = "scrapy_neardup.Addon"
NOTHING = "which does nothing there"
REFUSED = [
    ({"NEARDUP_THRESHOLD": 0.8}, "did you mean NEARDUP_MIN_RESEMBLANCE?"),
    ({"NEARDUP_MAX_DISTANCE": "11"}, "NEARDUP_MAX_DISTANCE must be"),
    ({"NEARDUP_AUDIT": "/"},
     "NEARDUP_AUDIT: can't write '/' (Is a directory); name a file in it"),
    ({"NEARDUP_STORE": "mysql://u:secret@h/d"}, "NEARDUP_STORE: no store for mysql://h/d"),
    ({"NEARDUP_STORE": "toy://u:secret@break=make"},
     "NEARDUP_STORE: toy:… can't be used: KeyError"),
    ({"NEARDUP_NAMESPACE": "%(spider)s"}, "NEARDUP_NAMESPACE"),
    ({"NEARDUP_GROUP_BUDGET": 3, "NEARDUP_BASE": "base.pack"}, "NEARDUP_GROUP_BUDGET"),
    *[
        (others | {setting: {ADDON: 500}},
         f'{setting} names {ADDON}, {NOTHING}: it is an add-on; set ADDONS = {{"{ADDON}": 500}}')
        for others in ({}, {"ADDONS": {}})
        for setting in ("EXTENSIONS", "ITEM_PIPELINES", *list(BY_HAND)[1:])
    ],
    *[
        ({"ADDONS": {}, setting: {half: 1}}, f"{setting} names {half}, {NOTHING}: move it to {to}")
        for setting, half, to in (
            ("SPIDER_MIDDLEWARES", DOWNLOADER, "DOWNLOADER_MIDDLEWARES, with the place 90"),
            ("DOWNLOADER_MIDDLEWARES", SPIDER, "SPIDER_MIDDLEWARES, with the place 60"),
            ("EXTENSIONS", SPIDER, "SPIDER_MIDDLEWARES, with the place 60"),
            ("ADDONS", SPIDER, "SPIDER_MIDDLEWARES, with the place 60"),
        )
    ],
    *[
        (BY_HAND | {missing: {}}, f"{missing} lacks {half}, the other half of scrapy-neardup")
        for missing, half in zip(list(BY_HAND)[1:], (DOWNLOADER, SPIDER), strict=True)
    ],
]  # fmt: skip
"""Settings, and what a crawl says that they stop."""
BY_HAND_AS_WELL = [(BY_HAND | settings, message) for settings, message in REFUSED[:7]]


@pytest.mark.parametrize(("settings", "message"), REFUSED + BY_HAND_AS_WELL)
def test_what_cannot_be_used_stops_the_crawl(crawl, site, settings, message):
    outcome = crawl(Visit, "/a/1", settings=settings, errors=True)
    assert outcome.reason == "neardup_configuration_error"
    [told] = outcome.logged("ERROR")
    assert message in told
    assert "Traceback" not in told
    assert (outcome.error, outcome.started) == ("", False)
    shown = [text for _, logger, text in outcome.log if logger != "scrapy.crawler"]
    assert not any("secret" in text for text in shown)
    assert site.requests == []


def test_in_a_wrong_setting_but_switched_off_it_is_no_error(crawl):
    off = {"EXTENSIONS": {"scrapy_neardup.Addon": 500}, "NEARDUP_ENABLED": False}
    assert crawl(Visit, "/a/1", settings=off).reason == "finished"
    none = {"EXTENSIONS": {"scrapy_neardup.Addon": None}}
    assert crawl(Visit, "/a/1", settings=none).counted()["pages/checked"] == 2


@pytest.mark.parametrize("process", ["CrawlerProcess", "AsyncCrawlerProcess"])
def test_a_script_sees_that_a_crawl_did_not_start(site, process):
    if not hasattr(scrapy.crawler, process):
        pytest.skip(f"this Scrapy has no {process}")
    script = f"""
import asyncio
from scrapy import signals
from scrapy.crawler import {process}
from crawl_spiders import Visit
class Slow(Visit):
    custom_settings = {{"NEARDUP_ENABLED": False}}
async def start_slowly():
    await asyncio.sleep(.5)
process = {process}({{"ADDONS": {{"scrapy_neardup.Addon": 500}}, "NEARDUP_MAX_DISTANCE": 99}})
slow = process.create_crawler(Slow)
slow.signals.connect(start_slowly, signals.engine_started)
process.crawl(slow, site="{site.url}")
process.crawl(Visit, site="{site.url}")
process.start()
print(process.bootstrap_failed)
"""
    assert forked.python("-c", script, cwd=SUPPORT).stdout == "True\n"


@pytest.mark.skipif(
    scrapy.version_info < (2, 19) or find_spec("aiohttp") is None,
    reason="without a reactor Scrapy needs another HTTP client; since 2.19 it is aiohttp",
)
def test_no_reactor_will_do(site):
    spider = "crawl_spiders.py", "-a", f"site={site.url}"
    done = scrapy_command("runspider", *spider, TWISTED_REACTOR_ENABLED=0)
    assert done.returncode == 0
    assert "'neardup/unjudged/not-html': 1" in done.stderr


@pytest.mark.skipif(scrapy.version_info < (2, 14), reason="its interface was another one")
@pytest.mark.parametrize("wanted", [{}, {"NEARDUP_MAX_DISTANCES": 3}])
async def test_without_an_engine_everything_passes(wanted):
    """As in a unit test of a spider middleware."""
    crawler = get_crawler(Visit, {"ADDONS": {"scrapy_neardup.Addon": 500}, **wanted})
    crawler.spider = Visit("http://h.test")
    asked = scrapy.Request("http://h.test", dont_filter=True)
    response = scrapy.http.HtmlResponse(asked.url, body=b"<p>A page", request=asked)

    async def callback(response, request):
        return [{}, asked]

    manager = SpiderMiddlewareManager.from_crawler(crawler)
    output = await manager.scrape_response_async(callback, response, asked)
    assert [entry async for entry in output] == [{}, asked]


def test_the_shell_shows_every_page(site):
    pages = f"(fetch('{site.url}/a/1'), fetch('{site.url}/a/2'), response.url)[2]"
    assert scrapy_command("shell", "-c", pages).stdout.strip() == site.url + "/a/2"


def test_two_crawlers_of_a_process_have_a_memory_each(worker, crawl):
    part = crawl.part(Visit, "/a/1", "/a/2", "/b/1")
    for outcome in worker.crawl(part, part):
        assert outcome.notes == ["/a/1", "/b/1"]
