"""Compiled and pure map values to the same slots."""

from array import array
from copy import deepcopy

import pytest
from hypothesis import given
from hypothesis import strategies as st

import scrapy_neardup.stores.embedded.rowmap  # noqa: F401  (what chooses between twins)
from scrapy_neardup import _speed

pytestmark = pytest.mark.skipif(_speed.load("rows") is None, reason="pure Python")

SHARDS = 256


@given(
    st.lists(st.sampled_from([0, 1, 2**63, 2**64 - 1]) | st.integers(0, 2**64 - 1), min_size=1),
    st.integers(2, 9),
    st.sampled_from([0, 1, 3]),
    st.data(),
)
def test_any_sequence_of_calls(values, size, most, data):
    column = array("Q", values)
    ways = [
        (column, [array("I", bytes(4 * size)) for _ in range(SHARDS)], [0] * SHARDS)
        for _ in range(2)
    ]
    rows = st.integers(0, len(values) - 1)
    for name, row in data.draw(st.lists(st.tuples(st.sampled_from(["put", "take_out"]), rows))):
        more = (row, most) if name == "put" else (row,)
        told = [
            way(*held, *more) for way, held in zip(_speed.TWINS[f"rows.{name}"], ways, strict=True)
        ]
        assert _speed.same(*told)
        assert ways[0] == ways[1]
    before = deepcopy(ways[0])
    for value in values:
        found = [way(*ways[0][:2], value) for way in _speed.TWINS["rows.rows_of"]]
        assert _speed.same(*found)
    assert ways[0] == before
