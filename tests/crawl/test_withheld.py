"""Requests that aren't made: remembered by URL, made again, kept over a pause, and bounded."""

import itertools
from types import SimpleNamespace
from unittest.mock import Mock, call

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scrapy import Request, Spider
from scrapy.crawler import Crawler

from scrapy_neardup.crawl.crawlsettings import read_settings
from scrapy_neardup.crawl.experiments import withheld
from scrapy_neardup.crawl.experiments.links import SAMPLE, Links, _key
from scrapy_neardup.crawl.experiments.skipping import spread
from scrapy_neardup.crawl.experiments.urlclaims import UrlClaims
from scrapy_neardup.crawl.experiments.withheld import WithheldRequests, draw
from scrapy_neardup.crawl.pagestate import Case


@pytest.fixture
def crawler():
    crawled = []
    engine = SimpleNamespace(crawl=crawled.append)
    return SimpleNamespace(engine=engine, crawled=crawled, spider=Spider("a"))


def test_they_are_made_by_url_and_past_the_scheduler_if_it_has_seen_them(crawler):
    requests = WithheldRequests(crawler)
    assert requests.withhold(Request("http://h/a#top"), "why", was_scheduled=True)
    assert not requests.withhold(Request("http://h/a#end"), "why")
    assert requests.withhold(Request("http://h/b"), "why")
    assert requests.make(["http://h/a", "http://h/b"]) == 2
    assert [each.dont_filter for each in crawler.crawled] == [True, False]
    assert not requests


def test_the_oldest_are_forgotten_and_counted(crawler, monkeypatch):
    monkeypatch.setattr(withheld, "MAX_WITHHELD", 3)
    requests = WithheldRequests(crawler)
    for number in (0, 1, 2, 2, 3, 4):
        requests.withhold(Request(f"http://h/{number}"), None)
    assert list(requests) == ["http://h/2", "http://h/3", "http://h/4"]
    assert requests.forgotten == 2


@pytest.mark.parametrize("found", [
    [f"http://h/{number}" for number in range(9)],
    ["http://h/old/0", "http://h/1", "http://h/2", "http://h/3"],
])  # fmt: skip
def test_links_of_one_page_may_be_more_than_are_remembered(crawler, monkeypatch, found):
    monkeypatch.setattr(withheld, "MAX_WITHHELD", 3)
    links = Links(crawler, Mock(), Mock(spend=Mock(return_value=True)), None, None)
    for number in range(3):
        links._withheld.withhold(Request(f"http://h/old/{number}"), (_key("h", "/"), "http://h/a"))
    case = Case(_key("h", "/"), "http://h/b", set(), set(), False, False, False)
    case.found = {url: Request(url) for url in found}
    links.done(case)
    assert len(crawler.crawled) == SAMPLE
    assert {each.url for each in crawler.crawled} <= {*found}


@pytest.mark.parametrize("kind", ["links", "urls"])
async def test_how_many_were_forgotten_is_counted_at_the_end_and_logged(kind):
    crawler, reporter = Crawler(Spider), Mock()
    settings = read_settings(crawler.settings)
    part = {
        "links": Links(crawler, reporter, None, None, None),
        "urls": UrlClaims(crawler, settings, None, reporter, None),
    }[kind]
    await part.close()
    part._withheld.forgotten = 3
    await part.close()
    assert reporter.count.mock_calls == [call(f"{kind}/forgotten", 3)]
    [warning] = [each.args[0] % each.args[1:] for each in reporter.log.warning.mock_calls]
    assert warning.startswith("3 withheld ")


def test_a_pause_keeps_what_can_be_written(crawler, caplog):
    requests, again = WithheldRequests(crawler), WithheldRequests(crawler)
    requests.withhold(Request("http://h/a", crawler.spider.parse), ("why",), was_scheduled=True)
    requests.withhold(Request("http://h/b", lambda _: None), ("why",))
    requests.withhold(Request("http://h/c", meta={"lock": open}), ("why",))
    requests.withhold(Request("http://h/d", meta={"lock": (each for each in "ab")}), ("why",))
    requests.withhold(Request("http://h/e", cb_kwargs={"tree": DEEP}), ("why",))
    again.restore(requests.dump())
    assert list(again) == ["http://h/a", "http://h/c"]
    request, *rest = again["http://h/a"]
    assert (request.callback, rest) == (crawler.spider.parse, [("why",), True])
    [warning] = caplog.messages
    assert warning.startswith("3 withheld requests can't be written to JOBDIR")


class Renamed(Spider):
    """Has another callback than `Spider` after the pause."""

    def parse_page(self, response):
        pass


def test_a_pause_in_which_a_callback_was_renamed_costs_its_requests_alone(crawler, caplog):
    crawler.spider = spider = Renamed("a")
    requests, again = WithheldRequests(crawler), WithheldRequests(crawler)
    for path, callback in (("a", spider.parse), ("b", spider.parse_page), ("c", spider.parse)):
        requests.withhold(Request(f"http://h/{path}", callback), "why")
    dump, crawler.spider = requests.dump(), Spider("a")
    again.restore(dump)
    assert list(again) == ["http://h/a", "http://h/c"]
    [warning] = caplog.messages
    assert warning.startswith("1 withheld requests can't be read from JOBDIR")


DEEP = []  # as trees of Beautiful Soup are, pickle says
for _ in range(100_000):
    DEEP = [DEEP]


@given(st.integers(0, 50), st.integers(0, 60))
def test_some_of_many_are_spread_evenly_with_the_last_among_them(many, number):
    urls = list(map(str, range(many)))
    chosen = list(map(int, spread(urls, number)))
    assert len(chosen) == min(number, many)
    assert chosen == sorted(set(chosen))
    assert not chosen or chosen[-1] == many - 1
    gaps = [after - before for before, after in itertools.pairwise(chosen)]
    assert not gaps or max(gaps) - min(gaps) <= 1


def test_what_is_drawn_is_one_number_for_a_path_on_all_hosts():
    drawn = [draw(f"http://a.example/{number}") for number in range(1000)]
    assert drawn == [draw(f"https://b.example/{number}") for number in range(1000)]
    assert all(0 <= each < 1 for each in drawn)
    assert 0.4 < sum(drawn) / 1000 < 0.6
