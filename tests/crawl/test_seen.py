"""Crawl again: what is done about pages of an earlier crawl (`NEARDUP_SEEN`)."""

import pytest
from crawl_spiders import AGAIN, Visit
from site_server import does, page, text
from store_registry import PLACES

PATHS = ["/p/same", "/p/other"]


class Said(Visit):
    """Notes which pages have changed, and whether an earlier crawl has seen them."""

    def page(self, response):
        verdict = response.meta["neardup"]
        self.note(response, verdict.changed, str(verdict.decision))
        yield {"path": self.path_of(response)}


class Linking(Said):
    def page(self, response):
        yield from super().page(response)
        yield response.follow("/p/linked", self.linked)

    def linked(self, response):
        self.note(response, False, "")


@pytest.fixture
def again(crawl, site, tmp_path):
    """Crawl twice with one store; the second page has changed meanwhile."""

    def run(seen):
        for path in (*PATHS, "/p/linked"):
            site.routes[path] = page(text(path, words=100))
        settings = {"NEARDUP_STORE": f"sqlite:{tmp_path}/pages.sqlite", "NEARDUP_SEEN": seen}
        first = crawl(Linking, *PATHS, settings=settings)
        assert {path for path, *_ in first.notes} == {*PATHS, "/p/linked"}
        site.routes["/p/other"] = page(text("rewritten", words=100))
        return crawl(Linking, *PATHS, settings=settings)

    return run


@pytest.mark.parametrize(("seen", "delivered", "with_items"), [
    ("keep", [*PATHS, "/p/linked"], PATHS),
    ("drop", ["/p/other"], ["/p/other"]),
    ("drop-items", [*PATHS, "/p/linked"], ["/p/other"]),
])  # fmt: skip
def test_unchanged_pages_are_delivered_unless_asked_otherwise(again, seen, delivered, with_items):
    outcome = again(seen)
    changed = {path: is_changed for path, is_changed, _ in outcome.notes}
    assert changed == {path: path == "/p/other" for path in delivered}
    assert {item["path"] for item in outcome.items} == set(with_items)
    assert outcome.counted().get("pages/unchanged") == (None if seen == "keep" else 2)


@pytest.mark.parametrize("paused", [False, True])
def test_a_page_of_the_same_crawl_is_delivered_again(crawl, site, tmp_path, paused):
    site.routes["/p/same"] = page(text("same", words=100))
    settings = {"NEARDUP_SEEN": "drop"} | ({"JOBDIR": str(tmp_path)} if paused else {})
    paths = [["/p/same"], ["/p/same"]] if paused else [["/p/same", "/p/same"]]
    crawls = [crawl(Visit, *each, settings=settings, sends=AGAIN) for each in paths]
    assert [note for each in crawls for note in each.notes] == ["/p/same", "/p/same"]


def shop(*prices):
    """Return long pages that differ from those of an earlier crawl in a price."""
    said = "<h1>Product {}</h1>{}<p>It costs {} euros today.</p>"
    return {f"/shop/{n}": page(said.format(n, text(f"product {n}", words=300), price))
            for n, price in enumerate(prices)}  # fmt: skip


@pytest.mark.parametrize("name", ["sqlite", "redis", "redis-cluster"])
def test_a_page_is_compared_with_what_the_last_crawl_saw(crawl, site, name):
    """Not with what the first crawl saw: a price that comes back has changed."""
    delivered = []
    with PLACES[name]() as place:
        settings = {"NEARDUP_STORE": place.uri, "NEARDUP_SEEN": "drop"}
        settings |= {"NEARDUP_KEEP_START": False}
        for price in ("ten", "eleven", "eleven", "ten", "ten"):
            site.routes |= (paths := shop(*(f"{price} " * 5,), *"abcde"))
            delivered.append([path for path, *_ in crawl(Said, *paths, settings=settings).notes])
    assert delivered == [[*paths], ["/shop/0"], [], ["/shop/0"], []]


def test_a_page_that_the_crawl_has_met_keeps_its_entry(crawl, site, tmp_path):
    """What changes with each response isn't another version."""
    settings = {"NEARDUP_STORE": f"sqlite:{tmp_path}/pages.sqlite", "NEARDUP_KEEP_START": False}
    settings |= {"CONCURRENT_REQUESTS": 1}
    site.routes |= shop(1)
    site.routes["/other"] = does(lambda: site.routes.update(shop(2)))
    outcome = crawl(Said, "/shop/0", "/other", "/shop/0", settings=settings, sends=AGAIN)
    assert [note for note in outcome.notes if note[0] == "/shop/0"] == [
        ["/shop/0", False, "new"], ["/shop/0", True, "seen"],
    ]  # fmt: skip


@pytest.mark.parametrize("preset", ["best", "compact", "exact"])
def test_a_title_is_a_change(crawl, site, tmp_path, preset):
    settings = {"NEARDUP_STORE": f"sqlite:{tmp_path}/p.sqlite", "NEARDUP_PRESET": preset}
    for path in ("/a", "/b"):
        site.routes[path] = page(text(path, words=200), title=f"About {path}")
    crawl(Said, "/a", "/b", settings=settings)
    site.routes["/a"] = page(text("/a", words=200), title="Another title")
    notes = crawl(Said, "/a", "/b", settings=settings).notes
    assert [[path, is_changed] for path, is_changed, _ in notes] == [["/a", True], ["/b", False]]
