from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scrapy_neardup.report.differences import (
    FEW_WORDS,
    MAX_CHARACTERS,
    MAX_COMPARED,
    MIN_PAGES,
    Group,
    Groups,
    own_phrases,
)
from scrapy_neardup.verdict import Match

CITIES = ["Berlin", "Munich", "New York", "Hamburg", "Bonn", "Kassel", "Essen"]
COMMON = "We look for an engineer who writes clearly and likes to explain."
WORDS = st.lists(st.sampled_from(["a", "b", "c", "d", "e", "1", "2"]), max_size=30)


def told(texts):
    """Return what a group says of each text, as text."""
    group = Group()
    return [said and str(said) for said in (group.add(text, "/jobs/N") for text in texts)]


def ads(cities=CITIES):
    return [f"Engineer\nWork in {city}, full time. {COMMON} {city} is waiting." for city in cities]


@pytest.mark.parametrize("form", ["{}?colour={}", "lamp-{}-{}_7/"])
@pytest.mark.parametrize(("of_each", "said"), [(2, "a few words (red, green)"), (1, None)])
def test_small_groups_of_one_folder_are_named_at_the_fifth(form, of_each, said):
    groups, named = Groups(), []
    for number in range(MIN_PAGES + 2):
        name = chr(97 + number)
        url = f"http://a.test/p/{form}"
        match = Match(page_id=number, distance=0, url=url.format(name, "blue"))
        for colour in ("red", "green")[:of_each]:
            text = f"Lamp {number}\nThis lamp is {colour}. {COMMON}"
            named.append(groups.add(url.format(name, colour), match, text))
    assert [str(each) for each in named if each] == [said] * (said is not None)


THREE = "a few words (Berlin, Munich, New York)"


@pytest.mark.parametrize(("texts", "said"), [
    ([f"ACME\n{day} May 2026: {day * 3}.50 EUR. {COMMON}" for day in range(1, 9)],
     "numbers (1, 2, 3)"),
    ([f"Price: {city}, {n} EUR. {COMMON}" for n, city in enumerate(CITIES, 10)],
     "a few words (Berlin, 10; Munich, 11; New York, 12)"),
    ([f"{city}\n{COMMON}" for city in CITIES], THREE),
    ([ads()[0], "Something else that shares no word with those ads at all.", *ads()[1:]], THREE),
    ([f"{COMMON} {'x' * 500}{number}" for number in range(4)], f"numbers ({'x' * 40}…)"),
])  # fmt: skip
def test_in_what_pages_differ(texts, said):
    assert [each for each in told(texts) if each] == [said]


def test_copies_are_no_difference():
    assert told(ads(["Berlin"] * 50)) == [None] * 50
    assert not any(told(ads(["Berlin", "Munich"] * 50)))
    shouted = (text.upper() if n % 2 else text for n, text in enumerate(ads(["Bonn"] * 9)))
    assert not any(told(shouted))


def test_more_than_a_few_words_are_not_named():
    def texts(count):
        return [" ".join(f"w{chr(97 + page)}{chr(97 + n)}" for n in range(count)) + COMMON
                for page in range(9)]  # fmt: skip

    assert any(told(texts(FEW_WORDS - 1)))  # the last word is joined with the first common one
    assert not any(told(texts(FEW_WORDS + 2)))


def test_what_is_compared_is_bounded():
    copies = [f"{COMMON} {'many other words ' * 9} {n}a {n}b" for n in range(2)] * MAX_COMPARED
    assert not any(told([*copies, *ads()]))
    assert not any(told([f"{'a ' * MAX_CHARACTERS}{city}" for city in CITIES]))


@pytest.mark.parametrize(
    ("text", "other", "phrases"),
    [
        ("in New York now", "in Bonn now", ["New York"]),
        ("3 May 2026", "17 May 2026", ["3"]),
        ("from 3 to 5 daily", "from 4 to 6 daily", ["3 to 5"]),
        ("12.50 €", "12.95 €", ["12.50"]),
        ("A b C", "a B c", []),
        ("x, y; x, y", "z", ["x, y; x, y"]),
    ],
)
def test_own_phrases(text, other, phrases):
    assert own_phrases(text, other) == phrases


@given(WORDS, WORDS)
def test_a_word_is_own_if_neither_of_its_pairs_is_in_the_other_text(words, others):
    pairs = set(pairwise(["", *others, ""]))
    around = ["", *words, ""]
    expected, run = [], []
    for number, word in enumerate(words, 1):
        if {(around[number - 1], word), (word, around[number + 1])} & pairs:
            run = []
        else:
            if not run:
                expected.append(run)
            run.append(word)
    found = own_phrases(" ".join(words), " ".join(others))
    assert found == list(dict.fromkeys(" ".join(phrase) for phrase in expected))


@given(st.text(), st.text())
def test_any_text_is_read_and_own_phrases_are_parts_of_it(text, other):
    assert all(phrase in text for phrase in own_phrases(text, other))
    assert own_phrases(text, text) == []


@given(st.lists(st.sampled_from(CITIES), min_size=1, max_size=12))
def test_a_group_is_named_when_four_dropped_pages_differ(cities):
    seen = [len(set(cities[: number + 1])) for number in range(len(cities))]
    expected = seen.index(MIN_PAGES - 1) if MIN_PAGES - 1 in seen else None
    named = [number for number, said in enumerate(told(ads(cities))) if said]
    assert named == ([] if expected is None else [expected])
