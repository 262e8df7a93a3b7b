"""Broder's filter: minima under bijections, features, and the curve of its paper."""

from fractions import Fraction
from itertools import product
from math import sqrt

import numpy as np
import pytest
import reference_simhash as reference
from hypothesis import given
from hypothesis import strategies as st
from resembling_sets import HASH_SETS, fixed, resembling

from scrapy_neardup.errors import ConfigurationError, NoFeaturesError
from scrapy_neardup.fingerprints.broder import Filter
from scrapy_neardup.fingerprints.independent import minima


def permutations(count):
    """(a, b) of each permutation, in plain Python."""
    drawn = [reference.mix(i * 0x9E3779B97F4A7C15 % 2**64) for i in range(1, 2 * count + 1)]
    return [(a | 1, b) for a, b in zip(drawn[::2], drawn[1::2], strict=True)]


def minima_by_definition(shingles, count):
    return [min((a * x + b) % 2**64 for x in shingles) for a, b in permutations(count)]


@given(HASH_SETS, st.integers(1, 90))
def test_minima_are_those_of_exact_arithmetic(shingles, count):
    assert minima(shingles, count).tolist() == minima_by_definition(shingles.tolist(), count)


@pytest.mark.parametrize("size", [4095, 4096, 4097, 9000])
def test_minima_of_several_blocks(size):
    shingles = fixed(size)
    assert minima(shingles, 9).tolist() == minima_by_definition(shingles.tolist(), 9)


def test_minima_are_equal_as_often_as_the_sets_are_alike():
    random = np.random.default_rng(1)
    shares = []
    for _ in range(200):
        a, b, truth = resembling(random, 300, 0.8)
        shares.append((minima(a) == minima(b)).mean())
    bound = sqrt(truth * (1 - truth) / 84)
    assert abs(np.mean(shares) - truth) <= 4 * bound / sqrt(200)
    assert np.std(shares) == pytest.approx(bound, rel=0.2)


def test_features_stay_as_they_are():
    assert [f"{feature:016x}" for feature in Filter(6, 14, 2).features_of(fixed(500))] == [
        "689ff8b714443adf", "56873dc7cc8fd96c", "4909d8ce92e83bf1", "7704ea324f70371f",
        "5957e4a2641b8dc8", "2fabdfab28f610ee",
    ]  # fmt: skip


def brute_acceptance(rho, features, size, threshold):
    """Sum over every outcome of every feature."""
    equal = Fraction(rho) ** size
    return sum(
        equal ** sum(outcome) * (1 - equal) ** (features - sum(outcome))
        for outcome in product((0, 1), repeat=features)
        if sum(outcome) >= threshold
    )


@given(
    st.floats(0, 1), st.integers(1, 6).flatmap(lambda k: st.tuples(st.just(k), st.integers(1, k))),
    st.integers(1, 20),
)  # fmt: skip
def test_acceptance_counts_the_outcomes(rho, filter_, size):
    features, threshold = filter_
    expected = float(brute_acceptance(rho, features, size, threshold))
    assert Filter(features, size, threshold).acceptance(rho) == expected


def test_acceptance_of_the_paper():
    # Broder 2000 rounds: the miss at .975 is .0107.
    acceptance = Filter(6, 14, 2).acceptance
    assert 1 - acceptance(0.975) == pytest.approx(0.0107, abs=5e-5)
    assert 1 - acceptance(0.99) < 0.00022
    assert acceptance(0.77) < 0.01
    assert acceptance(0.5) < 0.6e-7
    assert acceptance(0.909) == pytest.approx(0.5, abs=0.005)
    assert acceptance(0) == 0
    assert acceptance(1) == 1


@pytest.mark.parametrize("call", [
    lambda: minima(fixed(3), 0),
    lambda: Filter(6, 14, 2).digests(minima(fixed(3), 83)),
    lambda: Filter(0, 4, 1).digests(minima(fixed(3), 4)),
    lambda: Filter(6, 14, 2).acceptance(1.1),
    lambda: Filter(6, 14, 2).acceptance(float("nan")),
    lambda: Filter(6, 14, 0).acceptance(0.5),
    lambda: Filter(2, 14, 3).acceptance(0.5),
    lambda: Filter(6, 0, 2).acceptance(0.5),
])  # fmt: skip
def test_what_is_refused(call):
    with pytest.raises(ConfigurationError, match=r"or more|need \d+ minima"):
        call()


def test_the_empty_set_has_no_minima():
    with pytest.raises(NoFeaturesError):
        minima(np.empty(0, np.uint64))
