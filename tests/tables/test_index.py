import numpy as np
import pytest
from fingerprint_sets import clustered, uniform
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    rule,
    run_state_machine_as_test,
)
from twins import both_ways

from scrapy_neardup.errors import ConfigurationError
from scrapy_neardup.tables import HammingIndex, TableDesign, cuts
from scrapy_neardup.tables import index as tables_index
from scrapy_neardup.tables.index import Buckets, PureBuckets

SMALL = 500
"""An expected size that gives the index its fewest buckets: they are shared more."""

# Beside uniform ones: few values, a few flipped bits, so that distances of 0 to 9 and
# crowded buckets are common.
centres = st.sampled_from([0, 2**64 - 1, 0x0123456789ABCDEF, 0x0123456789ABFFFF])
fingerprints = st.integers(0, 2**64 - 1) | st.builds(
    lambda centre, flipped: centre ^ sum(1 << bit for bit in flipped),
    centres,
    st.sets(st.integers(0, 63), max_size=5),
)


_both_ways = both_ways(tables_index, "Buckets", Buckets, PureBuckets)


def within(k, stored, query):
    """Compare with all: the oracle of every test here."""
    near = {(match, (match ^ query).bit_count()) for match in stored}
    return sorted((pair for pair in near if pair[1] <= k), key=lambda pair: (pair[1], pair[0]))


def uint64(values):
    return np.array(values, np.uint64)


def check(index):
    for table in range(len(index.design.tables)):
        assert index._buckets.lengths(table).sum() == len(index)


def half_shared(rng, n):
    """Return n fingerprints with the same upper half: a worst case for its tables."""
    return rng.integers(0, 2**32, n, dtype=np.uint64) | np.uint64(0xDEADBEEF << 32)


EVERY_DESIGN = [
    pytest.param(k, design, id=f"{k} {design.name}")
    for k in range(11)
    for design in (
        *cuts.designs(max_distance=k, log2_pages=30, max_tables=64),
        *([cuts.nested(1, levels=(2, 3, 2))] if k == 1 else []),
    )
    if design.probes < 800
]


@pytest.mark.parametrize("make", [uniform, clustered, half_shared])
@pytest.mark.parametrize(("k", "design"), EVERY_DESIGN)
def test_every_design_answers_as_comparing_with_all_does(k, design, make):
    rng = np.random.default_rng(k)
    stored = make(rng, 300)
    index = HammingIndex(k, SMALL, design)
    index.add_many(stored)
    queries = [*stored[:20].tolist(), *uniform(rng, 5).tolist()]
    for place in range(len(queries)):
        for bit in rng.permutation(64)[: place % (k + 2)].tolist():
            queries[place] ^= 1 << bit
    expected = [within(k, stored.tolist(), query) for query in queries]
    assert [index.query(query) for query in queries] == expected


@pytest.mark.parametrize("make", [uniform, clustered, half_shared])
def test_a_bulk_load_adds_to_what_is_there(make):
    rng = np.random.default_rng(3)
    first, second = make(rng, 6000), make(rng, 9000)
    index = HammingIndex(3, SMALL)
    index.add_many(first)
    index.add_many(second)
    index.add(17)
    check(index)
    assert len(index) == 15_001
    stored = [*first.tolist(), *second.tolist(), 17]
    for query in (*first[:3].tolist(), *second[:3].tolist(), 16):
        assert index.query(query ^ 1) == within(3, stored, query ^ 1)


@pytest.mark.parametrize("k", [0, 3, 7])
def test_a_long_bucket_grows_in_place_and_stays_right(k):
    stored = half_shared(np.random.default_rng(5), 2500).tolist()
    index = HammingIndex(k, SMALL)
    for fingerprint in stored[:1500]:
        index.add(fingerprint)
    index.add_many(uint64(stored[1500:]))
    check(index)
    for fingerprint in stored[:1200]:
        assert index.remove(fingerprint)
    del stored[:1200]
    for fingerprint in stored[:50]:
        index.add(fingerprint ^ 2)
    stored += [fingerprint ^ 2 for fingerprint in stored[:50]]
    check(index)
    for query in stored[:20]:
        assert index.query(query ^ 1) == within(k, stored, query ^ 1)


class TestBoundedBuckets:
    def test_one_full_bucket_refuses_and_nothing_is_stored(self):
        index = HammingIndex(3, design=cuts.nested(3, levels=(4,)), max_bucket=2)
        for high in (1 << 60, 2 << 60):
            assert index.add(high | 0xBEEF)
        before = index.query(0xBEEF | 1 << 60)
        # Its last 16 bits are those of the others, and nothing else of it is.
        assert not index.add(0x0123_4567_89AB_BEEF)
        assert index.query(0x0123_4567_89AB_BEEF) == []
        assert index.query(0xBEEF | 1 << 60) == before
        assert len(index) == 2
        check(index)
        assert index.remove(0xBEEF | 1 << 60)
        assert index.add(0x0123_4567_89AB_BEEF)
        check(index)

    @given(
        k=st.integers(0, 6),
        most=st.integers(1, 4),
        before=st.lists(fingerprints, max_size=10),
        more=st.lists(fingerprints, max_size=40),
    )
    def test_all_at_once_refuses_what_one_by_one_does(self, k, most, before, more):
        single = HammingIndex(k, SMALL, max_bucket=most)
        bulk = HammingIndex(k, SMALL, max_bucket=most)
        for fingerprint in before:
            assert single.add(fingerprint) == bulk.add(fingerprint)
        # Long enough for the bulk path, and crowded by repeating what was drawn.
        rng = np.random.default_rng(len(more))
        array = np.concatenate([uint64(more), uniform(rng, 3000), clustered(rng, 1500)])
        stored = [single.add(fingerprint) for fingerprint in array.tolist()]
        assert bulk.add_many(array).tolist() == stored
        assert len(single) == len(bulk)
        check(single)
        check(bulk)


def test_a_small_index_is_small():
    index = HammingIndex(3, expected=1_000_000)
    index.add_many(uniform(np.random.default_rng(7), 1000))
    assert index.nbytes < 1_500_000
    assert HammingIndex(3, SMALL).nbytes < 40_000


class IndexMachine(RuleBasedStateMachine):
    """Any order of calls, against a plain list."""

    @initialize(k=st.integers(0, 10), expected=st.sampled_from([1, 10**6, 10**8]))
    def start(self, k, expected):
        self.index = HammingIndex(k, expected)
        self.k = k
        self.stored = []

    @rule(fingerprint=fingerprints)
    def add(self, fingerprint):
        assert self.index.add(fingerprint)
        self.stored.append(fingerprint)

    @rule(many=st.lists(fingerprints, max_size=8))
    def add_many(self, many):
        assert self.index.add_many(uint64(many)).tolist() == [True] * len(many)
        self.stored += many

    @rule(data=st.data())
    def remove_stored(self, data):
        if self.stored:
            fingerprint = data.draw(st.sampled_from(self.stored))
            assert self.index.remove(fingerprint)
            self.stored.remove(fingerprint)

    @rule(fingerprint=fingerprints)
    def remove_any(self, fingerprint):
        held = fingerprint in self.stored
        assert self.index.remove(fingerprint) == held
        if held:
            self.stored.remove(fingerprint)

    @rule(fingerprint=fingerprints)
    def query(self, fingerprint):
        assert self.index.query(fingerprint) == within(self.k, self.stored, fingerprint)

    @invariant()
    def holds_what_the_list_holds(self):
        if hasattr(self, "index"):
            check(self.index)
            assert len(self.index) == len(self.stored)


def test_any_operations():
    run_state_machine_as_test(IndexMachine, settings=settings(stateful_step_count=25))


# Refused


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ({"max_distance": 4, "design": cuts.nested(3, levels=(4,))}, "distance 4 or more"),
        ({"design": cuts.nested(3, levels=(4,), bits=32)}, "64 bits"),
        (
            {"max_distance": 6, "design": TableDesign.probing(6, blocks=2)},
            "at most 4096 probes",
        ),
        *(
            ({name: value}, f"{name}.* must be a whole number")
            for name, values in {
                "max_distance": (-1, 11, 1.5), "expected": (-5, float("nan")), "max_bucket": (0,)
            }.items()
            for value in values
        ),
    ],
)  # fmt: skip
def test_what_can_not_be_exact_or_quick_is_refused(arguments, said):
    with pytest.raises(ConfigurationError, match=said):
        HammingIndex(**arguments)


@pytest.mark.parametrize("value", [-1, 2**64, None])
def test_what_is_no_fingerprint_is_refused_and_nothing_changes(value):
    index = HammingIndex()
    index.add(7)
    for call in (index.add, index.query, index.remove):
        with pytest.raises(ConfigurationError, match="fingerprint is a whole number of 64 bits"):
            call(value)
    assert index.query(7) == [(7, 0)]
    assert len(index) == 1


@pytest.mark.parametrize(
    "values", [np.array([-1, 2]), np.array([1.5]), np.array([[1], [2]], np.uint64), [1]]
)
def test_only_arrays_of_uint64_are_added_at_once(values):
    index = HammingIndex()
    with pytest.raises(ConfigurationError, match="one-dimensional array of uint64"):
        index.add_many(values)
    assert len(index) == 0
