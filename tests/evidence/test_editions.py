"""Editions are learnt from pages of one name, and close under each other."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scrapy_neardup.evidence.editions import SHOWN, SHOWN_LATER, Editions
from scrapy_neardup.urls import Address


def steps(path):
    return Address.of(f"http://a.example{path}").steps


def shown(editions, one, other, count, *, first=0):
    return [
        editions.learn(steps(f"/{one}/{n}.html"), steps(f"/{other}/{n}.html"))
        for n in range(first, first + count)
    ]


def apart(one, other):
    return (steps(f"/{one}/x") - steps(f"/{other}/x")) % 2**32


def test_they_are_known_when_enough_pages_have_shown_it():
    editions = Editions()
    assert shown(editions, "4.1", "4.2", SHOWN - 1) == [False] * (SHOWN - 1)
    assert not editions.known
    assert shown(editions, "4.1", "4.2", 1, first=SHOWN) == [True]
    assert editions.known == {apart("4.1", "4.2"), apart("4.2", "4.1")}


def test_a_page_speaks_once():
    editions = Editions()
    for _ in range(3 * SHOWN):
        shown(editions, "a", "b", 1)
    assert not editions.known


def test_either_way_round():
    editions = Editions()
    shown(editions, "a", "b", SHOWN // 2)
    shown(editions, "b", "a", SHOWN - SHOWN // 2, first=SHOWN)
    assert apart("a", "b") in editions.known


def test_further_ones_are_known_sooner_and_close_under_each_other():
    editions = Editions()
    shown(editions, "en", "de", SHOWN)
    shown(editions, "de", "fr", SHOWN_LATER)
    names = ["en", "de", "fr"]
    assert {apart(a, b) for a in names for b in names if a != b} <= editions.known


def test_other_folders_are_not():
    editions = Editions()
    shown(editions, "a", "b", SHOWN)
    assert apart("a", "c") not in editions.known
    assert 0 not in editions.known


@given(st.lists(st.tuples(st.integers(0, 2**32 - 1), st.integers(0, 2**32 - 1)), max_size=300))
def test_what_is_known_is_symmetric(pairs):
    editions = Editions()
    for ours, theirs in pairs:
        editions.learn(ours, theirs)
    assert {-apart % 2**32 for apart in editions.known} == editions.known


@pytest.mark.parametrize("count", [3_000])
def test_memory_is_bounded(count):
    editions = Editions()
    for number in range(count):
        editions.learn(number * 7919, number * number)
    assert len(editions._pages) <= 256
