from bisect import bisect_left

import numpy as np
import pytest
from encoded_parts import reopened
from fingerprint_sets import KINDS, uniform
from huffman_blocks import BLOCK, HuffmanBlocks, codes_of
from hypothesis import given
from hypothesis import strategies as st

from scrapy_neardup.errors import InputError
from scrapy_neardup.tables.packed.checked import Checked, checksums
from scrapy_neardup.tables.packed.elias_fano import EliasFano, pack_fixed, read_fixed

WORDS = st.integers(0, 2**64 - 1)
PREFIXES = (1, 7, 12, 16, 25, 40, 57, 64)


def opened(values):
    encoded = EliasFano.encode(values)
    return EliasFano(encoded.parameters, reopened(encoded.parts, "a table"))


def check(table, values):
    plain = values.tolist()
    assert len(table) == len(plain)
    assert table.decode(0, len(plain)).tolist() == plain
    steps = max(1, len(plain) // 7)
    for start in range(0, len(plain) + 1, steps):
        for stop in range(start, len(plain) + 1, steps):
            assert table.decode(start, stop).tolist() == plain[start:stop]
    members = set(plain)
    probed = [*plain[:20], *plain[-20:], *(value ^ 1 << 33 for value in plain[:10]), 0, 2**64 - 1]
    for key in probed:
        assert table.rank(key) == (bisect_left(plain, key) if key in members else None)
        near = {value for value in plain if (value ^ key).bit_count() <= 3}
        for prefix in PREFIXES:
            sharing = {value for value in near if value >> (64 - prefix) == key >> (64 - prefix)}
            found = table.near(key, prefix, 3)
            assert len(found) == len(set(found))
            assert sharing <= set(found) <= near


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("count", [0, 1, 2, 3000])
def test_tables_answer_as_the_array_does(kind, count):
    values = np.unique(KINDS[kind](np.random.default_rng(count), count))
    check(opened(values), values)


def test_runs_of_neighbours():
    """Dense values: one bucket, or one bit a value; and both ends of the range."""
    for first in (0, 2**63 - 500, 2**64 - 1000):
        values = np.arange(first, first + 1000, dtype=np.uint64)
        check(opened(values), values)
    ends = np.array([0, 1, 2**63, 2**64 - 1], np.uint64)
    check(opened(ends), ends)


def test_a_bucket_of_very_many_values():
    """All share their high part: its run of ones is longer than a thousand directories."""
    values = np.arange(60_000, dtype=np.uint64) * np.uint64(3) + np.uint64(2**40)
    values = np.append(values, uniform(np.random.default_rng(0), 5))
    values.sort()
    table = opened(values)
    for place in (0, 1, 30_000, 59_999, 60_000, len(values) - 1):
        assert table.rank(int(values[place])) == place
    assert table.decode(29_990, 30_010).tolist() == values[29_990:30_010].tolist()
    key = int(values[30_000])
    assert set(table.near(key, 64, 0)) == {key}
    brute = values[np.bitwise_count(values ^ np.uint64(key)) <= 3].tolist()
    assert sorted(table.near(key, 30, 3)) == [value for value in brute if value >> 34 == key >> 34]


@given(st.sets(WORDS | st.integers(0, 300), max_size=60))
def test_round_trip(values):
    values = np.array(sorted(values), np.uint64)
    table = opened(values)
    assert table.decode(0, len(values)).tolist() == values.tolist()
    assert [table.rank(value) for value in values.tolist()] == list(range(len(values)))


def test_sizes():
    """Within what the code promises for uniform fingerprints."""
    count = 200_000
    values = np.unique(uniform(np.random.default_rng(1), count))
    entropy = (64 * count - (count * np.log2(count / np.e))) / count
    parts = EliasFano.encode(values).parts.values()
    assert sum(part.data.nbytes for part in parts) * 8 / count < entropy + 0.8


def test_blocks_of_the_benchmark_hold_what_the_paper_says():
    """First value whole, then a code and the bits right of the leading one of each gap."""
    values = np.unique(uniform(np.random.default_rng(2), 1000))
    encoded = HuffmanBlocks.encode(values)
    blocks, keys = encoded.parts["blocks"].data, encoded.parts["keys"].data
    lengths, read = encoded.parameters["lengths"], []
    codes = {
        (length, code): symbol
        for symbol, (length, code) in enumerate(zip(lengths, codes_of(lengths), strict=True))
        if length
    }
    for number, key in enumerate(keys.tolist()):
        block = int.from_bytes(blocks[number * BLOCK : (number + 1) * BLOCK].tobytes(), "little")
        value, place = block & 2**64 - 1, 64
        read.append(value)
        while value != key:
            length = next(
                size for size in range(1, 17) if (size, block >> place & (1 << size) - 1) in codes
            )
            head = codes[length, block >> place & (1 << length) - 1]
            place += length
            value ^= 1 << head | block >> place & (1 << head) - 1
            place += head
            read.append(value)
        assert place <= BLOCK * 8
    assert read == values.tolist()


@given(st.integers(1, 56), st.lists(WORDS, max_size=200))
def test_fixed_width_items(width, values):
    values = np.array(values, np.uint64) & np.uint64((1 << width) - 1)
    data = pack_fixed(values, width).tobytes()
    assert read_fixed(data, 0, len(values), width).tolist() == values.tolist()
    if len(values) > 3:
        assert read_fixed(data, 3 * width, 1, width)[0] == values[3]


def test_damage_is_found_where_it_is_read_and_nowhere_else():
    data = bytes(range(256)) * 64
    sums = checksums(data)
    damaged = bytearray(data)
    damaged[5000] ^= 1
    section = Checked(bytes(damaged), 0, len(data), sums, page=4096, name="F")
    assert section.read(0, 4096) == data[:4096]
    for start, stop in ((4096, 4097), (4000, 4200), (8191, 8192), (0, 16384)):
        with pytest.raises(InputError, match=r"^F: damaged"):
            section.read(start, stop)
    with pytest.raises(InputError):
        section.verify()
    for start, stop in ((16384, 16385), (-1, 1)):
        with pytest.raises(InputError, match="outside"):
            Checked(data, 0, len(data), sums, page=4096, name="F").read(start, stop)
