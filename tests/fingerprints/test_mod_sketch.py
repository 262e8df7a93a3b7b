"""Broder's V_m: what it estimates, and how far off it is."""

from math import sqrt

import numpy as np
import pytest
from resembling_sets import fixed, uniform

from scrapy_neardup.errors import ConfigurationError
from scrapy_neardup.fingerprints.shingles import mod_sketch
from scrapy_neardup.joins import containment, resemblance


@pytest.mark.parametrize("moduli", [(8, 8), (4, 16)])
def test_mod_sketches_are_unbiased_with_the_error_stated(moduli):
    random = np.random.default_rng(2)
    larger = max(moduli)
    resembled, contained = [], []
    for _ in range(400):
        hashes = uniform(random, 1200)
        sets = hashes[:1000], hashes[400:]  # 600 in common
        a, b = (mod_sketch(each, m) for each, m in zip(sets, moduli, strict=True))
        a, b = mod_sketch(a, larger), mod_sketch(b, larger)
        resembled.append(resemblance(a.tolist(), b.tolist()) - 600 / 1200)
        contained.append(containment(a.tolist(), b.tolist()) - 600 / 1000)
    for errors, bound in (
        (resembled, sqrt(0.5 * 0.5 / (1200 / larger))),
        (contained, sqrt(0.6 * 0.4 / (1000 / larger))),
    ):
        assert abs(np.mean(errors)) <= 4 * bound / sqrt(400)
        assert np.std(errors) == pytest.approx(bound, rel=0.16)


def test_a_modulus_of_zero_is_refused():
    with pytest.raises(ConfigurationError, match="the modulus"):
        mod_sketch(fixed(3), 0)
