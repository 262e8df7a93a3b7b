"""Places: which are told apart, and which are learnt to change or to stay the same."""

from itertools import permutations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from made_evidence import BINS, BITS, changed, drawn, evidence

from scrapy_neardup.evidence.layout import BORDER, LINKS, MAX_TRACKED, NAMED
from scrapy_neardup.evidence.places import (
    MAX_SHARE,
    SHOWN,
    SMALL_SHARE,
    ChangingPlaces,
    ConstantPlaces,
    changes,
    named_places,
    tracked,
)

PLACE, OTHER = 0x1234, 0x4321
"""Two tracked places."""

HELD = np.arange(40)
"""Bins of the first one."""

OWNERS = np.zeros(BINS, np.uint8)
OWNERS[HELD] = 1
OWNERS[60:80] = 2
OWNERS[100:120] = BORDER
OWNERS[120:140] = NAMED
OWNERS[140:160] = LINKS


def response(number, *, differs=(), title=(1,), places=(PLACE, OTHER)):
    """Return what is kept of one response with a page."""
    return evidence(
        changed(drawn(number), list(differs)), OWNERS, places=places, title=frozenset(title)
    )


def met(places, number, /, **second):
    """Let a page be met a second time; return what newly changes."""
    return places.learn(
        response(number, **({"differs": HELD} | second)),
        response(number),
        bins=BINS,
        bits=BITS,
    )


def test_a_place_that_changes_is_learnt_from_pages_met_again():
    places = ChangingPlaces()
    assert [met(places, number) for number in range(SHOWN)] == [frozenset()] * (SHOWN - 1) + [
        {PLACE}
    ]
    assert places.changing == {PLACE}
    assert met(places, SHOWN) == frozenset()


@pytest.mark.parametrize("number", [1])
def test_one_page_fetched_again_and_again_is_enough(number):
    places = ChangingPlaces()
    for _ in range(SHOWN):
        met(places, number)
    assert places.changing == {PLACE}


@pytest.mark.parametrize(
    "second",
    [
        pytest.param({"differs": ()}, id="the same again"),
        pytest.param({"differs": [*HELD, *range(200, 300)]}, id="another page"),
        pytest.param({"differs": range(200, 300)}, id="elsewhere"),
        pytest.param({"differs": HELD[:10]}, id="a word of it"),
        pytest.param({"title": (2,)}, id="another title"),
        pytest.param({"title": ()}, id="no title"),
    ],
)
def test_what_is_no_evidence(second):
    places = ChangingPlaces()
    for number in range(3 * SHOWN):
        assert met(places, number, **second) == frozenset()
    assert not places.changing


def test_a_place_that_mostly_stays_the_same_does_not_change():
    places = ChangingPlaces()
    for number in range(10 * SHOWN):
        met(places, number, differs=HELD if number % 8 == 0 else ())
    assert not places.changing


def test_a_site_may_change_its_ways():
    places = ChangingPlaces()
    for number in range(SHOWN):
        met(places, number)
    assert places.changing
    for number in range(100):
        met(places, number, differs=())
    assert not places.changing


def test_a_place_that_only_one_of_them_has_changes():
    found = changes(
        response(1, differs=HELD, places=(77, OTHER)), response(1), bins=BINS, bits=BITS
    )
    assert found == {77, PLACE}


def test_names_links_and_borders_may_differ():
    found = changes(
        response(1, differs=[*HELD, *range(100, 160)]), response(1), bins=BINS, bits=BITS
    )
    assert found == {PLACE}


@given(st.integers(0, 2**32), st.integers(0, BINS))
def test_changes_are_symmetric(seed, count):
    random = np.random.default_rng(seed)
    ours = response(1, differs=random.permutation(BINS)[:count])
    assert changes(ours, response(1), bins=BINS, bits=BITS) == changes(
        response(1), ours, bins=BINS, bits=BITS
    )


def test_memory_is_bounded():
    places = ChangingPlaces()
    for number in range(500):
        met(places, number, places=(number + 1, OTHER))
    assert len(places._seen) <= 64
    assert len(places.changing) <= 64


# Places of which most pages have the same text


def test_a_place_with_the_same_text_on_most_pages_is_constant():
    places = ConstantPlaces()
    for number in range(SHOWN):
        assert not places.constant
        places.learn((PLACE, OTHER), (5, number))
    assert places.constant == {PLACE}


@pytest.mark.parametrize("order", sorted(set(permutations([5, 5, 5, 6]))))
def test_in_any_order_one_of_four_is_too_many(order):
    places = ConstantPlaces()
    for text in order:
        places.learn((PLACE,), (text,))
    assert not places.constant


def test_one_of_a_hundred_is_not():
    places = ConstantPlaces()
    for number in range(100):
        places.learn((PLACE,), (5 if number % 33 else number,))
    assert places.constant == {PLACE}


def test_a_place_may_get_another_text():
    places = ConstantPlaces()
    for text in [5] * 20 + [6] * 20:
        places.learn((PLACE,), (text,))
    assert not places.constant
    for _ in range(200):
        places.learn((PLACE,), (6,))
    assert places.constant == {PLACE}


# Which places are told apart

COUNTS = st.lists(st.tuples(st.integers(1, 6), st.integers(1, 40)), min_size=1, max_size=20)


@given(COUNTS, st.integers(0, 100))
def test_tracked_are_the_last_place_small_ones_and_others_the_largest_first(blocks, others):
    places, counts = zip(*blocks, strict=True)
    sizes = {place: sum(c for p, c in blocks if p == place) for place in places}
    found = tracked(places, counts, sum(counts) + others)
    assert len(found) == len(set(found)) <= MAX_TRACKED
    core, last = sum(counts), places[-1]
    fit = [place for place in sizes if 3 <= sizes[place] <= MAX_SHARE * (core + others)]
    fit.sort(key=lambda place: (place != last, sizes[place] > SMALL_SHARE * core, -sizes[place]))
    assert [sizes[place] for place in found] == [sizes[place] for place in fit[:MAX_TRACKED]]


@given(st.lists(st.integers(0, 2**32 - 1), max_size=20))
def test_places_are_named_by_16_bits(places):
    named = named_places(places)
    assert len(named) == len(places)
    assert all(1 <= name < 2**16 for name in named)


def test_the_first_and_the_last_block_of_a_place_are_told_apart():
    named = named_places([1, 2, 2, 2, 2, 3])
    assert named[2] == named[3]
    assert len(set(named)) == 5
