"""Filters by features, mega-shingles and super-shingles."""

from itertools import combinations
from math import sqrt

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from resembling_sets import fixed, resembling

from scrapy_neardup.errors import ConfigurationError, NoFeaturesError
from scrapy_neardup.fingerprints import features as shingled
from scrapy_neardup.fingerprints import token_hashes
from scrapy_neardup.fingerprints.broder import Filter
from scrapy_neardup.fingerprints.independent import minima
from scrapy_neardup.judge.analysis import Analyser
from scrapy_neardup.judge.parameters import Parameters
from scrapy_neardup.offline.files.sortedruns import mega_shingles
from scrapy_neardup.text import Content


def test_features_of_a_page():
    shingles, ours = fixed(300), Filter(8, 8, 1)
    assert np.array_equal(ours.features_of(shingles), ours.digests(minima(shingles, 64)))
    content = Content.of_text(" ".join(f"word{number}" for number in range(300)))
    analyser = Analyser(Parameters(min_resemblance=0.0, method="minwise"))
    page = analyser.page(content, page_id=1, url=None)
    of_page = shingled(token_hashes(content.text), shingle_size=Parameters().shingle_size)[0]
    assert tuple(ours.features_of(of_page, "one").tolist()) == page.features
    assert len(Filter(6, 14, 2).features_of(shingles, "one")) == 6
    with pytest.raises(ConfigurationError, match="must be 'independent' or 'one'"):
        ours.features_of(shingles, "two")
    with pytest.raises(NoFeaturesError):
        ours.features_of(shingles[:0])


@pytest.mark.parametrize("permutations", ["independent", "one"])
def test_filters_accept_as_often_as_their_curve_says(permutations):
    random, ours, accepted, expected = np.random.default_rng(4), Filter(6, 8, 2), 0, 0.0
    for _ in range(250):
        *sets, truth = resembling(random, 400, 0.85)
        a, b = (ours.features_of(each, permutations) for each in sets)
        accepted += int(np.count_nonzero(a == b) >= ours.shared)
        expected += ours.acceptance(truth)
    assert abs(accepted - expected) <= 4 * sqrt(expected * (1 - expected / 250))


@given(st.lists(st.tuples(*[st.integers(0, 2)] * 4), min_size=2, max_size=12), st.integers(1, 4))
def test_mega_shingles_are_equal_where_features_are_shared(rows, shared):
    found = np.stack(list(mega_shingles(np.array(rows, np.uint64), shared)), axis=1)
    for i, j in combinations(range(len(rows)), 2):
        equal = sum(a == b for a, b in zip(rows[i], rows[j], strict=True))
        assert (found[i] == found[j]).any() == (equal >= shared)
        assert not set(found[i].tolist()) & set(found[j].tolist()) - {
            a for a, b in zip(found[i].tolist(), found[j].tolist(), strict=True) if a == b
        }


def test_mega_shingles_that_are_too_many_are_refused():
    with pytest.raises(ConfigurationError, match="184,756 ways to share 10 of 20 features"):
        next(mega_shingles(np.zeros((1, 20), np.uint64), 10))
    with pytest.raises(ConfigurationError, match="from 1 to 20, not 21"):
        next(mega_shingles(np.zeros((1, 20), np.uint64), 21))
