"""What a crawl tells meanwhile and at its end: of slow pages, of claims, of what it drops."""

import logging
import re
import time
from urllib.parse import quote

import pytest
from crawl_spiders import Visit
from scrapy import Spider
from scrapy.crawler import Crawler
from scrapy.http import HtmlResponse
from scrapy.settings import Settings
from scrapy.statscollectors import MemoryStatsCollector
from site_server import Answer, page, text

from scrapy_neardup.claims.claim import NEEDED, Change, Claim
from scrapy_neardup.claims.claimbook import ANYWHERE, Key
from scrapy_neardup.claims.host import Host
from scrapy_neardup.claims.part import PARAMETER, Part
from scrapy_neardup.crawl import pagestate
from scrapy_neardup.crawl.crawlsettings import read_settings
from scrapy_neardup.crawl.experiments import reports
from scrapy_neardup.crawl.reporting import SLOW_SECONDS, Reporter
from scrapy_neardup.settings.catalogue import DROP
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
        reporter.page(response, pagestate.Visit(verdict=NEW, seconds=seconds))
    assert crawler.stats.get_value("neardup/pages/slow") == 2
    assert crawler.stats.get_value("neardup/pages/new") == 3
    [message] = caplog.messages
    assert message.startswith("http://h/1 (500 bytes) took 2.5 s to read")
    assert "NEARDUP_DENY" in message


def test_the_links_of_all_dropped_pages_are_counted_without_reading_them_again(reporter):
    class Remembered(type(reporter._links)):
        def __iter__(self):
            raise AssertionError("it takes milliseconds")

        keys = __iter__

    reporter._links = Remembered(5)
    duplicate = Verdict(decision=Decision.DUPLICATE, reason=Reason.NEAR, page_id=1)
    for number in range(3):
        links = {f"http://h/{link}" for link in range(number, number + 3)}
        visit = pagestate.Visit(verdict=duplicate, action=DROP, _links=links)
        reporter.page(HtmlResponse("http://h/"), visit)
    assert reporter._crawler.stats.get_value("neardup/links/withheld") == 5
    assert not reporter._crawler.stats.get_value("neardup/report/errors")


def test_an_error_of_a_report_is_counted_logged_and_costs_no_page(caplog, reporter, monkeypatch):
    def fail(*_):
        raise KeyError("audit")

    monkeypatch.setattr(reporter, "_report", fail)
    for number in range(2):
        reporter.page(HtmlResponse(f"http://ann:secret@h/{number}"), pagestate.Visit(verdict=NEW))
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
    start = "h.test: no longer used, because a page contradicts it: ?sid=… has no effect"
    assert caplog.messages == [
        start + shown,
        f"{start}; withheld requests that are made now: 7{shown}",
    ]
    assert [each.levelno for each in caplog.records] == [logging.INFO, logging.WARNING]


def test_at_the_end_the_claim_that_covers_most_is_told_of_first(caplog, reporter):
    host = Host()
    for place, covered in ("/few/N", 40), ("/most/N", 900), ("/more/N", 400):
        host.claims[Key(place, SID)] = claim(covered)
    caplog.set_level(logging.INFO)
    settings = read_settings(Settings({"NEARDUP_URLS": "skip"}))
    reports.sum_up(reporter, settings, {"h.test": host})
    assert re.findall(r"on (\S+);", caplog.text) == ["/most/N", "/more/N", "/few/N"]


def test_claims_are_told_of_with_their_odds_and_without_advice_under_exact(caplog, reporter):
    host, told = Host(), []
    host.claims[Key("/p/N", SID)] = claim(400)
    caplog.set_level(logging.INFO)
    for urls, preset in (("skip", "best"), ("report", "best"), ("report", "exact")):
        caplog.clear()
        settings = read_settings(Settings({"NEARDUP_URLS": urls, "NEARDUP_PRESET": preset}))
        reports.sum_up(reporter, settings, {"h.test": host})
        told.append(caplog.messages)
    start = "h.test: ?sid=… has no effect on /p/N; "
    assert told[0][0].startswith(f"{start}400 requests weren't made; 40 tested it")
    assert told[1][0].startswith(f"{start}NEARDUP_URLS = 'skip' would have left out most of 400")
    assert all("at most 7.5" in line for [line] in told[:2])
    assert told[2] == []


SHARE = r"\d+ of \d+ pages \((\d+%|none)\), \d+ dropped"


def progress(outcome):
    return [line for line in outcome.logged("INFO") if "requests wait" in line]


def slow(_request):
    time.sleep(2)
    return Answer(page(text("slow")))


def test_it_tells_what_was_dropped_and_what_waits(crawl, site):
    site.routes["/slow"] = slow
    settings = {"LOGSTATS_INTERVAL": 0.1, "NEARDUP_STORE": "memory:"}
    lines = progress(crawl(Visit, "/a/1", "/a/2", "/a/3", "/slow", "/b/1", settings=settings))
    assert lines
    for line in lines:
        assert re.fullmatch(
            f"Near-duplicates: {SHARE} in the last 0.1 s, {SHARE} in all; [0-9]+ requests wait;"
            " store memory:, 0 errors",
            line,
        )
    dropped = [[int(each) for each in re.findall("([0-9]+) dropped", line)] for line in lines]
    assert sum(last for last, _ in dropped) == dropped[-1][1]
    # While the slow page is awaited, three pages and the start request are judged, one waits.
    assert "2 of 4 pages (50%), 2 dropped in all; 1 requests wait" in "\n".join(lines)


def test_it_is_off_with_scrapys_own(crawl):
    assert not progress(crawl(Visit, "/a/1", settings={"LOGSTATS_INTERVAL": 0}))


def test_no_page_makes_a_name_of_a_stat(crawl, site):
    odd = '"}\\n# {x="\N{RIGHT-TO-LEFT OVERRIDE}'
    for number in range(12):
        site.routes[f"/{number}/{quote(odd)}"] = page(text("a"), title=f"{odd}{number}")
        headers = {"Content-Type": f"application/json; x={number}"}
        site.routes[f"/json/{number}"] = Answer("{}", headers=headers)
    paths = [f"/{number}/{quote(odd)}" for number in range(12)]
    outcome = crawl(Visit, *paths, *(f"/json/{number}" for number in range(12)))
    names = [name for name in outcome.stats if name.startswith("neardup/")]
    assert len(outcome.notes) > 12
    assert len(names) < 12
    assert all(re.fullmatch("neardup(/[a-z0-9-]+){2}", name) for name in names)
