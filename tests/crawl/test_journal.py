"""What a crawl tells about a page that took too long."""

import logging

from scrapy import Spider
from scrapy.crawler import Crawler
from scrapy.http import HtmlResponse
from scrapy.statscollectors import MemoryStatsCollector

from scrapy_neardup.crawl.actions import KEEP, Judged
from scrapy_neardup.crawl.journal import SLOW_SECONDS, Journal
from scrapy_neardup.verdict import Decision, Reason, Verdict

NEW = Verdict(decision=Decision.NEW, reason=Reason.UNMATCHED, page_id=1)


def test_a_page_that_holds_the_crawl_up_is_counted_and_the_first_is_named(caplog):
    crawler = Crawler(Spider)
    crawler.stats = MemoryStatsCollector(crawler)
    journal = Journal(crawler)
    caplog.clear()
    caplog.set_level(logging.INFO)
    for number, seconds in enumerate([SLOW_SECONDS, 2.51, 9]):
        response = HtmlResponse(f"http://ann:secret@h/{number}", body=b"x" * 500)
        journal.page(response, Judged(verdict=NEW, action=KEEP, seconds=seconds))
    assert crawler.stats.get_value("neardup/pages/slow") == 2
    assert crawler.stats.get_value("neardup/pages/new") == 3
    [message] = caplog.messages
    assert message.startswith("http://h/1 (500 bytes) took 2.5 s to read")
    assert "NEARDUP_DENY" in message
