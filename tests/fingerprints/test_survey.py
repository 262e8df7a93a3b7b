import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from scrapy_neardup.errors import ConfigurationError
from scrapy_neardup.fingerprints.resemblance import mod_sketch

sys.path.append(str(Path(__file__).parents[2] / "benchmarks"))

from other_signatures import (
    bucket_checksums,
    i_match,
    i_match_many,
    modulus_for,
    sentences,
    winnow,
    without_common,
)

HASHES = st.lists(st.integers(0, 2**64 - 1), max_size=60).map(lambda h: np.array(h, np.uint64))


def uniform(count, seed=1):
    return np.random.default_rng(seed).integers(0, 2**64, count, dtype=np.uint64)


@given(HASHES, st.integers(1, 20))
def test_mod_sketch_is_what_the_modulus_divides(hashes, modulus):
    assert mod_sketch(hashes, modulus).tolist() == sorted(
        value for value in hashes.tolist() if value % modulus == 0
    )


def test_mod_sketches_estimate_resemblance_and_containment():
    everything = uniform(40_000)
    ours, theirs = everything[:30_000], everything[10_000:]
    a, b = (set(mod_sketch(each, 16).tolist()) for each in (ours, theirs))
    assert len(a & b) / len(a | b) == pytest.approx(0.5, abs=0.03)
    assert len(a & b) / len(a) == pytest.approx(2 / 3, abs=0.03)


@pytest.mark.parametrize(
    ("length", "modulus"), [(0, 1), (64, 1), (65, 4), (256, 4), (257, 16), (10**6, 4**7)]
)
def test_the_modulus_follows_the_length(length, modulus):
    assert modulus_for(length) == modulus


def test_a_sketch_of_a_smaller_modulus_contains_that_of_a_larger_one():
    hashes = uniform(5000)
    assert np.array_equal(mod_sketch(mod_sketch(hashes, 4), 64), mod_sketch(hashes, 64))


@given(HASHES, st.integers(1, 12))
def test_winnowing_selects_the_minimum_of_every_window(hashes, window):
    values = hashes.tolist()
    width = min(window, len(values))
    starts = range(len(values) - width + 1 if values else 0)
    expected = {min(values[start : start + width]) for start in starts}
    assert winnow(hashes, window).tolist() == sorted(expected)


@given(HASHES.filter(len), HASHES, HASHES, st.integers(1, 12))
def test_winnowing_keeps_its_guarantee(shared, before, after, window):
    shared = np.resize(shared, max(window, len(shared)))
    ours, theirs = np.concatenate([before, shared]), np.concatenate([shared, after])
    assert np.intersect1d(winnow(ours, window), winnow(theirs, window)).size


def test_winnowing_has_the_expected_density():
    assert len(winnow(uniform(50_000), 9)) / 50_000 == pytest.approx(2 / 10, rel=0.03)


def test_i_match_ignores_what_all_or_only_this_one_has():
    # Of 1,000 documents: 1 is in all, 2 and 3 are in 30 of them, 9 and 8 only here.
    frequencies = {1: 1000, 2: 30, 3: 30, 8: 1, 9: 1}

    def signature(*tokens):
        return i_match(np.array(tokens, np.uint64), frequencies, 1000)

    assert signature(1, 2, 3, 9) == signature(3, 2, 2, 8) is not None
    assert signature(2, 1) != signature(3, 1)
    assert signature(1, 8, 9) is None
    assert signature() is None


@given(HASHES.filter(len), st.integers(1, 10), st.data())
def test_a_changed_word_changes_the_checksums_of_its_lists_only(tokens, buckets, data):
    place = data.draw(st.integers(0, len(tokens) - 1))
    changed = tokens.copy()
    changed[place] ^= np.uint64(data.draw(st.integers(1, 2**63)))
    lists = {int(tokens[place]) % buckets, int(changed[place]) % buckets}
    ours, theirs = bucket_checksums(tokens, buckets), bucket_checksums(changed, buckets)
    assert set(np.flatnonzero(ours != theirs).tolist()) <= lists


def test_checksums_know_the_order_of_words():
    words = uniform(100)
    assert np.all(bucket_checksums(words, 4) != bucket_checksums(words[::-1].copy(), 4))
    assert bucket_checksums(np.empty(0, np.uint64), 3).tolist() == [0, 0, 0]


@pytest.mark.parametrize(
    "call",
    [
        lambda: mod_sketch(uniform(3), 0),
        lambda: winnow(uniform(3), 0),
        lambda: bucket_checksums(uniform(3), 0),
        lambda: modulus_for(100, 0),
    ],
)
def test_bad_parameters_are_named(call):
    with pytest.raises(ConfigurationError, match=r"1 (list )?or more"):
        call()


@pytest.mark.parametrize(
    "arguments",
    [{"documents": 1}, {"documents": 9, "low": 0.9, "high": 0.1}, {"documents": 9, "high": 2}],
)
def test_i_match_names_what_it_cannot_use(arguments):
    with pytest.raises(ConfigurationError, match=r"documents must be|idf is kept"):
        i_match(uniform(3), {}, **arguments)


def test_one_more_word_leaves_some_lexicons_equal():
    words = uniform(60, seed=3)
    frequencies = dict.fromkeys(words.tolist(), 10)
    a, b = words[:50], words[:51]
    assert i_match(a, frequencies, 100) != i_match(b, frequencies, 100)
    ours, theirs = (i_match_many(each, frequencies, 100, lexicons=20) for each in (a, b))
    assert i_match(a, frequencies, 100) in ours
    assert len(ours) == 21
    # A part without the word is one of three, on average.
    assert 1 <= len(np.intersect1d(ours, theirs)) <= 14
    assert not len(np.intersect1d(ours, i_match_many(words[:10], frequencies, 100, lexicons=20)))
    assert i_match_many(words, {}, 100, low=0.0, high=0.5).tolist() == []
    whole = i_match_many(a, frequencies, 100, lexicons=3, kept=1)
    assert len(whole) == 4  # the same lexicon under other numbers
    for wrong in ({"kept": 0}, {"kept": 1.1}, {"lexicons": -1}):
        with pytest.raises(ConfigurationError, match=r"part of the lexicon|lexicons must be"):
            i_match_many(a, frequencies, 100, **wrong)


def test_common_shingles_are_left_out():
    shingles = np.array([3, 5, 8], np.uint64)
    assert without_common(shingles, {3: 2, 5: 3}, 2).tolist() == [3, 8]
    assert without_common(shingles[:0], {}, 2).tolist() == []


def test_sentences_are_units():
    text = "It rains. Does it?  It does!\nA line\n\nand version 3.11 of it..."
    found = sentences(text)
    assert len(found) == 5
    assert found.tolist() == sorted(found.tolist())
    reordered = "and Version 3.11, of it\nA line.\nIt does. It rains. Does it?"
    assert np.array_equal(sentences(reordered), found)
    assert len(np.intersect1d(sentences(text.replace("rains", "snows")), found)) == 4
    assert len(sentences(" ... !")) == 0
