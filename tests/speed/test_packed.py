"""Compiled and pure look-ups in Elias-Fano tables find the same, and see the same damage."""

from itertools import product

import numpy as np
import pytest
from encoded_parts import reopened
from fingerprint_sets import KINDS

from scrapy_neardup import _speed
from scrapy_neardup.errors import InputError
from scrapy_neardup.tables.packed import checksums
from scrapy_neardup.tables.packed.elias_fano import EliasFano
from scrapy_neardup.tables.permutations import Permutation

compiled = _speed.load("packed")
pytestmark = pytest.mark.skipif(compiled is None, reason="pure Python")


def table_of(values):
    encoded = EliasFano.encode(np.unique(np.array(values, np.uint64)), ranked=True)
    return EliasFano(encoded.parameters, reopened(encoded.parts, "a table"))


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
