"""Greedy clusters against comparing every page with every leader."""

from fractions import Fraction

import numpy as np
import pytest
from collections_of_sets import planted
from hypothesis import given
from hypothesis import strategies as st

from scrapy_neardup.errors import ConfigurationError
from scrapy_neardup.offline.clusters import GreedyClusters
from scrapy_neardup.offline.joins import resemblance

THRESHOLDS = [Fraction(1, 3), Fraction(1, 2), Fraction(4, 5), Fraction(1)]


def sketch(tokens):
    # Hashes without the order of the tokens, as real ones.
    multiplied = np.array(sorted(tokens), dtype=np.uint64) * np.uint64(0x9E3779B97F4A7C15)
    return np.sort(multiplied)


def compared(sets, threshold):
    leaders, result = [], []
    for number, tokens in enumerate(sets):
        measured = [(resemblance(tokens, sets[leader]), -leader) for leader in leaders]
        best, leader = max(measured, default=(0, 0))
        if best >= threshold:
            result.append((-leader, best))
        else:
            result.append((number, 1.0))
            leaders.append(number)
    return result


@pytest.mark.parametrize("threshold", THRESHOLDS)
def test_planted_clusters(threshold):
    sets = planted(400, seed=4)
    clusters = GreedyClusters(float(threshold))
    found = [tuple(clusters.add(sketch(tokens))) for tokens in sets]
    assert found == compared(sets, float(threshold))
    assert len({leader for leader, _ in found}) < 350


@given(
    st.lists(st.frozensets(st.integers(0, 9), max_size=7), max_size=20),
    st.sampled_from(THRESHOLDS),
)
def test_any_sets(sets, threshold):
    clusters = GreedyClusters(threshold)
    found = [tuple(clusters.add(sketch(tokens))) for tokens in sets]
    assert found == compared(sets, float(threshold))


@pytest.mark.parametrize("common", [1, 3, 20])
def test_common_shingles_are_looked_up_no_more_and_lose_nothing(common):
    draw = np.random.default_rng(6)
    template = set(range(12))
    articles = [set(draw.integers(100, 10**6, 40).tolist()) for _ in range(60)]
    pages = [template | article for article in articles for _ in range(2)]
    for page in pages[1::2]:
        page ^= {int(draw.integers(100, 10**6))}
    clusters = GreedyClusters(0.8, common=common)
    found = [tuple(clusters.add(sketch(tokens))) for tokens in pages]
    assert found == compared(pages, 0.8)
    assert clusters._common
    assert max(map(len, clusters._lists.values())) <= common


def test_arguments_out_of_range():
    with pytest.raises(ConfigurationError, match="threshold must be a number above 0"):
        GreedyClusters(float("nan"))
    with pytest.raises(ConfigurationError, match="common must be a whole number, 1 or more"):
        GreedyClusters(0.5, common=0)
