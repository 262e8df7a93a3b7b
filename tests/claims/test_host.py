"""What a host's URLs show: claims begin, end, map URLs onto known pages and are shared."""

import json
import pickle
import zlib
from itertools import count

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from scrapy_neardup.claims.claim import AGAIN, LENT, NEEDED, Claim
from scrapy_neardup.claims.claimkeys import ANYWHERE, MAX_CLAIMS, MAX_DUMP, Key, loaded
from scrapy_neardup.claims.hashtable import MAX_CELLS
from scrapy_neardup.claims.host import MAX_HOSTS, MAX_PATH_PARTS, MAX_TARGETS, Host, Hosts
from scrapy_neardup.claims.part import CASE, PARAMETER, PATTERN, SEGMENT, SLASH, SPENT, Part
from scrapy_neardup.claims.urlparts import MAX_PARAMETERS, MAX_SEGMENTS, Parts
from scrapy_neardup.claims.usedclaims import UsedClaim

SID = Part(PARAMETER, "sid")
PRINT = Part(SEGMENT, "print", None, 0)


def at(path):
    return Parts.of(f"http://example.com{path}")


def told(changes):
    """Return which claims begin, and which end."""
    return [(*change.key, change.begins) for change in changes]


class Site:
    """A host that is told of pages as a crawl tells of them."""

    def __init__(self, host=None):
        self.host = host or Host()
        self.first = {}
        self.numbers = count(1)

    def page(self, path, shows=None):
        """Learn a page that shows a content; it is new if nothing showed that before."""
        shows = shows or path
        content, of = self.first.setdefault(shows, (next(self.numbers), path))
        match = None if of == path else at(of)
        lesson = self.host.learn(at(path), content, is_new=of == path, match=match)
        return told(lesson.changes)

    def finds(self, path):
        """Return the parts that claims in force take from a URL to map it onto a known page."""
        found = self.host.find(at(path))
        return None if found is None else [key.part for key in found.keys]

    def confirm(self, form, times=NEEDED, start=0, folder="/p"):
        """Show that URLs of a form show the plain page; return what changed."""
        changes = []
        for number in range(start, start + times):
            self.page(f"{folder}/{number}")
            changes += self.page(form.format(f"{folder}/{number}", number), f"{folder}/{number}")
        return changes

    def hears_of(self, other):
        return told(self.host.add_others([other.host.dump()]))

    def claim(self, place, part):
        return self.host.claims[Key(place, part)]


def test_a_parameter_without_effect_is_learnt_from_requests():
    site = Site()
    assert not site.confirm("{}?sid={}", NEEDED - 1)
    assert site.finds("/p/1?sid=x") is None
    assert site.confirm("{}?sid={}", 1, start=50) == [
        (ANYWHERE, SID, True), ("/p/N", SID, True)
    ]  # fmt: skip
    assert site.finds("/p/2?sid=new") == [SID]
    assert site.finds("/p/unknown?sid=new") is None
    assert Key("/p/N", SID) in site.host.in_force
    assert Key(ANYWHERE, SID) not in site.host.in_force  # it withholds nothing by itself


def test_requests_count_and_not_contents():
    site = Site()
    site.page("/login?next=/start", "the form")
    changes = [
        change
        for number in range(NEEDED)
        for change in site.page(f"/login?next=/p/{number}", "the form")
    ]
    next_ = Part(PARAMETER, "next")
    assert changes == [(place, next_, True) for place in (ANYWHERE, "/login", "/*")]
    assert site.finds("/login?next=/elsewhere") == [next_]


def test_one_url_that_is_judged_again_says_nothing():
    site = Site()
    site.page("/p/1")
    for _ in range(3 * NEEDED):
        site.page("/p/1?sid=1", "/p/1")
    assert site.claim(ANYWHERE, SID).row == 1


def test_a_script_and_the_pattern_of_its_path_are_two_places():
    site = Site()
    topic = Part(PARAMETER, "t")
    for number in range(NEEDED + 1):
        site.page(f"/view.php?t={number}", "one page")
        site.page(f"/list.php?t={number}")
    assert site.finds("/view.php?t=new") == [topic]
    assert site.finds("/list.php?t=new") is None
    assert not site.host.claims.get(Key("/list.php", topic))


def test_where_a_general_claim_is_in_force_a_place_needs_less():
    site = Site()
    site.confirm("{}?sid={}")
    for number in range(LENT):
        assert site.finds("/q/0?sid=x") is None
        changes = site.confirm("{}?sid={}", 1, start=number, folder="/q")
    assert changes == [("/q/N", SID, True)]
    assert site.finds("/q/0?sid=x") == [SID]


def test_one_contradiction_ends_a_claim_and_it_needs_ten_times_the_evidence():
    site = Site()
    site.confirm("{}?sid={}")
    assert site.page("/p/1?sid=2", "something else") == [
        (ANYWHERE, SID, False), ("/p/N", SID, False)
    ]  # fmt: skip
    assert site.finds("/p/2?sid=3") is None
    assert site.claim("/p/N", SID).counter == (at("/p/1?sid=2").url, at("/p/1").url)
    assert not site.confirm("{}?sid={}", AGAIN * NEEDED - 1, start=1000)
    assert (ANYWHERE, SID, True) in site.confirm("{}?sid={}", 1, start=5000)


def test_a_contradiction_before_it_begins_takes_the_evidence_away():
    site = Site()
    site.confirm("{}?sid={}", NEEDED - 1)
    assert not site.page("/p/1?sid=2", "something else")
    assert not site.confirm("{}?sid={}", NEEDED - 1, start=100)
    assert site.confirm("{}?sid={}", 1, start=200)


def test_a_page_that_only_repeats_another_one_contradicts_nothing():
    site = Site()
    site.confirm("{}?sid={}")
    site.page("/busy")
    assert not site.page("/p/1?sid=new", "/busy")
    assert site.finds("/p/2?sid=3") == [SID]


def test_parameters_that_always_come_together_are_learnt_together():
    site = Site()
    begun = site.confirm("{}?utm_source=a{}&utm_medium=b")
    together = Part(PARAMETER, "utm_medium&utm_source")
    assert begun == [(ANYWHERE, together, True), ("/p/N", together, True)]
    assert site.finds("/p/1?utm_source=c&utm_medium=d") == [together]
    assert site.finds("/p/1?utm_source=c") is None


def test_parameters_that_matter_together_are_not():
    site = Site()
    site.confirm("{}?utm_source=a{}&utm_medium=b", NEEDED - 1)
    site.page("/p/1?utm_source=x&utm_medium=b", "a landing page")
    assert not site.confirm("{}?utm_source=a{}&utm_medium=b", NEEDED - 1, start=100)


def test_of_two_claims_the_one_that_a_page_shows_to_be_wrong_ends():
    site = Site()
    site.confirm("{}?sid={}")
    site.confirm("{}?ref={}", start=100)
    site.page("/p/1?sid=new", "/p/1")
    [(_, ended, _), *_] = changes = site.page("/p/1?ref=2&sid=new", "a landing page")
    assert {part for _, part, _ in changes} == {ended}
    assert ended.what == "ref"  # /p/1?sid=new shows what /p/1 shows; the reference does it


def test_a_page_known_with_a_parameter_alone_is_found_without_it_once_others_were():
    site = Site()
    site.confirm("{}?sid={}")
    site.page("/p/a?sid=7")
    assert site.finds("/p/a") is None
    for number in range(LENT):
        site.page(f"/p/{1000 + number}?sid=1")
        site.page(f"/p/{1000 + number}", f"/p/{1000 + number}?sid=1")
    assert site.claim("/p/N", SID).back == LENT
    site.page("/p/77777?sid=7")
    assert site.finds("/p/77777") == [SID]
    site.page("/p/77777", "an original of its own")
    assert site.finds("/p/2?sid=new") is None
    assert site.claim("/p/N", SID).back == 0


def test_a_segment_without_effect_is_learnt_from_what_pages_repeat():
    site = Site()
    begun = site.confirm("/print{}")
    assert begun == [(ANYWHERE, PRINT, True), ("/p/N", PRINT, True)]
    site.page("/p/900")
    assert site.finds("/print/p/900") == [PRINT]
    site.page("/print/p/901")
    assert site.finds("/p/901") is None  # an original is requested, whatever its copies are
    ended = [(ANYWHERE, PRINT, False), ("/p/N", PRINT, False)]
    assert site.page("/print/p/900", "an appendix") == ended


def test_a_segment_that_stands_for_another_one():
    part = Part(SEGMENT, "print", "p", 0)
    site = Site()
    for number in range(NEEDED):
        site.page(f"/p/{number}")
        changes = site.page(f"/print/{number}", f"/p/{number}")
    assert changes == [(ANYWHERE, part, True), ("/p/N", part, True)]
    site.page("/p/900")
    assert site.finds("/print/900") == [part]


def test_upper_case_and_slashes_are_parts():
    for part, form in ((Part(CASE), "/P/{}"), (Part(SLASH), "/p/{}/")):
        site = Site()
        for number in range(NEEDED):
            site.page(f"/p/{number}")
            changes = site.page(form.format(number), f"/p/{number}")
        assert (ANYWHERE, part, True) in changes
        site.page("/p/900")
        assert site.finds(form.format(900)) == [part]


def test_an_edition_with_a_page_of_its_own_is_never_skipped():
    site = Site()
    site.confirm("/de{}")
    assert site.finds("/de/p/1")
    changes = site.page("/de/p/900", "a translation") + site.page("/p/900")
    assert not changes  # two originals, none of which was expected
    assert {begins for *_, begins in site.page("/de/p/2000", "/p/900")} <= {True}
    site.page("/p/901")
    assert {begins for *_, begins in site.page("/de/p/901", "translated")} == {False}
    assert site.finds("/de/p/1000") is None


def test_parts_of_paths_are_bounded():
    site = Site()
    for number in range(3 * MAX_PATH_PARTS):
        site.page("/p/a")
        site.page(f"/v{number}x/p/a", "/p/a")
    assert len(site.host._path_parts) == MAX_PATH_PARTS


# Patterns


def test_a_pattern_that_shows_the_same_page_again_and_again():
    site = Site()
    site.page("/nothing")
    changes = [
        change
        for number in range(NEEDED)
        for change in site.page(f"/calendar/2001/{number}", "/nothing")
    ]
    empty = ("/calendar/N/N", Part(PATTERN))
    assert changes == [(*empty, True)]
    assert site.finds("/calendar/1999/9") == [Part(PATTERN)]
    assert site.page("/calendar/1999/9", "a concert") == [(*empty, False)]
    assert site.finds("/calendar/1998/9") is None


@pytest.mark.parametrize(("targets", "begins"), [(MAX_TARGETS, True), (MAX_TARGETS + 1, False)])
def test_a_pattern_repeats_at_most_a_few_pages(targets, begins):
    site = Site()
    for number in range(targets):
        site.page(f"/nothing/{'abcdefgh'[number]}")
    for number in range(3 * NEEDED):
        site.page(f"/calendar/{number}", f"/nothing/{'abcdefgh'[number % targets]}")
    assert site.claim("/calendar/N", Part(PATTERN)).is_in_force == begins


def test_a_pattern_that_comes_to_repeat_one_page_is_learnt_all_the_same():
    site = Site()
    for number in range(MAX_TARGETS + 1):
        site.page(f"/nothing/{'abcdefgh'[number]}")
        site.page(f"/calendar/{number}", f"/nothing/{'abcdefgh'[number]}")
    changes = (site.page(f"/calendar/{99 + number}", "/nothing/a") for number in range(NEEDED))
    assert list(filter(None, changes)) == [[("/calendar/N", Part(PATTERN), True)]]


def test_urls_with_parameters_are_no_pattern_of_paths():
    site = Site()
    site.page("/nothing")
    for number in range(3 * NEEDED):
        site.page(f"/calendar?day={number}", "/nothing")
    assert not [key for key in site.host.claims if key.part.kind == PATTERN]


def test_a_pattern_is_spent_by_pages_that_bring_nothing_one_after_the_other():
    host, spent = Host(), Part(SPENT)
    spends = lambda path, is_stale: told(host.spends(at(path), is_stale=is_stale, match=""))
    for number in range(NEEDED - 1):
        assert not spends(f"/view.php?t={number}", is_stale=True)
    assert spends("/view.php?t=x", is_stale=True) == [
        ("/view.php?t=", spent, True), ("/*.php?t=", spent, True)
    ]  # fmt: skip
    assert host.find(at("/view.php?t=new")).keys == (Key("/view.php?t=", spent),)
    assert host.find(at("/other.php?t=new")).keys == (Key("/*.php?t=", spent),)
    assert host.find(at("/view.php?f=new")) is None
    assert spends("/other.php?t=1", is_stale=False) == [("/*.php?t=", spent, False)]
    assert host.find(at("/view.php?t=new")).keys == (Key("/view.php?t=", spent),)
    assert host.find(at("/other.php?t=new")) is None


def test_claims_that_do_not_act_do_not_hide_others():
    site = Site()
    site.confirm("{}?sid={}")
    for number in range(NEEDED):
        site.host.spends(at(f"/p/{number}?sid=1"), is_stale=True, match="")
    page = at("/p/1?sid=new")
    assert site.host.find(page).keys[0].part == Part(SPENT)
    found = site.host.find(page, lambda key: key.part.kind != SPENT)
    assert found.keys == (Key("/p/N", SID),)


def test_links_to_new_pages_end_claims():
    site = Site()
    site.confirm("{}?sid={}")
    page = at("/p/1?sid=new")
    changes = site.host.contradict(site.host.apply(page)[1], ("http://new", page.url))
    assert told(changes) == [("/p/N", SID, False)]


# What is covered


def test_a_key_covers_the_urls_that_its_claim_is_about():
    covered = {
        Key("/p/N", SID): (["/p/1?sid=1", "/p/2?a=1&sid=2"], ["/p/1", "/q/1?sid=1"]),
        Key("/view.php", SID): (["/view.php?sid=1"], ["/list.php?sid=1"]),
        Key(ANYWHERE, SID): (["/p/1?sid=1", "/view.php?sid=1"], ["/p/1"]),
        Key("/p/N", PRINT): (["/print/p/1"], ["/p/1", "/print/q/1"]),
        Key("/p/N", Part(PATTERN)): (["/p/1"], ["/p/a/b", "/q/1"]),
        Key("/view.php?t=", Part(SPENT)): (["/view.php?t=1"], ["/view.php", "/view.php?f=1"]),
    }
    for key, (inside, outside) in covered.items():
        claim = UsedClaim("example.com", key, Claim())
        assert all(claim.covers(at(path)) for path in inside), key
        assert not any(claim.covers(at(path)) for path in outside), key
        assert not any(claim._replace(host="example.org").covers(at(path)) for path in inside)


def test_variants_of_what_had_no_effect_elsewhere():
    site = Site()
    site.confirm("{}?sid={}")
    site.page("/elsewhere/1")
    assert site.host.is_variant(at("/elsewhere/1?sid=1"))
    assert not site.host.is_variant(at("/elsewhere/2?sid=1"))
    assert not site.host.is_variant(at("/elsewhere/1?lang=1"))


@st.composite
def worlds(draw):
    """Return pages of (path, content), whose session ids sometimes matter."""
    pages = {}
    for number in range(draw(st.integers(20, 40))):
        pages[f"/a/{number}"] = shown = f"/a/{number}"
        for value in draw(st.lists(st.integers(0, 2), max_size=2)):
            matters = draw(st.integers(0, 19)) == 0
            pages[f"/a/{number}?sid={value}"] = f"{shown} {value}" if matters else shown
    return draw(st.permutations(list(pages.items())))


@settings(max_examples=100, deadline=None)
@given(worlds())
def test_a_claim_is_in_force_only_since_enough_requests_have_not_contradicted_it(pages):
    site, met, row, most = Site(), {}, 0, 0
    for path, shows in pages:
        is_new = shows not in site.first
        plain = path.partition("?")[0]
        relatives = {met[each] for each in met if each.partition("?")[0] == plain}
        contradicts = is_new and bool(relatives - {shows})
        site.page(path, shows)
        met[path] = shows
        row = 0 if contradicts else row + (not is_new)
        most = max(most, row)
        claim = site.host.claims.get(Key("/a/N", SID))
        if claim is not None:
            assert claim.row <= row
            assert not (contradicts and claim.is_in_force)
    assert most >= NEEDED or not site.host.in_force


# Forgetting, and others


def test_a_page_that_is_forgotten_is_mapped_onto_no_more():
    site = Site()
    site.confirm("{}?sid={}")
    content = site.first["/p/1"][0]
    assert site.host.forget(at("/p/1")) == content
    assert site.host.forget(at("/p/1")) is None
    assert site.finds("/p/1?sid=new") is None
    assert site.finds("/p/2?sid=new") == [SID]


def test_two_crawlers_learn_from_each_other():
    one, other = Site(), Site()
    one.confirm("{}?sid={}")
    other.page("/p/9")
    assert {begins for *_, begins in other.hears_of(one)} == {True}
    assert not other.hears_of(one)
    assert other.finds("/p/9?sid=1") == [SID]
    one.page("/p/1?sid=2", "something else")
    assert {begins for *_, begins in other.hears_of(one)} == {False}
    assert other.finds("/p/9?sid=1") is None
    assert not one.hears_of(other)


def test_what_a_crawler_has_heard_is_not_counted_twice():
    one, other = Site(), Site()
    one.confirm("{}?sid={}", NEEDED - 1)
    for _ in range(3):
        assert not other.hears_of(one)
        assert not one.hears_of(other)
    assert other.claim("/p/N", SID).row == NEEDED - 1


@given(st.binary(max_size=200))
def test_any_bytes_are_a_dump_of_nothing(dump):
    host = Host()
    assert not host.add_others([dump, zlib.compress(dump)])
    assert not host.in_force


JUNK = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=11),
    max_leaves=20,
)


@given(st.lists(JUNK, max_size=4))
def test_any_json_is_a_dump_of_nothing_that_could_not_be(lines):
    host = Host()
    host.add_others([zlib.compress(json.dumps(lines).encode())])
    assert not host.in_force
    host.learn(at("/a?b=1"), 1, is_new=True)


def line(*, place="/p/N", kind=SEGMENT, place_in_path=0, claim=None):
    dump = Claim().dump() if claim is None else claim
    return [place, kind, "x", "y", place_in_path, dump]


@pytest.mark.parametrize(
    "dump",
    [
        b"[" * 100_000,
        b" " * (MAX_DUMP + 1) + b"[]",
        json.dumps([line(kind="nothing")]).encode(),
        json.dumps([line(place="x" * 1_000)]).encode(),
        json.dumps([line(claim=[])]).encode(),
        json.dumps([line(claim=[True, -1, *[0] * 7, None, None])]).encode(),
        json.dumps([line(), None]).encode(),
        json.dumps({"a": 1}).encode(),
    ],
    ids=["deep", "long", "kind", "place", "claim", "number", "half", "object"],
)
def test_a_hostile_dump_is_skipped(dump):
    assert loaded(zlib.compress(dump)) == []
    host = Host()
    host.add_others([zlib.compress(dump)])
    assert not host.claims


def test_a_dump_with_strange_places_finds_nothing():
    claim = Claim()
    for _ in range(NEEDED):
        claim.support(("a", "b"))
    lines = [line(place_in_path=place, claim=claim.dump()) for place in (10**9, -(10**9), 31, -32)]
    host = Host()
    assert len(host.add_others([zlib.compress(json.dumps(lines).encode())])) == len(lines)
    assert host.find(at("/x")) is None


# Memory


def test_claims_in_force_are_not_forgotten_for_others():
    site = Site()
    site.confirm("{}?sid={}")
    for number in range(2 * MAX_CLAIMS):
        site.page("/q")
        site.page(f"/q?n{number}=1", "/q")
    assert len(site.host.claims) == MAX_CLAIMS
    assert site.finds("/p/1?sid=x") == [SID]


def test_memory_is_bounded_whatever_the_urls():
    host = Host()
    for number in range(2_500):
        names = "&".join(f"p{number % 97}_{each}={number}" for each in range(MAX_PARAMETERS))
        path = "/".join(f"s{number * each}" for each in range(MAX_SEGMENTS - 2))
        for url in (f"/{path}?{names}", f"/{path};a={number}/B"):
            host.learn(at(url), number % 50, is_new=not number % 3)
    assert len(host.claims) <= MAX_CLAIMS
    assert 8 * MAX_CELLS < host.nbytes <= 320_000


def test_a_small_host_takes_little():
    site = Site()
    for number in range(10):
        site.page(f"/p/{number}?id={number}")
    assert site.host.nbytes <= 2_048


def test_hosts_are_bounded():
    hosts = Hosts()
    for number in range(MAX_HOSTS + 10):
        assert hosts.met(f"h{number}.example").pages == 1
    assert len(hosts) == MAX_HOSTS
    assert hosts.met(f"h{MAX_HOSTS}.example").pages == 2


def test_hosts_go_on_after_a_pause():
    hosts, site = Hosts(), Site()
    site.confirm("{}?sid={}")
    hosts["example.com"] = site.host
    again = Site(pickle.loads(pickle.dumps(hosts))["example.com"])
    assert again.finds("/p/1?sid=new") == [SID]
    assert again.host.dump() == site.host.dump()
