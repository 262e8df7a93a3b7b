"""Warnings where a person should look, and the sum of a crawl."""

import logging
from dataclasses import replace
from itertools import permutations

import pytest
from audits import events, verdicts
from crawl_spiders import Visit
from site_server import page, text

from scrapy_neardup.crawl import pagestate, patternwarnings
from scrapy_neardup.crawl.patternwarnings import (
    MANY_NEW,
    MANY_REPEATS,
    MAX_WARNINGS,
    WATCHED,
    PatternWarnings,
)
from scrapy_neardup.judge.comparison import Rule
from scrapy_neardup.report.differences import MAX_GROUPS
from scrapy_neardup.text import Content
from scrapy_neardup.verdict import Decided, Decision, Match, Reason, Verdict

HOST = "http://h.test"


def new():
    verdict = Verdict(decision=Decision.NEW, reason=Reason.UNMATCHED, page_id=0)
    return pagestate.Visit(verdict=verdict, action="keep")


def duplicate(of=1, url="/product/0", count=2, action="drop", text=None):
    match = Match(page_id=of, distance=0, url=url and HOST + url, count=count)
    verdict = Verdict(decision=Decision.DUPLICATE, reason=Reason.NEAR, page_id=0, match=match)
    content = text and Content.of_text(text, title="Title")
    return pagestate.Visit(verdict=verdict, action=action, content=content)


@pytest.fixture
def warned(caplog):
    def run(pages):
        caplog.clear()
        warnings = PatternWarnings(None)
        with caplog.at_level(logging.WARNING):
            for path, judged in pages:
                warnings.page(HOST + path, judged)
        return [record.getMessage() for record in caplog.records]

    return run


def test_many_products_dropped_for_one_page_are_told_of_once(warned):
    pages = [(f"/product/{number}", duplicate()) for number in range(1, 3 * MANY_REPEATS)]
    assert warned(pages[:MANY_REPEATS]) == []
    [message] = warned(pages)
    assert message.startswith(f"More than {MANY_REPEATS} pages like /product/N are taken")
    assert f"{HOST}/product/{MANY_REPEATS + 1}, which repeats {HOST}/product/0" in message
    assert "NEARDUP_DENY" in message


@pytest.mark.parametrize(("path", "known", "count"), [
    ("/product/{}", {"action": "flag"}, 1),
    ("/product/{}", {"action": "drop-links"}, 1),
    ("/product/{}", {"url": None}, 1),  # where the store keeps none, all paths count
    ("/product?sid={}", {"url": "/product"}, 0),
    ("/product;jsessionid={}", {"url": "/product"}, 0),
])  # fmt: skip
def test_paths_count_and_session_ids_do_not(warned, path, known, count):
    pages = [(path.format(number), duplicate(**known)) for number in range(1, 3 * MANY_REPEATS)]
    assert len(warned(pages)) == count


def test_few_paths_and_pages_that_repeat_different_ones_are_nothing_to_look_at(warned):
    numbers = range(3 * MANY_REPEATS)
    assert warned([(f"/product/{n % 2}?sid={n}", duplicate()) for n in numbers]) == []
    assert warned([(f"/product/{n}", duplicate(of=n)) for n in numbers]) == []


CITIES = ("Berlin", "Munich", "Hamburg", "Bonn", "Essen")


def ads(path="/jobs/{}", cities=CITIES, **known):
    """Return pages that repeat one page, but for the name of a city."""
    return [
        (path.format(number), duplicate(text=f"Work in {city}, full time", **known))
        for number, city in enumerate(cities, 1)
    ]


def test_a_group_whose_pages_differ_in_little_is_told_of_at_its_fifth_page(warned):
    pages = ads(url="/jobs/0")
    assert warned(pages[:3]) == []
    [message] = warned(pages[:4])
    assert message == (
        "Pages like /jobs/N are taken for near-duplicates of each other, but differ in a"
        f" few words (Berlin, Munich, Hamburg): {HOST}/jobs/4 repeats {HOST}/jobs/0 (distance 0)."
        ' If they are different pages to you, set NEARDUP_PRESET = "exact"'
    )
    assert warned(ads(url="/jobs/0", action="flag") * 3) == [message]


@pytest.mark.parametrize("rule", [Rule.EQUAL, Rule.ALIKE])
@pytest.mark.parametrize("learnt", [(), ("changing",)])
def test_pages_that_differ_in_what_changes_by_itself_are_nothing_to_look_at(warned, rule, learnt):
    pages = ads(url="/jobs/0")
    for _, visit in pages:
        decided = Decided(is_same=True, rule=rule, learnt=learnt)
        match = replace(visit.verdict.match, decided=decided)
        visit.verdict = replace(visit.verdict, match=match)
    assert bool(warned(pages)) == (rule is not Rule.EQUAL or not learnt)


def test_the_setting_that_keeps_all_copies_is_advised_for_pages_of_one_path_pattern(warned):
    [of_one] = warned(ads("/p/7?city={}", url="/p/7"))
    assert "near-duplicates of pages like /p/N, but" in of_one
    assert of_one.endswith('set NEARDUP_PRESET = "exact"')
    [of_two] = warned(ads("/jobs/{}", url="/archive/7"))
    assert "like /jobs/N are taken for near-duplicates of pages like /archive/N, but" in of_two
    assert of_two.endswith("to you, set NEARDUP_DENY to a pattern of their addresses")


@pytest.mark.parametrize("order", [*permutations(range(3))], ids=str)
@pytest.mark.parametrize(("colour", "count"), [("red", 0), ("green", 1)])
def test_originals_and_their_printed_copies_are_nothing_to_look_at(warned, order, colour, count):
    """Articles in two sessions and in print; in one of two runs a session shows another colour."""
    pages = []
    for number in range(1, 9):
        article = f"/article/{number}?sid="
        texts = [
            (f"{article}1", f"The red lamp {number}. Print"),
            (f"/print/{number}", f"The red lamp {number}."),
            (f"{article}2", f"The {colour} lamp {number}. Print"),
        ]
        known = {"of": number, "url": f"{article}0"}
        pages += [
            (path, duplicate(text=each, **known)) for path, each in map(texts.__getitem__, order)
        ]
    assert len(warned(pages)) == count


@pytest.mark.parametrize(("pages", "count"), [
    # Pages of one path count if a parameter tells them apart, whatever its name.
    (ads("/cars?id={}", url="/cars?id=0"), 1),
    (ads("/product?sid=a{}", url="/product"), 1),
    (ads("/product", url="/product"), 0),
    # A page that names its own address is no other page.
    ([(f"/old/{city}", duplicate(text=f"no /old/{city} here")) for city in CITIES], 0),
    # Pages of different groups are not compared.
    ([pair for n in range(5) for pair in ads(cities=CITIES[n : n + 3], of=n)], 0),
    # Many pages that were named are not told of again.
    (ads(cities=[f"Town{number}" for number in range(3 * MANY_REPEATS)]), 1),
])  # fmt: skip
def test_which_groups_differ_in_a_few_words(warned, pages, count):
    assert len(warned(pages)) == count


def test_what_a_group_differs_in_is_returned_whether_or_not_it_is_logged():
    warnings = PatternWarnings(None)
    groups = [ads(f"/{kind}/{{}}", of=number) for number, kind in enumerate("abcdefgh")]
    told = [warnings.page(HOST + path, judged) for group in groups for path, judged in group]
    assert sum(difference is not None for difference in told) == len(groups)
    assert len(warnings._warned["differ"]) == MAX_WARNINGS


def test_hundreds_of_new_pages_of_one_pattern_are_told_of_once(warned):
    pages = [(f"/cal?month={number}", new()) for number in range(2 * MANY_NEW)]
    assert warned(pages[: MANY_NEW - 1]) == []
    [message] = warned(pages)
    assert message.startswith(f"{MANY_NEW} pages like /*?month= are new, such as {HOST}/cal?")
    assert "DEPTH_LIMIT" in message
    assert "NEARDUP_DENY" not in message  # that would only leave such pages unjudged


@pytest.mark.parametrize(("path", "count"), [
    ("/month/{}/", 1), ("/shop/w{}?page=2", 1), ("/wiki/w{}", 0), ("/w{}/", 0), ("/t/w{}/7", 0),
])  # fmt: skip
def test_pages_that_differ_in_their_names_may_be_hundreds(path, count, warned):
    assert len(warned([(path.format(number), new()) for number in range(2 * MANY_NEW)])) == count


def test_where_every_character_counts_no_setting_is_named_that_loses_pages(crawl, caplog):
    warnings = PatternWarnings(None, advises=False)
    for number in range(MANY_NEW + 50):
        warnings.page(f"{HOST}/cal?month={number}", new())
    [message] = caplog.messages
    assert message.endswith(f"such as {HOST}/cal?month={MANY_NEW - 1}")


def test_a_user_name_is_not_shown(warned):
    [message] = warned([(f"@g.test/cal?month={number}", new()) for number in range(MANY_NEW)])
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
    warnings = PatternWarnings(None)
    for number in range(3 * WATCHED):
        kind = "".join("abcdefghij"[int(digit)] for digit in str(number))
        warnings.page(f"{HOST}/{kind}/1", new())
        warnings.page(f"{HOST}/{kind}/2", duplicate(of=number, text="text"))
    assert len(warnings._new) == len(warnings._crowds) == len(warnings._repeated) == WATCHED
    assert len(warnings._alike._groups) == MAX_GROUPS


def test_a_pattern_that_keeps_coming_is_not_forgotten(warned):
    pages = []
    for number in range(MANY_NEW):
        kind = "".join("abcdefghij"[int(digit)] for digit in str(number))
        pages += [(f"/often/{number}", new()), *((f"/{kind}/{n}", new()) for n in "xyz")]
    assert len(pages) > 2 * WATCHED
    assert len(warned(pages)) == 1


def test_the_sum(caplog):
    caplog.set_level(logging.INFO)
    warnings = PatternWarnings(None)
    warnings.sum_up("REPORT shows them")
    [message] = caplog.messages
    assert message.startswith("Near-duplicates: no response was a page; ")
    warnings.page(f"{HOST}/product/0", new())
    warnings.sum_up("REPORT shows them")
    assert caplog.messages[1:] == ["Near-duplicates: 0 of 1 pages; groups: 0; dropped: 0"]
    warnings.page(f"{HOST}/product/1", duplicate(count=1))
    warnings.page(f"{HOST}/product/2", duplicate(count=2, action="keep-start"))
    warnings.page(f"{HOST}/about", duplicate(count=1))
    warnings.sum_up("REPORT shows them")
    assert caplog.messages[-1] == (
        "Near-duplicates: 3 of 4 pages; groups: 2; dropped: 2; "
        "most frequent pattern: /product/N (2); REPORT shows them"
    )


def test_pages_that_were_not_judged_are_in_the_sum(caplog):
    caplog.set_level(logging.INFO)
    warnings = PatternWarnings(None)
    for number in range(3):
        warnings.page(f"{HOST}/api/{number}", pagestate.Visit())
    warnings.sum_up("REPORT shows them")
    [message] = caplog.messages
    assert message.endswith("dropped: 0; not judged: 3 (neardup/unjudged/REASON)")


def test_a_crawl_names_what_a_group_differs_in(crawl, site, audit):
    jobs = {f"/jobs/{number}": page(f"{text('ad', words=500)} Work in {city}", title="")
            for number, city in enumerate(CITIES)}  # fmt: skip
    site.routes |= jobs
    outcome = crawl(Visit, *jobs, NEARDUP_AUDIT=str(audit), NEARDUP_LEARN=["boilerplate"])
    [warning] = outcome.logged("WARNING", patternwarnings.__name__)
    assert "differ in a few words (Munich, Hamburg, Bonn)" in warning
    [event] = events(audit, "differ")
    assert event["of"] == f"{site.url}/jobs/0"
    assert event["difference"] == "a few words (Munich, Hamburg, Bonn)"
    assert "text" not in verdicts(audit)[-1]
    [told] = outcome.logged("INFO", patternwarnings.__name__)
    assert told == (
        "Near-duplicates: 4 of 6 pages; groups: 1; dropped: 4; not judged: 1"
        " (neardup/unjudged/REASON); most frequent pattern: /jobs/N (4);"
        f" 'scrapy-neardup report {audit}' shows them"
    )
