"""Claims about URLs outlive a pause, and crawlers of one store share them."""

import itertools

import pytest
from claim_crawls import SKIP, UNCHECKED, Insisting, Listener, counted, show, told, variants
from crawl_spiders import Visit
from redis_servers import shared_server

from scrapy_neardup.claims.claim import NEEDED

names = (f"claims{number}" for number in itertools.count())


@pytest.mark.parametrize("goes_on", ["a run that is resumed", "a crawler of the same store"])
def test_another_one_goes_on_with_the_claims(crawl, site, tmp_path, goes_on):
    first, second = variants(range(40)), variants(range(200, 220))
    show(site, *first, *second)
    settings = UNCHECKED | {"JOBDIR": str(tmp_path)}
    if "store" in goes_on:
        settings = UNCHECKED | {
            "NEARDUP_STORE": shared_server().uri, "NEARDUP_NAMESPACE": next(names)
        }  # fmt: skip
    crawl(Visit, *first, settings=settings)
    outcome = crawl(Visit, *second, settings=settings)
    # The first request of each callback and pattern is made in each crawl.
    assert counted(outcome)["skipped"] == 20 - ("store" in goes_on)
    assert (tmp_path / "neardup.claims").exists() == ("run" in goes_on)


def test_a_later_crawl_gets_the_page_that_all_others_of_a_pattern_repeat(crawl, site, tmp_path):
    first, *others = paths = [f"/list/{number}" for number in range(200)]
    show(site, *paths, text_of=dict.fromkeys(paths, "the same"))
    settings = SKIP | {"NEARDUP_STORE": f"sqlite:{tmp_path}/pages.db"}
    for order in (paths, [*others[:50], first, *others[50:]]):
        outcome = crawl(Visit, *order, settings=settings)
        assert outcome.notes == [first]
        assert counted(outcome)["skipped"] > 50


def test_two_crawlers_at_once_end_a_claim_that_one_of_them_sees_contradicted(crawl, site):
    shared = {"NEARDUP_STORE": shared_server().uri, "NEARDUP_NAMESPACE": next(names)}
    first, second = variants(range(40)), variants(range(200, 240))
    last = "/p/201?sid=7"
    show(site, *first, *second, last, text_of={last: "own"})
    crawl(Visit, *first, settings=UNCHECKED | shared)
    outcome = crawl(Insisting, *second, last, settings=UNCHECKED | shared)
    assert counted(outcome)["rules-ended"] == 2
    third = show(site, *variants(range(300, 320)))
    assert "skipped" not in counted(crawl(Visit, *third, settings=UNCHECKED | shared))


@pytest.mark.parametrize(("spider", "then", "settings"), [
    (Insisting, ["/p/3?sid=7"], {}),  # which contradicts the claim
    (Listener, [], {"NEARDUP_URLS": "report"}), (Listener, [], {"NEARDUP_URLS": "off"}),
])  # fmt: skip
def test_what_was_withheld_before_a_pause_is_requested_if_its_claim_ends_or_is_not_used(
    crawl, site, tmp_path, *, spider, then, settings
):
    paths = variants(range(40))
    show(site, *paths, *then, text_of=dict.fromkeys(then, "own"))
    job = UNCHECKED | {"JOBDIR": str(tmp_path)}
    first = crawl(Listener, *paths, **job, CLOSESPIDER_PAGECOUNT=2 * NEEDED + 15)
    assert first.reason == "closespider_pagecount"
    assert "requested-again" not in counted(first)  # only a crawl that ends by itself tests them
    skipped = told(first)[1]
    assert skipped
    outcome = crawl(spider, *then, settings=job | settings)
    assert counted(outcome).get("rules-ended", 0) == 2 * len(then)
    assert set(skipped) <= set(site.requests)


def test_a_file_that_cannot_be_read_is_ignored_with_a_word(crawl, site, tmp_path):
    (tmp_path / "neardup.claims").write_bytes(b"cut off")
    paths = show(site, *variants(range(NEEDED + 5)))
    outcome = crawl(Listener, *paths, settings=UNCHECKED | {"JOBDIR": str(tmp_path)})
    assert any("neardup.claims can't be read" in line for line in outcome.logged("WARNING"))
    assert counted(outcome)["skipped"] == 5


def test_a_file_that_cannot_be_written_leaves_the_one_before_it(crawl, site, tmp_path):
    settings, paths = UNCHECKED | {"JOBDIR": str(tmp_path)}, show(site, *variants(range(40)))
    crawl(Listener, *paths, settings=settings | {"CLOSESPIDER_PAGECOUNT": 2 * NEEDED + 15})
    file = tmp_path / "neardup.claims"
    before = file.read_bytes()
    file.with_suffix(".part").mkdir()  # as if there were no room
    outcome = crawl(Listener, settings=settings)
    assert any("Claims can't be kept" in line for line in outcome.logged("WARNING"))
    assert file.read_bytes() == before
