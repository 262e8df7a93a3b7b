"""Components against a search through the graph."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from scrapy_neardup.clusters import UnionFind, cluster, members

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
    sets.grow(count)
    for start in range(0, len(edges), batch):
        sets.union_many(*ends(edges[start : start + batch]))
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


def test_pairs_one_at_a_time_against_the_order():
    sets = UnionFind(3000)
    for k in range(2999, 0, -1):
        sets.union_many(np.array([k]), np.array([k - 1]))
    assert not sets.labels().any()


def test_growing_keeps_what_is_joined():
    sets = UnionFind(2)
    sets.union_many(np.array([0]), np.array([1]))
    sets.grow(4)
    sets.union_many(np.array([3]), np.array([1]))
    assert len(sets) == 4
    assert sets.labels().tolist() == [0, 0, 2, 0]


def test_members_are_the_clusters_of_two_and_more():
    labels = np.array([0, 1, 0, 3, 1, 0])
    assert [group.tolist() for group in members(labels)] == [[0, 2, 5], [1, 4]]
    assert members(np.arange(4)) == []
    assert members(np.empty(0, np.int64)) == []
