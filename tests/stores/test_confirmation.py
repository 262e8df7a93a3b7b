"""The comparison of sketches against one that looks at bin after bin."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from scrapy_neardup.fingerprints import b_bit_resemblance, b_bit_sketch, one_permutation_sketch
from scrapy_neardup.stores.confirmation import Comparison, resemblance, stored
from scrapy_neardup.verdict import Sketch


def bins(sketch: bytes, bits: int) -> list[int]:
    return [byte >> place & (1 << bits) - 1 for byte in sketch for place in range(0, 8, bits)]


def plainly_compared(
    view: tuple[bytes, bytes], furniture: bytes, other: tuple[bytes, bytes], bits: int
) -> tuple[int, int]:
    """Return how many bins differ, and how many count; views with the first of their pages."""
    differing = counted = 0
    for ours, our_first, shared, theirs, their_first in zip(
        *(bins(each, bits) for each in (*view, furniture, *other)), strict=True
    ):
        if ours == our_first and theirs == their_first:
            differing += ours != theirs
            counted += not (shared and ours == theirs)
    return differing, counted


def sketch_of(*views: bytes, most_differing: float = 0.0) -> Sketch:
    """Return a sketch of a site without furniture."""
    none = tuple(bytes(len(view)) for view in views)
    return Sketch(views=views, furniture=none, most_differing=most_differing)


def mask_of(marked: list[bool], bits: int) -> bytes:
    """Return a mask with all bits set of these bins."""
    ones = (1 << bits) - 1
    word = sum(ones << place * bits for place, is_set in enumerate(marked) if is_set)
    return word.to_bytes(len(marked) * bits // 8, "little")


@st.composite
def comparisons(draw: st.DrawFn) -> tuple[Sketch, tuple[bytes, ...], int]:
    """Return a sketch, the views of another one, and the bits of a bin."""
    bits = draw(st.sampled_from((1, 2, 4, 8)))
    size = draw(st.sampled_from((2, 8, 32)))
    flips = st.sets(st.integers(0, 8 * size - 1), max_size=12)

    def changed(view: bytes) -> bytes:
        flipped = int.from_bytes(view, "big") ^ sum(1 << bit for bit in draw(flips))
        return flipped.to_bytes(size, "big")

    first = draw(st.binary(min_size=size, max_size=size))
    ours = [first, *(changed(first) for _ in range(draw(st.integers(0, 2))))]
    theirs = [changed(view) for view in ours]
    if draw(st.booleans()):
        theirs = theirs[:1] * len(theirs)
    count = 8 * size // bits
    marked = st.lists(st.booleans(), min_size=count, max_size=count)
    return (
        Sketch(
            views=tuple(ours),
            furniture=tuple(mask_of(draw(marked), bits) for _ in ours),
            most_differing=draw(st.sampled_from((0.0, 0.1, 0.25, 0.5, 1.0))),
        ),
        tuple(theirs),
        bits,
    )


@given(comparisons(), st.booleans())
@settings(deadline=None, max_examples=200)
def test_it_counts_what_differs_bin_by_bin(case, another_title):
    sketch, theirs, bits = case
    expected = [
        plainly_compared((view, sketch.views[0]), furniture, (other, theirs[0]), bits)
        for view, furniture, other in zip(sketch.views, sketch.furniture, theirs, strict=True)
    ]
    comparison = Comparison(sketch, bits)
    entry = stored(sketch_of(*theirs))
    assert comparison.compare(entry) == expected
    answer = comparison.confirmed(entry, another_title=another_title)
    most = sketch.most_differing * (0.1 if another_title else 1)
    repeats = all(differing <= most * counted for differing, counted in expected)
    assert (answer is not None) == repeats
    if answer is not None:
        assert answer == resemblance(comparison.compare(entry), bits)
        assert 0 <= answer <= 1


def test_views_that_are_all_equal_are_stored_once():
    assert stored(None) == b""
    assert stored(sketch_of(b"ab")) == b"ab"
    assert stored(sketch_of(b"ab", b"ab")) == b"ab"
    assert stored(sketch_of(b"ab", b"cd")) == b"abcd"
    assert stored(sketch_of(b"ab", b"ab", b"cd")) == b"ababcd"


@pytest.mark.parametrize("bits", [1, 2, 4, 8])
def test_the_resemblance_is_that_of_the_sketches(bits):
    rng = np.random.default_rng(bits)
    shingles = rng.integers(0, 2**64, 500, np.uint64)
    ours, theirs, others = (
        b_bit_sketch(one_permutation_sketch(part, 256), bits)
        for part in (shingles[:450], shingles[50:], shingles[200:])
    )
    comparison = Comparison(sketch_of(*(ours.tobytes(),) * 2, most_differing=1.0), bits)
    for other in theirs, others:
        expected = b_bit_resemblance(ours, other, bits)
        assert comparison.confirmed(other.tobytes()) == pytest.approx(expected)
    assert comparison.confirmed(ours.tobytes()) == 1.0


@pytest.mark.parametrize("bits", [1, 2, 4, 8])
@pytest.mark.parametrize("swapped", [False, True])
def test_what_one_page_alone_leaves_out_is_not_held_against_it(bits, swapped):
    """A page with its menu, which has a name there, and its printable version."""
    rng = np.random.default_rng(bits)
    own, other, menu = rng.integers(0, 2**64, (3, 1000), np.uint64)
    text, core, another = (
        b_bit_sketch(one_permutation_sketch(shingles, 512), bits).tobytes()
        for shingles in (np.append(own, menu[:200]), own, np.append(other, menu[:200]))
    )
    for printable, repeats in (text, True), (another, False):
        pages = [sketch_of(text, core, most_differing=0.1), sketch_of(*(printable,) * 2)]
        one, two = reversed(pages) if swapped else pages
        answer = Comparison(replace(one, most_differing=0.1), bits).confirmed(stored(two))
        assert answer == (1.0 if repeats else None)


def test_shared_furniture_does_not_count():
    sketch = Sketch(views=(b"\x12\x34",), furniture=(b"\xff\xf0",), most_differing=0.5)
    comparison = Comparison(sketch, 4)
    # Of the four bins three are furniture, and two of them the same in both.
    assert comparison.compare(b"\x12\x44") == [(1, 2)]
    assert comparison.confirmed(b"\x12\x44") == pytest.approx(1 - 0.5 / (15 / 16))
    assert comparison.confirmed(b"\x12\x45") is None
    everything = Sketch(views=(b"\x12",), furniture=(b"\xff",), most_differing=0.0)
    assert Comparison(everything, 4).compare(b"\x12") == [(0, 0)]
    assert Comparison(everything, 4).confirmed(b"\x12") == 1.0
