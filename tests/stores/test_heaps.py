"""The heaps of evidence and URLs against a dict."""

import random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from scrapy_neardup.stores.embedded import memorystore
from scrapy_neardup.stores.embedded.finding import EvidenceHeap
from scrapy_neardup.stores.embedded.memorystore import UrlHeap

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


def test_it_keeps_what_a_dict_would():
    rng = random.Random(3)
    heap, expected = UrlHeap(), {}
    for _ in range(20_000):
        row = rng.randrange(300)
        url = rng.choice((None, "", "https://ü.example/" + "x" * rng.randrange(60), "\ud800"))
        heap.set(row, url)
        expected[row] = url or None
    assert [*map(heap.get, range(300))] == [*map(expected.get, range(300))]
    assert heap.get(10**6) is None


def test_holes_are_filled_in_the_end():
    heap = UrlHeap()
    heap.set(0, "https://a.example/")
    for number in range(10_000):
        heap.set(1, f"https://b.example/{number:080}")
    assert heap.nbytes < 300_000
    assert heap.get(0) == "https://a.example/"
    assert heap.get(1) == f"https://b.example/{9999:080}"


def test_an_absurdly_long_url_is_not_kept(monkeypatch):
    monkeypatch.setattr(memorystore, "_MAX_LENGTH", 20)
    heap = UrlHeap()
    heap.set(0, "https://a.example/")
    heap.set(0, "https://a.example/and/more")
    assert heap.get(0) is None
