"""Compiled and pure tables of the batch search find the same pairs."""

import numpy as np
import pytest
from fingerprint_sets import KINDS, pairs
from hypothesis import given
from hypothesis import strategies as st

from scrapy_neardup import _speed
from scrapy_neardup.tables.querytable import PureQueryTable

compiled = _speed.load("batch")
pytestmark = pytest.mark.skipif(compiled is None, reason="pure Python")

bits = st.sets(st.integers(0, 63), max_size=40).map(lambda chosen: sum(1 << bit for bit in chosen))


def amounts_up_to(most, *at_once):
    """Up to `most` queries, as many to scan, and how many pairs are compared at once."""
    sizes = st.integers(0, most)
    return st.tuples(sizes, sizes, st.sampled_from(at_once))


def found(table, queries, scanned, masks, k, *, at_once):
    """What a table finds, pair by pair, and no more than `at_once` of it at a time."""
    parts = list(table(queries, masks[0], masks[1:], k).near(scanned, at_once))
    assert [column.dtype for part in parts for column in part] == [
        np.intp, np.uint32, np.uint8,
    ] * len(parts)  # fmt: skip
    assert all(len(part[0]) <= at_once for part in parts)
    rows = [row for part in parts for row in zip(*(c.tolist() for c in part), strict=True)]
    assert len(rows) == len(set(rows))
    return set(rows)


@given(
    st.sampled_from(sorted(KINDS)),
    st.integers(0, 2**32),
    # Pair by pair, numpy takes half a minute for 900 times 900.
    amounts_up_to(30, 1, 7) | amounts_up_to(900, 1000, 1 << 18),
    st.lists(bits, min_size=1, max_size=4),
    st.integers(0, 8),
)
def test_any_table(kind, seed, amounts, masks, k):
    """Also masks of no bits, or of nearly all, and masks that overlap."""
    *sizes, at_once = amounts
    random = np.random.default_rng(seed)
    queries, scanned = (KINDS[kind](random, size) for size in sizes)
    queries = np.unique(queries)
    copied = min(len(queries), len(scanned)) // 2
    flips = np.uint64(1) << random.integers(0, 64, copied, dtype=np.uint64)
    scanned[:copied] = queries[:copied] ^ flips
    expected = {
        (position, place, distance)
        for position, place, distance in pairs(queries, scanned, k)
        if [int(queries[place] ^ scanned[position]) & mask == 0 for mask in masks]
        == [True] + [False] * (len(masks) - 1)
    }
    for table in (PureQueryTable, compiled.QueryTable):
        assert found(table, queries, scanned, masks, k, at_once=at_once) == expected


def test_more_than_fits_is_refused():
    table = compiled.QueryTable(np.arange(9, dtype=np.uint64), 255, [], 3)
    with pytest.raises(ValueError, match="at most 1048576 fingerprints"):
        next(table.near(np.zeros((1 << 20) + 1, np.uint64), 10))
