"""A page that names another one of its site as its canonical address."""

import pytest
from crawl_spiders import Visit
from site_server import page, text

BOTH = ["/print/1", "/print/2", "/a/1", "/a/2"]


@pytest.mark.parametrize(("paths", "prefer", "delivered"), [
    (BOTH, "first", ["/print/1", "/print/2"]),
    (BOTH, "canonical", BOTH),
    (["/a/1", "/print/1"], "canonical", ["/a/1"]),  # one that names another comes later
])  # fmt: skip
def test_it_is_compared_with_that_one_first(crawl, site, *, paths, prefer, delivered):
    for number in (1, 2):
        link = f'<link rel="canonical" href="/a/{number}">'
        site.routes[f"/print/{number}"] = page(text(f"{number}"), title="An article", head=link)
        site.routes[f"/a/{number}"] = page(text(f"{number}", 1), title="An article", head=link)
    outcome = crawl(Visit, *paths, settings={"NEARDUP_PREFER": prefer})
    assert sorted(outcome.notes) == sorted(delivered)
