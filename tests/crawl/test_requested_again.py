"""Dropped pages that are requested again for their links: as they were sent at first."""

import gc
import weakref
from typing import ClassVar

from linked_sites import Hears, editions
from scrapy.http.request import NO_CALLBACK
from scrapy.signals import spider_idle


class BrowserPages:
    """Gives a request the page of a browser if it asks for one, as scrapy-playwright does."""

    def process_response(self, request, response, spider=None):
        if request.meta.get("playwright_include_page"):
            request.meta["playwright_page"] = BrowserPage()
        return response


class BrowserPage:
    is_open = True

    async def close(self):
        self.is_open = False


class Browses(Hears):
    custom_settings: ClassVar = {"DOWNLOADER_MIDDLEWARES": {BrowserPages: 100}}
    sends: ClassVar = {"meta": {"playwright_include_page": True}}

    def page(self, response):
        assert response.meta["playwright_page"].is_open
        for entry in super().page(response):
            is_item = isinstance(entry, dict)
            yield entry if is_item else entry.replace(errback=self.failed, meta=self.sends["meta"])


def test_a_page_that_is_requested_again_gets_a_browser_page_again(walk):
    outcome = walk(editions(6, unique=True), "/1/", "/2/", spider=Browses)
    assert {f"/2/{each}" for each in range(6)} <= {item["path"] for item in outcome.items}


class BreaksDown:
    """Fails to download `/2/` a second time."""

    met = 0

    def process_request(self, request, spider=None):
        if request.url.endswith("/2/") and request.callback is not NO_CALLBACK:
            self.met += 1
            if self.met > 1:
                raise OSError("no answer")


class HearsTwice(Hears):
    custom_settings: ClassVar = {
        "DOWNLOADER_MIDDLEWARES": {BreaksDown: 100},
        "RETRY_ENABLED": False,
    }


def test_an_errback_hears_if_a_page_cannot_be_downloaded_again(walk):
    """It may have to close a browser page."""
    outcome = walk(editions(6, unique=True), "/1/", "/2/", spider=HearsTwice)
    assert [note for note in outcome.notes if isinstance(note, dict)] == [{"failed": "/2/"}] * 2


class PageObject:
    """What scrapy-poet makes of a response for a callback."""

    made: ClassVar = weakref.WeakSet()
    __module__ = "web_poet.pages"


class PageObjects:
    def process_response(self, request, response, spider=None):
        request.cb_kwargs["found"] = page = PageObject()
        PageObject.made.add(page)
        return response


class Injected(Hears):
    custom_settings: ClassVar = {"DOWNLOADER_MIDDLEWARES": {PageObjects: 543}}
    hears: ClassVar = {"idle": spider_idle}

    def parse(self, response, found):
        return super().parse(response)

    def page(self, response, found):
        return super().page(response)

    def idle(self):
        gc.collect()
        self.notes.append(len(PageObject.made))


def test_dropped_pages_do_not_keep_page_objects_in_memory(walk):
    tree = {f"/list/{each}": ("list", f"/list/{each + 1}", "/rare") for each in range(40)}
    outcome = walk(tree, *tree, spider=Injected)
    assert outcome.counted()["pages/dropped"] >= 39
    assert max(note for note in outcome.notes if isinstance(note, int)) < 10
