"""Which pages bring next to nothing that their host hasn't shown."""

import pickle
from random import Random

import numpy as np
import pytest

from scrapy_neardup.crawl.experiments.novelties import MAX_HOSTS, Novelties


def shingles(chance, number):
    return np.array([chance.getrandbits(64) for _ in range(number)], np.uint64)


def stale(novelties, *rows, host="example.com", is_new=True):
    """Tell of a page whose rows have these shingles."""
    found = np.concatenate([np.zeros(0, np.uint64), *rows])
    return novelties.is_stale(host, found, is_new=is_new)


@pytest.mark.parametrize("own", [0, 4, 8, 60, 200, 1000])
@pytest.mark.parametrize("seed", range(3))
def test_pages_with_a_text_of_their_own_bring_something(own, seed):
    chance, novelties = Random(seed), Novelties()
    shared = shingles(chance, 300)
    stale(novelties, shared)
    found = [stale(novelties, shared, shingles(chance, own)) for _ in range(200)]
    assert sum(found) == pytest.approx(200 * (own <= 8), abs=10)


def test_known_rows_in_any_order_bring_nothing():
    chance, novelties = Random(1), Novelties()
    one, other = shingles(chance, 200), shingles(chance, 100)
    assert not stale(novelties, one)
    assert not stale(novelties, other)
    assert stale(novelties, other, one)
    assert not stale(novelties, other, host="another.example")


def test_a_page_that_repeats_another_one_or_is_empty_brings_nothing():
    """Where there is no text the verdict says it."""
    novelties, page = Novelties(), shingles(Random(2), 100)
    assert stale(novelties, page, is_new=False)
    assert stale(novelties, page)  # it is remembered
    assert stale(Novelties())
    for is_new in (True, False):
        assert Novelties().is_stale("example.com", None, is_new=is_new) != is_new


def test_what_is_remembered_is_forgotten_when_it_is_too_much():
    chance, novelties = Random(7), Novelties()
    first = shingles(chance, 200)
    stale(novelties, first)
    assert stale(novelties, first)
    kept = [stale(novelties, shingles(chance, 64)) for _ in range(12_000)]
    assert sum(kept) < 120  # new pages are news, however much is remembered
    assert not stale(novelties, first)


def test_hosts_are_bounded():
    chance, novelties = Random(8), Novelties()
    page = shingles(chance, 100)
    for number in range(MAX_HOSTS + 1):
        assert not stale(novelties, page, host=f"h{number}.example")
    assert not stale(novelties, page, host="h0.example")
    assert stale(novelties, page, host=f"h{MAX_HOSTS}.example")
    assert len(pickle.dumps(novelties)) < MAX_HOSTS * 50_000  # 48 kB each
