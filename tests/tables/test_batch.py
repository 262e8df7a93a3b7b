import numpy as np
import pytest
from fingerprint_sets import KINDS, clustered, pairs, uniform
from hypothesis import given
from hypothesis import strategies as st
from twins import both_ways

from scrapy_neardup.errors import ConfigurationError
from scrapy_neardup.tables import batchsearch as batch
from scrapy_neardup.tables import cuts
from scrapy_neardup.tables.arrays import ranges
from scrapy_neardup.tables.batchsearch import BatchSearch, choose_design

_both_ways = both_ways(batch, "QueryTable", batch.QueryTable, batch.PureQueryTable)


def scan(search, scanned):
    """What a scan finds, in rows of the queries."""
    found = [
        triple
        for near in search.scan(scanned)
        for part in search.expand(near)
        for triple in zip(*(column.tolist() for column in part), strict=True)
    ]
    assert len(found) == len(set(found)), "a pair was found twice"
    return set(found)


@pytest.mark.parametrize("max_distance", [*range(9), 10])
@pytest.mark.parametrize("kind", KINDS)
def test_finds_what_brute_force_finds(max_distance, kind):
    random = np.random.default_rng(max_distance)
    queries, scanned = KINDS[kind](random, 300), KINDS[kind](random, 400)
    scanned[:50] = queries[:50]
    scanned[50:100] ^= queries[50:100] ^ scanned[50:100] ^ np.uint64(1 << 5 | 1 << 40)
    search = BatchSearch(queries, max_distance)
    assert scan(search, scanned) == pairs(queries, scanned, max_distance)


@pytest.mark.parametrize(
    "design",
    [
        cuts.nested(3, levels=(4,)),
        cuts.nested(3, levels=(5,)),
        cuts.nested(3, levels=(6,)),
        cuts.nested(3, levels=(4, 4)),
        cuts.fewest(3, prefix_bits=20),
    ],
    ids=lambda design: design.name,
)
def test_no_design_changes_the_answer(design):
    random = np.random.default_rng(1)
    queries, scanned = clustered(random, 400), clustered(np.random.default_rng(1), 500)
    assert scan(BatchSearch(queries, 3, design=design), scanned) == pairs(queries, scanned, 3)


@given(
    st.lists(st.integers(0, 2**64 - 1), max_size=12),
    st.lists(st.integers(0, 2**64 - 1), max_size=12),
    st.lists(st.tuples(st.integers(0, 11), st.integers(0, 2**64 - 1)), max_size=12),
    st.integers(0, 8),
)
def test_any_few_fingerprints(queries, scanned, changed, max_distance):
    """Also none, equal ones, and all zeros and ones."""
    near = [queries[place] ^ (noise & noise >> 7 & noise >> 19)
            for place, noise in changed if place < len(queries)]  # fmt: skip
    queries = np.array(queries, np.uint64)
    scanned = np.array(scanned + near, np.uint64)
    found = scan(BatchSearch(queries, max_distance), scanned)
    assert found == pairs(queries, scanned, max_distance)


@pytest.mark.parametrize("lowest", range(49))
def test_no_two_values_of_a_block_share_a_key(lowest):
    values = np.arange(0, 1 << 16, 7, dtype=np.uint64) << np.uint64(lowest)
    table = batch.PureQueryTable(values, 0xFFFF << lowest, [], 3)
    assert len(np.unique(table._keys(values))) == len(values)


def test_large_buckets_and_many_parts(monkeypatch):
    monkeypatch.setattr(batch, "COMPARED_AT_ONCE", 1000)
    short = type("Short", (batch.QueryTable,), {"scanned_at_once": 100})
    monkeypatch.setattr(batch, "QueryTable", short)
    random = np.random.default_rng(2)
    queries = clustered(random, 700, clusters=1, flips=2)
    scanned = np.concatenate([queries[:150], uniform(random, 150)])
    search = BatchSearch(queries, 3)
    parts = list(search.scan(scanned))
    assert len(parts) > 3
    assert max(len(part.scanned) for part in parts) <= 1000
    assert scan(search, scanned) == pairs(queries, scanned, 3)


def test_equal_queries_are_searched_once_and_expanded():
    search = BatchSearch(np.array([7, 5, 7, 7, 5], np.uint64), 0)
    assert search.distinct.tolist() == [5, 7]
    assert search.first_rows.tolist() == [1, 0]
    (near,) = search.scan(np.array([7], np.uint64))
    assert near.queries.tolist() == [1]
    (expanded,) = search.expand(near)
    assert sorted(expanded.queries.tolist()) == [0, 2, 3]


def test_more_queries_or_more_alike_ones_get_longer_prefixes():
    random = np.random.default_rng(3)
    few, many = uniform(random, 100), uniform(random, 200_000)
    if batch.QueryTable is batch.PureQueryTable:  # compiled, so many are few
        assert choose_design(few, 3).prefix_bits < choose_design(many, 3).prefix_bits
    alike = np.unique(uniform(random, 3000) >> np.uint64(24))  # but in their last 40 bits
    assert choose_design(alike, 3).prefix_bits > choose_design(few, 3).prefix_bits


def test_few_to_scan_get_few_tables():
    queries = uniform(np.random.default_rng(4), 200_000)
    assert len(choose_design(queries, 3, scanned=10).tables) == 4


def test_ranges():
    assert ranges(np.array([5, 0, 9]), np.array([2, 0, 3])).tolist() == [5, 6, 9, 10, 11]
    assert ranges(np.array([], np.intp), np.array([], np.intp)).tolist() == []


@pytest.mark.stress
def test_large_collections():
    random = np.random.default_rng(5)
    queries, scanned = uniform(random, 1_000_000), uniform(random, 2_000_000)
    flips = np.uint64(1 << 63 | 1 << 31 | 1)
    scanned[:10_000] = queries[:10_000] ^ flips
    found = {(a, b) for a, b, _ in scan(BatchSearch(queries, 3), scanned)}
    assert found >= {(place, place) for place in range(10_000)}


@pytest.mark.parametrize("max_distance", [-1, 11, 20, 1.5])
def test_distances_out_of_range_are_refused(max_distance):
    with pytest.raises(ConfigurationError, match="max_distance must be a whole number from 0"):
        BatchSearch(np.arange(3, dtype=np.uint64), max_distance)


def test_only_arrays_of_uint64_are_compared():
    with pytest.raises(ConfigurationError, match=r"queries must be .* uint64, not int64"):
        BatchSearch(np.array([-1, 2]))
    search = BatchSearch(np.arange(3, dtype=np.uint64))
    with pytest.raises(ConfigurationError, match=r"fingerprints must be .* uint64, not float64"):
        list(search.scan(np.array([1.5])))
