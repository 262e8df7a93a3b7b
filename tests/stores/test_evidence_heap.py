"""What an `EvidenceHeap` keeps is what was set last, whatever the order of the rows."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from scrapy_neardup.stores.embedded.heaps import EvidenceHeap

SIZE = 5
evidence = st.binary(min_size=SIZE, max_size=SIZE)


@given(st.lists(st.tuples(st.integers(0, 20), evidence)), st.booleans())
def test_what_was_set_last_is_kept(entries, at_once):
    heap = EvidenceHeap(SIZE)
    if at_once:
        heap.load(np.array([row for row, _ in entries], np.uint32), [each for _, each in entries])
    else:
        for row, each in entries:
            heap.set(row, each)
    for row, each in dict(entries).items():
        assert heap.get(row) == each
    assert heap.nbytes == SIZE * (1 + max((row for row, _ in entries), default=-1))


def test_nothing_is_kept_where_nothing_has_to_be_confirmed():
    heap = EvidenceHeap(0)
    heap.set(3, b"whatever")
    assert (heap.get(3), heap.nbytes) == (b"", 0)


def test_evidence_of_another_length_is_refused():
    with pytest.raises(ValueError, match="evidence of 4 bytes instead of 5"):
        EvidenceHeap(SIZE).set(0, b"four")
