"""The heap of URLs against a dict."""

import random

from scrapy_neardup.stores.embedded import heaps as urlheap
from scrapy_neardup.stores.embedded.heaps import UrlHeap


def test_it_keeps_what_a_dict_would():
    rng = random.Random(3)
    heap, expected = UrlHeap(), {}
    for _ in range(20_000):
        row = rng.randrange(300)
        url = rng.choice((None, "", "https://ü.example/" + "x" * rng.randrange(60), "\ud800"))
        heap.set(row, url)
        expected[row] = url or None
    assert {row: heap.get(row) for row in range(300)} == {
        row: expected.get(row) for row in range(300)
    }
    assert heap.get(10**6) is None


def test_holes_are_filled_in_the_end():
    heap = UrlHeap()
    heap.set(0, "https://a.example/")
    for number in range(10_000):
        heap.set(1, f"https://b.example/{number:080}")
    assert heap.nbytes < 300_000
    assert heap.get(0) == "https://a.example/"
    assert heap.get(1) == f"https://b.example/{9999:080}"


def test_nothing_kept_costs_nothing():
    heap = UrlHeap()
    for row in range(1000):
        heap.set(row, None)
    assert heap.nbytes == 0


def test_an_absurdly_long_url_is_not_kept(monkeypatch):
    monkeypatch.setattr(urlheap, "_MAX_LENGTH", 20)
    heap = UrlHeap()
    heap.set(0, "https://a.example/")
    heap.set(0, "https://a.example/and/more")
    assert heap.get(0) is None
