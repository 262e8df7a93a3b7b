"""The claims that a crawl has used, and what other tools are told of them."""

import json
import re

import pytest

from scrapy_neardup.claims.claim import NEEDED, Claim, State
from scrapy_neardup.claims.claimbook import ANYWHERE, ClaimBook, Key
from scrapy_neardup.claims.host import Host
from scrapy_neardup.claims.part import (
    CASE,
    PARAMETER,
    PATH_PARAMETER,
    PATTERN,
    SEGMENT,
    SLASH,
    SPENT,
    WWW,
    Part,
)
from scrapy_neardup.claims.urlparts import Parts
from scrapy_neardup.claims.usedclaims import (
    UsedClaim,
    deny_patterns,
    dud_rules,
    exceptions,
    of_audit,
    of_notices,
)
from scrapy_neardup.errors import InputError
from scrapy_neardup.report.summary import entries as audited

HOST = "http://example.com"
SID = Part(PARAMETER, "sid")


def used(place, part, host="example.com"):
    return UsedClaim(host, Key(place, part), Claim(streak=60))


def entry(place="/p/N", part=SID, **more):
    return {
        "event": "claim", "host": "example.com", "place": place, "part": list(part), "streak": 20,
        "ended": 0, "covered": 5, "withheld": 3, "checks": 8, "example": ["a", "b"],
    } | more  # fmt: skip


def test_claims_of_several_audits_are_added_up():
    first, second = entry(), entry(streak=30, ended=1, covered=7, checks=10, example=None)
    [claim] = of_audit([first, second])
    summed = Claim(State.IN_FORCE, streak=30, ended=1, covered=12, withheld=6, checks=10)
    assert claim == UsedClaim("example.com", Key("/p/N", SID), summed)


def test_those_that_cover_the_most_come_first_by_host():
    entries = [
        entry("/a/N", covered=5), entry("/b/N", covered=6), entry("/c/N", covered=1, host="z.org"),
        entry("/d/N", covered=20, host="y.org"),
    ]  # fmt: skip
    assert [claim.key.place for claim in of_audit(entries)] == ["/d/N", "/b/N", "/a/N", "/c/N"]


@pytest.mark.parametrize("wrong", [
    *({"part": part} for part in (
        1, [], ["parameter"], ["x", "sid", None, 0], ["parameter", 7, None, 0],
        ["segment", "a", [], 0], ["segment", "a", "b", "0"], [{}, "a", None, 0],
    )),
    {"example": 1}, {"example": ["a"]},
])  # fmt: skip
def test_what_is_no_claim_is_refused(wrong):
    with pytest.raises(ValueError, match=r"not a pa[ir]"):
        of_audit([entry() | wrong])
    with pytest.raises(InputError, match="x, line 1: not a line of an audit"):
        list(audited([json.dumps(entry(time="2026-01-01") | wrong).encode()], "x"))


def test_claims_in_force_that_crawlers_have_posted():
    host = Host()
    for number in range(NEEDED):
        for path in (f"/p/{number}", f"/p/{number}?sid={number}"):
            match = Parts.of(f"{HOST}/p/{number}") if "?" in path else None
            host.learn(Parts.of(HOST + path), number, is_new=match is None, match=match)
    notices = [
        ("urls example.com", host.claims.dump()),
        ("urls example.com of a job", host.claims.dump()),
        ("//example.com", host.claims.dump()),
        ("urls other.example", b"unreadable"),
    ]
    [claim] = of_notices(notices)
    assert (claim.host, claim.key, claim.claim.streak) == ("example.com", Key("/p/N", SID), NEEDED)
    assert claim.claim.example == (f"{HOST}/p/0?sid=0", f"{HOST}/p/0")
    assert Key(ANYWHERE, SID) in host.claims


def dumped(**places):
    book = ClaimBook()
    for place, claim in places.items():
        book[Key(ANYWHERE if place == "anywhere" else f"/{place}", SID)] = claim
    return "urls example.com", book.dump()


def test_tests_on_the_whole_host_count_and_of_several_crawlers_those_of_one():
    state = State.IN_FORCE
    tested = {place: Claim(state, checks=n) for place, n in (("a", 4), ("b", 5), ("anywhere", 9))}
    one = dumped(**tested)
    other = dumped(a=Claim(state, streak=30, checks=7))
    ended = dumped(b=Claim(State.ENDED, ended=1))
    for notices in ([one, other, ended], [ended, other, one]):
        [claim] = of_notices(notices)
        assert (claim.key.place, claim.claim.streak, claim.claim.checks) == ("/a", 30, 9)


DENIED = [
    ("/a", SID, ["/a?b=1&sid=2", "/a?b=1;sid=2"], ["/a?asid=1", "/ab?sid=1", "/a?b=sid"]),
    ("/p/N", SID, ["/p/1?sid=2", "/p/0a1b2c3d4e5f6a7b8c?sid=1"], ["/p/1/2?sid=2", "/p/1"]),
    ("/News/N.html", SID, ["/News/1.html?sid"], ["/views/1.html?sid=2", "/News/1xhtml?sid=2"]),
    ("/docs/*.html", SID, ["/docs/some.html?sid=1"], ["/docs/a/some.html?sid=1"]),
    ("/*", Part(PATH_PARAMETER, "s"), ["/a;s=1", "/a;s=1/b"], ["/a;sx=1"]),
    ("/*", Part(SEGMENT, "print", None, 0), ["/print/a"], ["/a/print", "/printed/a"]),
    ("/docs/*/", Part(SEGMENT, "en_GB", "en", 1), ["/docs/en_GB/"], ["/docs/en/"]),
    ("/a/*/", Part(SEGMENT, "index.html", "", -1), ["/a/b/index.html"], ["/a/index.html/b"]),
    ("/item/N", Part(SEGMENT, "print", None, 0), ["/print/item/1"], ["/print/guide/1", "/print/"]),
    ("/item/N", Part(SEGMENT, "print", None, -1), ["/item/1/print"], ["/a/1/print"]),
    ("/calendar/N/N", Part(PATTERN), ["/calendar/2001/7"], ["/calendar/2001/", "/calendar/1/2?a"]),
    ("/find/*?q=", Part(SPENT), ["/find/a?q=1"], ["/find/a", "/find/a?r=1", "/find/a?q=1&r=1"]),
    ("/f.php?a=&b=", Part(SPENT), ["/f.php?a=1;b=2", "/f.php?b=1&a"], ["/f.php?a=1", "/f.php?ab"]),
]  # fmt: skip


@pytest.mark.parametrize(("place", "part", "inside", "outside"), DENIED)
def test_patterns_to_deny_match_what_a_claim_covers(place, part, inside, outside):
    claim = used(place, part)
    [pattern], *others = deny_patterns([claim], [])
    assert others == [[], []]
    for path in inside:
        assert re.search(pattern, HOST + path), path
        assert re.search(pattern, f"https://www.example.com{path}"), path
    for path in outside:
        assert not re.search(pattern, HOST + path), path
        assert not claim.covers(Parts.of(HOST + path)), path


def test_what_no_regular_expression_says_is_left():
    others = [
        used("/a", Part(CASE)), used("/a", Part(WWW)), used("/h+/", Part(PATTERN)),
        used("…/h/", Part(PATTERN)), used("/a", Part(PARAMETER, "a&b")),
    ]  # fmt: skip
    assert deny_patterns(others, []) == ([], others, [])


PRINTED = Part(SEGMENT, "print", None, 0)


@pytest.mark.parametrize(("place", "part", "pages", "is_needed"), [
    ("/commit", SID, {"/commit?sid=1": True}, True),
    ("/commit", SID, {"/commit?sid=1": True, "/other": True}, True),
    ("/calendar/N", Part(PATTERN), {"/calendar/1": True, "/calendar/2": False}, True),
    ("/*", PRINTED, {"/print/a": True, "/b": True}, True),
    ("/commit", SID, {"/commit?sid=1": False}, False),  # it repeats another page
    ("/commit", SID, {"/commit?sid=1": True, "/commit": False}, False),  # its links stand there
    ("/commit", SID, {"/elsewhere?sid=1": True}, False),
])  # fmt: skip
def test_a_page_that_was_met_there_alone_is_never_denied(place, part, pages, is_needed):
    met = [(HOST + path, is_new) for path, is_new in pages.items()]
    claim = used(place, part)
    patterns, left, needed = deny_patterns([claim], [*met, ("mailto:a@b.c", True)])
    assert (len(patterns), left, needed) == (not is_needed, [], [claim] * is_needed)


def test_values_with_which_another_page_was_met_are_no_part_of_a_rule():
    claim = used("/edit", Part(PARAMETER, "section"))
    met = {"/edit?t=1": True, "/edit?section=new&t=1": False, "/edit?section=2&t=1": True,
           "/edit?t=2": False, "/edit?section=3&t=2": True}  # fmt: skip
    pages = [(HOST + path, is_new) for path, is_new in met.items()]
    [pattern], *others = deny_patterns([claim], pages)
    assert others == [[], []]
    denied = [path for path in met if re.search(pattern, HOST + path)]
    assert denied == ["/edit?section=new&t=1", "/edit?section=3&t=2"]
    assert re.search(pattern, f"{HOST}/edit?t=1&section=22")
    assert not re.search(pattern, f"{HOST}/edit?t=1&section=2#top")
    assert dud_rules([claim], pages) == ([], [claim])
    many = {f"/edit?section={n}&t=1": True for n in range(21)} | {"/edit?t=1": True}
    assert deny_patterns([claim], [(HOST + path, new) for path, new in many.items()])[1] == [claim]


def test_pages_that_were_new_for_another_reason_change_no_rule():
    """The first pages of a folder are kept if they are nearly equal."""
    first = {"/p/1?sid=a": True, "/p/1": True, "/print/a": True, "/a": True}
    later = {f"/p/{n}?sid={n}": False for n in range(2, 25)} | {f"/p/{n}": True for n in range(25)}
    pages = [(HOST + path, is_new) for path, is_new in (first | later).items()]
    claims = [used("/p/N", SID), used("/*", PRINTED)]
    patterns, left, needed = deny_patterns(claims, pages)
    assert (len(patterns), left, needed) == (2, [], [])
    assert re.search(patterns[0], f"{HOST}/p/1?sid=a")
    assert not dud_rules(claims, pages)[1]


def test_rules_of_duplicate_url_discarder():
    claims = [used("/p/N", part) for part in (SID, Part(PARAMETER, "ref"), PRINTED)]
    claims.append(used("/N", Part(PARAMETER, "a&b")))
    others = [used("/*", Part(kind)) for kind in (WWW, SLASH, CASE, PATTERN)]
    written, left = dud_rules([*claims, *others], [])
    assert left == others
    at = [{"include": [f"example.com{folder}"]} for folder in ("/*|", "/p/*|", "/print/p/*|")]
    removal = {"order": 1, "processor": "queryRemoval"}
    assert json.loads(json.dumps(written)) == [
        removal | {"urlPattern": at[0], "args": ["a", "b"]},
        removal | {"urlPattern": at[1], "args": ["sid", "ref"]},
        {"order": 2, "urlPattern": at[2], "processor": "subpathRemoval", "args": [0]},
    ]


@pytest.mark.parametrize(("place", "part", "other"), [
    ("/viewtopic.php", Part(PARAMETER, "f"), "/viewforum.php?f=1"),
    ("/item/N", PRINTED, "/print/guide/7"),
])  # fmt: skip
def test_rules_are_about_the_place_of_their_claim_alone(place, part, other):
    [rule], left = dud_rules([used(place, part)], [(HOST + other, True)])
    path = Parts.of(HOST + other).pattern.partition("?")[0]
    assert left == []
    assert not re.fullmatch(rule["urlPattern"]["include"][0][11:-1].replace("*", ".*"), path)
    assert len(deny_patterns([used(place, part)], [(HOST + other, True)])[0]) == 1


@pytest.mark.parametrize(("place", "part", "other"), [
    ("/*", Part(PARAMETER, "f"), "/a/b?f=1"),
    ("/*", PRINTED, "/print/guide/7"),
    ("/item/N", Part(PARAMETER, "f"), "/item/7/list?f=1"),
    ("/item/N", Part(PARAMETER, "f"), "/item/list?f=1"),
])  # fmt: skip
def test_a_rule_that_would_apply_to_new_pages_of_another_place_is_left_out(place, part, other):
    claim = used(place, part)
    for is_new in (True, False):
        assert dud_rules([claim], [(HOST + other, is_new)])[1] == [claim] * is_new
        for pattern in deny_patterns([claim], [(HOST + other, is_new)])[0]:
            assert not (is_new and re.search(pattern, HOST + other))
    there = used(Parts.of(HOST + other.replace("/print", "")).pattern.partition("?")[0], part)
    assert dud_rules([claim, there], [(HOST + other, True)])[1] == []


def test_new_pages_that_a_claim_covers_are_exceptions_if_it_predicts_a_new_page():
    met = {"/p/1": True, "/p/1?sid=1": True, "/p/2": True, "/p/2?sid=1": False, "/p/3?sid=1": True}
    pages = [(HOST + path, is_new) for path, is_new in met.items()]
    assert exceptions([used("/p/N", SID)], pages) == [f"{HOST}/p/1?sid=1"]
    assert exceptions([used("/q/N", SID)], pages) == []
