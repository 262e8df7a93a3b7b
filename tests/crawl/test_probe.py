"""Probes: what a site answers where there is nothing is known before it is met."""

from typing import ClassVar

import pytest
from crawl_middlewares import OfCrawler
from crawl_spiders import Visit
from site_server import EMPTY, Answer, page, text

PROBE = {"NEARDUP_PROBE": True, "CONCURRENT_REQUESTS": 1, "DOWNLOAD_DELAY": 0.05}
PATHS = ["/docs/a.html", "/docs/b.html", "/docs/gone.html", "/docs/c.html"]


def serve(site, nothing):
    """Serve three pages; anything else in their folder is answered with `nothing`."""
    site.routes = {path: page(text(path, words=80)) for path in PATHS}
    site.routes["/docs/gone.html"] = nothing
    site._default = lambda path: EMPTY if path == "/start.json" else nothing


def test_a_soft_404_is_dropped_the_first_time_it_is_met(crawl, site):
    serve(site, page(text("not here", words=80), title="Sorry"))
    outcome = crawl(Visit, *PATHS, settings=PROBE)
    assert outcome.notes == ["/docs/a.html", "/docs/b.html", "/docs/c.html"]
    assert outcome.counted()["rule/soft-404"] == 1
    [probe] = set(site.requests) - {*PATHS, "/start.json"}
    assert probe.startswith("/docs/")
    assert probe.endswith(".html")
    assert len(outcome.logged("INFO", "scrapy_neardup.crawl.experiments.probe")) == 1


class Proxy(OfCrawler):
    """Notes which proxy each request is for."""

    def process_request(self, request, spider=None):
        self.crawler.spider.notes.append(request.meta.get("through"))


class Proxied(Visit):
    custom_settings = {"DOWNLOADER_MIDDLEWARES": {Proxy: 1}}  # noqa: RUF012  (as Scrapy has it)
    sends: ClassVar = {"meta": {"through": "a proxy"}}


def test_a_probe_goes_the_way_of_its_page(crawl, site):
    serve(site, page(text("not here", words=80)))
    outcome = crawl(Proxied, PATHS[0], settings=PROBE)
    assert outcome.notes == [None, "a proxy", "a proxy", PATHS[0]]


def test_nobody_is_probed_unless_asked_for(crawl, site):
    serve(site, page(text("not here", words=80)))
    outcome = crawl(Visit, *PATHS)
    assert set(site.requests) == {*PATHS, "/start.json"}
    assert sorted(outcome.notes) == sorted(PATHS)


@pytest.mark.parametrize("nothing", [
    Answer(page(text("not here", words=80)), status=404),  # an honest one
    lambda handler: handler.connection.close() or Answer(""),
])  # fmt: skip
def test_a_404_and_a_probe_that_fails_teach_nothing(crawl, site, nothing):
    serve(site, nothing)
    paths = [path for path in PATHS if "gone" not in path]
    outcome = crawl(Visit, *paths, settings=PROBE | {"RETRY_ENABLED": False})
    assert outcome.notes == paths
    assert not outcome.logged("INFO", "scrapy_neardup.crawl.experiments.probe")


def test_a_page_that_a_probe_is_redirected_to_is_no_soft_404(crawl, site):
    serve(site, Answer("", status=302, headers={"Location": "/docs/c.html"}))
    outcome = crawl(Visit, "/docs/a.html", "/docs/b.html", "/docs/c.html", settings=PROBE)
    assert outcome.notes == ["/docs/a.html", "/docs/b.html", "/docs/c.html"]
