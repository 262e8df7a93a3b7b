"""Pages whose callback only asks for them again are not remembered."""

from collections import Counter
from types import SimpleNamespace

import pytest
import scrapy
from crawl_spiders import TOGETHER, Visit
from scrapy.downloadermiddlewares.retry import get_retry_request
from scrapy.utils.request import RequestFingerprinter
from site_server import Answer, page, text

from scrapy_neardup.crawl.callbacks import Callbacks
from scrapy_neardup.crawl.output import Processing

BUSY = "We are busy at the moment, please try again later"
PATHS = [f"/{group}/1" for group in "abcdefghij"]


class Busy:
    """Answers that it is busy to the first requests of each path."""

    def __init__(self, times):
        self.times = times
        self.asked = Counter()

    def __call__(self, request):
        self.asked[request.path] += 1
        if self.asked[request.path] <= self.times:
            return Answer(page(BUSY))
        return Answer(page(text(request.path)))


class Asks(Visit):
    """Asks for busy pages again, in one way or another."""

    way = "get_retry_request"

    def page(self, response):
        if BUSY in response.text:
            yield from getattr(self, self.way)(response)
        else:
            self.note(response)
            yield {"path": self.path_of(response)}

    def get_retry_request(self, response):
        yield get_retry_request(response.request, spider=self, reason="busy")

    def replace(self, response):
        yield response.request.replace(dont_filter=True)

    def afresh(self, response):
        yield scrapy.Request(response.url, self.page, dont_filter=True)

    def log_in(self, response):
        back, copied = {"url": response.url}, {"neardup": response.meta["neardup"]}
        login = response.urljoin("/login")
        yield scrapy.FormRequest(login, self.again, formdata=back, cb_kwargs=back, meta=copied)

    def again(self, response, url):
        yield scrapy.Request(url, self.page, dont_filter=True)


def busy(times):
    return {path: Busy(times) for path in PATHS}


@pytest.mark.parametrize("together", [{}, TOGETHER])
@pytest.mark.parametrize("way", ["get_retry_request", "replace", "afresh"])
def test_pages_that_are_busy_twice_are_all_had_in_the_end(crawl, site, way, together):
    site.routes |= busy(2)
    outcome = crawl(Asks, *PATHS, way=way, settings=together)
    assert sorted(outcome.notes) == PATHS
    assert outcome.pages("withdrawn", "new", "dropped", "orphaned") == [20, 30, 0, 0]


def test_pages_behind_a_login_are_all_had_in_the_end(crawl, site):
    site.routes |= busy(1) | {"/login": page("Welcome")}
    assert sorted(crawl(Asks, *PATHS, way="log_in", settings=TOGETHER).notes) == PATHS


def test_over_a_pause_of_the_crawl(crawl, site, tmp_path):
    site.routes |= busy(2)
    jobdir = {"JOBDIR": str(tmp_path)}
    first = crawl(Asks, *PATHS, settings=jobdir | {"CLOSESPIDER_PAGECOUNT": 8})
    assert first.reason == "closespider_pagecount"
    assert len(first.notes) < len(PATHS)
    second = crawl(Asks, *PATHS, settings=jobdir)
    assert sorted(first.notes + second.notes) == PATHS


def test_pages_that_give_up_do_not_stand_in_the_way_of_others(crawl, site):
    site.routes |= busy(2) | {path: Busy(1000) for path in PATHS[:3]}
    outcome = crawl(Asks, *PATHS, settings={"RETRY_TIMES": 4}, errors=True)
    assert sorted(outcome.notes) == PATHS[3:]
    assert outcome.pages("dropped") == [0]


def test_a_page_that_gives_up_after_a_pause_does_not_either(crawl, site, tmp_path):
    site.routes |= busy(1) | {PATHS[0]: Busy(1000)}
    settings = {"JOBDIR": str(tmp_path), "RETRY_TIMES": 1}
    first = crawl(Asks, *PATHS, settings=settings | {"CLOSESPIDER_PAGECOUNT": 2})
    assert site.routes[PATHS[0]].asked[PATHS[0]] == 1
    second = crawl(Asks, *PATHS, settings=settings, errors=True)
    assert sorted(first.notes + second.notes) == PATHS[1:]


class ByKey:
    """A fingerprinter of the project, which can't read requests without a key."""

    def fingerprint(self, request):
        return request.meta["key"].encode()


def processing(fingerprinter):
    crawler = SimpleNamespace(request_fingerprinter=fingerprinter, spider=None)
    return Processing(crawler, None, None, None, callbacks=Callbacks(None), keeps_sitemap=False)


@pytest.fixture
def asked():
    return processing(RequestFingerprinter())


def test_a_request_that_the_fingerprinter_of_the_project_cannot_read_is_of_another_page():
    response = scrapy.http.Response("http://h.test/", request=scrapy.Request("http://h.test/"))
    made = (scrapy.Request(response.url, meta=m, dont_filter=True) for m in ({}, {"key": "a"}))
    assert not any(processing(ByKey()).is_of_itself(response, each) for each in made)


@pytest.mark.parametrize(("entries", "kept"), [
    ([], True), ([None], True), (["item"], True), (["filtered"], True), (["post"], True),
    (["own"], False), (["own", None, "own"], False), (["redirecting"], False), (["form"], False),
    (["own", "item"], True), (["item", "own"], True), (["own", "other"], True),
    (["form", "item"], True), (["form with an item"], True), (["form with options"], False),
])  # fmt: skip
def test_what_only_asks_again(asked, entries, kept):
    url, before = "http://h.test/a", "http://h.test/from"
    request = scrapy.Request(url, meta={"redirect_urls": [before]})
    made = {
        "own": scrapy.Request(url, dont_filter=True),
        "redirecting": scrapy.Request(before, dont_filter=True),
        "other": scrapy.Request("http://h.test/b", dont_filter=True),
        "filtered": scrapy.Request(url),
        "post": scrapy.Request(url, method="POST", dont_filter=True),
        "form": scrapy.FormRequest(url, formdata={"a": "b"}, cb_kwargs={"url": url}),
        "form with an item": scrapy.FormRequest(url, formdata={"a": "b"}, cb_kwargs={"i": {}}),
        "form with options": scrapy.FormRequest(url, formdata={"a": "b"}, meta={"splash": {}}),
        "item": {},
    }
    response = scrapy.http.Response(url, request=request)
    own = [asked.is_of_itself(response, made[entry]) for entry in entries if entry is not None]
    assert asked.says_nothing(1, asks_again=any(own), holds_more=not all(own)) == (not kept)


def test_who_asked_before_and_yields_nothing_gives_up(asked):
    asking, nothing, item = (
        {"asks_again": asks, "holds_more": more}
        for asks, more in ((True, False), (False, False), (False, True))
    )
    assert not asked.says_nothing(1, **nothing)
    assert asked.says_nothing(1, **asking)
    assert asked.says_nothing(1, **nothing)
    assert not asked.says_nothing(2, **nothing)
    assert not asked.says_nothing(1, **item)
    assert not asked.says_nothing(1, **nothing)  # what it was asked for is had
