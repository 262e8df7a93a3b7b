"""Records in a crawl: those that were dropped before they were known are requested again."""

from itertools import count

import pytest
from crawl_spiders import ONE_BY_ONE, Visit
from site_server import Answer, page, pages, text

from scrapy_neardup.crawl.experiments.ownrequests import HANDFUL

CITIES = [
    "Berlin", "Oslo", "Lima", "Quito", "Delhi", "Cairo", "Paris", "Rome", "Bern", "Graz", "Linz",
    "Vienna", "Bonn", "Nice",
]  # fmt: skip


def jobs(site, *cities, tag="em"):
    """Serve pages that differ only in a city."""
    job = f"<h1>Cook</h1><{tag}>{{}}</{tag}><p>{text('cook', words=120)}</p>"
    shown = {f"/jobs/9{n}": page(job.format(city), title="Job") for n, city in enumerate(cities)}
    site.routes |= shown
    return [*shown]


def test_pages_that_turn_out_to_be_records_are_requested_again(crawl, site):
    paths = [*pages(site, "jobs", 12), *jobs(site, *CITIES[:9], tag="p")]
    outcome = crawl(Visit, *paths, settings=ONE_BY_ONE)
    assert outcome.counted()["records/requested-again"] > 0
    assert set(outcome.notes) == {*paths}


@pytest.mark.parametrize("store", ["memory:", "toy:slow"])
@pytest.mark.parametrize("after", [0, 8], ids=["at the end", "before other pages"])
def test_records_need_no_more_drops_once_a_second_response_shows_them(crawl, site, store, after):
    paths = [*pages(site, "jobs", 12), *jobs(site, *CITIES[:5]), *pages(site, "rest", after)]
    outcome = crawl(Visit, *paths, settings=ONE_BY_ONE | {"NEARDUP_STORE": store})
    assert set(outcome.notes) == {*paths}
    assert outcome.reason == "finished"


@pytest.mark.parametrize("number", [5, len(CITIES)])
def test_a_second_response_that_fails_is_asked_for_once_more(crawl, site, number):
    first, shown = pages(site, "jobs", 12), jobs(site, *CITIES[:number])
    fails = iter([True])

    def answer(shows):
        asked = count(1)
        return lambda _: Answer(status=503) if next(asked) == 2 and next(fails, 0) else shows

    site.routes |= {path: answer(site.routes[path]) for path in shown}
    outcome = crawl(Visit, *first, *shown, settings=ONE_BY_ONE)
    assert next(fails, None) is None
    assert set(outcome.notes) == {*first, *shown}


def test_second_requests_for_other_places_do_not_spend_those_for_records(crawl, site):
    sections = [path for name in "abcdefghijklmno" for path in pages(site, name * 3, 6)]
    paths = [*sections, *pages(site, "jobs", 12), *jobs(site, *CITIES)]
    outcome = crawl(Visit, *paths, settings=ONE_BY_ONE)
    counts = outcome.counted()
    assert counts["experiments/refetched"] == HANDFUL / 2  # all that they may spend
    assert counts["experiments/doubts"] == 1
    assert set(outcome.notes) == {*paths}


def test_without_experiments_no_request_is_made_for_records(crawl, site):
    paths = [*pages(site, "jobs", 12), *jobs(site, *CITIES)]
    outcome = crawl(Visit, *paths, settings=ONE_BY_ONE | {"NEARDUP_EXPERIMENTS": 0})
    assert len(site.requests) == 1 + len(paths)
    assert "experiments/doubts" not in outcome.counted()


def test_records_that_were_dropped_before_a_pause_are_requested_again(crawl, site, tmp_path):
    paths, shown = pages(site, "jobs", 12), jobs(site, *CITIES)
    settings = ONE_BY_ONE | {"JOBDIR": str(tmp_path / "job"), "NEARDUP_HASH_KEY": "public"}
    first = crawl(Visit, *paths, *shown[:4], settings=settings)
    assert set(first.notes) == {*paths, shown[0]}
    second = crawl(Visit, *shown[4:], settings=settings)
    assert set(second.notes) == {*shown[1:]}


def test_copies_of_a_record_are_not_requested_again_with_the_other_records(crawl, site):
    shown = jobs(site, *["Berlin"] * 6, *CITIES[1:9], tag="p")
    first = pages(site, "jobs", 12)
    outcome = crawl(Visit, *first, *shown, settings=ONE_BY_ONE)
    assert set(outcome.notes) == {*first, *shown}.difference(shown[1:6])
