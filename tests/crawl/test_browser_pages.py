"""Dropped pages that come from a real browser, by scrapy-playwright."""

import os
import shutil
from importlib.util import find_spec
from typing import ClassVar

import headless
import pytest
from crawl_spiders import Visit

BROWSER = next(filter(None, map(shutil.which, headless.BROWSERS)), None)

pytestmark = [
    pytest.mark.skipif(not find_spec("scrapy_playwright"), reason="no scrapy-playwright"),
    pytest.mark.skipif(not BROWSER, reason="no Chromium is installed"),
]

PAGES_AT_ONCE = 2
SETTINGS = {
    "DOWNLOAD_HANDLERS": {"http": "scrapy_playwright.handler.ScrapyPlaywrightDownloadHandler"},
    "PLAYWRIGHT_LAUNCH_OPTIONS": {
        "executable_path": BROWSER,
        "args": ["--disable-gpu", "--no-sandbox"] if os.geteuid() == 0 else ["--disable-gpu"],
    },
    "PLAYWRIGHT_MAX_PAGES_PER_CONTEXT": PAGES_AT_ONCE,
    "CLOSESPIDER_TIMEOUT": 100,  # a crawl that stands still fails the test, not its time limit
}


class Browse(Visit):
    """Gets its pages from a browser, and closes the browser page in the callback."""

    sends: ClassVar = {"meta": {"playwright": True, "playwright_include_page": True}}

    async def page(self, response):
        page = response.meta["playwright_page"]
        self.note(response, await page.title())
        await page.close()


class BrowseWithErrback(Browse):
    """Closes the browser page in the errback, too, as scrapy-playwright tells its users to."""

    async def failed(self, failure):
        page = failure.request.meta["playwright_page"]
        self.notes.append(page.is_closed())
        await page.close()


PATHS = [f"/a/{number}" for number in range(2 * PAGES_AT_ONCE + 1)]


def test_the_browser_page_of_a_dropped_page_is_closed(crawl):
    outcome = crawl(Browse, *PATHS, "/b/1", settings=SETTINGS)
    assert outcome.reason == "finished"
    assert outcome.counted()["pages/dropped"] == len(PATHS) - 1
    assert outcome.notes == [["/a/0", "Title"], ["/b/1", "Title"]]


def test_an_errback_gets_the_closed_page(crawl):
    outcome = crawl(BrowseWithErrback, *PATHS, settings=SETTINGS)
    assert outcome.reason == "finished"
    assert outcome.notes == [["/a/0", "Title"]] + [True] * (len(PATHS) - 1)


def test_a_flagged_page_keeps_its_browser_page(crawl):
    outcome = crawl(Browse, *PATHS, settings=SETTINGS | {"NEARDUP_ACTION": "flag"})
    assert [path for path, _ in outcome.notes] == PATHS
