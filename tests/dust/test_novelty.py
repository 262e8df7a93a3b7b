"""Patterns whose pages bring nothing new are spent; those with texts of their own never are."""

from random import Random
from statistics import fmean

import numpy as np
import pytest

from scrapy_neardup.crawl.dust.novelty import MIN_STALE, WINDOW, Novelty, Sample


def shingles(chance, number):
    return [chance.getrandbits(64) for _ in range(number)]


def news(novelty, page):
    return together(novelty, page)[0]


def together(novelty, *pages):
    samples = [(Sample(np.unique(np.array(page, np.uint64)), len(page)),) for page in pages]
    return [found for [found] in novelty.news(samples)]


def spent_after(own, times=400, seed=1):
    """Return after how many pages a pattern is spent whose pages have so many own shingles."""
    chance = Random(seed)
    novelty, shared = Novelty(), shingles(chance, 300)
    for number in range(1, times + 1):
        brought = news(novelty, shared + shingles(chance, own))
        if novelty.page("/a/N", is_stale=brought.is_stale):
            assert novelty.spent("/a/N").since == number
            return number
    assert novelty.spent("/a/N") is None
    return None


@pytest.mark.parametrize("own", [0, 4, 8])
def test_a_pattern_without_news_is_spent(own):
    assert MIN_STALE <= spent_after(own) <= 2 * WINDOW


@pytest.mark.parametrize("own", [60, 200, 1000])
@pytest.mark.parametrize("seed", range(3))
def test_a_forum_never_is(own, seed):
    assert spent_after(own, times=1000, seed=seed) is None


def test_it_is_as_before_when_it_brings_something_again():
    novelty = Novelty()
    for _ in range(WINDOW):
        novelty.page("/a/N", is_stale=True)
    assert novelty.spent("/a/N")
    for _ in range(WINDOW - MIN_STALE + 1):
        assert novelty.page("/a/N", is_stale=False) is None
    assert novelty.spent("/a/N") is None


def test_patterns_are_counted_apart_and_bounded():
    novelty = Novelty()
    for number in range(1000):
        novelty.page(f"/{number}/N", is_stale=False)
        novelty.page("/a/N", is_stale=True)
    assert novelty.spent("/a/N")
    assert not novelty.spent("/999/N")


@pytest.mark.parametrize("size", [20, 100, 1000])
@pytest.mark.parametrize("before", [0, 100, 3000])
def test_news_are_estimated_however_much_is_remembered(size, before):
    """A copy with a line more or less brings nothing, another page itself, a half a half."""
    chance, novelty = Random(size + before), Novelty()
    for _ in range(before):
        news(novelty, shingles(chance, 50))
    found = []
    for _ in range(40):
        page = shingles(chance, size)
        whole = news(novelty, page)
        half = news(novelty, page[size // 2 :] + shingles(chance, size // 2))
        found.append((whole.new / whole.asked, half.new / half.asked))
        assert not whole.is_copy
        assert news(novelty, page).new == 0
        assert news(novelty, page[size // 8 :] + shingles(chance, 1)).is_copy
    for mean, share in zip(map(fmean, zip(*found, strict=True)), (1, 0.5), strict=True):
        assert mean == pytest.approx(share, abs=0.15)


def test_what_is_remembered_is_bounded_and_forgotten_when_it_is_too_much():
    chance, novelty = Random(7), Novelty()
    first = shingles(chance, 200)
    news(novelty, first)
    assert news(novelty, first).is_stale
    for _ in range(12_000):
        news(novelty, shingles(chance, 50))
    assert not news(novelty, first).is_copy


@pytest.mark.parametrize("before", [0, 1000])
def test_pages_that_come_together_bring_what_they_bring_one_by_one(before):
    chance = Random(before)
    first, one, other = (shingles(chance, size) for size in (50, 200, 30))
    pages = [first, one, first, one[:100] + other, other, []]
    alone, novelty = Novelty(), Novelty()
    for known in (alone, novelty):
        for _ in range(before):
            news(known, pages[0])
    for found, page in zip(together(novelty, *pages), pages, strict=True):
        assert found == pytest.approx(news(alone, page), rel=0.01)
    assert all(found.new == 0 for found in together(novelty, *pages))
    assert novelty.news([(), ()]) == [[], []]
