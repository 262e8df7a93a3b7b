"""Joins of more than memory holds, which find what joins in memory find."""

import random
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from scrapy_neardup.fingerprints.hashing import PUBLIC
from scrapy_neardup.offline.execution import Processes
from scrapy_neardup.offline.jobs import joining
from scrapy_neardup.offline.jobs.joining import HashSets, Pages, Shingles, groups_of, join_sets
from scrapy_neardup.offline.joins import encode, self_join, shingles
from scrapy_neardup.offline.joins.measures import open_measure
from scrapy_neardup.offline.readers.files import FoundPage


def texts(count, seed=4):
    """Texts of a few words, some of which are like others, and some of which are empty."""
    chance = random.Random(seed)
    made = []
    for _ in range(count):
        words = [f"w{chance.randrange(30)}" for _ in range(chance.randrange(12))]
        if made and chance.random() < 0.5:
            words = chance.choice(made).split()
            words[chance.randrange(len(words) + 1) :] = ["new"] * chance.randrange(2)
        made.append(" ".join(words))
    return made


def hashed(found, work, **how):
    records = [FoundPage(page=str(number), text=text) for number, text in enumerate(found)]
    pages = Pages(records, "main", (), work)
    sets = HashSets(pages.read(Shingles(**how)))
    assert pages.names == [*map(str, range(len(found)))]
    assert pages.tokens == [len(text.split()) for text in found]
    return sets


def of_hashes(sets):
    numbers = (np.array(sorted(tokens), np.uint64) for tokens in sets)
    return HashSets(np.sort(PUBLIC.mix(each)) for each in numbers)


def rows(found):
    return [*zip(found.i.tolist(), found.j.tolist(), found.values.tolist(), strict=True)]


def whole(sets, threshold, boundary, measure):
    return rows(self_join(sets, threshold, measure=measure, boundary=boundary))


@pytest.mark.parametrize(("measure", "threshold"), [
    ("jaccard", 0.5), ("containment", 0.6), ("overlap", 2), ("hamming", 3), ("cosine", 0.5),
])  # fmt: skip
@pytest.mark.parametrize("boundary", [None, 40])
@pytest.mark.parametrize("memory", [1, 3000, 1 << 30])
def test_any_memory_finds_the_same_pairs(monkeypatch, measure, threshold, boundary, memory):
    monkeypatch.setattr(joining, "left_of", lambda size, _: size)
    found_texts = texts(90)
    with Processes() as work:
        sets = hashed(found_texts, work, size=2)
    found = join_sets(sets, threshold, memory=memory, boundary=boundary, measure=measure)
    words = shingles([text.split() for text in found_texts], 2)
    wanted = whole(words, threshold, boundary, measure)
    assert len(wanted) > 9
    assert rows(found) == wanted


@settings(max_examples=30)
@given(
    st.lists(st.frozensets(st.integers(0, 9), max_size=7), max_size=14),
    st.sampled_from([("jaccard", 0.25), ("jaccard", 2 / 3), ("cosine", 0.5), ("overlap", 3)]),
    st.integers(100, 3000),
    st.sampled_from([2, 4096]),
)
def test_any_sets_in_groups(sets, how, memory, most):
    measure, threshold = how
    made = of_hashes(sets)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(joining, "_MOST", most)
        patch.setattr(joining, "_PAIRS", 3)
        patch.setattr(joining, "_ROWS", 2)
        groups = groups_of(made, open_measure(measure, threshold), made.sizes * 100, memory)
    found = join_sets(made, threshold, measure=measure, memory=1 << 30)
    assert rows(found) == whole(encode(sets), threshold, None, measure)
    inside = [{*group.tolist()} for group in groups]
    assert len({*sum(map(list, inside), [])}) == sum(map(len, inside))  # noqa: RUF017
    for i, j, _ in rows(found):
        assert any({i, j} <= group for group in inside)


def test_groups_are_as_small_as_memory_asks_for():
    template = range(20)
    own = [range(100 * each, 100 * each + 20) for each in range(1, 41)]
    made = of_hashes([{*template, *own[each], 10**6 + each} for each in [*range(40), *range(20)]])
    costs, measure = made.sizes * 100, open_measure("jaccard", 0.9)
    small, large = (groups_of(made, measure, costs, memory) for memory in (30_000, 1 << 30))
    assert [group.tolist() for group in large] == [[*range(20), *range(40, 60)]]
    assert len(small) == 7  # three pairs of sets each
    assert all(costs[group].sum() <= 30_000 for group in small)
    assert sorted(np.concatenate(small).tolist()) == large[0].tolist()


def test_sets_that_share_rare_hashes_and_no_more_are_in_no_group():
    parts = [range(100 * each, 100 * each + 100) for each in range(20)]
    sets = [{*one, *other} for one, other in pairwise(parts)]  # each has half of the next one
    made = of_hashes([*sets, sets[3] | {10**6}])
    costs, measure = made.sizes * 100, open_measure("jaccard", 0.9)
    assert [group.tolist() for group in groups_of(made, measure, costs, 1 << 30)] == [[3, 19]]


def test_labelled_occurrences_are_those_of_multisets():
    found = [" ".join(random.Random(each).choices("abc", k=9)) for each in range(30)]
    with Processes() as work:
        sets = hashed(found, work, size=2, labelled=True)
    words = shingles([text.split() for text in found], 2, multiset=True)
    assert sets.sizes.tolist() == [8] * 30
    wanted = whole(words, 0.4, None, "jaccard")
    assert len(wanted) > 30
    assert rows(join_sets(sets, 0.4, memory=1 << 30)) == wanted


@pytest.mark.parametrize("how", [{}, {"labelled": True}, {"modulus": 3}, {"minima": 8}])
def test_what_is_compared_is_distinct_and_ascending(how):
    for text in texts(30):
        found = Shingles(size=1, **how)(text)[1].tolist()
        assert found == sorted({*found})
