"""Titles as words: numbers aside, and aside what most titles of a site hold."""

import pytest

from scrapy_neardup.evidence.counts import MIN_PAGES
from scrapy_neardup.evidence.titles import SiteTitles, title_words


def words(title, *headings):
    return title_words(title, headings, key=None)


@pytest.mark.parametrize(
    ("ours", "theirs"),
    [
        ("vdata — LLVM 15 documentation", "vdata — LLVM 16 documentation"),
        ("Chapter 19. Boost", "Chapter 21. Boost"),
        ("3.2. Layers", "3.11. Layers"),
        ("Report 2025", "Report 2026"),
        ("1-2/3 of it", "of it"),
        ("A  title", "a TITLE"),
        ("", "12"),
    ],
)
def test_numbers_do_not_tell_titles_apart(ours, theirs):
    assert words(ours) == words(theirs)


@pytest.mark.parametrize(
    ("ours", "theirs"),
    [
        ("Ann", "Bob"),
        ("Ann", ""),
        ("Model 113a", "Model 123a"),
        ("a1", "a2"),
        ("A", "A B"),
    ],
)
def test_words_and_what_holds_a_letter_do(ours, theirs):
    assert words(ours) != words(theirs)


def test_headings_belong_to_a_title():
    assert words("A", "B") == words("A B") == words("", "A", "B")
    assert len({words("A"), words("A", "B"), words("A", "C")}) == 3


def test_a_secret_key_changes_them():
    assert title_words("A title", (), key=b"one") != title_words("A title", (), key=b"two")


def test_what_most_titles_hold_is_the_sites_own():
    titles = SiteTitles()
    assert titles.young
    for number in range(MIN_PAGES):
        assert not titles.common
        titles.learn(frozenset({1, 100 + number}))
    assert titles.common == {1}
    assert not titles.young


def test_of_half_of_the_titles_it_takes_more():
    titles = SiteTitles()
    for number in range(20):
        titles.learn(frozenset({1 if number % 2 else 2, 3 if number % 4 else 4}))
    assert titles.common == {3}


def test_pages_without_a_title_do_not_count():
    titles = SiteTitles()
    for _ in range(50):
        titles.learn(frozenset())
    assert titles.young
    assert not titles.common


def test_a_site_may_rename_itself():
    titles = SiteTitles()
    for number in range(400):
        titles.learn(frozenset({1 if number < 100 else 2, 100 + number}))
    assert titles.common == {2}


def test_memory_is_bounded():
    titles = SiteTitles()
    for number in range(3_000):
        titles.learn(frozenset({1, *range(10 * number, 10 * number + 10)}))
    assert len(titles._words) < 1_000
    assert 1 in titles.common
