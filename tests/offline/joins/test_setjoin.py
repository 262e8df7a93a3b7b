"""Every algorithm, measure and threshold finds what comparing every pair finds."""

import doctest
from fractions import Fraction
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from collections_of_sets import brute_join, brute_self_join, planted, real_texts
from hypothesis import given
from hypothesis import strategies as st
from twins import both_ways

from scrapy_neardup.errors import ConfigurationError
from scrapy_neardup.offline.joins import (
    encode,
    join,
    self_join,
    setjoin,
    shingles,
    words,
)

ALGORITHMS = ("bitmap", "all-pairs", "ppjoin", "ppjoin+")
TIED = {
    # thresholds that sets of these sizes reach exactly
    "jaccard": ["1/4", "1/3", "1/2", "3/5", "2/3", "3/4", "4/5", "5/6", "9/10", "1"],
    "cosine": ["1/4", "1/3", "1/2", "3/5", "2/3", "3/4", "4/5", "9/10", "1"],
    "dice": ["2/5", "1/2", "2/3", "3/4", "4/5", "8/9", "9/10", "1"],
    "overlap": ["1", "2", "3", "5", "8", "13"],
    "containment": ["1/9", "1/4", "1/3", "1/2", "3/5", "2/3", "3/4", "4/5", "5/6", "9/10", "1"],
}
CASES = [(measure, Fraction(text)) for measure, texts in TIED.items() for text in texts]


_both_ways = both_ways(setjoin, "_compiled", setjoin._compiled)


def algorithms(measure):
    return ALGORITHMS if measure != "containment" else ALGORITHMS[:1]


small_sets = st.lists(st.frozensets(st.integers(0, 12), max_size=9), max_size=25)


@cache
def of_planted(threshold, measure):
    """Return sets, and their pairs by brute force, once for both ways."""
    sets = planted(100, seed=threshold.numerator)
    return sets, brute_self_join(sets, threshold, measure)


@cache
def of_two_collections(threshold, measure):
    """Return two collections, and their pairs by brute force."""
    sets = planted(160, seed=7)
    return sets[:60], sets[60:], brute_join(sets[:60], sets[60:], threshold, measure)


@cache
def of_texts(size, threshold):
    """Return the words of real texts, and the pairs of their shingles by brute force."""
    documents = [words(text) for text in real_texts()]
    sets = [
        {tuple(document[k : k + size]) for k in range(max(len(document) - size, 0) + 1)}
        for document in documents
    ]
    return documents, brute_self_join(sets, Fraction(str(threshold)), "jaccard")


def found(pairs):
    return list(zip(pairs.i.tolist(), pairs.j.tolist(), strict=True))


@pytest.mark.parametrize(("measure", "threshold"), CASES)
def test_self_joins_equal_brute_force(measure, threshold):
    sets, expected = of_planted(threshold, measure)
    for algorithm in algorithms(measure):
        # As a user writes it: a float, not the exact ratio.
        pairs = self_join(sets, float(threshold), measure=measure, algorithm=algorithm)
        assert found(pairs) == expected, algorithm
    assert expected or (measure, threshold) == ("overlap", 13)


@pytest.mark.parametrize(("measure", "threshold"), CASES)
def test_joins_of_two_collections_equal_brute_force(measure, threshold):
    left, right, expected = of_two_collections(threshold, measure)
    for algorithm in algorithms(measure):
        pairs = join(left, right, float(threshold), measure=measure, algorithm=algorithm)
        assert found(pairs) == expected, algorithm


@given(
    small_sets,
    st.sampled_from([(*case, name) for case in CASES for name in algorithms(case[0])]),
    st.integers(0, 5),
    st.integers(0, 25),
)
def test_any_small_collection(sets, case, max_depth, cut):
    measure, threshold, algorithm = case
    options = {"measure": measure, "algorithm": algorithm, "max_depth": max_depth}
    pairs = self_join(sets, threshold, **options)
    assert found(pairs) == brute_self_join(sets, threshold, measure)
    left, right = sets[:cut], sets[cut:]
    pairs = join(left, right, threshold, **options)
    assert found(pairs) == brute_join(left, right, threshold, measure)


@pytest.mark.parametrize(("size", "threshold"), [(1, 0.5), (3, 0.8), (3, 0.95)])
def test_real_texts(size, threshold):
    documents, expected = of_texts(size, threshold)
    assert len(expected) > 100
    encoded = shingles(documents, size)
    for algorithm in ALGORITHMS:
        assert found(self_join(encoded, threshold, algorithm=algorithm)) == expected


def test_similarity_is_the_measure():
    sets = planted(80, seed=1)
    for measure, threshold in (
        ("jaccard", 0.3), ("cosine", 0.3), ("overlap", 3), ("containment", 0.4), ("dice", 0.4),
    ):  # fmt: skip
        pairs = self_join(sets, threshold, measure=measure)
        assert pairs.values.dtype == np.float64
        for i, j, similarity in zip(pairs.i, pairs.j, pairs.values, strict=True):
            x, y, common = len(sets[i]), len(sets[j]), len(sets[i] & sets[j])
            values = {
                "jaccard": common / (x + y - common), "cosine": common / (x * y) ** 0.5,
                "overlap": common, "containment": common / x, "dice": 2 * common / (x + y),
            }  # fmt: skip
            assert similarity == values[measure]


def test_candidates_fall_from_filter_to_filter():
    sets = encode(planted(2500, seed=3, vocabulary=2000, copies=0.1))
    stats = [self_join(sets, 0.8, algorithm=name).stats for name in ALGORITHMS[1:]]
    deeper = self_join(sets, 0.8, algorithm="ppjoin+", max_depth=4).stats
    all_pairs, ppjoin, ppjoin_plus, deep = (s.candidates for s in (*stats, deeper))
    assert all_pairs > 1.2 * ppjoin
    assert ppjoin > 2 * ppjoin_plus
    assert ppjoin_plus >= deep >= deeper.pairs
    arrays = self_join(sets, 0.8).stats
    assert arrays.hits == stats[0].hits
    assert ppjoin > 2 * arrays.candidates
    assert arrays.candidates >= arrays.pairs == stats[0].pairs


def test_the_filters_leave_few_candidates_of_containment():
    sets = planted(2500, seed=3, vocabulary=2000, copies=0.1)
    stats = self_join(sets, 0.8, measure="containment").stats
    assert stats.hits < 2500**2 / 8
    assert stats.pairs <= stats.candidates < stats.hits / 10


def test_containment_in_much_larger_sets():
    parts = [set(range(start, start + 20)) for start in range(0, 2000, 100)]
    book = set(range(2000))
    pairs = self_join([*parts, book], 1, measure="containment")
    assert found(pairs) == [(number, 20) for number in range(20)]
    pairs = join([book], parts, 0.01, measure="containment")
    assert pairs.values.tolist() == [0.01] * 20
    assert not len(join([book], parts, 0.0101, measure="containment"))


def test_sets_of_very_different_sizes():
    sets = [set(range(size)) for size in (1, 2, 3, 50, 51, 3000, 3001, 30_000, 30_001)]
    encoded = encode(sets)
    for measure, threshold in (
        ("jaccard", 0.98), ("cosine", 0.99), ("overlap", 50), ("containment", 0.7)
    ):  # fmt: skip
        expected = brute_self_join(sets, Fraction(str(threshold)), measure)
        for algorithm in algorithms(measure):
            pairs = self_join(encoded, threshold, measure=measure, algorithm=algorithm)
            assert found(pairs) == expected


def test_numbered_multisets_count_repetitions():
    records = [list("aab"), list("ab"), list("aabb"), list("aaab")]
    assert found(self_join(encode(records), 1)) == [(0, 1), (0, 2), (0, 3), (1, 2), (1, 3), (2, 3)]
    as_multisets = self_join(encode(records, multiset=True), 0.75)
    assert found(as_multisets) == [(0, 2), (0, 3)]
    assert as_multisets.values.tolist() == [0.75, 0.75]


@pytest.mark.parametrize("measure", ["jaccard", "cosine", "containment", "overlap"])
def test_thresholds_out_of_range(measure):
    wrong, wanted = [-0.1, 1.0000001, "0.8", 1j], "number above 0"
    if measure == "overlap":
        wrong, wanted = [-3, 2.5, "5", False], "whole number"
    for threshold in (*wrong, float("nan"), float("inf"), 0, None, True):
        with pytest.raises(ConfigurationError, match=f"{measure} threshold must be a {wanted}"):
            self_join([{1}], threshold, measure=measure)


@pytest.mark.parametrize("threshold", [1e30, 10**30, 2**63, 2**62])
def test_an_overlap_that_no_sets_reach(threshold):
    for algorithm in ALGORITHMS:
        assert len(self_join([{1}, {1}], threshold, measure="overlap", algorithm=algorithm)) == 0


def test_other_bad_arguments():
    for message, bad in (
        ("measure must be one of 'jaccard', 'cosine'", {"measure": "euclid"}),
        ("algorithm must be one of 'bitmap'", {"algorithm": "fast"}),
        ("'ppjoin' doesn't find contain", {"measure": "containment", "algorithm": "ppjoin"}),
        ("max_depth must be a whole number, 0 or more", {"max_depth": -1}),
    ):
        with pytest.raises(ConfigurationError, match=message):
            self_join([{1}], 0.5, **bad)
    with pytest.raises(ConfigurationError, match="can't be the text 'a text'"):
        self_join(["a text"], 0.5)


@given(small_sets, st.sampled_from(["jaccard", "cosine", "overlap", "containment"]))
def test_shares_find_each_pair_once(made, measure):
    half = len(made) // 2
    runs = [(self_join, made, 0.6), (join, made[:half], made[half:], 0.6)]
    runs = [(*run[:-1], 2) for run in runs] if measure == "overlap" else runs
    options = {"measure": measure}
    for find, *given_ in runs:
        whole = find(*given_, **options)
        shares = [find(*given_, share=(number, 3), **options) for number in range(3)]
        i, j, values = map(np.concatenate, zip(*(each.columns for each in shares), strict=True))
        order = np.lexsort((j, i))
        assert all(map(np.array_equal, whole.columns, (i[order], j[order], values[order])))
        for count in ("hits", "candidates", "pairs"):
            parts = [getattr(each.stats, count) for each in shares]
            assert getattr(whole.stats, count) == sum(parts)


def test_the_documents_show_what_happens():
    document = Path(__file__).parents[3] / "docs" / "joins.md"
    shown = doctest.testfile(str(document), module_relative=False), doctest.testmod(setjoin)
    for failures, tried in shown:
        assert tried
        assert not failures


SETS = st.lists(st.frozensets(st.integers(0, 8), max_size=6), max_size=12)


@given(SETS, st.integers(0, 9) | st.just(10**30), st.data())
def test_hamming_distance_by_brute_force(sets, most, data):
    """Sets without a common token may be near, too."""
    algorithm = data.draw(st.sampled_from(["bitmap", "all-pairs", "ppjoin", "ppjoin+"]))
    near = [
        (i, j, len(one ^ other))
        for i, one in enumerate(sets)
        for j, other in enumerate(sets)
        if one and other and len(one ^ other) <= most
    ]
    found = self_join(sets, most, measure="hamming", algorithm=algorithm)
    pairs = [*zip(found.i.tolist(), found.j.tolist(), found.values.tolist(), strict=True)]
    assert pairs == [(i, j, distance) for i, j, distance in near if i < j]
    if algorithm == "bitmap":
        shares = [self_join(sets, most, measure="hamming", share=(each, 3)) for each in range(3)]
        assert sorted(
            pair for part in shares for pair in zip(part.i.tolist(), part.j.tolist(), strict=True)
        ) == [pair[:2] for pair in pairs]
    half = len(sets) // 2
    across = join(sets[:half], sets[half:], most, measure="hamming", algorithm=algorithm)
    assert [*zip(across.i.tolist(), (across.j + half).tolist(), strict=True)] == [
        (i, j) for i, j, _ in near if i < half <= j
    ]
