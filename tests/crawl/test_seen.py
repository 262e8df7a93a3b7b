"""Crawl again: what is done about pages of an earlier crawl (`NEARDUP_SEEN`)."""

import pytest
from crawl_spiders import Again, Visit
from site_server import page, text

PATHS = ["/p/same", "/p/other"]


class Noting(Visit):
    def page(self, response):
        self.note(response, response.meta["neardup"].changed)
        yield {"path": self.path_of(response)}
        yield response.follow("/p/linked", self.linked)

    def linked(self, response):
        self.note(response, False)


@pytest.fixture
def again(crawl, site, tmp_path):
    """Crawl twice with one store; the second page has changed meanwhile."""

    def run(seen):
        for path in (*PATHS, "/p/linked"):
            site.routes[path] = page(text(path, words=100))
        settings = {"NEARDUP_STORE": f"sqlite:{tmp_path}/pages.sqlite", "NEARDUP_SEEN": seen}
        first = crawl(Noting, *PATHS, settings=settings)
        assert {path for path, _ in first.notes} == {*PATHS, "/p/linked"}
        site.routes["/p/other"] = page(text("rewritten", words=100))
        return crawl(Noting, *PATHS, settings=settings)

    return run


@pytest.mark.parametrize(("seen", "delivered", "with_items"), [
    ("keep", [*PATHS, "/p/linked"], PATHS),
    ("drop", ["/p/other"], ["/p/other"]),
    ("drop-items", [*PATHS, "/p/linked"], ["/p/other"]),
])  # fmt: skip
def test_unchanged_pages_are_delivered_unless_asked_otherwise(again, seen, delivered, with_items):
    outcome = again(seen)
    assert sorted(outcome.notes) == sorted([path, path == "/p/other"] for path in delivered)
    assert {item["path"] for item in outcome.items} == set(with_items)
    assert outcome.counted().get("pages/unchanged") == (None if seen == "keep" else 2)


def test_a_page_of_the_same_crawl_is_delivered_again(crawl, site):
    site.routes["/p/same"] = page(text("same", words=100))
    outcome = crawl(Again, "/p/same", "/p/same", settings={"NEARDUP_SEEN": "drop"})
    assert outcome.notes == ["/p/same", "/p/same"]
