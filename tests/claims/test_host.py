"""What a host's URLs show: claims begin, end, and map URLs onto known pages."""

import pytest
from claimed_site import PRINT, SID, ClaimedSite, at, told
from hypothesis import given, settings
from hypothesis import strategies as st

from scrapy_neardup.claims.claim import AGAIN, LENT, NEEDED
from scrapy_neardup.claims.claimbook import ANYWHERE, MAX_PATH_PARTS, Key
from scrapy_neardup.claims.part import CASE, PARAMETER, SEGMENT, SLASH, Part


def test_a_parameter_without_effect_is_learnt_from_requests(site):
    assert not site.confirm("{}?sid={}", NEEDED - 1)
    assert site.finds("/p/1?sid=x") is None
    begun = [(ANYWHERE, SID, True), ("/p/N", SID, True)]
    assert site.confirm("{}?sid={}", 1, start=50) == begun
    assert site.finds("/p/2?sid=new") == [SID]
    assert site.finds("/p/unknown?sid=new") is None
    assert Key("/p/N", SID) in site.host.claims.in_force
    assert Key(ANYWHERE, SID) not in site.host.claims.in_force  # it withholds nothing by itself


def test_requests_count_and_not_contents(site):
    site.page("/login?next=/start", "the form")
    changes = []
    for number in range(NEEDED):
        changes += site.page(f"/login?next=/p/{number}", "the form")
    next_ = Part(PARAMETER, "next")
    assert changes == [(place, next_, True) for place in (ANYWHERE, "/login", "/*")]
    assert site.finds("/login?next=/elsewhere") == [next_]


def test_one_url_that_is_judged_again_says_nothing(site):
    site.page("/p/1")
    for _ in range(3 * NEEDED):
        site.page("/p/1?sid=1", "/p/1")
    assert site.claim(ANYWHERE, SID).streak == 1


def test_a_value_that_was_not_met_is_not_covered_until_many_were(site):
    rows = Part(PARAMETER, "rows")
    for number in range(NEEDED):
        site.page(f"/log/{number}")
        site.page(f"/log/{number}?rows={30 + number % 2}", f"/log/{number}")
    site.page("/log/50")
    for value, found in ((30, [rows]), (31, [rows]), (5, None)):
        assert site.finds(f"/log/50?rows={value}") == found
        assert site.host.is_variant(at(f"/log/50?rows={value}")) == bool(found)
    assert site.page("/log/50?rows=5") == [(ANYWHERE, rows, False), ("/log/N", rows, False)]


def test_each_parameter_of_several_needs_values_that_were_met(site):
    for number in range(NEEDED + 2):
        site.page(f"/log/{number}")
        site.page(f"/log/{number}?rows={30 + number % 2}&sid={number}", f"/log/{number}")
    assert site.finds("/log/1?rows=31&sid=new") == [Part(PARAMETER, "rows&sid")]
    assert site.finds("/log/1?rows=5&sid=new") is None


def test_a_value_without_effect_at_one_place_may_have_one_at_another():
    site, other = ClaimedSite(), ClaimedSite()
    rows = Part(PARAMETER, "rows")
    for folder in ("/log", "/file"):
        site.confirm("{}?rows=30", folder=folder)
    site.page("/log/1?rows=60", "/log/1")
    assert site.finds("/log/2?rows=60") == site.finds("/file/1?rows=30") == [rows]
    assert site.finds("/file/1?rows=60") is None
    for number in range(NEEDED - 2):
        site.page(f"/log/1?rows={number}", "/log/1")
    assert site.finds("/file/1?rows=60") == [rows]
    other.hears_of(site)
    other.page("/file/1")
    assert other.finds("/file/1?rows=60") == [rows]


def test_a_script_and_the_pattern_of_its_path_are_two_places(site):
    topic = Part(PARAMETER, "t")
    for number in range(NEEDED + 1):
        site.page(f"/view.php?t={number}", "one page")
        site.page(f"/list.php?t={number}")
    assert site.finds("/view.php?t=new") == [topic]
    assert site.finds("/list.php?t=new") is None
    assert not site.host.claims.get(Key("/list.php", topic))


def test_where_a_general_claim_is_in_force_a_place_needs_less(site):
    site.confirm("{}?sid={}")
    for number in range(LENT):
        assert site.finds("/q/0?sid=x") is None
        changes = site.confirm("{}?sid={}", 1, start=number, folder="/q")
    assert changes == [("/q/N", SID, True)]
    assert site.finds("/q/0?sid=x") == [SID]


def test_one_contradiction_ends_a_claim_and_it_needs_ten_times_the_evidence(site):
    site.confirm("{}?sid={}")
    ended = [(ANYWHERE, SID, False), ("/p/N", SID, False)]
    assert site.page("/p/1?sid=2", "something else") == ended
    assert site.finds("/p/2?sid=3") is None
    assert site.claim("/p/N", SID).counter == (at("/p/1?sid=2").url, at("/p/1").url)
    assert not site.confirm("{}?sid={}", AGAIN * NEEDED - 1, start=1000)
    assert (ANYWHERE, SID, True) in site.confirm("{}?sid={}", 1, start=5000)


def test_a_part_with_the_same_value_is_not_shown_to_have_no_effect(site):
    site.confirm("{}?sid={}")
    for number in range(2 * NEEDED):
        known = f"/q/{number}?c={number % 3}"
        site.page(known)
        site.page(f"{known}&sid={number}", known)
    assert Key("/q/N", SID) in site.host.claims.in_force
    assert {key.part for key in site.host.claims} == {SID}


def test_an_example_names_pages_that_were_fetched(site):
    """Here the page without the parameter was never requested."""
    for path in ("/print/1", "/p/1?sid=1", "/p/1?sid=2"):
        site.page(path, "/print/1")  # which is the match, but no relative
    assert site.claim(ANYWHERE, SID).example is None
    site.page("/p/2?sid=1")
    site.page("/p/2?sid=2", "/p/2?sid=1")
    pair = at("/p/2?sid=2").url, at("/p/2?sid=1").url
    assert site.claim(ANYWHERE, SID).example == pair
    for number in range(3, 3 + NEEDED):
        site.page(f"/p/{number}?sid=1")
        site.page(f"/p/{number}?sid=2", f"/p/{number}?sid=1")
    site.page("/p/2?sid=9", "something else")
    assert site.claim("/p/N", SID).counter == (at("/p/2?sid=9").url, "")
    assert site.claim("/p/N", SID).example == pair


def test_an_example_of_a_part_of_the_path_names_the_page_that_is_repeated(site):
    site.page("/p/1?sid=1")
    site.page("/print/p/1?sid=1", "/p/1?sid=1")
    site.page("/p/2")
    site.page("/print/p/2", "/p/2")
    pair = at("/print/p/1?sid=1").url, at("/p/1?sid=1").url
    assert site.claim(ANYWHERE, PRINT).example == pair


def test_a_page_that_only_repeats_another_one_contradicts_nothing(site):
    site.confirm("{}?sid={}")
    site.page("/busy")
    assert not site.page("/p/1?sid=new", "/busy")
    assert site.finds("/p/2?sid=3") == [SID]


def test_each_third_page_that_pages_repeat_tests_a_claim_once(site):
    site.confirm("{}?sid={}")
    site.page("/busy")
    for number in range(9):
        site.page(f"/p/{number}?sid=new", f"/p/{number + 1}")
        site.page(f"/p/{number + 10}?sid=new", "/busy")
    assert site.claim(ANYWHERE, SID).checks == 9 + 1


def test_a_page_shows_what_the_page_that_it_repeats_was_found_to_show(site):
    """That page was new, but a control has shown that it is another page a moment later."""
    site.page("/p/1")
    first, own_number = site.first["/p/1"][0], 99
    site.host.learn(at("/p/1?sid=1"), first, is_new=False)
    site.host.learn(at("/p/1?sid=2"), own_number, is_new=False, match=at("/p/1?sid=1"))
    assert site.claim(ANYWHERE, SID).streak == 2


def test_parameters_that_always_come_together_are_learnt_together(site):
    begun = site.confirm("{}?utm_source=a{}&utm_medium=b")
    together = Part(PARAMETER, "utm_medium&utm_source")
    assert begun == [(ANYWHERE, together, True), ("/p/N", together, True)]
    assert site.finds("/p/1?utm_source=c&utm_medium=b") == [together]
    assert site.finds("/p/1?utm_source=c&utm_medium=d") is None
    assert site.finds("/p/1?utm_source=c") is None


def test_parameters_that_matter_together_are_not(site):
    for start in (0, 100):
        assert not site.confirm("{}?utm_source=a{}&utm_medium=b", NEEDED - 1, start=start)
        site.page("/p/1?utm_source=x&utm_medium=b", "a landing page")


def test_of_two_claims_the_one_that_a_page_shows_to_be_wrong_ends(site):
    site.confirm("{}?sid={}")
    site.confirm("{}?ref={}", start=100)
    site.page("/p/1?sid=new", "/p/1")
    [(_, ended, _), *_] = changes = site.page("/p/1?ref=2&sid=new", "a landing page")
    assert {part for _, part, _ in changes} == {ended}
    assert ended.what == "ref"  # /p/1?sid=new shows what /p/1 shows; the reference does it


def test_of_two_claims_that_may_be_wrong_the_one_ends_that_ended_before_or_was_tested_less():
    for again in (False, True):
        site = ClaimedSite()
        site.confirm("/de{}", start=100, times=(1 + again) * NEEDED)
        site.confirm("{}?sid={}", times=(2 - again) * NEEDED)
        weaker = [SID, Part(SEGMENT, "de", None, 0)][not again]
        [(_, ended, _), *_] = site.page("/de/p/1?sid=new", "a translation")
        assert ended == weaker  # both have a known page without them, and neither has one alone
    site.confirm("{}?sid={}", times=AGAIN * NEEDED, start=1000)
    assert site.finds("/de/p/7?sid=new")
    [(_, ended, _), *_] = site.page("/de/p/7?sid=new", "another translation")
    assert ended == SID  # it was tested more by now, but it has ended before


def test_an_original_is_never_withheld(site):
    site.confirm("{}?sid={}")
    for number in range(1000, 1000 + NEEDED):
        site.page(f"/p/{number}?sid=1")
        site.page(f"/p/{number}", f"/p/{number}?sid=1")  # it speaks for the claim
    assert site.claim("/p/N", SID).streak == 2 * NEEDED
    site.page("/p/2000?sid=7")
    assert site.finds("/p/2000?sid=8") == [SID]
    assert site.finds("/p/2000") is None
    assert site.page("/p/2000", "another page of the topic")  # it ends the claim
    assert site.finds("/p/2?sid=new") is None


def test_a_segment_without_effect_is_learnt_from_what_pages_repeat(site):
    begun = site.confirm("/print{}")
    assert begun == [(ANYWHERE, PRINT, True), ("/p/N", PRINT, True)]
    site.page("/p/900")
    assert site.finds("/print/p/900") == [PRINT]
    site.page("/print/p/901")
    assert site.finds("/p/901") is None  # an original is requested, whatever its copies are
    ended = [(ANYWHERE, PRINT, False), ("/p/N", PRINT, False)]
    assert site.page("/print/p/900", "an appendix") == ended


@pytest.mark.parametrize(("part", "form"), [
    (Part(SEGMENT, "print", "p", 0), "/print/{1}"), (Part(CASE), "/P/{1}"), (Part(SLASH), "{}/"),
])  # fmt: skip
def test_other_parts_of_a_path_are_learnt_in_the_same_way(part, form, site):
    assert (ANYWHERE, part, True) in site.confirm(form)
    site.page("/p/900")
    assert site.finds(form.format("/p/900", 900)) == [part]


def test_an_edition_with_a_page_of_its_own_is_never_skipped(site):
    site.confirm("/de{}")
    assert site.finds("/de/p/1")
    changes = site.page("/de/p/900", "a translation") + site.page("/p/900")
    assert not changes  # two originals, none of which was expected
    assert {begins for *_, begins in site.page("/de/p/2000", "/p/900")} <= {True}
    site.page("/p/901")
    assert {begins for *_, begins in site.page("/de/p/901", "translated")} == {False}
    assert site.finds("/de/p/1000") is None


def test_parts_are_bounded_and_those_stay_that_most_pages_have_shown(site):
    site.confirm("/print{}", 2)
    site.confirm("{}?sid=1", 2, start=9)
    for number in range(2 * MAX_PATH_PARTS):
        site.page("/p/a")
        site.page(f"/v{number}x/p/a", "/p/a")
    for number in range(2 * MAX_PATH_PARTS):
        site.page(f"/q/{number}")
        site.page(f"/q/{number}?n{number}=1", f"/q/{number}")
    for known, part in ((site.host.claims.path_parts, PRINT), (site.host.claims.names, SID)):
        assert len(known) == MAX_PATH_PARTS
        assert part in known


def test_what_a_claim_says_of_a_page_ends_no_other_one(site):
    site.confirm("/print{}")
    site.confirm("{}?sid={}", folder="/q")
    site.page("/print/p/500?sid=9", "a copy")
    assert Key("/p/N", SID) not in site.host.claims
    assert not site.page("/p/500", "an original of its own")


def test_the_known_page_that_a_new_one_contradicts_differs_in_one_part(site):
    site.confirm("/print{}")
    site.confirm("{}?sid={}", start=100)
    site.page("/p/50")

    site.page("/p/300?sid=5")
    for path, wanted in {
        "/p/7?sid=new": (at("/p/7"), True), "/print/p/7?sid=new": (at("/print/p/7"), True),
        "/print/p/50?sid=new": (at("/p/50"), False), "/p/300": (None, False),
        "/p/7?ref=new": None, "/u/7?sid=new": None,
    }.items():  # fmt: skip
        found = next(site.host.contradicted(at(path), 10**6), None)
        assert (found and (found[0], found[1] == site.first["/p/7"][0])) == wanted


def test_links_to_new_pages_end_claims(site):
    site.confirm("{}?sid={}")
    page = at("/p/1?sid=new")
    site.page("/p/77?sid=1")  # what it shows is known of /p/77, too, while the claim is in force
    changes = site.host.contradict(site.host.apply(page)[1], ("http://new", page.url))
    assert told(changes) == [("/p/N", SID, False)]
    assert site.host.forget(at("/p/77")) is None


def test_variants_of_what_had_no_effect_elsewhere(site):
    site.confirm("{}?sid={}")
    site.page("/elsewhere/1")
    paths = "/elsewhere/1?sid=1", "/elsewhere/2?sid=1", "/elsewhere/1?lang=1"
    assert [site.host.is_variant(at(path)) for path in paths] == [True, False, False]


def test_what_often_has_an_effect_makes_no_variants(site):
    """Otherwise new pages behind dropped ones wouldn't count as such."""
    for start in range(0, 3 * NEEDED, NEEDED):
        site.confirm("{}?sid=1", NEEDED - 1, start=start)
        site.page(f"/p/{start}?sid=2", f"a page of its own {start}")
    site.confirm("{}?sid=1", NEEDED - 1, start=500)
    assert not site.host.is_variant(at("/p/1?sid=1"))
    site.confirm("{}?sid=1", 1, start=600)
    assert site.host.is_variant(at("/p/1?sid=1"))


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
    site, met, row, most = ClaimedSite(), {}, 0, 0
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
            assert claim.streak <= row
            assert not (contradicts and claim.is_in_force)
    assert most >= NEEDED or not site.host.claims.in_force


def test_a_page_that_is_forgotten_is_mapped_onto_no_more(site):
    site.confirm("{}?sid={}")
    content = site.first["/p/1"][0]
    assert site.host.forget(at("/p/1")) == content
    assert site.host.forget(at("/p/1")) is None
    assert site.finds("/p/1?sid=new") is None
    assert site.finds("/p/2?sid=new") == [SID]
