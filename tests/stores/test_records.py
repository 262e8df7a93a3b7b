"""Partitions, and the record of an entry."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from scrapy_neardup.fingerprints import PUBLIC_KEY
from scrapy_neardup.stores.entryformat import ENTRY, ENTRY_DTYPE, EXACT_BIT, partition


def test_a_record_is_the_same_for_struct_and_numpy():
    values = (2**64 - 1, 2, 3, 2**32 - 1, 5)
    packed = ENTRY.pack(*values)
    assert len(packed) == ENTRY_DTYPE.itemsize == 32
    assert np.frombuffer(packed, ENTRY_DTYPE)[0].item() == values


@pytest.mark.parametrize(
    ("scope", "exact", "key", "tag", "mask"),
    [
        ("", False, PUBLIC_KEY, 0, 0),  # in the usual store a key is the fingerprint
        ("", True, PUBLIC_KEY, 0x5DD92B4B3A459095, 0xEC757849CDFB6353),
        ("example.org", False, PUBLIC_KEY, 0xCFAEABA5FC2B28A0, 0xC267EE4DF15A8EF7),
        ("example.org", True, PUBLIC_KEY, 0x7EA435DBC6C63931, 0xE55E45EAEC7B127C),
        ("bücher.example", False, PUBLIC_KEY, 0x60B11B2FDC9A90E0, 0xF59172DC8872792D),
        ("example.org", False, b"secret", 0x4318CE58FD1AF9E4, 0xADE5268B87DAA532),
    ],
)
def test_partitions_are_the_same_for_ever(scope, exact, key, tag, mask):
    """They are part of what is written to files and servers."""
    assert partition(scope, exact, key) == (tag, mask)


@given(st.text(), st.text(), st.booleans(), st.booleans())
def test_partitions_differ(scope, other, exact, other_exact):
    ours, theirs = partition(scope, exact), partition(other, other_exact)
    assert (ours == theirs) == ((scope, exact) == (other, other_exact))
    assert bool(ours.tag & EXACT_BIT) == exact
    assert 0 <= ours.tag < 2**64
    assert 0 <= ours.mask < 2**64
