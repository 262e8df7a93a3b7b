"""Claims about URLs in crawls: how they are tested, and what makes withheld requests."""

import pytest
import scrapy
from claim_crawls import (
    MANY,
    SID,
    UNCHECKED,
    Insisting,
    Listener,
    counted,
    show,
    told,
    variants,
)
from crawl_spiders import Visit

from scrapy_neardup.claims.claim import ENOUGH, NEEDED


def test_a_contradiction_ends_a_claim_and_makes_its_requests_in_the_order_of_finding(crawl, site):
    paths, last = variants(range(40)), "/p/3?sid=7"
    other = {path: f"own {path}" for path in [*paths[-10:], last] if "?" in path}
    show(site, *paths, last, text_of=other)
    insisting = [*paths, last]
    outcome = crawl(Insisting, *insisting, settings=UNCHECKED)
    seen, skipped, _ = told(outcome)
    assert set(other) <= set(seen)
    assert skipped == [path for path in paths[2 * NEEDED :] if "?" in path]
    again = site.requests[site.requests.index(last) + 1 :]
    assert [path for path in again if "start" not in path] == skipped
    stats = counted(outcome)
    assert stats["rules-ended"] == 2  # in the folder, and anywhere
    assert stats["requested-again"] == len(skipped)
    [line] = outcome.logged("WARNING")
    made = f"withheld requests that are made now: {len(skipped)} ("
    assert f"it isn't so that {SID} on /p/N; {made}" in line


@pytest.mark.parametrize("number", [NEEDED + 5, 2 * ENOUGH])
def test_before_it_ends_by_itself_a_crawl_tests_what_it_has_withheld(crawl, site, number):
    paths = show(site, *variants(range(number)))
    outcome = crawl(Listener, *paths, settings=UNCHECKED)
    assert sum("?" in path for path in site.requests) == min(number, ENOUGH)
    assert counted(outcome)["requested-again"] == min(number, ENOUGH) - NEEDED


def test_a_crawl_that_is_ended_says_what_it_has_withheld(crawl, site):
    paths = show(site, *variants(range(MANY)))
    settings = UNCHECKED | {"CLOSESPIDER_PAGECOUNT": 2 * NEEDED + 30}
    outcome = crawl(Listener, *paths, settings=settings)
    assert outcome.reason == "closespider_pagecount"
    assert "requested-again" not in counted(outcome)
    [line] = [line for line in outcome.logged("INFO") if "weren't made" in line]
    skipped = counted(outcome)["skipped"]
    assert f"{skipped} requests weren't made; 20 tested it, so that at most 15.0%" in line


class Failing(Visit):
    def page(self, response):
        if response.url.endswith("/p/bad"):
            raise ValueError("as it happens")
        yield from super().page(response)


def test_what_is_withheld_for_the_sake_of_a_page_that_fails_is_requested(crawl, site):
    paths = [*variants(range(40)), "/p/bad", "/p/bad?sid=1"]
    show(site, *paths)
    outcome = crawl(Failing, *paths, settings=UNCHECKED, errors=True)
    assert "/p/bad?sid=1" in outcome.notes


class Late(Visit):
    """A page asks for itself again and again while its variant is withheld, and fails then."""

    def page(self, response):
        path = self.path_of(response)
        if path != "/p/bad":
            yield from super().page(response)
            return
        yield scrapy.Request(response.urljoin("/p/bad?sid=1"), self.page, priority=1)
        yield scrapy.Request(response.urljoin("/p/0"), self.page, dont_filter=True)
        raise ValueError("as it happens")


def test_so_is_what_its_own_callback_yields(crawl, site):
    paths = [*variants(range(40)), "/p/bad"]
    show(site, *paths, "/p/bad?sid=1")
    outcome = crawl(Late, *paths, settings=UNCHECKED, errors=True)
    assert "/p/bad?sid=1" in outcome.notes
