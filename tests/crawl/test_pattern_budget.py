"""A budget for patterns whose pages bring next to nothing new."""

import pytest
from claim_crawls import SKIP, counted
from crawl_spiders import Visit
from site_server import page, text


def months(site, number):
    """Serve months that differ in little, and texts that differ in all."""
    same, half = (text("the same", words=words) for words in (200, 100))
    paths = []
    for each in range(number):
        thread, month = f"/thread/{each}", f"/month/{each}"
        site.routes[thread] = page(half + text(thread, words=100))
        site.routes[month] = page(f"{same}<p>january{each} friday{each}</p>")
        paths += [thread, month]
    return paths


BUDGET = SKIP | {"NEARDUP_PATTERN_BUDGET": 10, "NEARDUP_ACTION": "flag"}


@pytest.mark.parametrize("urls", ["report", "skip"])
def test_a_budget_ends_patterns_that_bring_nothing_new_and_tests_that(crawl, site, urls):
    paths = months(site, 160)
    outcome = crawl(Visit, *paths, settings=BUDGET | {"NEARDUP_URLS": urls})
    met = set(site.requests)
    assert {path for path in paths if path.startswith("/thread/")} <= met
    spent = [path for path in paths if path.startswith("/month/") and path not in met]
    assert len(spent) > 50
    assert counted(outcome)["explored"] > 5
    assert any("/month/N: pages bring next to nothing" in line for line in outcome.logged("INFO"))


def test_a_budget_holds_over_a_pause(crawl, site, tmp_path):
    paths = months(site, 120)
    settings = BUDGET | {"NEARDUP_URLS_EXPLORE": 0, "JOBDIR": str(tmp_path)}
    pages = {"CLOSESPIDER_PAGECOUNT": 150}
    crawl(Visit, *paths[:200], settings=settings | pages)
    before = len(site.requests)
    outcome = crawl(Visit, *paths[200:], settings=settings | pages)
    assert counted(outcome)["skipped"]
    assert "rules-begun" not in counted(outcome)  # it was known
    assert len(site.requests) > before
