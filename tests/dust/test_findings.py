"""Rules of a crawl that is over, and what other tools are told of them."""

import json
import re

from hypothesis import given
from hypothesis import strategies as st

from scrapy_neardup.dust.formats import deny_patterns, dud_rules
from scrapy_neardup.dust.hindsight import Finding, JudgedPage, findings
from scrapy_neardup.dust.urlparts import Parts
from scrapy_neardup.dust.urlrule import (
    CASE,
    EMPTY,
    PARAMETER,
    PATH_PARAMETER,
    SEGMENT,
    SLASH,
    VALUE,
    WWW,
    Rule,
)

HOST = "http://example.com"
SID = Rule(PARAMETER, "sid")


def crawl(*pages):
    """Return what an audit says of pages of (path, what it shows)."""
    first = {}
    for number, (path, shows) in enumerate(pages):
        of, content = first.setdefault(shows, (HOST + path, number))
        is_new = of == HOST + path
        yield JudgedPage(HOST + path, content, is_new, "" if is_new else of)


def pairs(times, form="{}?sid=1"):
    for number in range(times):
        yield f"/p/{number}", f"/p/{number}"
        yield form.format(f"/p/{number}"), f"/p/{number}"


def test_a_rule_is_counted_with_its_pairs_and_what_it_saves():
    found = findings(crawl(*pairs(30)))
    [finding] = found.rules
    assert (finding.rule, finding.support, finding.saved) == (SID, 30, 30)
    assert finding.holds
    assert finding.example == (f"{HOST}/p/0?sid=1", f"{HOST}/p/0")
    assert (found.pages, found.saved) == (60, 30)


def test_a_pair_that_came_before_the_rule_was_thought_of_contradicts_it():
    found = findings(crawl(("/x?sid=1", "one"), ("/x", "two"), *pairs(30)))
    assert not found.holding
    found = findings(crawl(*pairs(30), ("/x?sid=1", "one"), ("/x", "two")))
    [finding] = found.rules
    assert finding.contradictions == 1
    assert finding.counter == (f"{HOST}/x", f"{HOST}/x?sid=1")
    assert found.saved == 0


def test_printed_pages_that_bring_nothing_confirm_their_segment():
    pages = [(f"{where}/a/p{number}", number) for number in range(30) for where in ("", "/print")]
    judged = list(crawl(*[(path, shows if shows < 3 else path) for path, shows in pages]))
    assert not findings(judged).holding
    printed = [page._replace(brings="print" not in page.url) for page in judged]
    [finding] = findings(printed).rules
    assert (str(finding.rule), finding.holds, finding.saved) == ("/print/ has no effect", True, 30)


def test_rules_save_together_what_none_saves_alone():
    found = findings(crawl(*pairs(30), *pairs(30, "{}?utm_id=1&sid=2"), *pairs(30, "{}?utm_id=1")))
    assert {finding.rule.what for finding in found.holding} == {"sid", "utm_id"}
    assert found.saved == 90


def test_those_that_save_most_come_first_and_those_that_hold_before_others():
    contradicted = [("/a?utm_id=1", "one"), ("/a", "two")]
    pages = [*pairs(9, "{}?sid=1"), *pairs(30, "{}?jsessionid=1"), *pairs(40, "{}?utm_id=1")]
    found = findings(crawl(*pages, *contradicted))
    assert [finding.rule.what for finding in found.rules] == ["jsessionid", "sid", "utm_id"]


@given(st.lists(st.tuples(st.sampled_from(["/a", "/a?sid=1", "/b", "/b?x=1"]), st.integers(0, 2))))
def test_more_is_never_saved_than_there_is(pages):
    found = findings(crawl(*[(path, str(shows)) for path, shows in pages]))
    assert 0 <= found.saved <= found.pages == len(pages)


RULES = [
    (Rule(PARAMETER, "sid"), "/a?b=1&sid=2", "/a?asid=1"),
    (Rule(VALUE, "page=1"), "/a?page=1", "/a?page=12"),
    (Rule(PATH_PARAMETER, "s"), "/a;s=1/b", "/a;sx=1"),
    (Rule(SEGMENT, "print", None, 0), "/print/a", "/a/print"),
    (Rule(SEGMENT, "en_GB", "en", 1), "/docs/en_GB/", "/docs/en/"),
    (Rule(SEGMENT, "index.html", "", -1), "/a/b/index.html?x=1", "/a/index.html/b"),
    (Rule(EMPTY, "/calendar/N/N/"), "/calendar/2001/7/", "/calendar/2001/"),
    (Rule(EMPTY, "/find/*?q="), "/find/it?q=1", "/find/it"),
]


def test_patterns_to_deny_match_what_a_rule_changes():
    for rule, changed, other in RULES:
        [pattern], left = deny_patterns([Finding("example.com", rule)])
        assert not left
        assert re.search(pattern, HOST + changed), rule
        assert re.search(pattern, f"https://www.example.com{changed}"), rule
        assert not re.search(pattern, HOST + other), rule
        if rule.kind != EMPTY:
            for path in (changed, other):
                parts = Parts.of(HOST + path)
                assert (rule.apply(parts) != parts) == bool(re.search(pattern, HOST + path))


def test_what_no_pattern_says_is_left():
    others = [
        Finding("example.com", rule) for rule in (Rule(CASE), Rule(WWW), Rule(EMPTY, "…/h+/"))
    ]
    assert deny_patterns(others) == ([], others)


def test_rules_of_duplicate_url_discarder():
    rules = [Rule(PARAMETER, "sid"), Rule(PARAMETER, "ref"), Rule(SEGMENT, "print", None, 0)]
    rules += [Rule(WWW), Rule(SLASH)]
    written, left = dud_rules([Finding("example.com", rule) for rule in rules])
    assert not left
    assert json.loads(json.dumps(written)) == [
        {
            "order": 1,
            "urlPattern": {"include": ["example.com"]},
            "processor": "queryRemoval",
            "args": ["sid", "ref"],
        },
        {
            "order": 2,
            "urlPattern": {"include": ["example.com/print/"]},
            "processor": "subpathRemoval",
            "args": [0],
        },
        {"order": 3, "urlPattern": {"include": ["example.com"]}, "processor": "normalizer"},
    ]
    alone = [Finding("example.com", Rule(SLASH)), Finding("example.com", Rule(CASE))]
    assert dud_rules(alone) == ([], alone[::-1])
