"""Sketches: what they estimate, at every level, with and without boilerplate."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from judging import sketch_of

from scrapy_neardup.judge.sketch import MAX_DENSITY, Overlap, Sketch, merged, overlap

SIZE = 1792


def shingles(seed, count):
    return np.unique(np.random.default_rng(seed).integers(0, 1 << 64, count, np.uint64))


def resemblance(a, b):
    return len(np.intersect1d(a, b)) / len(np.union1d(a, b))


@given(st.integers(0, 1 << 32), st.integers(0, 2000), st.sampled_from([64, 256, SIZE]))
def test_a_bit_is_set_by_each_sampled_shingle_and_by_nothing_else(seed, count, size):
    found = shingles(seed, count)
    sketch = sketch_of(found, size)
    tops = [int(each) >> 32 for each in found]
    sampled = [top << sketch.level for top in tops if top << sketch.level < 1 << 32]
    assert sketch.bits == sum({1 << (top * size >> 32) for top in sampled})
    assert len(found) >> sketch.level <= MAX_DENSITY * size
    assert not sketch.level or len(found) >> (sketch.level - 1) > MAX_DENSITY * size


@given(st.integers(0, 1 << 32), st.integers(1, 3000), st.integers(0, 3))
def test_sketches_of_two_levels_agree_on_the_same_shingles(seed, count, steps):
    found = shingles(seed, count)
    fine, coarse = sketch_of(found, 512, 1), sketch_of(found, 512, 1 + steps)
    both = overlap(fine, coarse, 0, 512)
    assert (both.ours, both.theirs) == (0.0, 0.0)


@given(st.integers(0, (1 << 256) - 1), st.integers(0, 4))
def test_merged_bits(bits, steps):
    step = 1 << steps
    row = [bits >> start & (1 << step) - 1 for start in range(0, 256, step)]
    assert merged(bits, 256, steps) == sum(1 << place for place, part in enumerate(row) if part)


@pytest.mark.parametrize("counts", [(300, 20, 20), (300, 0, 60), (3000, 100, 200), (90, 3, 900)])
def test_estimates_are_next_to_unbiased(counts):
    common, ours, _ = counts
    errors = []
    for seed in range(200):
        drawn = np.random.default_rng(seed).integers(0, 1 << 64, sum(counts), np.uint64)
        a, b = drawn[: common + ours], np.concatenate([drawn[:common], drawn[common + ours :]])
        found = overlap(sketch_of(a, SIZE), sketch_of(b, SIZE), 0, SIZE)
        errors.append(found.resemblance - resemblance(a, b))
    assert abs(np.mean(errors)) < 0.005
    assert np.std(errors) < 0.03


@pytest.mark.parametrize("count", [100, 2000])
def test_boilerplate_does_not_count_in_either_page(count):
    one, other, text = (shingles(*each) for each in ((4, count), (5, count), (6, 500)))
    ours, theirs = (sketch_of(np.concatenate([text, menu]), SIZE) for menu in (one, other))
    level = max(ours.level, theirs.level)
    boilerplate = sketch_of(one, SIZE, level).bits | sketch_of(other, SIZE, level).bits
    assert overlap(ours, theirs, 0, SIZE).resemblance < 0.8
    assert overlap(ours, theirs, boilerplate, SIZE).resemblance > 0.98


def test_what_nothing_is_left_of():
    everything = (1 << SIZE) - 1
    nothing = overlap(Sketch(0, 5), Sketch(0, 9), everything, SIZE)
    assert (nothing, nothing.resemblance, nothing.smaller) == (Overlap(0, 0, 0), 1.0, 0.0)
    full = overlap(Sketch(0, everything), Sketch(0, everything), 0, SIZE)
    assert full.resemblance == 1.0


@pytest.mark.parametrize("times", [8, 30, 100, 300])
@pytest.mark.parametrize("menu", [0, 20])
def test_a_set_with_many_times_the_shingles_of_another_one_is_unlike_it(times, menu):
    for seed in range(0, 300, 3):
        small, more, boilerplate = map(
            shingles, (seed, seed + 1, seed + 2), (30, 30 * times, menu)
        )
        large = np.concatenate([small, more])
        one, other = (sketch_of(np.concatenate([it, boilerplate]), 128) for it in (small, large))
        left_out = sketch_of(boilerplate, 128, other.level).bits
        assert overlap(one, other, left_out, 128).resemblance < 0.5
        assert overlap(other, one, left_out, 128).resemblance < 0.5
