"""The compact multimap against a dict of sets."""

import random
from array import array
from collections import defaultdict

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from scrapy_neardup.stores.embedded.rowmap import RowMap


def check(rowmap: RowMap, column: array, rows: set[int]) -> None:
    """Compare the whole of a map with the rows that are in it."""
    expected = defaultdict(set)
    for row in rows:
        expected[column[row]].add(row)
    assert len(rowmap) == len(rows)
    for value, held in expected.items():
        found = list(rowmap.rows(value))
        assert len(found) == len(held)
        assert set(found) == held


@given(st.lists(st.integers(0, 3) | st.integers(0, 2**64 - 1), min_size=1, max_size=60), st.data())
def test_any_sequence_of_calls(values, data):
    column = array("Q", values)
    rowmap = RowMap(column)
    rows: set[int] = set()
    for row in data.draw(st.lists(st.integers(0, len(values) - 1), max_size=120)):
        if row in rows:
            rowmap.discard(row)
            rows.remove(row)
        else:
            rowmap.add(row)
            rows.add(row)
    check(rowmap, column, rows)


@pytest.mark.parametrize(("distinct", "size"), [(1, 500), (50, 3000), (2**64, 6000)])
@pytest.mark.parametrize("bulk", [0, 300])
def test_growing_and_shrinking(distinct, size, bulk):
    rng = random.Random(distinct + bulk)
    column = array("Q", [rng.randrange(distinct) for _ in range(size)])
    rowmap = RowMap(column)
    rows = set(range(bulk))
    rowmap.add_many(np.arange(bulk, dtype=np.uint32))
    check(rowmap, column, rows)
    for row in range(bulk, size):
        rowmap.add(row)
        rows.add(row)
        if rng.random() < 0.4:
            gone = rng.choice(tuple(rows)) if row % 50 == 0 else row
            rowmap.discard(gone)
            rows.remove(gone)
    check(rowmap, column, rows)
    rowmap.add_many(np.array(sorted(set(range(size)) - rows), np.uint32))
    check(rowmap, column, set(range(size)))
    for row in rng.sample(range(size), size):
        rowmap.discard(row)
    check(rowmap, column, set())


def test_what_wraps_around_the_end_of_a_shard_is_found():
    # One value fills the last slots of its shard, and goes on at the first ones.
    def is_last(value):
        rowmap = RowMap(array("Q", [value]))
        rowmap.add(0)
        return any(shard[-1] for shard in rowmap._shards)

    column = array("Q", [next(filter(is_last, range(3000)))] * 40)
    for bulk in (0, 5, 40):
        rowmap = RowMap(column)
        rowmap.add_many(np.arange(bulk, dtype=np.uint32))
        for row in range(bulk, 40):
            rowmap.add(row)
        check(rowmap, column, set(range(40)))
        for row in range(0, 40, 2):
            rowmap.discard(row)
        check(rowmap, column, set(range(1, 40, 2)))


@pytest.mark.parametrize("bulk", [0, 1000])
def test_no_more_rows_of_a_value_than_it_takes(bulk):
    rng = random.Random(bulk)
    column = array("Q", [rng.randrange(1, 40) ** 8 for _ in range(3000)])
    rowmap = RowMap(column, most=5)
    held = defaultdict(set)

    def takes(row):
        rows = held[column[row]]
        if has_room := len(rows) < 5:
            rows.add(row)
        return has_room

    assert all(rowmap.add(row) == takes(row) for row in range(200))
    mapped = rowmap.add_many(np.arange(200, 200 + bulk, dtype=np.uint32)).tolist()
    assert mapped == list(filter(takes, range(200, 200 + bulk)))
    for row in range(200 + bulk, 3000):
        other = rng.randrange(row)
        assert rowmap.discard(other) == (other in held[column[other]])
        held[column[other]].discard(other)
        assert rowmap.add(row) == takes(row)
    check(rowmap, column, set().union(*held.values()))


def test_rows_of_other_values_count_for_none():
    values = [number * 0x9E3779B97F4A7C15 % 2**64 for number in range(3000)]
    rowmap = RowMap(array("Q", values * 2), most=1)
    assert all(rowmap.add(row) for row in range(3000))
    assert not any(rowmap.add(row) for row in range(3000, 6000))


def test_bytes_a_row():
    rng = random.Random(1)
    column = array("Q", [rng.getrandbits(64) for _ in range(200_000)])
    one_by_one, at_once = RowMap(column), RowMap(column)
    for row in range(len(column)):
        one_by_one.add(row)
    at_once.add_many(np.arange(len(column), dtype=np.uint32))
    assert all(5.3 < each.nbytes / len(column) < 6.8 for each in (one_by_one, at_once))
