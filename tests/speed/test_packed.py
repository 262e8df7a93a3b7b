"""Compiled and pure look-ups in Elias-Fano tables find the same, and see the same damage."""

from itertools import product

import numpy as np
import pytest
from encoded_parts import reopened
from fingerprint_sets import KINDS
from hypothesis import given
from hypothesis import strategies as st

from scrapy_neardup import _speed
from scrapy_neardup.errors import InputError
from scrapy_neardup.tables.packed import checksums
from scrapy_neardup.tables.packed.elias_fano import EliasFano
from scrapy_neardup.tables.packed.packedcodec import pure_probe
from scrapy_neardup.tables.permutations import Permutation

compiled = _speed.load("packed")
pytestmark = pytest.mark.skipif(compiled is None, reason="pure Python")

sets_of_values = st.one_of(
    st.sets(st.integers(0, 2**64 - 1), max_size=80).map(sorted),
    st.builds(  # a long run of one high part
        lambda first, step, count: [(first + step * place) % 2**64 for place in range(count)],
        st.integers(0, 2**64 - 1), st.integers(1, 9), st.integers(1, 300),
    ),
    st.builds(
        lambda kind, seed: KINDS[kind](np.random.default_rng(seed), 400).tolist(),
        st.sampled_from(sorted(KINDS)), st.integers(0, 99),
    ),
)  # fmt: skip


def table_of(values):
    encoded = EliasFano.encode(np.unique(np.array(values, np.uint64)), ranked=True)
    return EliasFano(encoded.parameters, reopened(encoded.parts, "a table"))


@given(
    sets_of_values,
    st.integers(0, 2**64 - 1),
    st.tuples(st.integers(1, 64), st.integers(0, 8)),
    st.lists(st.integers(0, 2**64 - 1), max_size=5),
    st.data(),
)
def test_any_table(values, block, limits, others, data):
    prefix_bits, k = limits
    permutation = Permutation.leading([block])
    table = table_of([permutation.apply(value) for value in values])
    fast, pure = table.probe(permutation, prefix_bits), pure_probe(table, permutation, prefix_bits)
    chosen = data.draw(st.lists(st.sampled_from(values), max_size=5)) if values else []
    for fingerprint in [*chosen, *(value ^ 1 << 40 for value in chosen), *others, 0, 2**64 - 1]:
        prefix = permutation.apply(fingerprint) >> (64 - prefix_bits)

        def sharing(probe, fingerprint=fingerprint, prefix=prefix):
            found = probe(fingerprint, k)
            assert len(found) == len(set(found))
            assert all((value ^ fingerprint).bit_count() <= k for value in found)
            return {
                value for value in found
                if permutation.apply(value) >> (64 - prefix_bits) == prefix
            }  # fmt: skip

        expected = {
            value for value in values
            if (value ^ fingerprint).bit_count() <= k
            and permutation.apply(value) >> (64 - prefix_bits) == prefix
        }  # fmt: skip
        assert sharing(fast) == sharing(pure) == expected
    stored = sorted({permutation.apply(value) for value in values})
    for value in [*stored[:9], *(permutation.apply(other) for other in others), 0, 2**64 - 1]:
        expected = stored.index(value) if value in stored else None
        assert table.rank(value) == table.pure_rank(value) == expected


@pytest.mark.parametrize("name", ["low", "high"])
def test_damage_is_found_when_it_is_read(name):
    values = np.unique(KINDS["uniform"](np.random.default_rng(1), 20_000))
    encoded = EliasFano.encode(values, ranked=True)
    parts = reopened(encoded.parts, "a table")
    section = parts[name]
    data = bytearray(section.layout[0])
    data[5000] ^= 8
    section._buffer = bytes(data)
    table = EliasFano(encoded.parameters, parts)
    probe = table.probe(Permutation(range(63, -1, -1)), 25)
    intact = table_of(values.tolist()).probe(Permutation(range(63, -1, -1)), 25)
    outcomes = set()
    for fingerprint in values[::7].tolist():
        try:
            assert probe(fingerprint, 3) == intact(fingerprint, 3)
            assert values[table.rank(fingerprint)] == fingerprint
            outcomes.add("right")
        except InputError as error:
            assert "a table: damaged" in str(error)  # noqa: PT017
            outcomes.add("refused")
    assert outcomes == {"right", "refused"}


@pytest.mark.parametrize("shift", [1, 40, 2**31])
def test_a_directory_that_points_elsewhere_is_damage_and_no_crash(shift):
    """Its checksums are right: another program made it."""
    values = np.unique(KINDS["uniform"](np.random.default_rng(2), 5000))
    encoded = EliasFano.encode(values, ranked=True)
    parts = reopened(encoded.parts, "a table")
    ranks = np.frombuffer(parts["ranks"].layout[0], "<u4").copy()
    ranks += np.uint32(shift)
    parts["ranks"]._buffer = ranks.tobytes()
    parts["ranks"]._sums = checksums(ranks.tobytes())
    table = EliasFano(encoded.parameters, parts)
    probe = table.probe(Permutation(range(63, -1, -1)), 7)
    for fingerprint, look_up in product(
        values[::50].tolist(), (lambda value: probe(value, 3), table.rank)
    ):
        try:
            look_up(fingerprint)
        except InputError as error:
            assert "a table: damaged" in str(error)  # noqa: PT017
