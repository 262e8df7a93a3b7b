"""Compiled and pure count the same bins of two sketches."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scrapy_neardup import _speed
from scrapy_neardup.evidence.layout import HEAD, stored_size
from scrapy_neardup.evidence.overlap import Overlap, PureOverlap

pytestmark = pytest.mark.skipif(_speed.load("overlap") is None, reason="pure Python")

sizes = st.tuples(st.sampled_from([16, 32, 64, 512, 1024]), st.sampled_from([1, 2, 4, 8]))
owners = st.integers(0, 255)


@given(
    sizes,
    st.tuples(owners, owners),
    st.randoms(use_true_random=False),
    st.booleans(),
    st.booleans(),
)
def test_two_sketches(size, aside, random, lacks, by_title):
    bins, bits = size
    one, other = (random.randbytes(stored_size(bins, bits)) for _ in range(2))
    furniture = random.getrandbits(bins) & random.getrandbits(bins)
    values = tuple(random.getrandbits(bins) for _ in range(bits))
    lacked = (random.getrandbits(bins), values) if lacks else None
    found = [
        kind(one, bins, bits, aside[0], furniture, lacked).counts(other, aside[1], by_title)
        for kind in (Overlap, PureOverlap)
    ]
    assert _speed.same(*found)


@given(sizes)
def test_what_is_cut_off_is_refused(size):
    kept = bytes(stored_size(*size))
    with pytest.raises(ValueError, match="cut off"):
        Overlap(kept[:-1], *size, 0)
    with pytest.raises(ValueError, match="cut off"):
        Overlap(kept, *size, 0).counts(kept[: HEAD.size], 0)
