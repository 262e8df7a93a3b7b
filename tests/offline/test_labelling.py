"""Pairs drawn for labelling, and precision and recall by labels."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from scrapy_neardup.errors import InputError
from scrapy_neardup.offline.jobs import labelling
from scrapy_neardup.offline.jobs.labelling import (
    LabelledPair,
    by_distance,
    draw_pairs,
    read_labels,
)
from scrapy_neardup.offline.jobs.tuning import share


@pytest.mark.parametrize("held", [10, 1 << 20])
def test_as_many_pairs_of_each_distance_are_drawn(monkeypatch, held):
    monkeypatch.setattr(labelling, "_HELD", held)
    rng = np.random.default_rng(1)
    values = rng.integers(0, 1 << 16, 60, dtype=np.uint64)
    values[40:] = values[:20]
    near = {bits: set() for bits in range(11)}
    for a in range(60):
        for b in range(a + 1, 60):
            bits = int(values[a] ^ values[b]).bit_count()
            if bits <= 10:
                near[bits].add((a, b))
    pairs, counts = draw_pairs(values, 7)
    assert counts.tolist() == [len(near[bits]) for bits in range(11)]
    drawn = [(int(bits), (int(a), int(b))) for a, b, bits in pairs]
    assert all(pair in near[bits] for bits, pair in drawn)
    assert len({pair for _, pair in drawn}) == len(drawn)
    assert [sum(each == bits for each, _ in drawn) for bits in range(11)] == [
        min(7, len(near[bits])) for bits in range(11)
    ]
    assert pairs.tolist() != draw_pairs(values, 7, seed=1)[0].tolist()
    assert pairs[:, 2].tolist() != sorted(pairs[:, 2].tolist())


def test_every_pair_is_as_likely():
    values = np.array([0, 1, 3, 2], np.uint64)  # four pairs at one bit
    drawn = [tuple(row) for seed in range(400) for row in draw_pairs(values, 1, seed)[0].tolist()
             if row[2] == 1]  # fmt: skip
    assert len({*drawn}) == 4
    assert min(map(drawn.count, {*drawn})) > 60


@given(
    st.lists(
        st.tuples(st.integers(0, 3), st.sampled_from(["true", "false", "unknown"])),
        min_size=1, max_size=30,
    )
)  # fmt: skip
def test_precision_and_recall_are_the_paper_s(labels):
    found = [LabelledPair(bits, 10**bits, label) for bits, label in labels]
    if not any(label == "true" for _, label in labels):
        return
    for row in by_distance(found):
        judged = [(bits, label == "true") for bits, label in labels if label != "unknown"]
        within = [true for bits, true in judged if bits <= row.k]
        true = [bits for bits, is_true in judged if is_true]
        assert row.drawn[0] == share(sum(within), len(within), len(within))
        assert row.drawn[1] == share(sum(bits <= row.k for bits in true), len(true), len(true))
        assert sum(row.labels) == sum(bits == row.k for bits, _ in labels)


def test_of_all_pairs_each_label_counts_for_those_that_it_was_drawn_from():
    found = [LabelledPair(0, 600, "true"), LabelledPair(0, 600, "false"),
             LabelledPair(1, 100, "true"), LabelledPair(1, 100, "unknown")]  # fmt: skip
    none, one = (row.all_pairs for row in by_distance(found))
    assert (none[0].value, none[1].value) == (0.5, 300 / 400)
    assert (one[0].value, one[1].value) == (pytest.approx(400 / 700), 1)
    assert one[0].low < by_distance(found)[1].drawn[0].low  # uneven weights know less


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("{", "line 1: not a label"),
        ('{"distance": 3, "pairs": 9, "label": "maybe"}', "line 1: not a label"),
        ('{"distance": 11, "pairs": 9, "label": "true"}', "line 1: not a label"),
        ('{"distance": 3, "pairs": 9, "label": "false"}', "no pair is labelled true"),
    ],
)
def test_what_is_no_label_is_named(tmp_path, text, said):
    (tmp_path / "labels.jsonl").write_text(text)
    with pytest.raises(InputError, match=said):
        read_labels(str(tmp_path / "labels.jsonl"))
