"""Patterns whose pages bring nothing new are spent; those with texts of their own never are."""

import numpy as np
import pytest

from scrapy_neardup.dust.novelty import MAX_NEW, MIN_STALE, WINDOW, Novelty


def shingles(chance, number):
    return chance.integers(0, 1 << 63, number, dtype=np.uint64) << np.uint64(1)


def spent_after(own, times=400, seed=1):
    """Return after how many pages a pattern is spent whose pages have so many own shingles."""
    chance = np.random.default_rng(seed)
    novelty, shared = Novelty(), shingles(chance, 300)
    for number in range(1, times + 1):
        news = novelty.news(np.append(shared, shingles(chance, own)))
        if novelty.page("/a/N", is_stale=news.is_stale):
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
    chance, novelty = np.random.default_rng(size + before), Novelty()
    for _ in range(before):
        novelty.news(shingles(chance, 50))
    found = []
    for _ in range(40):
        page = shingles(chance, size)
        new = novelty.news(page)
        half = np.append(page[size // 2 :], shingles(chance, size // 2))
        found.append((new.share, novelty.news(half).share))
        assert not new.is_copy
        assert novelty.news(np.append(page, page[::-1])).number == 0
        assert novelty.news(np.append(page[size // 8 :], shingles(chance, 1))).is_copy
    means = np.mean(found, axis=0)
    assert means == pytest.approx([1, 0.5], abs=0.15)


def test_what_is_remembered_is_bounded_and_forgotten_when_it_is_too_much():
    chance, novelty = np.random.default_rng(7), Novelty()
    first = shingles(chance, 200)
    novelty.news(first)
    assert novelty.news(first).number <= MAX_NEW
    for _ in range(8000):
        novelty.news(shingles(chance, 50))
    assert novelty.news(first).share > 0.9
