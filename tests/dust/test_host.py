"""What a host's addresses show: rules begin, end, apply and are shared."""

import json
import zlib
from itertools import count

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from scrapy_neardup.dust.hashtable import MAX_CELLS
from scrapy_neardup.dust.host import Host
from scrapy_neardup.dust.rulebook import MAX_RULES, MAX_SUPPORTS
from scrapy_neardup.dust.urlparts import MAX_PARAMETERS, MAX_SEGMENTS, Parts
from scrapy_neardup.dust.urlrule import CASE, EMPTY, PARAMETER, SEGMENT, VALUE, Rule

SID = Rule(PARAMETER, "sid")
PRINT = Rule(SEGMENT, "print", None, 0)


def told(changes):
    """Return which rules begin, and which end."""
    return [(change.rule, change.begins) for change in changes]


class Site:
    """A host that is told of pages as a crawl tells of them."""

    def __init__(self, host=None):
        self.host = host or Host()
        self.first = {}
        self.numbers = count(1)

    def page(self, path, shows=None, **more):
        """Learn a page that shows a content; it is new if nothing showed that before."""
        url = f"http://example.com{path}"
        shows = shows or path
        content, of = self.first.setdefault(shows, (next(self.numbers), url))
        match = None if of == url else Parts.of(of)
        learnt = self.host.learn(Parts.of(url), content, is_new=of == url, match=match, **more)
        return told(learnt.changes)

    def finds(self, path):
        found = self.host.find(Parts.of(f"http://example.com{path}"))
        return None if found is None else set(found.rules)

    def confirm(self, form, times, start=0):
        """Show that addresses of a form show the plain page; return what changed."""
        changes = []
        for number in range(start, start + times):
            self.page(f"/p/{number}")
            changes += self.page(form.format(f"/p/{number}", number), f"/p/{number}")
        return changes

    def hears_of(self, other):
        return told(self.host.add_others([other.host.dump()]))


def test_a_parameter_without_effect_is_learnt_from_different_pages():
    site = Site()
    site.page("/p/1")
    for number in range(50):
        assert not site.page(f"/p/1?sid={number}", "/p/1")
    assert site.finds("/p/1?sid=x") is None
    assert site.confirm("{}?sid=1", SID.needed, start=2)[-1] == (SID, True)
    assert site.finds("/p/2?sid=new") == {SID}
    assert site.finds("/p/unknown?sid=new") is None


def test_the_page_itself_is_found_where_only_a_variant_is_known():
    site = Site()
    site.confirm("{}?sid=1", SID.needed)
    site.page("/p/other?sid=7")
    assert site.finds("/p/other") == site.finds("/p/other?sid=8") == {SID}


def test_one_contradiction_ends_a_rule_for_good():
    site = Site()
    site.confirm("{}?sid=1", SID.needed)
    assert site.page("/p/1?sid=2", "something else") == [(SID, False)]
    assert site.finds("/p/2?sid=3") is None
    assert not site.confirm("{}?sid={}", 100, start=1000)


@pytest.mark.parametrize(("form", "is_against"), [("/p/{}", True), ("/print/p/{}", False)])
def test_a_new_page_that_brings_nothing_contradicts_a_parameter_but_for_copies(form, is_against):
    site = Site()
    site.confirm("{}?sid=1", SID.needed)
    site.confirm("/print{}", Rule(SEGMENT, "print", None, 0).needed)
    page = form.format(1)
    site.page(f"{page}?colour=red&sid=8", "in red", brings=False)
    began = site.confirm("{}?colour=red&sid=2", 100, start=500)
    assert ((Rule(PARAMETER, "colour"), True) in began) != is_against
    assert site.finds("/p/2?sid=3") == {SID}


def test_a_contradiction_before_it_begins_ends_it_too():
    site = Site()
    site.page("/p/a")
    site.page("/p/a?sid=1", "something else")
    assert not site.confirm("{}?sid={}", 100)


def test_a_page_that_only_repeats_another_one_contradicts_nothing():
    site = Site()
    site.confirm("{}?sid=1", SID.needed)
    site.page("/busy")
    assert not site.page("/p/1?sid=2", "/busy")
    assert site.finds("/p/2?sid=3") == {SID}


def test_a_rule_applies_only_in_folders_where_it_was_confirmed():
    site = Site()
    site.confirm("{}?sid=1", SID.needed)
    site.page("/elsewhere/1")
    assert site.finds("/elsewhere/1?sid=1") is None
    site.page("/elsewhere/1?sid=1", "/elsewhere/1")
    assert site.finds("/elsewhere/1?sid=2") == {SID}


def test_parameters_that_always_come_together_are_learnt_together():
    site = Site()
    site.page("/p/x?utm_source=a&utm_medium=b")
    begun = site.confirm("{}?utm_source=a&utm_medium=b", 10)
    assert {rule.what for rule, begins in begun if begins} == {"utm_source", "utm_medium"}
    assert len(site.finds("/p/1?utm_source=c&utm_medium=d")) == len(site.finds("/p/x")) == 2


def test_parameters_that_matter_together_are_not():
    site = Site()
    site.page("/p/x")
    site.confirm("{}?utm_source=a&utm_medium=b", 1)
    site.page("/p/x?utm_source=a&utm_medium=b", "a landing page")
    assert not site.confirm("{}?utm_source=a&utm_medium=b", 60, start=100)


def test_a_segment_that_stands_for_another_one():
    rule = Rule(SEGMENT, "print", "p", 0)
    site = Site()
    begun = []
    for number in range(rule.needed):
        site.page(f"/p/{number}")
        begun += site.page(f"/print/{number}", f"/p/{number}")
    assert begun == [(rule, True)]
    site.page("/p/x")
    site.page("/print/y")
    assert site.finds("/print/x") == site.finds("/p/y") == {rule}


def test_a_printed_page_that_brings_nothing_confirms():
    rule = Rule(SEGMENT, "print", None, 0)
    site = Site()
    site.confirm("/print{0}", rule.needed - 2)
    for path in "abc":
        site.page(f"/p/{path}")
    assert not site.page("/print/p/a", brings=None)  # too short to tell
    assert not site.page("/print/p/b", brings=False)  # judged new, as it adds a line
    assert site.page("/print/p/c", brings=False) == [(rule, True)]
    assert not site.page("/print/p/1?a=1", brings=False)
    assert site.page("/print/p/2", "/an appendix") == [(rule, False)]


def test_an_edition_with_a_page_of_its_own_is_never_skipped():
    site = Site()
    for number in range(60):
        site.page(f"/en/{number}/")
        site.page(f"/de/{number}/", f"/en/{number}/")
    assert site.finds("/de/1/")
    [(_, begins)] = site.page("/de/2/", "/translated/", brings=False)
    assert not begins
    assert site.finds("/de/1/") is None


def test_of_rules_that_are_wrong_together_the_least_confirmed_ends():
    site = Site()
    site.confirm("{}?sid=1", 60)
    site.confirm("{}?utm_source=1", 10, start=100)
    [(ended, _)] = site.page("/p/1?sid=3&utm_source=2", "/a landing page/")
    assert ended.what == "utm_source"


def test_the_least_confirmed_rules_are_forgotten():
    site = Site()
    for number in range(MAX_RULES):
        for page in "ab":
            site.page(f"/{number}/{page}/")
            site.page(f"/{number}x/{page}/", f"/{number}/{page}/")
    assert site.confirm("/print{0}", 10)


def test_a_parameter_that_brings_nothing_new_contradicts_where_no_other_rule_has_a_part():
    site = Site()
    site.confirm("{0}?id=1", 39)
    site.page("/p/a")
    site.page("/p/a?id=1", brings=False)
    assert not site.confirm("{0}?id=1", 9, start=100)


def test_one_value_may_have_no_effect_where_others_have():
    rule = Rule(VALUE, "page=1")
    site = Site()
    for number in range(rule.needed + 1):
        site.page(f"/t/{number}")
        site.page(f"/t/{number}?page=2")
        site.page(f"/t/{number}?page=1", f"/t/{number}")
    site.page("/t/x")
    assert site.finds("/t/x?page=1") == {rule}
    assert site.finds("/t/x?page=2") is None


def test_another_order_of_the_same_words_is_the_same_page():
    rule = Rule(PARAMETER, "sort")
    site = Site()
    for number in range(rule.needed):
        site.page(f"/list/{number}", words=number + 1)
        changes = site.page(f"/list/{number}?sort=up", words=number + 1)
    assert changes == [(rule, True)]
    assert site.page("/list/1?sort=down", words=999) == [(rule, False)]


def test_a_page_with_the_letters_of_another_one_says_nothing():
    site = Site()
    site.confirm("{}?sid={}", SID.needed)
    for number in range(60):
        site.page(f"/s/{number}", letters=number + 1)
        assert not site.page(f"/s/{number}?sort=up", letters=number + 1)
        assert not site.page(f"/s/{number}?sid=1", letters=number + 1)
    assert site.finds("/s/1?sort=down") is None
    assert site.page("/s/1?sid=2", letters=999) == [(SID, False)]


@pytest.mark.parametrize(("form", "rule"), [
    ("/print{}", PRINT),
    ("{}?print=1", Rule(PARAMETER, "print")),
])  # fmt: skip
def test_a_printed_page_does_not_spare_its_original(form, rule):
    site = Site()
    site.confirm(form, rule.needed)
    site.confirm("{}?sid={}", SID.needed, start=100)
    spared = lambda path: site.host.sparing(Parts.of(f"http://example.com{path}"))
    site.page(form.format("/p/x"))
    for path in ("/p/x", "/p/x?sid=1"):
        assert rule in site.finds(path)
        assert spared(path) is None
    site.page("/p/y")
    assert set(spared(form.format("/p/y")).rules) == {rule}
    assert set(spared("/p/y?sid=1").rules) == {SID}


@pytest.mark.parametrize("form", ["{}?sid=1", "{}?utm_source=1&utm_campaign=1"])
def test_an_original_whose_printed_copy_came_first_is_spared_by_a_variant_of_its_own(form):
    site = Site()
    site.confirm("/print{}", PRINT.needed)
    site.confirm(form, SID.needed, start=100)
    site.page("/print/p/x")
    site.page(form.format("/p/x"), "/print/p/x")
    assert site.host.sparing(Parts.of("http://example.com/p/x")) is not None


def test_an_original_is_learnt_although_the_rule_of_its_printed_copy_is_certain():
    site = Site()
    site.confirm("/print{}", MAX_SUPPORTS + 1)
    site.page("/print/p/x")
    printed, original = (Parts.of(f"http://example.com{path}") for path in ("/print/p/x", "/p/x"))
    number, _ = site.first["/print/p/x"]
    assert not site.host.has_learnt(original, number, printed)
    site.page("/p/x", "/print/p/x")
    assert site.host.has_learnt(original._replace(segments=("print", "p", "x")), number, printed)


def test_upper_case_is_learnt_once_two_pages_differ_in_it():
    site, rule = Site(), Rule(CASE)
    paths = [f"/P/{number}" for number in range(rule.needed + 2)]
    for path in paths:
        site.page(path)
    changes = [change for path in paths[:-1] for change in site.page(path.lower(), path)]
    assert changes == [(rule, True)]
    site.page("/P/late")
    assert site.finds("/p/late") == {rule}


def test_a_page_whose_copy_came_first_contradicts_nothing_unless_it_brings_something():
    site = Site()
    site.confirm("{}?sid={}", SID.needed)
    site.confirm("/print{}", PRINT.needed)
    for path in ("/p/x", "/p/y"):
        site.page(f"/print{path}")
    assert site.finds("/p/x?sid=1") == {SID, PRINT}
    assert site.page("/p/x?sid=1", brings=False) == []
    assert site.page("/p/y?sid=1") == [(SID, False)]


def test_a_page_whose_relative_is_forgotten_contradicts_nothing():
    site = Site()
    site.confirm("{}?sid=1", SID.needed)
    for path in ("/p/old", "/p/known"):
        site.page(path, words=1, letters=len(path))
    site.host._known._known.discard(1 << 12 | len("/p/old"))  # its text, as by age
    assert site.page("/p/old?sid=1", "something else", words=2, letters=2) == []
    assert site.page("/p/known?sid=1", "something", words=2, letters=2) != []


def test_a_page_that_repeats_a_sibling_has_a_text_of_its_own():
    site = Site()
    site.confirm("{}?sid={}", SID.needed)
    site.page("/a/sibling/x", words=1, letters=1)
    site.page("/p/copy", "/a/sibling/x", words=2, letters=2)
    assert site.page("/p/copy?sid=1", "a clock", words=3, letters=2) == []
    assert site.page("/p/copy?sid=2", "more", words=4, letters=4) == [(SID, False)]


@pytest.mark.parametrize("brings", [True, None])
def test_a_pattern_that_never_says_anything(brings):
    rule = Rule(EMPTY, "/calendar/N/N/")
    site = Site()
    site.page("/calendar/2001/1/", "no events")
    begun = [
        change
        for number in range(rule.needed)
        for change in site.page(f"/calendar/{2002 + number}/1/", "no events")
    ]
    assert (rule, True) in begun
    assert site.finds("/calendar/1999/9/") == {rule}
    assert site.page("/calendar/1999/8/", "an empty page", brings=False) == []
    assert site.host.lacks(rule, 0) == rule.checks - rule.needed
    assert site.page("/calendar/1999/9/", "a concert", brings=brings) == [(rule, False)]
    assert site.finds("/calendar/1998/9/") is None


@st.composite
def worlds(draw):
    """Return pages of (address, content), whose session ids sometimes matter."""
    pages = {}
    for number in range(draw(st.integers(5, 12))):
        pages[f"/a/{number}"] = shown = f"/a/{number}"
        for value in draw(st.lists(st.integers(0, 2), max_size=2)):
            matters = draw(st.integers(0, 9)) == 0
            pages[f"/a/{number}?sid={value}"] = f"{shown} {value}" if matters else shown
    return draw(st.permutations(list(pages.items())))


@settings(max_examples=200, deadline=None)
@given(worlds())
def test_no_rule_is_in_force_that_a_new_page_contradicts(pages):
    site = Site()
    met = {}
    contradicted = False
    for path, shows in pages:
        is_new = shows not in site.first
        plain = path.partition("?")[0]
        relatives = {met[each] for each in met if each.partition("?")[0] == plain}
        contradicted |= is_new and bool(relatives - {shows})
        site.page(path, shows)
        met[path] = shows
        assert not (contradicted and site.host.active)


def test_two_crawlers_learn_from_each_other():
    one, other = Site(), Site()
    one.confirm("{}?sid=1", SID.needed)
    other.page("/p/9")
    assert other.hears_of(one) == [(SID, True)]
    assert not other.hears_of(one)
    assert other.finds("/p/9?sid=1") == {SID}
    one.page("/p/1?sid=2", "something else")
    assert other.hears_of(one) == [(SID, False)]
    assert other.finds("/p/9?sid=1") is None


def test_halves_of_the_evidence_are_enough_together():
    one, other = Site(), Site()
    half = SID.needed // 2 + 1
    one.confirm("{}?sid=1", half)
    other.numbers = count(1000)
    other.confirm("{}?sid=1", half, start=500)
    assert one.hears_of(other) == [(SID, True)]


def test_a_run_that_goes_on_knows_rules_and_pages():
    site = Site()
    site.confirm("{}?sid=1", SID.needed)
    again = Site(Host.restored(site.host.state()))
    assert again.finds("/p/1?sid=9") == {SID}
    assert again.host.state() == site.host.state()


@given(st.binary(max_size=200))
def test_any_bytes_are_a_dump_of_nothing(dump):
    host = Host()
    assert not host.add_others([dump, zlib.compress(dump)])
    Host.restored(dump)
    assert not host.active


JUNK = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=7),
    max_leaves=20,
)


@given(st.lists(JUNK, max_size=4))
def test_any_json_is_a_dump_of_nothing_that_could_not_be(lines):
    host = Host()
    host.add_others([zlib.compress(json.dumps(lines).encode())])
    assert not host.active
    host.learn(Parts.of("http://example.com/a?b=1"), 1, is_new=True)


@pytest.mark.parametrize(
    "dump",
    [
        zlib.compress(b"[" * 100_000),
        zlib.compress(b" " * (1 << 24) + b"[]"),
        zlib.compress(b'[[["segment", "x", "y", 99999999999], [], [], false, [], null, null]]'),
    ],
    ids=["deep", "long", "big"],
)
def test_a_hostile_dump_costs_little(dump):
    assert not Host().add_others([dump])


def test_memory_is_bounded_whatever_the_addresses():
    host = Host()
    for number in range(2_500):
        names = "&".join(f"p{number % 97}_{each}={number}" for each in range(MAX_PARAMETERS))
        path = "/".join(f"s{number * each}" for each in range(MAX_SEGMENTS - 2))
        for url in (f"http://e.com/{path}?{names}", f"http://e.com/{path};a={number}/B"):
            host.learn(Parts.of(url), number % 50, is_new=not number % 3)
    assert len(host._book.supported()) <= MAX_RULES
    assert host.nbytes <= 256 << 10
    assert host.nbytes > 8 * MAX_CELLS


def test_a_small_host_takes_little():
    site = Site()
    for number in range(10):
        site.page(f"/p/{number}?id={number}")
    assert site.host.nbytes - 3_500 * (1 + len(site.host._book.supported())) <= 1024
