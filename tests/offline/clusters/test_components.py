"""Components of pairs, and of shared features in runs on disk, and the page that stands for each:
brute force."""

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from scrapy_neardup.errors import ConfigurationError, InputError
from scrapy_neardup.offline.clusters import UnionFind, canonical, cluster, members
from scrapy_neardup.offline.files import sortedruns
from scrapy_neardup.offline.jobs.joining import feature_clusters

MEMORY = 1 << 20


def planted(count, width=6, *, seed):
    """Pages of which a third are an earlier one with some features replaced."""
    draw = np.random.default_rng(seed)
    features = draw.integers(0, 2**64, (count, width), dtype=np.uint64)
    for page in range(1, count):
        if draw.random() < 0.4:
            kept = draw.random(width) < draw.random()
            features[page][kept] = features[draw.integers(page)][kept]
    return features


def brute(features, shared):
    pairs = [
        pair
        for pair in combinations(range(len(features)), 2)
        if (features[pair[0]] == features[pair[1]]).sum() >= shared
    ]
    return cluster(*ends(pairs), len(features)).tolist()


@pytest.mark.parametrize("shared", range(1, 7))
def test_pages_that_share_features(shared):
    features = planted(300, seed=shared)
    assert feature_clusters([features], shared).tolist() == brute(features, shared)


@given(
    st.lists(st.tuples(*[st.integers(0, 3)] * 3), max_size=20),
    st.integers(1, 3),
    st.integers(0, 20),
)
def test_any_few_pages(pages, shared, cut):
    features = np.array(pages, np.uint64).reshape(-1, 3)
    parts = [features[:cut], features[cut:]]
    found = feature_clusters(parts, shared, memory=MEMORY).tolist()
    assert found == brute(features, shared)


def test_many_runs_and_ranges_leave_nothing_behind(tmp_path, monkeypatch):
    monkeypatch.setattr(sortedruns, "_WORKING", 64)
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    features = planted(5000, seed=3)
    written = []
    write_run = sortedruns.write_run
    monkeypatch.setattr(
        sortedruns, "write_run", lambda *args: written.append(write_run(*args)) or written[-1]
    )
    parts = np.array_split(features, 23)
    found = feature_clusters(parts, 2, memory=MEMORY)
    assert len(written) > 60
    assert len(list(sortedruns.ranges_of(written, MEMORY))) > 60
    monkeypatch.undo()
    assert np.array_equal(found, feature_clusters([features], 2))
    assert not list(tmp_path.iterdir())


def test_any_number_of_equal_pages_is_one_cluster():
    features = np.tile(np.arange(8, dtype=np.uint64), (20_000, 1))
    assert not feature_clusters([features], 2).any()


def test_what_can_not_be_used_is_named(tmp_path):
    with pytest.raises(ConfigurationError, match="memory must be a whole number, 1048576 or more"):
        feature_clusters([], 1, memory=1000)
    run = sortedruns.write_run(planted(10, seed=1), np.arange(10), 1, str(tmp_path / "a.run"))
    (tmp_path / "a.run").unlink()
    with pytest.raises(InputError, match=r"a\.run"):
        sortedruns.entries_of(sortedruns.Range((run,), 0, 256))


graphs = st.integers(1, 30).flatmap(
    lambda count: st.tuples(
        st.just(count),
        st.lists(st.tuples(st.integers(0, count - 1), st.integers(0, count - 1)), max_size=40),
    )
)


def searched(count, edges):
    """The smallest number that can be reached from each."""
    near = {k: {k} for k in range(count)}
    for a, b in edges:
        near[a].add(b)
        near[b].add(a)
    labels = [-1] * count
    for start in range(count):
        waiting = [start]
        while waiting:
            k = waiting.pop()
            if labels[k] == -1:
                labels[k] = start
                waiting += near[k]
    return labels


def ends(edges):
    return np.array(edges, dtype=np.int64).reshape(-1, 2).T


@given(graphs, st.integers(1, 40))
def test_components_in_any_batches(graph, batch):
    count, edges = graph
    expected = searched(count, edges)
    assert cluster(*ends(edges), count).tolist() == expected
    sets = UnionFind()
    for start in range(0, len(edges), batch):
        part = edges[start : start + batch]
        sets.grow(max(len(sets), 1 + max(map(max, part))))
        sets.union_many(*ends(part))
    sets.grow(count)
    assert sets.labels().tolist() == expected
    some = np.array([count - 1, 0, count - 1])
    assert sets.find_many(some).tolist() == [expected[k] for k in some]


COUNT = 200_000
RISING = np.arange(COUNT - 1)
SHUFFLED = np.random.default_rng(1).permutation(COUNT - 1)
SHAPES = {
    "path": (RISING, RISING + 1),
    "path backwards": (RISING[::-1] + 1, RISING[::-1]),
    "path in disorder": (SHUFFLED, SHUFFLED + 1),
    "star around the last": (RISING, np.full(COUNT - 1, COUNT - 1)),
    "star around the first": (RISING + 1, np.zeros(COUNT - 1, dtype=np.int64)),
    "tree": (RISING + 1, RISING // 2),
}


@pytest.mark.parametrize("shape", SHAPES)
def test_large_components_take_few_rounds(shape, monkeypatch):
    rounds = 0
    find_many = UnionFind.find_many

    def counted(self, numbers):
        nonlocal rounds
        rounds += 1
        return find_many(self, numbers)

    monkeypatch.setattr(UnionFind, "find_many", counted)
    assert not cluster(*SHAPES[shape], COUNT).any()
    assert rounds <= 2 * 2 * 18


def test_members_are_the_clusters_of_two_and_more():
    labels = np.array([0, 1, 0, 3, 1, 0])
    assert [group.tolist() for group in members(labels)] == [[0, 2, 5], [1, 4]]
    assert members(np.arange(4)) == []
    assert members(np.empty(0, np.int64)) == []


@given(st.lists(st.tuples(st.integers(0, 5), st.integers(0, 4)), max_size=30))
def test_the_canonical_page_of_any_clusters(pages):
    labels = np.array([label for label, _ in pages], dtype=np.int64)
    costs = [cost for _, cost in pages]
    chosen, first = canonical(labels, costs).tolist(), canonical(labels).tolist()
    for place, (label, _) in enumerate(pages):
        group = [k for k, other in enumerate(labels) if other == label]
        assert chosen[place] == min(group, key=lambda k: (costs[k], k))
        assert first[place] == group[0]
