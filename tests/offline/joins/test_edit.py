"""The edit-distance join against dynamic programming over every pair."""

from itertools import combinations, product

import numpy as np
import pytest
from collections_of_sets import BUILTINS
from hypothesis import example, given
from hypothesis import strategies as st

from scrapy_neardup.errors import ConfigurationError
from scrapy_neardup.offline.joins import edit_distance, edit_join

strings = st.lists(st.text("abc", max_size=10), max_size=15)


def table_distance(a, b):
    row = list(range(len(b) + 1))
    for i, p in enumerate(a, 1):
        above, row[0] = row[0], i
        for j, q in enumerate(b, 1):
            above, row[j] = row[j], min(row[j] + 1, row[j - 1] + 1, above + (p != q))
    return row[-1]


def brute(texts, limit):
    pairs = combinations(enumerate(texts), 2)
    measured = ((i, j, table_distance(a, b)) for (i, a), (j, b) in pairs)
    return [found for found in measured if found[2] <= limit]


def found(pairs):
    return list(zip(*(part.tolist() for part in pairs.columns), strict=True))


@given(st.text("abcd", max_size=40), st.text("abcd", max_size=40))
@example("a" * 100, "b" * 130)
def test_edit_distance(a, b):
    assert edit_distance(a, b) == table_distance(a, b)


@given(strings, st.integers(0, 5), st.integers(1, 4))
def test_any_strings(texts, limit, q):
    assert found(edit_join(texts, limit, q=q)) == brute(texts, limit)


@given(strings, strings, st.integers(0, 5), st.integers(1, 4))
def test_any_strings_of_two_collections(texts, others, limit, q):
    expected = [
        (i, j, distance)
        for i, text in enumerate(texts)
        for j, other in enumerate(others)
        if (distance := table_distance(text, other)) <= limit
    ]
    assert found(edit_join(texts, limit, q=q, others=others)) == expected


def test_real_names():
    names = [name for kind in BUILTINS[:3] for name in dir(kind)]
    within_three = brute(names, 3)
    for q, limit in product((2, 3), range(4)):
        expected = [pair for pair in within_three if pair[2] <= limit]
        pairs = edit_join(names, limit, q=q)
        assert found(pairs) == expected
        assert len(expected) > 100
        assert pairs.stats.pairs == len(expected)
        assert pairs.stats.candidates < len(names) ** 2 / 2


def test_long_texts_with_a_few_edits():
    draw = np.random.default_rng(2)
    letters = np.array(list("abcdefgh"))
    texts = []
    for _ in range(20):
        text = "".join(draw.choice(letters, 200))
        texts += [text, text[:50] + "x" + text[50:120] + text[121:]]
    pairs = edit_join(texts, 3, q=4)
    assert found(pairs) == [(k, k + 1, 2) for k in range(0, 40, 2)]
    assert pairs.stats.candidates == 20


def test_bad_arguments():
    with pytest.raises(ConfigurationError, match="max_distance must be a whole number, 0 or"):
        edit_join(["a"], -1)
    with pytest.raises(ConfigurationError, match="q must be a whole number, 1 or more"):
        edit_join(["a"], 1, q=0)


def test_a_distance_beyond_all_lengths_joins_everything():
    assert edit_join(["a", "bcd", ""], 10**30).values.tolist() == [3, 1, 3]
