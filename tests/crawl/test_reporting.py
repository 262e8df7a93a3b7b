"""What a crawl tells about pages that took too long, and about claims."""

import logging

import pytest
from scrapy import Spider
from scrapy.crawler import Crawler
from scrapy.http import HtmlResponse
from scrapy.settings import Settings
from scrapy.statscollectors import MemoryStatsCollector

from scrapy_neardup.claims.claim import NEEDED, Change, Claim
from scrapy_neardup.claims.claimbook import ANYWHERE, Key
from scrapy_neardup.claims.host import Host
from scrapy_neardup.claims.part import PARAMETER, Part
from scrapy_neardup.crawl.crawlsettings import read_settings
from scrapy_neardup.crawl.experiments import reports
from scrapy_neardup.crawl.pagestate import Visit
from scrapy_neardup.crawl.reporting import SLOW_SECONDS, Reporter
from scrapy_neardup.verdict import Decision, Reason, Verdict

NEW = Verdict(decision=Decision.NEW, reason=Reason.UNMATCHED, page_id=1)


@pytest.fixture
def reporter():
    crawler = Crawler(Spider)
    crawler.stats = MemoryStatsCollector(crawler)
    return Reporter(crawler)


def test_a_page_that_holds_the_crawl_up_is_counted_and_the_first_is_named(caplog, reporter):
    crawler = reporter._crawler
    caplog.clear()
    caplog.set_level(logging.INFO)
    for number, seconds in enumerate([SLOW_SECONDS, 2.51, 9]):
        response = HtmlResponse(f"http://ann:secret@h/{number}", body=b"x" * 500)
        reporter.page(response, Visit(verdict=NEW, seconds=seconds))
    assert crawler.stats.get_value("neardup/pages/slow") == 2
    assert crawler.stats.get_value("neardup/pages/new") == 3
    [message] = caplog.messages
    assert message.startswith("http://h/1 (500 bytes) took 2.5 s to read")
    assert "NEARDUP_DENY" in message


def test_an_error_of_a_report_is_counted_and_logged_and_the_page_goes_on(
    caplog, reporter, monkeypatch
):
    def fail(*_):
        raise KeyError("audit")

    monkeypatch.setattr(reporter, "_report", fail)
    for number in range(2):
        reporter.page(HtmlResponse(f"http://ann:secret@h/{number}"), Visit(verdict=NEW))
    assert reporter._crawler.stats.get_value("neardup/report/errors") == 2
    [record] = (each for each in caplog.records if each.levelno == logging.ERROR)
    assert "http://h/0" in record.getMessage()


SID = Part(PARAMETER, "sid")


def claim(covered):
    """Return a claim in force that has withheld requests."""
    made = Claim()
    for _ in range(3 * NEEDED):
        made.support(("http://h.test/a?sid=1", "http://h.test/a"))
    for _ in range(covered):
        made.cover(is_made=False)
    return made


@pytest.mark.parametrize(("pair", "shown"), [
    (("http://ann:secret@h.test/a", ""), " (http://h.test/a)"), (("", ""), " ()"),
    (("http://h.test/a", "http://h.test/b"), " (http://h.test/a and http://h.test/b)"),
])  # fmt: skip
def test_a_claim_that_ends_names_the_pages_that_are_known(caplog, reporter, pair, shown):
    change = Change(Key(ANYWHERE, SID), claim(1), begins=False, pair=pair)
    caplog.set_level(logging.INFO)
    caplog.clear()
    for made in (0, 7):
        reports.changed(reporter, "h.test", change, made)
    start = "h.test: contradicted, and used no more: ?sid=… has no effect"
    assert caplog.messages == [
        start + shown,
        f"{start}; withheld requests that are made now: 7{shown}",
    ]
    assert [each.levelno for each in caplog.records] == [logging.INFO, logging.WARNING]


def test_at_the_end_claims_are_told_of_with_their_odds_and_without_advice_under_exact(
    caplog, reporter
):
    host = Host()
    host.claims[Key("/p/N", SID)] = claim(400)
    told = []
    for urls, preset in (("skip", "best"), ("report", "best"), ("report", "exact")):
        caplog.set_level(logging.INFO)
        caplog.clear()
        settings = read_settings(Settings({"NEARDUP_URLS": urls, "NEARDUP_PRESET": preset}))
        reports.sum_up(reporter, settings, {"h.test": host})
        told.append(caplog.messages)
    start = "h.test: ?sid=… has no effect on /p/N; "
    assert told[0][0].startswith(f"{start}400 requests weren't made; 40 tested it")
    assert told[1][0].startswith(f"{start}NEARDUP_URLS = 'skip' wouldn't have made most of 400")
    assert all("at most 7.5" in line for [line] in told[:2])
    assert told[2] == []
