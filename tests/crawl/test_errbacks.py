"""Errbacks of dropped pages."""

import json
from pathlib import Path
from typing import ClassVar

import pytest
from crawl_spiders import Visit
from linked_sites import Hears, editions, linked
from scrapy import Request, signals
from scrapy.exceptions import CloseSpider
from site_server import Answer

from scrapy_neardup import NearDuplicatePage


class Tells(Visit):
    """Its errback notes what it is given, and yields an item and a request."""

    def failed(self, failure):
        error = failure.value
        assert isinstance(error, NearDuplicatePage)
        assert str(error) == error.verdict.explain()
        assert error.verdict.is_duplicate
        assert error.args == (error.response, error.verdict)
        assert error.response.meta["neardup"] is error.verdict
        self.note(error.response, "dropped")
        yield {"path": self.path_of(error.response)}
        meta = failure.request.meta
        yield Request(self.site + "/next/1", self.page, meta=meta, priority=-1_000_000)


def test_an_errback_is_called_as_http_errors_is(crawl):
    outcome = crawl(Tells, "/a/1", "/a/2")
    assert outcome.notes == ["/a/1", ["/a/2", "dropped"], "/next/1"]
    assert [item["path"] for item in outcome.items] == ["/a/1", "/a/2", "/next/1"]
    assert "spider_exceptions/count" not in outcome.stats
    assert outcome.pages("dropped") == [1]


class Passes(Visit):
    broken = False

    def failed(self, failure):
        if self.broken:
            raise RuntimeError("an error in the errback")
        return failure


@pytest.mark.parametrize("broken", [False, True])
def test_an_errback_may_pass_the_failure_on_and_one_that_fails_is_an_error(crawl, broken):
    outcome = crawl(Passes, "/a/1", "/a/2", broken=broken, errors=broken)
    assert outcome.notes == ["/a/1"]
    assert outcome.stats.get("spider_exceptions/RuntimeError") == (1 if broken else None)
    assert ("spider_exceptions/count" in outcome.stats) == broken


class Retries(Visit):
    afresh = False

    def failed(self, failure):
        self.notes.append("failed")
        if self.afresh:
            url = failure.value.response.url
            return Request(url, self.page, errback=self.failed, dont_filter=True)
        return failure.request.replace(dont_filter=True)


@pytest.mark.parametrize("afresh", [False, True])
def test_an_errback_that_schedules_every_failure_again_does_not_loop(crawl, afresh):
    outcome = crawl(Retries, "/a/1", "/a/2", "/a/3", afresh=afresh)
    assert sorted(outcome.notes) == ["/a/1", "/a/2", "/a/3", "failed", "failed"]
    assert outcome.pages("dropped", "kept-again") == [2, 2]


class RetriesOnce(Retries):
    """Its errback requests a page again once, and the crawl pauses then."""

    afresh = True

    def failed(self, failure):
        if not Path(self.paused).exists():
            Path(self.paused).touch()
            yield super().failed(failure)
            raise CloseSpider("a pause")


def test_a_page_that_an_errback_schedules_again_is_delivered_after_a_pause(crawl, tmp_path):
    settings, paused = {"JOBDIR": str(tmp_path)}, str(tmp_path / "paused")
    first = crawl(RetriesOnce, "/a/1", "/a/2", settings=settings, paused=paused)
    assert first.notes == ["/a/1", "failed"]
    outcome = crawl(RetriesOnce, settings=settings, paused=paused)
    assert outcome.notes == ["/a/2"]
    assert outcome.pages("kept-again") == [1]


class WritesJson(Retries):
    """As a queue that other processes read; every page is asked for twice, with its meta."""

    hears: ClassVar = {"scheduled": signals.request_scheduled}

    def page(self, response):
        yield from super().page(response)
        if not response.meta.get("second"):
            meta = response.meta | {"second": True}
            yield self.written(Request(response.url, self.page, meta=meta, dont_filter=True))
            yield self.written(Request(response.url + "?x", self.page, meta=meta))

    def failed(self, failure):
        yield self.written(super().failed(failure))

    def written(self, request):
        request.meta["written"] = True
        return request

    def scheduled(self, request):
        if request.meta.get("written"):
            self.notes.append(json.loads(json.dumps(request.meta)).get("neardup"))


def test_requests_that_copy_meta_can_be_written_as_json(crawl):
    outcome = crawl(WritesJson, "/a/1", "/a/2")
    metas = [note for note in outcome.notes if not isinstance(note, str)]
    # Only the page that was dropped, asked for again and then once more, says so: by its id.
    assert [type(meta) for meta in metas].count(int) == 2
    assert [type(meta) for meta in metas].count(type(None)) == len(metas) - 2 >= 2
    assert outcome.counted()["pages/kept-again"] >= 1


def test_the_errback_hears_once_of_each_dropped_page_before_it_is_asked(walk, site):
    tree = editions(3, unique=True) | {"/3/": ("start",)}
    outcome = walk(tree, "/1/", "/2/", "/3/", spider=Hears)
    heard = [note for note in outcome.notes if isinstance(note, dict)]
    assert heard == [{"failed": "/2/"}, {"failed": "/3/"}]
    assert outcome.notes.index({"failed": "/2/"}) < outcome.notes.index("/2/")
    assert site.requests.count("/2/") == 2
    assert all(f"/2/{each}" in outcome.notes for each in range(3))


class Copies(Hears):
    """Copies the meta of every response, also of an error page."""

    handle_httpstatus_list: ClassVar = [404]

    def page(self, response):
        more = {"meta": response.meta, "errback": self.failed}
        for each in super().page(response):
            yield each.replace(**more) if isinstance(each, Request) else each


def test_an_error_in_place_of_a_page_that_is_requested_again_is_not_that_page(walk, site):
    answers = [Answer(linked("start", "/2/0", "/2/1")), Answer(linked("", "/copy"), status=404)]
    site.routes["/2/"] = lambda _: answers.pop(0)
    tree = {"/1/": ("start", "/a"), "/a": ("a",), "/copy": ("start",)}
    outcome = walk(tree, "/1/", "/2/", spider=Copies)
    assert not answers
    assert {"failed": "/copy"} in outcome.notes
