"""Compiled and pure look-ups in Elias-Fano tables find the same, and see the same damage."""

from itertools import product

import numpy as np
import pytest
from encoded_parts import reopened
from fingerprint_sets import KINDS

from scrapy_neardup import _speed
from scrapy_neardup.errors import InputError
from scrapy_neardup.tables.design import Permutation
from scrapy_neardup.tables.packed.checked import checksums
from scrapy_neardup.tables.packed.elias_fano import EliasFano

compiled = _speed.load("packed")
pytestmark = pytest.mark.skipif(compiled is None, reason="pure Python")


@pytest.mark.parametrize("shift", [1, 40, 2**31])
def test_a_directory_that_points_elsewhere_is_damage_and_no_crash(shift):
    """Its checksums are right: another program made it."""
    values = np.unique(KINDS["uniform"](np.random.default_rng(2), 5000))
    encoded = EliasFano.encode(values)
    parts = reopened(encoded.parts, "a table")
    ranks = np.frombuffer(parts["ranks"].layout[0], "<u4").copy()
    ranks += np.uint32(shift)
    parts["ranks"]._buffer = ranks.tobytes()
    parts["ranks"]._sums = checksums(ranks.tobytes())
    table = EliasFano(encoded.parameters, parts)
    probe = table.probe(Permutation(range(63, -1, -1)), 7)
    look_ups = (lambda value: probe(value, 3)), table.rank
    for fingerprint, look_up in product(values[::50].tolist(), look_ups):
        try:
            look_up(fingerprint)
        except InputError as error:
            assert "a table: damaged" in str(error)  # noqa: PT017
