"""A store that can't open, fails or hangs."""

import pytest
from crawl_spiders import Impatient, Visit

PAGES = [f"/a/{number}" for number in range(1, 7)]


def test_a_store_that_cannot_open_ends_the_crawl_before_its_first_request(crawl, site, tmp_path):
    settings = {"NEARDUP_STORE": "toy://ann:secret@host/,refuse", "JOBDIR": str(tmp_path)}
    outcome = crawl(Visit, "/a/1", settings=settings, errors=True)
    assert site.requests == []
    assert outcome.reason == "neardup_store_error"
    assert outcome.error == ""
    assert outcome.logged("ERROR") == ["NEARDUP_STORE: host/,refuse is locked"]
    assert outcome.counted() == {}
    assert not any("secret" in text for _, _, text in outcome.log)


class Forbearing(Impatient):
    """Leaves a broken store alone to the end."""

    pause = 1000.0


@pytest.mark.parametrize("way", ["fail", "break", "hang"])
def test_pages_are_delivered_unjudged_while_the_store_fails(crawl, way):
    settings = {"NEARDUP_STORE": f"toy://ann:secret@{way}=*", "NEARDUP_TIMEOUT": "0.05"}
    outcome = crawl(Forbearing, *PAGES, settings=settings, errors=True)
    assert outcome.notes == PAGES
    counted = outcome.counted()
    failed = counted.pop("unjudged/timeout" if way == "hang" else "unjudged/store-error")
    errors = counted.pop("store/errors")
    assert counted == {"pages/checked": 7, "unjudged/not-html": 1, "unjudged/paused": 6 - failed}
    if way == "hang":
        # The store may have taken pages before it hung: that it doesn't confirm them is a
        # failure too.
        assert 2 <= failed <= 3 <= errors
    else:
        assert failed == errors == 3
    # The first failure is an error, the rest are counted.
    assert len(outcome.logged("ERROR")) == 1
    assert len(outcome.logged("WARNING")) == 1
    assert not any("secret" in text for _, _, text in outcome.log)


def test_a_page_that_was_added_without_an_answer_is_withdrawn_if_its_callback_fails(crawl):
    lost = {"NEARDUP_STORE": "toy:lose=check,recover=1"}
    outcome = crawl(Visit, "/a/1", "/a/2", "/a/3", **lost, fails=["/a/1"], errors=True)
    assert [item["path"] for item in outcome.items] == ["/a/1", "/a/2"]
    assert sum("forget" in line for line in outcome.journal) == 1


def test_a_page_that_was_added_without_an_answer_is_confirmed(crawl):
    outcome = crawl(Visit, "/a/1", NEARDUP_STORE="toy:lose=check,recover=1", errors=True)
    assert sum("confirm" in line for line in outcome.journal) == 1


def test_a_confirmation_that_fails_is_tried_again_at_the_end(crawl):
    outcome = crawl(Visit, "/a/1", "/a/2", NEARDUP_STORE="toy:fail=confirm,recover=1", errors=True)
    assert outcome.notes == ["/a/1"]
    verbs = [line.split()[0] for line in outcome.journal]
    verbs.remove("check")
    assert verbs in (
        ["open", "confirm", "check", "confirm", "close"],
        ["open", "check", "confirm", "confirm", "close"],
    )


@pytest.mark.parametrize("way", ["fail", "hang", "break"])
@pytest.mark.parametrize(("verb", "fails"), [("confirm", []), ("forget", ["/a/1", "/b/1"])])
def test_a_page_that_cannot_be_ended_does_not_hold_up_the_crawl(crawl, way, verb, fails):
    settings = {"NEARDUP_STORE": f"toy:{way}={verb}", "NEARDUP_TIMEOUT": 0.05}
    outcome = crawl(Visit, "/a/1", "/b/1", settings=settings, fails=fails, errors=True)
    assert outcome.notes == ["/a/1", "/b/1"]
    assert outcome.reason == "finished"
    assert outcome.counted()["store/errors"] >= 2
    assert outcome.journal[-1] == "close"


@pytest.mark.parametrize("way", ["fail", "break"])
def test_a_store_that_does_not_close_is_an_error(crawl, way):
    outcome = crawl(Visit, "/a/1", NEARDUP_STORE=f"toy://ann:secret@{way}=close", errors=True)
    assert outcome.reason == "finished"
    assert outcome.counted()["store/errors"] == 1
    assert not any("secret" in text for _, _, text in outcome.log)


@pytest.mark.parametrize("way", ["fail", "hang"])
def test_on_error_close(crawl, way):
    settings = {"NEARDUP_STORE": f"toy:{way}=check", "NEARDUP_TIMEOUT": 0.05}
    settings |= {"NEARDUP_ON_ERROR": "close"}
    outcome = crawl(Visit, *PAGES, settings=settings, errors=True)
    assert outcome.reason == "neardup_store_error"
    assert outcome.notes == ["/a/1"]


def test_pages_whose_judging_raises_anything_are_delivered_and_told_of_once_a_kind(crawl):
    outcome = crawl(Visit, *PAGES, settings={"NEARDUP_STORE": "toy:lie=check"}, errors=True)
    assert outcome.notes == PAGES
    assert outcome.counted() == {"pages/checked": 7, "unjudged/not-html": 1, "unjudged/error": 6}
    assert (outcome.reason, outcome.error, len(outcome.logged("ERROR"))) == ("finished", "", 1)


def test_what_others_post_on_the_notice_board_costs_no_page(crawl):
    outcome = crawl(Visit, *PAGES, settings={"NEARDUP_STORE": "toy:lie=exchange"})
    assert outcome.pages("checked", "dropped") == [7, 6 - len(outcome.notes)]


def test_a_page_that_cannot_be_told_of_goes_its_way(crawl):
    settings = {"NEARDUP_STORE": "toy:lie=match", "NEARDUP_PRESET": "paper"}
    outcome = crawl(Visit, *PAGES, settings=settings, errors=True)
    assert outcome.notes == PAGES[:1]
    assert outcome.pages("dropped") == [outcome.counted()["report/errors"]] == [5]
    # Of two kinds: in a report, and in URL rules.
    assert (outcome.reason, outcome.error, len(outcome.logged("ERROR"))) == ("finished", "", 2)
