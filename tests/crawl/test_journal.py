"""What a crawl tells about pages that took too long, URL rules and spent patterns."""

import logging
from types import SimpleNamespace

import pytest
from scrapy import Spider
from scrapy.crawler import Crawler
from scrapy.http import HtmlResponse
from scrapy.statscollectors import MemoryStatsCollector
from scrapy_neardup.crawl.dust.reports import report_change, report_spent

from scrapy_neardup.crawl.actions import KEEP, Judged
from scrapy_neardup.crawl.journal import SLOW_SECONDS, Journal
from scrapy_neardup.verdict import Decision, Reason, Verdict

NEW = Verdict(decision=Decision.NEW, reason=Reason.UNMATCHED, page_id=1)


@pytest.fixture
def journal():
    crawler = Crawler(Spider)
    crawler.stats = MemoryStatsCollector(crawler)
    return Journal(crawler)


def test_a_page_that_holds_the_crawl_up_is_counted_and_the_first_is_named(caplog, journal):
    crawler = journal._crawler
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


@pytest.mark.parametrize(("pair", "shown"), [
    (("http://h.test/a", ""), " (http://h.test/a)"), (("", ""), ""),
    (("http://h.test/a", "http://h.test/b"), " (http://h.test/a and http://h.test/b)"),
])  # fmt: skip
def test_a_rule_that_ends_names_the_pages_that_are_known(caplog, journal, pair, shown):
    change = SimpleNamespace(rule="?sid=… has no effect", begins=False, pair=pair)
    caplog.clear()
    report_change(journal, change)
    [line] = caplog.messages
    assert line.endswith(f"contradict it: ?sid=… has no effect{shown}")


def test_a_spent_pattern_is_told_of_with_what_a_limit_costs_and_without_one_under_exact(
    caplog, journal
):
    caplog.set_level("INFO")
    caplog.clear()
    for is_exact in (False, True):
        report_spent(journal, "h.test", "/p/N", SimpleNamespace(pages=61), is_exact=is_exact)
    advised, exact = caplog.messages
    told = "After 61 pages like h.test/p/N, nearly all text of further ones was on earlier ones"
    assert advised.startswith(told)
    assert advised.endswith("limits their number; the others are never fetched")
    assert exact == told
