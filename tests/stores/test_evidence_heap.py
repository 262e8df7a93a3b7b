"""Sketches by row against a dict."""

import random

import numpy as np
import pytest

from scrapy_neardup.stores.embedded.heaps import EvidenceHeap


@pytest.mark.parametrize("sizes", [(2, 6), (64, 65, 180)])
@pytest.mark.parametrize("loaded", [0, 40])
def test_any_sequence_of_calls(sizes, loaded):
    rng = random.Random(len(sizes) + loaded)
    heap = EvidenceHeap(sizes)

    def sketch() -> bytes:
        return rng.randbytes(rng.choice((0, *sizes)))

    heap.grow(50)
    rows = sorted(rng.sample(range(50), loaded))
    expected = {row: sketch() for row in rows}
    for start in range(0, loaded, 15):
        part = rows[start : start + 15]
        heap.load(np.array(part, np.uint32), [expected[row] for row in part])
    for step in range(2000):
        row = rng.randrange(50 + step // 100)
        if step % 100 == 0:
            heap.grow(50 + step // 100)
            continue
        if row in expected:
            del expected[row]
            heap.remove(row)
        elif row < 50 + step // 100:
            expected[row] = sketch()
            heap.set(row, expected[row])
        if step % 50 == 0:
            for each in range(50 + step // 100):
                assert heap.get(each) == expected.get(each, b"")
    # Slots are used again: never were more than 70 rows held at once.
    assert heap.nbytes <= 70 * (sum(sizes) + 8 * len(sizes)) + 4 * 71


def test_what_keeps_nothing_takes_nothing():
    heap = EvidenceHeap(())
    heap.grow(1000)
    heap.set(3, b"")
    heap.load(np.arange(2, dtype=np.uint32), [b"", b""])
    heap.remove(3)
    assert heap.get(3) == b""
    assert heap.nbytes < 100
