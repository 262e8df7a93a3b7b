"""Partitions, and the record of an entry."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from scrapy_neardup.stores.records import ENTRY, ENTRY_DTYPE, EXACT_BIT, partition


def test_a_record_is_the_same_for_struct_and_numpy():
    values = (2**64 - 1, 2, 3, 4, 5, 2**32 - 1)
    packed = ENTRY.pack(*values)
    assert len(packed) == ENTRY_DTYPE.itemsize == 32
    assert np.frombuffer(packed, ENTRY_DTYPE)[0].item() == values


def test_in_the_usual_store_a_key_is_the_fingerprint():
    assert partition("", exact=False) == (0, 0)


@pytest.mark.parametrize(
    ("scope", "exact", "tag", "mask"),
    [
        ("", True, 0x2E8A1403, 0x9C81EDEA9777FC26),
        ("example.org", False, 0x6DD08988, 0xC897C0D2D1ED8121),
        ("example.org", True, 0x3C459B03, 0x2E9F02B039AA063B),
        ("bücher.example", False, 0xE16E3DF2, 0x2935078B5CFA568D),
    ],
)
def test_partitions_are_the_same_for_ever(scope, exact, tag, mask):
    """They are part of what is written to files and servers."""
    assert partition(scope, exact) == (tag, mask)


@given(st.text(), st.text(), st.booleans(), st.booleans())
def test_partitions_differ(scope, other, exact, other_exact):
    ours, theirs = partition(scope, exact), partition(other, other_exact)
    assert (ours == theirs) == ((scope, exact) == (other, other_exact))
    assert bool(ours.tag & EXACT_BIT) == exact
    assert 0 <= ours.tag < 2**32
    assert 0 <= ours.mask < 2**64
