import os
import socket
from pathlib import Path

import forked
import pytest
from audits import verdicts
from site_server import Answer, Site, page, text

from scrapy_neardup import __version__
from scrapy_neardup.crawl.verbs.trial import PathsMiddleware

QUICK = ("--delay", "0", "-s", "AUTOTHROTTLE_ENABLED=False", "-s", "CONCURRENT_REQUESTS=1")


@pytest.fixture
def pages():
    """A home page, an article, its copy, and an article to which only the copy leads."""
    with Site() as site:
        site.routes["/robots.txt"] = Answer("User-agent: *\nDisallow: /private/")
        site.routes["/"] = page("the home page of a site " * 9, "/a/1", "/a/2#top", "/private/1")
        site.routes["/a/2"] = page(text("a", 2), "/b/1", "/a/1", "/gone/1")
        site.routes["/gone/1"] = Answer(status=404)
        yield site


@pytest.fixture
def tried(tmp_path):
    """Try a site in a process of its own; return what it printed."""

    def tried(*arguments, status=0):
        ended = forked.run("scrapy_neardup.cli", "main", "try", *arguments, cwd=tmp_path)
        assert ended.returncode == status, ended
        return ended.stdout, ended.stderr

    return tried


def test_a_site_is_tried_and_reported(start, call, pages, tmp_path):
    agents = set()

    def article(handler):
        agents.add(handler.headers["User-Agent"])
        return Answer(page(text("a", 1), "/"))

    pages.routes["/a/1"] = article
    browser = tmp_path / "browser"
    browser.write_text('#!/bin/sh\necho "$1" > opened\n')
    browser.chmod(0o755)
    process = start(
        "try", f"{pages.url}/", *QUICK, "--audit", "kept.jsonl", "--progress", "--open",
        env=os.environ | {"BROWSER": str(browser)},
    )  # fmt: skip
    out, err = process.communicate(timeout=60)
    assert process.returncode == 0, (out, err)
    assert out.splitlines()[1:] == [
        "4 pages: 1 repeat another (25.0%), 0 not judged.",
        "        1 of 2  /a/N",
        "Only duplicates link to 2 addresses. Of those that were fetched, this one is a new page:",
        f"  {pages.url}/b/1",
        f"The report: {(tmp_path / 'trial.html').as_uri()}",
    ]
    assert err.startswith("100%  4 pages")
    assert sorted(pages.requests) == ["/", "/a/1", "/a/2", "/b/1", "/gone/1", "/robots.txt"]
    assert agents == {f"scrapy-neardup/{__version__} (trial of a near-duplicate filter; Scrapy)"}
    made = (tmp_path / "trial.html").read_text()
    assert "Only found on dropped pages" in made
    for path in ("b/1", "gone/1"):
        assert f'href="{pages.url}/{path}"' in made
    lines = verdicts(tmp_path / "kept.jsonl")
    assert {line["action"] for line in lines} == {"keep", "flag"}
    assert all("text" in line for line in lines)
    assert (tmp_path / "opened").read_text() == (tmp_path / "trial.html").as_uri() + "\n"
    assert {path.name for path in tmp_path.iterdir()} == {
        "kept.jsonl", "trial.html", "browser", "opened",
    }  # fmt: skip
    # The report of a trial can be made again.
    assert "4 pages: 1 repeat another" in call("report", "kept.jsonl", "--output", "x").stderr
    assert Path("x").exists()


def test_it_ends_after_so_many_pages_and_leaves_the_host_alone(tried, pages):
    links = [f"/x/{number}" for number in range(50)]
    with Site() as other:
        pages.routes["/"] = page(
            "a home page " * 20, f"{other.url.replace('127.0.0.1', 'localhost')}/o/1", *links
        )
        out, _ = tried(pages.url, *QUICK, "--pages", 5)
        assert other.requests == []
    assert 4 <= int(out.splitlines()[1].split()[0]) <= 7


def test_settings_are_those_of_the_filter(tried, pages):
    pages.routes["/a/2"] = page(text("a", 1), title="Another title")
    out, _ = tried(pages.url, *QUICK, "-s", "NEARDUP_DENY=/a/")
    assert "0 repeat another (0.0%), 2 not judged" in out
    assert "\nNot judged, and so kept: 2 excluded by NEARDUP_DENY.\n" in out


def test_a_site_that_gives_no_page_is_no_report(tried, pages, tmp_path):
    pages.routes["/robots.txt"] = Answer("User-agent: *\nDisallow: /")
    _, err = tried(pages.url, *QUICK, status=1)
    assert "Error: the site's robots.txt forbids every requested page to the user agent" in err
    assert len(err.splitlines()) == 1
    with socket.create_server(("127.0.0.1", 0)) as unused:
        port = unused.getsockname()[1]
    _, err = tried(f"http://127.0.0.1:{port}/", *QUICK, "--audit", "a.jsonl", status=1)
    assert "failed with" in err
    assert "Traceback" not in err
    assert list(tmp_path.iterdir()) == []


def test_the_first_address_may_redirect_within_the_site(tried, pages):
    """`localhost` and `127.0.0.1` are two sites; two ports of one name are one site."""
    with Site() as first:
        first.routes["/"] = Answer(status=301, headers={"Location": f"{pages.url}/"})
        pages.routes["/a/1"] = page(text("a", 1), f"{first.url}/b/1")
        pages.routes["/a/2"] = Answer(status=301, headers={"Location": f"{first.url}/b/1"})
        out, _ = tried(f"{first.url}/", *QUICK)
    assert first.requests == ["/robots.txt", "/"]
    assert {"/", "/a/1", "/a/2", "/robots.txt"} <= set(pages.requests)
    assert "2 pages: 0 repeat another" in out


def test_the_first_address_may_not_redirect_to_another_site(tried, pages, tmp_path):
    with Site() as other:
        target = other.url.replace("127.0.0.1", "localhost")
        pages.routes["/"] = Answer(status=302, headers={"Location": f"{target}/in"})
        _, err = tried(f"{pages.url}/", *QUICK, status=1)
        assert other.requests == []
    assert err == f"Error: {pages.url}/ redirects to another site: try {target}/in\n"
    assert list(tmp_path.iterdir()) == []


def test_an_earlier_trial_is_replaced_and_the_report_of_a_crawl_is_not(tried, pages, tmp_path):
    for name in ("trial.html", "report.html"):
        (tmp_path / name).write_text("before")
    out, _ = tried(pages.url, *QUICK)
    assert out.endswith(f"The report: {(tmp_path / 'trial.html').as_uri()}\n")
    assert (tmp_path / "trial.html").read_text().startswith("<!doctype html>")
    assert (tmp_path / "report.html").read_text() == "before"


SPIDER = """
import scrapy

class {name}(scrapy.Spider):
    name = "{name}"
    custom_settings = {own}
    def __init__(self, site, **arguments):
        super().__init__(**arguments)
        self.start_urls = [site]
    def parse(self, response):
        yield {{"url": response.url}}
        for href in response.css("a::attr(href)").getall():
            yield response.follow(href)
"""

PIPELINE = """
class Pipeline:
    def process_item(self, item, spider=None):
        open("stored", "a").write("x")
        return item
"""


def project(folder, *spiders, own=None):
    (folder / "scrapy.cfg").write_text("[settings]\ndefault = shop.settings\n")
    package = folder / "shop"
    (package / "spiders").mkdir(parents=True)
    (package / "__init__.py").touch()
    (package / "spiders" / "__init__.py").touch()
    (package / "settings.py").write_text(
        "BOT_NAME = 'shop'\nSPIDER_MODULES = ['shop.spiders']\nADDONS = {}\n"
        "ITEM_PIPELINES = {'shop.pipelines.Pipeline': 300}\nFEEDS = {'items.jsonl': {}}\n"
        "NEARDUP_STORE = 'redis://127.0.0.1:1'\nJOBDIR = 'job'\n"
    )
    (package / "pipelines.py").write_text(PIPELINE)
    for name in spiders:
        (package / "spiders" / f"{name}.py").write_text(SPIDER.format(name=name, own=own))


@pytest.mark.parametrize("own", [{}, {"SPIDER_MIDDLEWARES": {}}, {"ADDONS": {}}], ids=str)
def test_a_project_is_tried_with_its_own_spider_and_nothing_is_stored(tried, pages, tmp_path, own):
    pages.routes["/"] = page("the home page of a site " * 9, "/a/1")
    pages.routes["/a/1"] = page(text("a", 1), "/a/2")
    project(tmp_path, "news", own=own)
    before = {path.name for path in tmp_path.iterdir()}
    out, _ = tried("--project", "-a", f"site={pages.url}")
    assert "1 repeat another" in out
    assert f"  {pages.url}/b/1" in out
    assert {path.name for path in tmp_path.iterdir()} == {*before, "trial.html"}


def test_a_wrong_setting_of_the_spider_is_named(tried, tmp_path):
    project(tmp_path, "news", own={"NEARDUP_TITLES": "loose"})
    _, err = tried("--project", "-a", "site=http://127.0.0.1:1", status=2)
    assert "NEARDUP_TITLES must be" in err


def test_a_project_with_several_spiders_wants_a_name(tried, tmp_path):
    project(tmp_path, "news", "shoes")
    _, err = tried("--project", status=2)
    assert "--project: name a spider; the project has: news, shoes" in err
    _, err = tried("--project", "boots", status=2)
    assert "there is no spider 'boots'" in err


def test_what_is_lost_is_what_only_dropped_pages_lead_to():
    paths = PathsMiddleware()
    paths.starts, paths.dropped, paths.new = {"/"}, {"/copy"}, {"/", "/a", "/e"}
    paths.links = {
        "/": ["/a", "/copy"], "/a": ["/b"], "/copy": ["/b", "/c", "/d"], "/c": ["/e", "/"],
    }  # fmt: skip
    assert paths.lost() == (["/e"], ["/c", "/d"])
    paths.dropped.clear()
    assert paths.lost() == ([], [])
