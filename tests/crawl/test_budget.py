"""The first pages of a group of near-duplicates are delivered: `NEARDUP_GROUP_BUDGET`."""

import itertools

import pytest
from audits import verdicts
from crawl_spiders import Follow, Starts, Visit
from hypothesis import given
from hypothesis import strategies as st
from site_server import page, text
from store_registry import PLACES

from scrapy_neardup.crawl import groups
from scrapy_neardup.crawl.groups import GroupBudget
from scrapy_neardup.verdict import Match

THREE = {"NEARDUP_GROUP_BUDGET": 3}


# ---- the rule ------------------------------------------------------------------------------

ENTRY = 1000


@given(st.integers(1, 6), st.lists(st.integers(0, 9), max_size=40))
def test_the_first_pages_of_a_group_are_kept_however_often_they_come(pages, arrivals):
    keeper = GroupBudget(pages)
    first = list(dict.fromkeys(arrivals))[: pages - 1]
    for count, arrival in enumerate(arrivals, 1):
        match = Match(page_id=ENTRY, distance=0, count=count)
        assert keeper.admits(arrival, match) == (arrival in first)


def test_groups_do_not_share_places_and_without_a_count_none_is_given_out():
    assert not GroupBudget(5).admits(1, Match(page_id=ENTRY, distance=0))
    keeper = GroupBudget(2)
    for entry in range(3):
        match = Match(page_id=entry, distance=0, count=1)
        assert keeper.admits(7, match)  # a page that changes may be of several groups
        assert not keeper.admits(8, Match(page_id=entry, distance=0, count=2))


def test_an_entry_made_anew_begins_a_group():
    keeper = GroupBudget(3)
    for page_ids, refused in (((1, 1, 1, 2, 3), 3), ((3, 4, 1), 1)):
        for count, page_id in enumerate(page_ids, 1):
            admitted = keeper.admits(page_id, Match(page_id=ENTRY, distance=0, count=count))
            assert admitted == (page_id != refused)


def test_what_is_remembered_is_bounded(monkeypatch):
    monkeypatch.setattr(groups, "REMEMBERED_MEMBERS", 10)
    keeper = GroupBudget(4)
    for entry, count in itertools.product(range(8), range(1, 4)):
        assert keeper.admits(10 * entry + count, Match(page_id=entry, distance=0, count=count))
    again = {entry: keeper.admits(10 * entry + 1, Match(page_id=entry, distance=0, count=4))
             for entry in range(8)}  # fmt: skip
    assert again == {entry: entry >= 5 for entry in range(8)}


@pytest.fixture(params=["memory", "sqlite", "redis", "redis-cluster"])
def stored(request):
    with PLACES[request.param]() as place:
        yield {"NEARDUP_STORE": place.uri}


PATHS = [f"/{group}/{variant}" for variant in range(1, 6) for group in "ab"]


def test_each_group_has_its_budget(crawl, stored):
    outcome = crawl(Visit, *PATHS, settings=stored | THREE)
    assert outcome.notes == PATHS[:6]
    assert outcome.pages("new", "duplicate", "kept-budget", "dropped") == [2, 8, 4, 4]


def test_a_later_run_goes_on_with_the_budget(crawl, tmp_path):
    kept = {"NEARDUP_STORE": f"sqlite:{tmp_path / 'pages.sqlite'}"} | THREE
    assert crawl(Visit, "/a/1", "/a/2", settings=kept).notes == ["/a/1", "/a/2"]
    assert crawl(Visit, "/a/3", "/a/4", settings=kept).notes == ["/a/3"]
    # The stored page itself is seen; one that was kept beside it counts as another.
    assert crawl(Visit, "/a/1", "/a/2", settings=kept).notes == ["/a/1"]


def test_short_pages_have_groups_too(crawl, site):
    paths = [f"/login/{number}" for number in range(1, 5)]
    site.routes |= dict.fromkeys(paths, page("please log in to see this page"))
    assert crawl(Visit, *paths, settings=THREE).notes == paths[:3]


@pytest.mark.parametrize(("action", "stat"), [
    ("drop", "links/withheld"), ("flag", "links/withheld"), ("drop-links", "requests/dropped"),
    ("drop-items", "items/dropped"), ("deprioritize", "requests/deprioritized"),
])  # fmt: skip
def test_each_action_spares_what_is_within_the_budget(crawl, site, audit, action, stat):
    paths = {f"/a/{n}": page(text("a", n), f"/child{n}/1") for n in range(1, 5)}
    site.routes |= paths
    outcome = crawl(Follow, *paths, **THREE, NEARDUP_ACTION=action, NEARDUP_AUDIT=str(audit))
    assert outcome.counted()[stat] == 1
    assert outcome.pages("kept-budget") == [2]
    spared = {path for number in range(1, 4) for path in (f"/a/{number}", f"/child{number}/1")}
    assert spared <= set(outcome.notes)
    assert spared <= {item["path"] for item in outcome.items}
    actions = [line["action"] for line in verdicts(audit) if "/a/" in line["page"]]
    assert actions == ["keep", "keep-budget", "keep-budget", action]


def test_a_group_ends_with_the_processing_of_its_first_page(crawl):
    settings, fails = {"NEARDUP_GROUP_BUDGET": 2}, ["/a/1"]
    outcome = crawl(Visit, *PATHS[::2], settings=settings, fails=fails, errors=True)
    assert outcome.notes == PATHS[:6:2]
    assert outcome.pages("orphaned") == [0]


def test_start_requests_count(crawl):
    outcome = crawl(Starts, *PATHS[::2], settings=THREE)
    assert outcome.notes == PATHS[::2]
    assert outcome.pages("kept-budget", "kept-start") == [2, 2]
