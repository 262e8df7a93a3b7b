"""What a crawl tells about pages that took too long, URL rules and spent patterns."""

import logging

import pytest
from scrapy import Spider
from scrapy.crawler import Crawler
from scrapy.http import HtmlResponse
from scrapy.statscollectors import MemoryStatsCollector

from scrapy_neardup.claims.claim import Change, Claim
from scrapy_neardup.claims.host import ANYWHERE, Host, Key
from scrapy_neardup.claims.part import PARAMETER, Part
from scrapy_neardup.crawl.actions import KEEP, Judged
from scrapy_neardup.crawl.experiments.reports import ClaimReports
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
    (("http://h.test/a", ""), "(http://h.test/a)"),
    (("http://h.test/a", "http://h.test/b"), "(http://h.test/a and http://h.test/b)"),
])  # fmt: skip
def test_a_claim_that_ends_names_the_pages_that_are_known(caplog, journal, pair, shown):
    caplog.set_level("INFO")
    caplog.clear()
    change = Change(Key(ANYWHERE, Part(PARAMETER, "sid")), Claim(), begins=False, pair=pair)
    ClaimReports(journal).changed("h.test", change)
    [line] = caplog.messages
    assert line == f"h.test: it isn't so that ?sid=… has no effect {shown}"


def test_what_could_be_withheld_is_named_with_the_odds_and_not_under_exact(caplog, journal):
    caplog.set_level("INFO")
    caplog.clear()
    host, key = Host(), Key("/p/N", Part(PARAMETER, "sid"))
    claim = host.claims[key] = Claim()
    for number in range(60):
        claim.support((f"http://h.test/p/{number}?sid=1", f"http://h.test/p/{number}"))
    claim.covered = 41
    for is_exact in (False, True):
        ClaimReports(journal).sum_up({"h.test": host}, skips=False, is_exact=is_exact)
    [line] = caplog.messages
    assert "NEARDUP_URLS = 'skip' wouldn't have made most of 41 requests" in line
    assert "at most 5.0 % show something new" in line
