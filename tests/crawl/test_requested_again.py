"""Pages that are requested again: as they were sent at first."""

from types import SimpleNamespace
from typing import ClassVar

import pytest
from linked_sites import Hears, editions
from scrapy import Request, Spider
from scrapy.crawler import Crawler
from scrapy.http.request import NO_CALLBACK
from scrapy.statscollectors import MemoryStatsCollector

from scrapy_neardup.crawl.crawlsettings import read_settings
from scrapy_neardup.crawl.experiments.asking import Experiments
from scrapy_neardup.crawl.experiments.ownrequests import again, as_sent
from scrapy_neardup.settings.catalogue import DROP


class PageObject:
    """What scrapy-poet makes of a response for a callback: it holds the page's body."""

    __module__ = "web_poet.pages"


@pytest.fixture
def answered():
    """Return a request as it is once it has been answered."""
    asked = {"own": 1, "playwright_include_page": True}
    became = dict.fromkeys(("neardup", "playwright_page", "redirect_urls", "retry_times"), "x")
    return Request(
        "http://h.test/", print, meta=asked | became, priority=7, errback=print,
        cb_kwargs={"own": 2, "found": PageObject()},
    )  # fmt: skip


def test_what_became_of_a_request_is_not_sent_again(answered):
    sent = as_sent(answered, {"more": 3})
    assert sent.meta == {"own": 1, "playwright_include_page": True, "more": 3}
    assert sent.cb_kwargs == {"own": 2}
    assert (sent.callback, sent.errback, sent.priority) == (print, print, 7)
    assert sent.dont_filter


async def test_of_a_dropped_page_the_request_is_kept_as_it_was_sent(answered):
    """Without the body of the page, of which there may be thousands."""
    crawler = Crawler(Spider, {"NEARDUP_URLS": "off", "NEARDUP_LINKS": "withhold"})
    crawler.stats, settings = MemoryStatsCollector(crawler), read_settings(crawler.settings)
    parts = dict.fromkeys(("reader", "detector", "callbacks"))
    experiments = Experiments(crawler, settings, None, None, **parts)
    experiments._parts.clear()
    verdict = SimpleNamespace(page_id=1, released=())
    await experiments.judged(SimpleNamespace(action=DROP, verdict=verdict), answered, None, None)
    assert experiments._dropped[1].cb_kwargs == {"own": 2}


def test_a_second_request_for_a_response_alone_has_no_callback_and_is_made_once(answered):
    second = again(answered)
    once = {"dont_cache": True, "dont_redirect": True, "dont_retry": True}
    assert second.meta == {"own": 1} | once
    assert (second.callback, second.errback, second.priority) == (NO_CALLBACK, None, 0)


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
