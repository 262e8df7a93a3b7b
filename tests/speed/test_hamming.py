"""Compiled and pure buckets hold and find the same fingerprints, whatever is asked of them."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from scrapy_neardup import _speed
from scrapy_neardup.tables import TableDesign, cuts
from scrapy_neardup.tables.buckets import PureBuckets
from scrapy_neardup.tables.design import masks_within

compiled = _speed.load("hamming")
pytestmark = pytest.mark.skipif(compiled is None, reason="pure Python")

fingerprints = st.integers(0, 2**64 - 1) | st.builds(
    lambda centre, flipped: centre ^ sum(1 << bit for bit in flipped),
    st.sampled_from([0, 2**64 - 1, 0x0123456789ABCDEF]),
    st.sets(st.integers(0, 63), max_size=5),
)
designs = st.sampled_from(
    [
        TableDesign.online(0, 1),
        TableDesign.online(3, 1),
        TableDesign.online(5, 1),
        cuts.nested(2, levels=(5,)),
    ]
)
operations = st.lists(
    st.tuples(st.sampled_from(["add", "add", "remove", "near"]), fingerprints)
    | st.tuples(st.just("load"), st.lists(fingerprints, max_size=40)),
    max_size=60,
)


@given(designs, st.sampled_from([1, 3, 31, 1021]), st.none() | st.integers(1, 9), operations)
def test_any_operations(design, count, limit, operations):
    masks = [table.prefix_mask for table in design.tables]
    flips = [masks_within(table.prefix_mask, table.radius) for table in design.tables]
    ways = [
        buckets(masks, flips, count, design.max_distance, limit)
        for buckets in (PureBuckets, compiled.Buckets)
    ]
    for name, argument in operations:
        if isinstance(argument, list):
            argument = np.array(argument, np.uint64)  # noqa: PLW2901
        answers = [getattr(buckets, name)(argument) for buckets in ways]
        assert answers[0] == answers[1]
        assert type(answers[0]) is type(answers[1])
    for table in range(len(masks)):
        pure, fast = (buckets.lengths(table) for buckets in ways)
        assert pure.dtype == fast.dtype
        assert pure.tolist() == fast.tolist()


def test_buckets_take_memory_as_they_fill():
    buckets = compiled.Buckets([0xFFFF], [[0]], 1021, 3)
    empty = buckets.nbytes
    buckets.load(np.arange(1 << 16, dtype=np.uint64))
    assert 8 << 16 < buckets.nbytes - empty < 10 << 16
