"""What of a page's sketch is furniture, by definition: the bins that change without it."""

import pickle

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from resembling_sets import HASH_SETS, uniform

from scrapy_neardup import sketches
from scrapy_neardup.fingerprints import b_bit_sketch, one_permutation_sketch
from scrapy_neardup.parameters import Parameters
from scrapy_neardup.sketches import Shingled


def shingled(sketcher, text, core):
    minima = [sketcher.minima(view) for view in (text, core)]
    return Shingled(("//a",), (text, core), tuple(minima))


def marked(sketcher, page, furniture):
    return sketcher.marked(sketcher.sketch(page), page, furniture, other_title=1.0)


def mask_by_definition(sketcher, shingles, furniture):
    """All bits of the bins whose minimum is another one without what is furniture."""
    rest = np.setdiff1d(shingles, furniture)
    minima = one_permutation_sketch(shingles, sketcher.bins)
    changed = np.ones(sketcher.bins, bool)
    if len(rest):
        changed = minima != one_permutation_sketch(rest, sketcher.bins)
    bits = (1 << sketcher.bits) - 1
    mask = sum(bits << sketcher.bits * place for place in np.flatnonzero(changed).tolist())
    return mask.to_bytes(sketcher.bins * sketcher.bits // 8, "little")


def named_bins(sketch, bits):
    """Return the numbers of the bins that are named, as `Sketch` says where they are."""
    size, each = len(sketch.named), 8 // bits
    return sorted(
        (j + size * s) * each + p
        for j, byte in enumerate(sketch.named)
        for p in range(each)
        for s in range(bits)
        if byte >> bits * p + s & 1
    )


@settings(deadline=None, max_examples=40)
@given(
    HASH_SETS,
    HASH_SETS,
    st.integers(0, 2**32),
    st.sampled_from(((16, 1), (64, 2), (128, 4), (16, 8))),
    st.booleans(),
)
def test_marks(text, others, seed, shape, has_core):
    random = np.random.default_rng(seed)
    sketcher = Parameters(method="simhash", sketch=shape, min_tokens=32).sketcher
    core = np.sort(random.permutation(text)[: 1 + len(text) // 2]) if has_core else text
    of_page = text[random.random(len(text)) < random.choice([0, 0.1, 0.9])]
    furniture = np.union1d(of_page, others)
    page = shingled(sketcher, text, core)
    found = marked(sketcher, page, furniture)
    assert bytes(found.furniture) == mask_by_definition(sketcher, text, furniture)
    of_text, of_core = (least[: sketcher.bins] for least in page.minima)
    assert found.text == b_bit_sketch(of_text, sketcher.bits).tobytes()
    assert named_bins(found, sketcher.bits) == np.flatnonzero(of_text != of_core).tolist()
    own = [len(np.setdiff1d(view, furniture)) for view in (text, core)]
    assert found.most_differing == (sketcher.most_differing if min(own) >= 29 else 0.0)
    assert found.other_title == 1.0


def test_without_furniture_nothing_is_marked():
    sketcher = Parameters().sketcher
    text = np.sort(uniform(np.random.default_rng(1), 100))
    found = marked(sketcher, shingled(sketcher, text, text), np.empty(0, np.uint64))
    assert bytes(found.furniture) == bytes(256)
    assert found.most_differing == sketcher.most_differing


def test_marks_are_looked_for_once_and_only_if_somebody_asks(monkeypatch):
    asked = []
    held_by = sketches.held_by
    monkeypatch.setattr(sketches, "held_by", lambda *args: asked.append(1) or held_by(*args))
    sketcher = Parameters().sketcher
    text = np.sort(uniform(np.random.default_rng(1), 200))
    marks = marked(sketcher, shingled(sketcher, text, text), text[:50]).furniture
    assert not asked
    assert bytes(marks) != bytes(256)
    assert bytes(marks) == mask_by_definition(sketcher, text, text[:50])
    assert len(asked) == 1


@pytest.mark.parametrize("are_found", [False, True])
def test_a_marked_sketch_can_be_sent(are_found):
    sketcher = Parameters().sketcher
    text = np.sort(uniform(np.random.default_rng(1), 200))
    ours = marked(sketcher, shingled(sketcher, text, text), text[:50])
    if are_found:
        bytes(ours.furniture)
    theirs = pickle.loads(pickle.dumps(ours))
    assert bytes(theirs.furniture) == bytes(ours.furniture)
    assert theirs.text == ours.text
