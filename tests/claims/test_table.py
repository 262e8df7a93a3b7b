"""A hash table against a dict: right while it grows, bounded afterwards."""

from hypothesis import given
from hypothesis import strategies as st

from scrapy_neardup.claims.knownurls import MAX_CELLS, HashTable
from scrapy_neardup.claims.urlparts import KEY_BITS, VALUE_BITS

KEYS = st.integers(1, (1 << KEY_BITS) - 1)
VALUES = st.integers(0, (1 << VALUE_BITS) - 1)


def spread(number):
    """Return a key as a hash has them: evenly spread."""
    return (number * 0x9E3779B97F4A7C15) % (1 << KEY_BITS) or 1


@given(st.dictionaries(KEYS.map(spread), VALUES, max_size=300))
def test_what_was_put_is_found_while_the_table_grows(entries):
    table = HashTable()
    for key, value in entries.items():
        table.put(key, value)
        table.put(key, value)
    assert {key: table.get(key) for key in entries} == entries
    assert table._filled == len(entries)


@given(st.lists(KEYS, min_size=1, max_size=60), VALUES)
def test_any_keys_the_last_one_is_found_and_nothing_is_made_up(keys, value):
    table = HashTable(16)
    for number, key in enumerate(keys):
        table.put(key, number)
    table.put(keys[-1], value)
    assert table.get(keys[-1]) == value
    assert table.nbytes <= 16 * 8
    for key in keys[:-1]:
        found = table.get(key)
        last = value if key == keys[-1] else len(keys) - 1 - keys[::-1].index(key)
        assert found in {None, last}


def test_a_full_table_forgets_the_oldest_and_stays_bounded():
    table = HashTable()
    for number in range(3 * MAX_CELLS):
        table.put(spread(number), number)
    assert table.nbytes == 8 * MAX_CELLS
    recent = range(3 * MAX_CELLS - MAX_CELLS // 2, 3 * MAX_CELLS)
    assert sum(table.get(spread(number)) == number for number in recent) > 0.9 * len(recent)
    held = table._filled
    table.discard(3 * MAX_CELLS - 1)
    assert table._filled == held - 1
    assert table.get(spread(3 * MAX_CELLS - 1)) is None
    assert table.get(spread(3 * MAX_CELLS - 2)) == 3 * MAX_CELLS - 2
    table.clear()
    assert not table._filled
    assert table.get(spread(3 * MAX_CELLS - 1)) is None
