"""What an index refuses, and that nothing changes then."""

import numpy as np
import pytest
from twins import both_ways

from scrapy_neardup.errors import ConfigurationError
from scrapy_neardup.tables import HammingIndex, TableDesign, cuts
from scrapy_neardup.tables import index as tables_index
from scrapy_neardup.tables.buckets import Buckets, PureBuckets

_both_ways = both_ways(tables_index, "Buckets", Buckets, PureBuckets)


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda: HammingIndex(4, design=cuts.nested(3, levels=(4,))), "distance 4 or more"),
        (lambda: HammingIndex(3, design=cuts.nested(3, levels=(4,), bits=32)), "64 bits"),
        (lambda: HammingIndex(6, design=TableDesign.probing(6, blocks=2)), "at most 4096 probes"),
    ],
)
def test_what_can_not_be_exact_or_quick_is_refused(make, said):
    with pytest.raises(ConfigurationError, match=said):
        make()


@pytest.mark.parametrize(
    ("argument", "value"),
    [("max_distance", -1), ("max_distance", 11), ("max_distance", 1.5), ("expected", -5),
     ("expected", float("nan")), ("max_bucket", 0)],
)  # fmt: skip
def test_sizes_out_of_range_are_named(argument, value):
    with pytest.raises(ConfigurationError, match=f"{argument}.* must be a whole number"):
        HammingIndex(**{argument: value})


@pytest.mark.parametrize("value", [-1, 2**64, None])
def test_what_is_no_fingerprint_is_refused_and_nothing_changes(value):
    index = HammingIndex()
    index.add(7)
    for call in (index.add, index.query, index.remove):
        with pytest.raises(ConfigurationError, match="fingerprint is a whole number of 64 bits"):
            call(value)
    assert index.query(7) == [(7, 0)]
    assert len(index) == 1


@pytest.mark.parametrize(
    "values", [np.array([-1, 2]), np.array([1.5]), np.array([[1], [2]], np.uint64), [1]]
)
def test_only_arrays_of_uint64_are_added_at_once(values):
    index = HammingIndex()
    with pytest.raises(ConfigurationError, match="one-dimensional array of uint64"):
        index.add_many(values)
    assert len(index) == 0
