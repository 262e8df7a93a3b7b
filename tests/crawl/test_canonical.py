"""A page that names another one of its site as its canonical address."""

import pytest
from crawl_spiders import Visit
from site_server import page, text


@pytest.fixture(autouse=True)
def pages(site):
    for number in (1, 2):
        link = f'<link rel="canonical" href="/a/{number}">'
        site.routes[f"/print/{number}"] = page(text(f"{number}"), title="A print", head=link)
        site.routes[f"/a/{number}"] = page(text(f"{number}", 1), title="An article", head=link)


@pytest.mark.parametrize(
    ("prefer", "delivered"),
    [("first", ["/print/1", "/print/2"]), ("canonical", ["/print/1", "/print/2", "/a/1", "/a/2"])],
)
def test_it_is_compared_with_that_one_first(crawl, prefer, delivered):
    paths = ["/print/1", "/print/2", "/a/1", "/a/2"]
    outcome = crawl(Visit, *paths, settings={"NEARDUP_PREFER": prefer})
    assert sorted(outcome.notes) == sorted(delivered)


def test_the_page_that_names_another_one_is_dropped_when_it_comes_later(crawl):
    outcome = crawl(Visit, "/a/1", "/print/1", settings={"NEARDUP_PREFER": "canonical"})
    assert outcome.notes == ["/a/1"]
