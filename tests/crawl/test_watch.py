"""Warnings where a person should look, and the sum of a crawl."""

import logging

import pytest
from crawl_spiders import Visit
from site_server import page, text

from scrapy_neardup.crawl import watch
from scrapy_neardup.crawl.actions import Judged
from scrapy_neardup.crawl.watch import MANY_NEW, MANY_REPEATS, MAX_WARNINGS, WATCHED, Watch
from scrapy_neardup.verdict import Decision, Match, Reason, Verdict

HOST = "http://h.test"


def new():
    verdict = Verdict(decision=Decision.NEW, reason=Reason.UNMATCHED, page_id=0)
    return Judged(verdict=verdict, action="keep")


def duplicate(of=1, url="/product/0", count=2, action="drop"):
    match = Match(page_id=of, distance=0, url=url and HOST + url, count=count)
    verdict = Verdict(decision=Decision.DUPLICATE, reason=Reason.NEAR, page_id=0, match=match)
    return Judged(verdict=verdict, action=action)


@pytest.fixture
def warned(caplog):
    """Return a function from (path, judged) to the warnings of a crawl."""

    def run(pages):
        caplog.clear()
        watch = Watch(None)
        with caplog.at_level(logging.WARNING):
            for path, judged in pages:
                watch.page(HOST + path, judged)
        return [record.getMessage() for record in caplog.records]

    return run


def test_many_products_dropped_for_one_page_are_told_of_once(warned):
    pages = [(f"/product/{number}", duplicate()) for number in range(1, 3 * MANY_REPEATS)]
    assert warned(pages[:MANY_REPEATS]) == []
    [message] = warned(pages)
    assert message.startswith(f"More than {MANY_REPEATS} pages like /product/N are taken")
    assert f"{HOST}/product/{MANY_REPEATS + 1}: at distance 0 of {HOST}/product/0" in message
    assert "NEARDUP_TITLES" in message


@pytest.mark.parametrize("action", ["flag", "drop-links"])
def test_whatever_is_done_about_them(warned, action):
    judged = duplicate(action=action)
    assert (
        len(warned([(f"/product/{number}", judged) for number in range(1, 3 * MANY_REPEATS)])) == 1
    )


def test_session_ids_are_nothing_to_look_at(warned):
    judged = duplicate(url="/product")
    assert warned([(f"/product?sid={number}", judged) for number in range(3 * MANY_REPEATS)]) == []
    assert (
        warned([(f"/product;jsessionid={number}", judged) for number in range(3 * MANY_REPEATS)])
        == []
    )
    two = [
        (f"/product/{number % 2}?sid={number}", duplicate()) for number in range(3 * MANY_REPEATS)
    ]
    assert warned(two) == []


def test_pages_that_repeat_different_pages_are_nothing_to_look_at(warned):
    pages = [(f"/product/{number}", duplicate(of=number)) for number in range(3 * MANY_REPEATS)]
    assert warned(pages) == []


def test_where_the_store_keeps_no_urls_all_paths_count(warned):
    judged = duplicate(url=None)
    assert len(warned([(f"/product/{number}", judged) for number in range(3 * MANY_REPEATS)])) == 1


def test_hundreds_of_new_pages_of_one_pattern_are_told_of_once(warned):
    pages = [(f"/cal?month={number}", new()) for number in range(2 * MANY_NEW)]
    assert warned(pages[: MANY_NEW - 1]) == []
    [message] = warned(pages)
    assert message.startswith(f"{MANY_NEW} pages like /cal?month= are new, such as {HOST}/cal?")
    assert "NEARDUP_IGNORE" in message


def test_a_user_name_is_not_shown(warned):
    pages = [(f"@g.test/cal?month={number}", new()) for number in range(MANY_NEW)]
    [message] = warned(pages)
    assert "h.test" not in message


def test_there_are_a_few_warnings_and_no_more(warned):
    pages = [
        (f"/{'abcdefgh'[part]}/{number}", judged)
        for part in range(8)
        for number in range(2 * MANY_NEW)
        for judged in (new(), duplicate())
    ]
    assert len(warned(pages)) == 2 * MAX_WARNINGS


def test_what_is_remembered_is_bounded():
    watch = Watch(None)
    for number in range(3 * WATCHED):
        kind = "".join("abcdefghij"[int(digit)] for digit in str(number))
        watch.page(f"{HOST}/{kind}/1", new())
        watch.page(f"{HOST}/{kind}/2", duplicate(of=number))
    assert len(watch._new) == len(watch._crowds) == len(watch._repeated) == WATCHED


def test_a_pattern_that_keeps_coming_is_not_forgotten(warned):
    pages = []
    for number in range(MANY_NEW):
        kind = "".join("abcdefghij"[int(digit)] for digit in str(number))
        pages += [(f"/often/{number}", new()), *((f"/{kind}/{n}", new()) for n in "xyz")]
    assert len(pages) > 2 * WATCHED
    assert len(warned(pages)) == 1


def test_the_sum(caplog):
    caplog.set_level(logging.INFO)
    watch = Watch(None)
    watch.sum_up("REPORT shows all")
    assert not caplog.records
    watch.page(f"{HOST}/product/0", new())
    watch.sum_up("REPORT shows all")
    assert caplog.messages == [
        "Near-duplicates: 0 of 1 pages, which repeat 0 others; 0 were dropped"
    ]
    watch.page(f"{HOST}/product/1", duplicate(count=1))
    watch.page(f"{HOST}/product/2", duplicate(count=2, action="keep-start"))
    watch.page(f"{HOST}/about", duplicate(count=1))
    watch.sum_up("REPORT shows all")
    assert caplog.messages[-1] == (
        "Near-duplicates: 3 of 4 pages, which repeat 2 others; 2 were dropped; "
        "2 of them are like /product/N; REPORT shows all"
    )


def test_a_crawl_tells_both(crawl, site):
    for number in range(MANY_REPEATS + 3):
        site.routes[f"/product/{number}"] = page(text("a"))
    paths = [f"/product/{number}" for number in range(MANY_REPEATS + 3)]
    outcome = crawl(Visit, *paths)
    [warning] = outcome.logged("WARNING", watch.__name__)
    assert "pages like /product/N" in warning
    [told] = outcome.logged("INFO", watch.__name__)
    assert told == (
        f"Near-duplicates: {MANY_REPEATS + 2} of {MANY_REPEATS + 4} pages, which repeat 1 others; "
        f"{MANY_REPEATS + 2} were dropped; {MANY_REPEATS + 2} of them are like /product/N; "
        "NEARDUP_AUDIT lists all"
    )
