"""Two pages to a decision: the rows of the table, and what is counted, by definition."""

from operator import and_

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from made_evidence import BINS, BITS, FULL, Known, changed, drawn, evidence, page, plane

from scrapy_neardup.evidence.context import SiteContext
from scrapy_neardup.evidence.decision import Comparison, Rule
from scrapy_neardup.evidence.demands import (
    DEMANDS,
    MIN_CORE_BINS,
    Names,
)
from scrapy_neardup.evidence.layout import BORDER, LINKS, NAMED, Head, Planes
from scrapy_neardup.verdict import Candidate

UNLIKE = 1 - 2.0**-BITS
"""The share of unlike bins that look it."""

TITLE, OTHER_TITLE = frozenset({1, 2}), frozenset({3, 4})
HERE = {"steps": 100, "path": 10, "name": 7, "text": 1}
THERE = {"steps": 200, "path": 20, "name": 8, "text": 2}
"""Addresses of two pages."""
AGAIN = THERE | {"name": HERE["name"]}
"""The address of another page of the same name."""


def rule(ours, theirs, *, same_embedded=True, bits=BITS, **known):
    """Return the rule by which a page with this evidence repeats another one, or None."""
    bins = 8 * (len(ours) - len(Head().pack())) // (bits + 3)
    comparison = Comparison(page(ours), bins, bits, SiteContext(**known))
    decided = comparison.decide(Candidate(2, 0, theirs, same_content=same_embedded))
    return decided.rule if decided.is_same else None


def pair(differing, owners=None, *, other=None, ours=HERE, theirs=THERE, titles=(TITLE, TITLE)):
    """Return the evidence of two pages whose sketches differ in these bins."""
    values = drawn(1)
    return (
        evidence(values, owners, title=titles[0], **ours),
        evidence(
            changed(values, list(differing)),
            owners if other is None else other,
            title=titles[1],
            **theirs,
        ),
    )


def some(share, first=0):
    """Return bins that hold a share of a sketch."""
    return range(first, first + int(share * BINS))


def owned(**bins):
    owners = np.zeros(BINS, np.uint8)
    for name, held in bins.items():
        owners[list(held)] = {"named": NAMED, "links": LINKS, "border": BORDER, "tracked": 1}[name]
    return owners


TITLES = [(TITLE, TITLE), (TITLE, OTHER_TITLE), (TITLE, frozenset()), (frozenset(), frozenset())]


@pytest.mark.parametrize("titles", TITLES)
def test_alike_texts_and_cores_are_one_page(titles):
    # Under another title and another name 99 % must agree.
    assert rule(*pair(some(0.05), titles=titles, theirs=AGAIN)) is Rule.ALIKE
    assert rule(*pair(some(0.1), titles=titles, theirs=AGAIN)) is None


def test_under_another_title_and_name_almost_all_must_agree():
    titles = TITLE, OTHER_TITLE
    assert rule(*pair(some(0.007), titles=titles)) is Rule.ALIKE
    assert rule(*pair(some(0.05), titles=titles)) is None


def test_a_core_that_differs_is_another_page_though_the_text_is_alike():
    """A thousand words of menus around forty of content."""
    assert rule(*pair(some(0.06), owned(named=range(50, BINS)))) is None
    assert rule(*pair(some(0.06), owned(links=range(50, BINS)))) is None


def test_where_only_what_is_no_content_differs_it_is_one_page():
    menus = owned(
        named=range(12), links=range(12, 24), border=range(24, 36), tracked=range(36, 60)
    )
    few = int(min(DEMANDS[Names.TITLE][3:5]) * UNLIKE * BINS)
    for differing in (range(few), range(12, 12 + few)):
        assert rule(*pair(differing, menus), min_resemblance=0.995) is Rule.SAME_CORE
    # Not while the place isn't known to change.
    known = {"places": (99,)}
    ours, theirs = pair(range(36, 36 + few), menus, ours=HERE | known, theirs=AGAIN | known)
    assert rule(ours, theirs, min_resemblance=0.995) is None
    assert rule(ours, theirs, min_resemblance=0.995, changing=frozenset({99})) is Rule.SAME_CORE


def test_much_that_only_this_page_has_besides_is_content():
    """A name or a form is a hint: alone it doesn't drop a page."""
    owners = owned(named=range(250))
    for titles in TITLES:
        assert rule(*pair(range(200), owners, titles=titles)) is None
    # But what both have may be as much as it likes.
    assert rule(*pair(range(260, 270), owners)) is Rule.ALIKE


@pytest.mark.parametrize("count", [MIN_CORE_BINS - 1, MIN_CORE_BINS])
def test_a_small_core_does_not_speak(count):
    owners = owned(links=range(count, BINS))
    found = rule(*pair(range(BINS - 100, BINS), owners, ours=HERE, theirs=HERE))
    assert found is (Rule.SAME_CORE if count >= MIN_CORE_BINS else None)


def test_on_a_young_site_titles_have_to_agree():
    for titles in TITLES:
        found = rule(*pair(some(0.05), titles=titles), young_site=True, young_folder=True)
        assert found is None
    for titles in TITLES[:1] + TITLES[2:]:
        equal = pair((), titles=titles)
        assert rule(*equal, young_site=True, young_folder=True) is Rule.EQUAL_TEXT
    assert rule(*pair((), titles=TITLES[1]), young_site=True, young_folder=True) is None


def test_in_a_young_folder_of_a_known_site_a_title_of_its_own_speaks():
    assert rule(*pair(some(0.03)), young_folder=True) is Rule.ALIKE
    assert rule(*pair(some(0.03), titles=TITLES[1]), young_folder=True) is None
    # A title that all pages have is none.
    common = frozenset({1, 2})
    assert rule(*pair(some(0.03)), young_folder=True, common=common) is None


def test_posts_quote_each_other_under_the_title_of_their_thread():
    for young in (True, False):
        assert rule(*pair(some(0.06)), young_folder=young) is None
        assert rule(*pair(some(0.06), theirs=AGAIN), young_folder=young) is Rule.ALIKE
        links = owned(links=some(0.06))
        assert rule(*pair(some(0.06), links), young_folder=young) is Rule.ALIKE
    # What most posts quote is new to the one that is quoted first.
    often = Known(plane(np.arange(BINS) < 200))
    assert rule(*pair(range(150)), furniture=often) is None
    assert rule(*pair(range(150), theirs=AGAIN), furniture=often) is Rule.ALIKE


def test_titles_may_be_ignored():
    differs = pair(some(0.06), titles=TITLES[1])
    assert rule(*differs, young_site=True, young_folder=True, titles="ignore") is Rule.ALIKE


def test_furniture_does_not_count():
    def first(share):
        return Known(plane(np.arange(BINS) < share * BINS))

    ours, theirs = pair(range(BINS - 30, BINS), theirs=AGAIN)
    assert rule(ours, theirs) is Rule.ALIKE
    assert rule(ours, theirs, furniture=first(0.8)) is None
    assert rule(ours, theirs, furniture=first(0.2)) is Rule.ALIKE


def test_furniture_that_only_one_page_has_does_not_count():
    """A printable version before the page itself, and after it."""
    ours, theirs = pair(range(100), theirs=AGAIN)
    assert rule(ours, theirs) is None
    assert rule(ours, theirs, furniture=Known((1 << 100) - 1)) is Rule.ALIKE
    values = Planes.unpack(theirs, BINS, BITS).values
    for bins, expected in ((100, Rule.ALIKE), (40, None), (300, Rule.ALIKE)):
        absent = Known(absent=((1 << bins) - 1, values))
        assert rule(ours, theirs, furniture=absent) is expected, bins
    other = tuple((1 << BINS) - 1 - value for value in values)
    assert rule(ours, theirs, furniture=Known(absent=((1 << 100) - 1, other))) is None


def test_a_response_with_the_same_page_may_have_much_besides():
    owners = owned(named=range(250))
    assert rule(*pair(range(200), owners, theirs=HERE)) is Rule.SAME_CORE


@pytest.mark.parametrize(
    ("theirs", "expected"),
    [
        (HERE, Names.RESPONSE),
        (HERE | {"name": 99}, Names.ADDRESS),
        (HERE | {"query": 5}, Names.ADDRESS),
        (THERE, Names.TITLE),
        (THERE | {"name": 7}, Names.NAMESAKE),
        (THERE | {"steps": 150}, Names.ADDRESS),
    ],
)
def test_what_addresses_say(theirs, expected):
    ours, other = pair((), theirs=theirs)
    comparison = Comparison(
        page(ours), BINS, BITS, SiteContext(editions=frozenset({50, 2**32 - 50}))
    )
    assert comparison._names(Head.unpack(other)) is expected
    _, other = pair((), theirs=theirs, titles=(TITLE, OTHER_TITLE))
    under_another = {
        Names.ADDRESS: Names.TRANSLATED, Names.NAMESAKE: Names.RETITLED, Names.TITLE: Names.OTHER
    }  # fmt: skip
    assert comparison._names(Head.unpack(other)) is under_another.get(expected, expected)


def test_an_edition_under_another_title_may_have_less_besides():
    edition = {"theirs": THERE | {"steps": 150}}
    for named, title, expected in (
        (0.1, TITLE, Rule.SAME_CORE),
        (0.1, OTHER_TITLE, None),
        (0.05, OTHER_TITLE, Rule.SAME_CORE),
    ):
        beside, aside = owned(named=some(named)), owned(named=some(0.2))
        two = pair(some(0.2), beside, other=aside, titles=(TITLE, title), **edition)
        assert rule(*two, editions=frozenset({50, 2**32 - 50})) is expected


def test_other_media_contradict_unless_the_address_is_the_same():
    assert rule(*pair(()), same_embedded=False) is None
    assert rule(*pair((), theirs=HERE), same_embedded=False) is not None


def test_short_pages_are_equal_or_not_found_at_all():
    kept = Head(title=TITLE, **HERE).pack()
    for titles, expected in ((TITLE, Rule.EQUAL), (frozenset(), Rule.EQUAL), (OTHER_TITLE, None)):
        assert rule(kept, Head(title=titles, **THERE).pack()) is expected


def test_evidence_that_was_lost_or_is_of_another_kind_of_page_is_none():
    ours, _ = pair(())
    for stored in (b"", Head().pack(), ours[:-1]):
        assert rule(ours, stored) is None
    assert rule(Head().pack(), ours) is None


# By definition

OWNERS = st.lists(st.integers(0, 7), min_size=16, max_size=16)
VALUES = st.lists(st.integers(0, 3), min_size=16, max_size=16)
PLACES = st.lists(st.integers(1, 6), max_size=4, unique=True).map(tuple)
KNOWN = st.frozensets(st.integers(1, 6), max_size=3)
MADE = st.tuples(VALUES, OWNERS, PLACES)
MARKED = st.lists(st.booleans(), min_size=16, max_size=16)


def made(values, owners, places):
    return evidence(np.array(values, np.uint8), np.array(owners, np.uint8), places=places)


@given(
    MADE, MADE, st.tuples(KNOWN, KNOWN), st.tuples(MARKED, MARKED, VALUES), st.sampled_from(Names)
)
def test_bins_are_counted_as_defined(ours, theirs, places_known, marked, names):
    by_title = names is Names.TITLE
    (changing, constant), (furniture, absent, values) = places_known, marked
    planes = tuple(plane([value >> place & 1 for value in values]) for place in range(BITS))
    known = Known(plane(furniture), absent=(plane(absent), planes))
    at_hand = page(made(*ours))
    context = SiteContext(changing=changing, constant=constant, furniture=known)
    stored = made(*theirs)
    found, beside = Comparison(at_hand, 16, BITS, context)._compare(
        stored, Head.unpack(stored), names
    )
    expected, named, links = [[0, 0] for _ in range(3)], 0, 0
    differ = [ours[0][number] != theirs[0][number] for number in range(16)]
    only_ours = sum(map(and_, differ, furniture))
    shown = [lacks and values[n] == theirs[0][n] for n, lacks in enumerate(absent)]
    for number in range(16):
        lacks = furniture[number] and 2 * only_ours > sum(furniture)
        differs = differ[number] and (by_title or not lacks)
        counts = differs or not furniture[number]
        if shown[number] and 2 * sum(shown) > sum(absent) and not by_title:
            differs = counts = False
        aside = [
            owner in (NAMED, LINKS)
            or (1 <= owner <= len(places) and places[owner - 1] in known and not by_title)
            for (_, owners, places), known in ((ours, changing), (theirs, changing | constant))
            for owner in [owners[number]]
        ]
        on_border = BORDER in (ours[1][number], theirs[1][number])
        in_core = not any(aside)
        for place, holds in enumerate((True, in_core, in_core and not on_border)):
            expected[place][0] += differs and holds
            expected[place][1] += counts and holds
        if differs and not furniture[number]:
            named += ours[1][number] == NAMED
            links += ours[1][number] == LINKS
    assert [list(pair) for pair in found] == expected
    assert beside == (named, links)


@given(MADE, MADE, KNOWN, st.sampled_from(Names))
def test_what_does_not_ask_which_page_came_first_is_symmetric(ours, theirs, changing, names):
    """All is but what only the page at hand has besides, and constant places."""
    one, other = made(*ours), made(*theirs)
    found = [
        Comparison(page(a), 16, BITS, SiteContext(changing=changing))._compare(
            b, Head.unpack(b), names
        )[0]
        for a, b in ((one, other), (other, one))
    ]
    assert found[0] == found[1]


HEADS = st.fixed_dictionaries({
    "steps": st.integers(0, 3), "path": st.integers(0, 1), "query": st.integers(0, 2),
    "name": st.integers(0, 1), "title": st.frozensets(st.integers(1, 3), max_size=2),
})  # fmt: skip


@given(
    HEADS,
    HEADS,
    st.sampled_from(["learn", "strict", "ignore"]),
    st.frozensets(st.integers(1, 3), max_size=2),
    st.booleans(),
)
def test_what_titles_and_addresses_say_is_symmetric(ours, theirs, titles, common, young):
    values = drawn(1)
    one, other = evidence(values, **ours), evidence(values, **theirs)
    known = {"titles": titles, "common": common, "young_site": young}
    said = [
        Comparison(
            page(a), BINS, BITS, SiteContext(**known, editions=frozenset({1, 2**32 - 1}))
        )._names(Head.unpack(b))
        for a, b in ((one, other), (other, one))
    ]
    assert said[0] is said[1]
    assert rule(one, other, **known) == rule(other, one, **known)


@given(MADE)
def test_a_page_repeats_itself(given_):
    kept = made(*given_)
    assert Comparison(page(kept), 16, BITS).decide(Candidate(2, 0, kept)).is_same


def test_resemblance_is_estimated_without_bias():
    estimates = []
    for seed in range(200):
        random = np.random.default_rng(seed)
        values, differs = drawn(seed), random.random(BINS) < 0.08
        other = np.where(differs, random.integers(0, 2**BITS, BINS), values).astype(np.uint8)
        comparison = Comparison(page(evidence(values)), BINS, BITS)
        decided = comparison.decide(Candidate(2, 0, evidence(other)))
        if decided.is_same:
            estimates.append(decided.resemblance)
    assert len(estimates) > 100
    assert np.mean(estimates) == pytest.approx(0.92, abs=0.01)
    assert FULL.bit_count() == BINS
