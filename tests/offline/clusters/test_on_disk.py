"""The four phases on disk against the exact join in memory."""

import sys
from fractions import Fraction

import numpy as np
import pytest
from collections_of_sets import brute_self_join, planted, real_texts
from hypothesis import given, settings
from hypothesis import strategies as st

from scrapy_neardup.errors import ConfigurationError, NeardupError
from scrapy_neardup.fingerprints import features, token_hashes
from scrapy_neardup.fingerprints.signatures import mod_sketch
from scrapy_neardup.offline.clusters import cluster
from scrapy_neardup.offline.jobs import diskclusters
from scrapy_neardup.offline.jobs.diskclusters import cluster_on_disk
from scrapy_neardup.offline.joins import encode, self_join

pytest.importorskip("duckdb")

KEPT = 10**9
"""As `common`: no shingle is left out."""


def sketches(sets):
    return [np.array(sorted(tokens), dtype=np.uint64) for tokens in sets]


def in_memory(sets, threshold):
    pairs = self_join(encode(sets), threshold)
    return cluster(pairs.i, pairs.j, len(sets)).tolist()


@pytest.mark.parametrize("threshold", [0.3, 0.5, 0.8, Fraction(5, 6), 1])
def test_same_clusters_as_in_memory(threshold, tmp_path, monkeypatch):
    monkeypatch.setattr(diskclusters, "_BUFFERED", 500)
    monkeypatch.setattr(diskclusters, "_FETCHED", 7)
    sets = planted(500, seed=8)
    sets[100] = sets[200] = sets[7]
    sets[3] = sets[4] = set()
    found = cluster_on_disk(sketches(sets), threshold, common=KEPT, directory=tmp_path)
    assert found.labels.tolist() == in_memory(sets, threshold)
    assert found.common == 0
    assert not list(tmp_path.iterdir())


@settings(max_examples=15)
@given(
    st.lists(st.frozensets(st.integers(0, 9), max_size=7), max_size=14),
    st.sampled_from([0.25, 1 / 3, 0.5, 2 / 3, 0.75, 1]),
)
def test_any_sets(sets, threshold):
    found = cluster_on_disk(sketches(sets), threshold, common=KEPT)
    assert found.labels.tolist() == in_memory(sets, threshold)
    different = {frozenset(tokens) for tokens in sets}
    assert found.pairs == len(brute_self_join(list(different), Fraction(threshold)
                                              .limit_denominator(100), "jaccard"))  # fmt: skip


def test_sketches_of_real_texts():
    hashes = [features(token_hashes(text), shingle_size=2)[0] for text in real_texts()]
    sampled_ones = [mod_sketch(page, 3) for page in hashes]
    found = cluster_on_disk(sampled_ones, 0.6, common=KEPT)
    expected = in_memory([set(sketch.tolist()) for sketch in sampled_ones], 0.6)
    assert found.labels.tolist() == expected
    assert len(set(expected)) < 0.7 * len(expected)


def test_common_shingles_are_left_out():
    template = set(range(100))
    sets = [template | {1000 + 2 * k, 1001 + 2 * k} for k in range(30)]
    sets[29] = template | {1000, 1001, 5000}
    one = cluster_on_disk(sketches(sets), 0.9, common=KEPT)
    assert set(one.labels.tolist()) == {0}
    assert one.common == 0
    apart = cluster_on_disk(sketches(sets), 0.6, common=29)
    # Without the template, page 29 shares 2 of 3 shingles with page 0, and others none.
    assert apart.labels.tolist() == [*range(29), 0]
    assert apart.common == 100
    assert apart.pairs == 1


def test_copies_cluster_however_many_they_are():
    found = cluster_on_disk(sketches([{1, 2, 3}] * 50 + [{4, 5, 6}] * 50), 1, common=10)
    assert found.labels.tolist() == [0] * 50 + [50] * 50
    assert found.pairs == found.common == 0


def test_whole_range_of_hashes_and_of_thresholds():
    top = 2**64
    sets = [{top - 1, top - 2, 0}, {top - 1, top - 2, 1}]
    assert cluster_on_disk(sketches(sets), 0.5, common=KEPT).labels.tolist() == [0, 0]
    above = np.nextafter(0.5, 1)
    assert cluster_on_disk(sketches(sets), above, common=KEPT).labels.tolist() == [0, 1]


def test_memory_is_bounded_and_the_disk_is_left_clean(tmp_path):
    draw = np.random.default_rng(0)
    pages = [np.unique(draw.integers(0, 2**63, 400, dtype=np.uint64)) for _ in range(1500)]
    pages += [page[:390] for page in pages[:500]]
    found = cluster_on_disk(pages, 0.9, memory="64MB", directory=tmp_path)
    assert found.labels.tolist() == [*range(1500), *range(500)]
    with pytest.raises(NeardupError, match="needs more than 2MB of memory"):
        cluster_on_disk(pages, 0.9, memory="2MB", directory=tmp_path)
    assert not list(tmp_path.iterdir())


def test_a_failing_reader_leaves_the_disk_clean(tmp_path):
    def failing():
        yield np.arange(10, dtype=np.uint64)
        raise OSError("the disk went away")

    with pytest.raises(OSError, match="went away"):
        cluster_on_disk(failing(), 0.9, directory=tmp_path)
    assert not list(tmp_path.iterdir())


def test_arguments_that_cannot_be_used(tmp_path):
    for threshold in (float("nan"), 0, 1.5):
        with pytest.raises(ConfigurationError, match="resemblance threshold must be"):
            cluster_on_disk([], threshold)
    with pytest.raises(ConfigurationError, match="common must be a whole number, 1 or more"):
        cluster_on_disk([], 0.5, common=0)
    with pytest.raises(ConfigurationError, match="memory 'much'"):
        cluster_on_disk([], 0.5, memory="much")
    with pytest.raises(ConfigurationError, match="No such file or directory"):
        cluster_on_disk([], 0.5, directory=tmp_path / "missing")


def test_without_duckdb(monkeypatch):
    monkeypatch.setitem(sys.modules, "duckdb", None)
    with pytest.raises(ConfigurationError, match=r"pip install '\.\[offline\]'"):
        cluster_on_disk([], 0.5)
