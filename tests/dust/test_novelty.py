"""Patterns whose pages bring nothing new are spent; those with texts of their own never are."""

from random import Random

import pytest

from scrapy_neardup.dust.novelty import MIN_STALE, SAMPLED, WINDOW, Novelty


def sample(chance, shingles):
    """Return which of so many new shingles are in the sample."""
    found = (chance.getrandbits(64) for _ in range(shingles))
    return [each for each in found if each < (1 << 64) // SAMPLED]


def pages(chance, own, times, shared=()):
    for _ in range(times):
        yield [*shared, *sample(chance, own)]


def spent_after(own, times=400, seed=1):
    """Return after how many pages a pattern is spent whose pages have so many own shingles."""
    chance = Random(seed)
    novelty, shared = Novelty(), sample(chance, 300)
    for number, page in enumerate(pages(chance, own, times, shared), 1):
        if novelty.page("/a/N", page):
            assert novelty.spent("/a/N").since == number
            return number
    assert novelty.spent("/a/N") is None
    return None


@pytest.mark.parametrize("own", [0, 4, 8])
def test_a_pattern_without_news_is_spent(own):
    assert MIN_STALE <= spent_after(own) <= 2 * WINDOW


@pytest.mark.parametrize("own", [40, 60, 200, 1000])
@pytest.mark.parametrize("seed", range(5))
def test_a_forum_never_is(own, seed):
    assert spent_after(own, times=2000, seed=seed) is None


def test_it_is_as_before_when_it_brings_something_again():
    chance, novelty = Random(3), Novelty()
    for page in pages(chance, 0, WINDOW, sample(chance, 300)):
        novelty.page("/a/N", page)
    assert novelty.spent("/a/N")
    for page in pages(chance, 500, WINDOW - MIN_STALE + 1):
        assert novelty.page("/a/N", page) is None
    assert novelty.spent("/a/N") is None


def test_patterns_are_counted_apart_and_bounded():
    chance, novelty = Random(5), Novelty()
    for number in range(1000):
        novelty.page(f"/{number}/N", sample(chance, 500))
        novelty.page("/a/N", [])
    assert novelty.spent("/a/N")
    assert not novelty.spent("/999/N")
