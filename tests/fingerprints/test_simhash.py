"""Simhash: what it means, where it ends, and fixed values."""

import numpy as np
import pytest
import reference_simhash as reference

from scrapy_neardup.errors import ConfigurationError, NoFeaturesError
from scrapy_neardup.fingerprints import (
    features,
    hamming_distance,
    simhash,
    simhash_features,
    token_hashes,
)


def bits(*positions):
    return np.array([sum(1 << p for p in positions)], np.uint64)


def test_ties_stay_clear():
    """A bit that as many features have as have not is 0: the rule is sum > 0."""
    a, b = bits(0, 1), bits(1, 2)
    assert simhash_features(np.concatenate([a, b]), None) == 0b010
    assert simhash_features(np.concatenate([a, b]), np.array([1.0, 1.0])) == 0b010
    assert simhash_features(np.concatenate([a, b]), np.array([1.5, 1.0])) == 0b011
    assert simhash_features(np.concatenate([a, b]), np.array([1.0, 0.0])) == 0b011
    assert simhash_features(np.array([0, 2**64 - 1], np.uint64), None) == 0


@pytest.mark.parametrize("weights", ["set", "tf", "sqrt", "log"])
def test_no_features(weights):
    for text in ("", "...", "\n"):
        with pytest.raises(NoFeaturesError):
            simhash(text, weights=weights)
    with pytest.raises(NoFeaturesError):
        simhash_features(bits(1), np.array([0.0]))


def test_unrelated_texts_are_half_the_bits_apart():
    """Distances of unrelated texts are binomial: mean 32, deviation 4 (in 4,950 pairs)."""
    prints = [simhash(" ".join(f"w{n}x{i}" for i in range(100))) for n in range(100)]
    distances = [hamming_distance(a, b) for i, a in enumerate(prints) for b in prints[:i]]
    assert abs(np.mean(distances) - 32) < 1
    assert abs(np.std(distances) - 4) < 0.5


def test_callable_weights():
    tokens = token_hashes("a b c a b c a d e f")
    seen = {}

    def weigh(hashes, counts):
        seen.update(zip(hashes.tolist(), counts.tolist(), strict=True))
        return np.where(counts > 1, 0.0, 2.5)

    hashes, weights = features(tokens, weights=weigh)
    assert seen == reference.shingles("a b c a b c a d e f")
    assert set(weights.tolist()) == {0.0, 2.5}
    rare = hashes[weights > 0]
    assert simhash_features(hashes, weights) == simhash_features(rare, None)
    assert simhash("a b c a b c a d e f", weights=weigh) == simhash_features(rare, None)


@pytest.mark.parametrize(
    ("options", "named"),
    [
        *(
            ({"weights": lambda _hashes, _counts, result=result: result}, "WEIGHTS")
            for result in (np.ones(3), [1.0, np.nan], [1.0, np.inf], [1.0, -1.0], 1.0)
        ),
        *(({"weights": weights}, "WEIGHTS") for weights in ("idf", "", None, ["tf"])),
        ({"shingle_size": 0}, "SHINGLE_SIZE"),
        ({"shingle_size": -1}, "SHINGLE_SIZE"),
    ],
)
def test_options_that_cannot_be_used(options, named):
    with pytest.raises(ConfigurationError, match=f"NEARDUP_{named}"):
        simhash("a b c d", **options)


@pytest.mark.parametrize(
    "weights", [[1.0, -1.0], [1.0, np.nan], [1.0], [-1e-9, 1.0], [2.0**36, 2.0**36]]
)
def test_weights_that_do_not_fit_are_refused(weights):
    with pytest.raises(ConfigurationError, match="NEARDUP_WEIGHTS"):
        simhash_features(np.array([1, 2], np.uint64), np.array(weights))
    assert simhash_features(np.array([1, 2], np.uint64), np.array([2.0**36, 2.0**35])) == 1


def test_logarithms_are_far_from_where_they_round():
    """A machine's own last digit of a logarithm decides no bit, for counts up to a million."""
    units = (1 + np.log(np.arange(1, 1_000_001))) * 2**16
    assert np.abs(units - np.floor(units) - 0.5).min() > 1e-8
