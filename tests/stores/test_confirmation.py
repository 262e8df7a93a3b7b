"""The comparison of sketches against one that looks at bin after bin."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from scrapy_neardup.fingerprints import b_bit_resemblance, b_bit_sketch, one_permutation_sketch
from scrapy_neardup.stores.confirmation import Comparison, resemblance, stored
from scrapy_neardup.verdict import Sketch


def bins(sketch: bytes, bits: int) -> list[int]:
    return [byte >> place & (1 << bits) - 1 for byte in sketch for place in range(0, 8, bits)]


def named_of(marked: list[bool], bits: int) -> bytes:
    """Return a bit a bin, as `Sketch.named` has them; ``b""`` where none is marked."""
    each, size = 8 // bits, len(marked) // 8
    named = bytearray(size)
    for place, is_set in enumerate(marked):
        byte, in_byte = divmod(place, each)
        part, byte = divmod(byte, size)
        named[byte] |= is_set << in_byte * bits + part
    return bytes(named) if any(marked) else b""


def mask_of(marked: list[bool], bits: int) -> bytes:
    """Return a mask with all bits set of these bins."""
    ones = (1 << bits) - 1
    word = sum(ones << place * bits for place, is_set in enumerate(marked) if is_set)
    return word.to_bytes(len(marked) * bits // 8, "little")


def sketch_of(text: bytes, named: bytes = b"", most_differing: float = 0.0) -> Sketch:
    """Return a sketch of a site without furniture."""
    return Sketch(
        text=text, named=named, furniture=bytes(len(text)), most_differing=most_differing
    )


@st.composite
def comparisons(draw: st.DrawFn) -> tuple[Sketch, Sketch, int, list[tuple[int, int]]]:
    """Return two sketches, the bits of a bin, and what their comparison has to come to."""
    bits = draw(st.sampled_from((1, 2, 4, 8)))
    size = draw(st.sampled_from((8, 16, 32)))
    text = draw(st.binary(min_size=size, max_size=size))
    flips = draw(st.sets(st.integers(0, 8 * size - 1), max_size=12))
    flipped = int.from_bytes(text, "big") ^ sum(1 << bit for bit in flips)
    other = flipped.to_bytes(size, "big")
    count = 8 * size // bits
    marked = st.lists(st.booleans(), min_size=count, max_size=count) | st.just([False] * count)
    furniture, our_named, their_named = draw(st.tuples(marked, marked, marked))
    most = draw(st.sampled_from((0.0, 0.1, 0.25, 0.5, 1.0)))
    texts = list(zip(bins(text, bits), bins(other, bits), furniture, strict=True))
    named = [ours or theirs for ours, theirs in zip(our_named, their_named, strict=True)]
    cores = [each for each, is_named in zip(texts, named, strict=True) if not is_named]
    return (
        Sketch(
            text=text,
            named=named_of(our_named, bits),
            furniture=mask_of(furniture, bits),
            most_differing=most,
        ),
        sketch_of(other, named_of(their_named, bits)),
        bits,
        [
            (
                sum(ours != theirs for ours, theirs, _ in part),
                sum(not (shared and ours == theirs) for ours, theirs, shared in part),
            )
            for part in ((texts, cores) if any(named) else (texts,))
        ],
    )


@given(comparisons(), st.booleans())
@settings(deadline=None, max_examples=200)
def test_it_counts_what_differs_bin_by_bin(case, another_title):
    sketch, other, bits, expected = case
    comparison = Comparison(sketch, bits)
    entry = stored(other)
    assert comparison.compare(entry) == expected
    answer = comparison.confirmed(entry, another_title=another_title)
    most = sketch.most_differing * (0.1 if another_title else 1)
    repeats = all(differing <= most * counted for differing, counted in expected)
    assert (answer is not None) == repeats
    if answer is not None:
        assert answer == resemblance(comparison.compare(entry), bits)
        assert 0 <= answer <= 1


def test_what_is_stored():
    assert stored(None) == b""
    assert stored(sketch_of(b"ab")) == b"ab"
    assert stored(sketch_of(b"ab", b"c")) == b"abc"


@pytest.mark.parametrize("bits", [1, 2, 4, 8])
def test_the_resemblance_is_that_of_the_sketches(bits):
    rng = np.random.default_rng(bits)
    shingles = rng.integers(0, 2**64, 500, np.uint64)
    ours, theirs, others = (
        b_bit_sketch(one_permutation_sketch(part, 256), bits)
        for part in (shingles[:450], shingles[50:], shingles[200:])
    )
    comparison = Comparison(sketch_of(ours.tobytes(), most_differing=1.0), bits)
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
        one_permutation_sketch(shingles, 512)
        for shingles in (np.append(own, menu[:200]), own, np.append(other, menu[:200]))
    )
    named = named_of((text != core).tolist(), bits)
    ours, *printable = (b_bit_sketch(minima, bits).tobytes() for minima in (text, text, another))
    for theirs, repeats in zip(printable, (True, False), strict=True):
        pages = [sketch_of(ours, named, 0.1), sketch_of(theirs, most_differing=0.1)]
        one, two = reversed(pages) if swapped else pages
        assert Comparison(one, bits).confirmed(stored(two)) == (1.0 if repeats else None)


def test_shared_furniture_does_not_count():
    sketch = Sketch(text=b"\x12\x34", named=b"", furniture=b"\xff\xf0", most_differing=0.5)
    comparison = Comparison(sketch, 4)
    # Of the four bins three are furniture, and two of them the same in both.
    assert comparison.compare(b"\x12\x44") == [(1, 2)]
    assert comparison.confirmed(b"\x12\x44") == pytest.approx(1 - 0.5 / (15 / 16))
    assert comparison.confirmed(b"\x12\x45") is None
    everything = Sketch(text=b"\x12", named=b"", furniture=b"\xff", most_differing=0.0)
    assert Comparison(everything, 4).compare(b"\x12") == [(0, 0)]
    assert Comparison(everything, 4).confirmed(b"\x12") == 1.0
