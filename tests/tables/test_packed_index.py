import numpy as np
import pytest
from encoded_parts import TEN, opened
from fingerprint_sets import KINDS, clustered, uniform
from twins import both_ways

from scrapy_neardup.errors import ConfigurationError
from scrapy_neardup.tables import HammingIndex, TableDesign, cuts
from scrapy_neardup.tables.packed import elias_fano
from scrapy_neardup.tables.packed.packedindex import packed_design

_both_ways = both_ways(elias_fano, "_compiled", elias_fano._compiled)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    "design",
    [cuts.nested(0, levels=(1,)), cuts.nested(1, levels=(3,)), TEN,
     cuts.nested(3, levels=(4, 4)), cuts.nested(8, levels=(9,))],
    ids=lambda design: f"{design.name} for {design.max_distance}",
)  # fmt: skip
def test_finds_what_the_online_index_finds(kind, design):
    fingerprints = KINDS[kind](np.random.default_rng(design.max_distance), 400)
    index = opened(fingerprints, design=design)
    for distance in {0, 1, design.max_distance} - set(range(design.max_distance + 1, 9)):
        reference = HammingIndex(max_distance=distance, expected=400)
        reference.add_many(fingerprints)
        changed = fingerprints[:8] ^ np.uint64(1 << 60 | 1 << 3)
        for query in [*fingerprints[:4].tolist(), *changed.tolist(), 0, 2**64 - 1]:
            found = index.near(query, distance)
            assert [(value, bits) for bits, value, _ in found] == reference.query(query)
            for _, value, rows in found:
                assert [*map(index.fingerprint, rows)] == [value] * len(rows)
                assert rows == index.rows_of(value)


@pytest.mark.parametrize("count", [0, 1, 5, 300])
def test_rows_are_sorted_by_fingerprint_and_id(count):
    random = np.random.default_rng(count)
    fingerprints = clustered(random, count, clusters=3, flips=1)
    ids = random.integers(0, max(count // 2, 1), count).astype(np.uint64) << np.uint64(50)
    urls = [f"http://x/é{place}".encode() if place % 3 else b"" for place in range(count)]
    index = opened(fingerprints, ids=ids, url=urls.__getitem__)
    order = np.lexsort((ids, fingerprints))
    assert len(index) == count
    assert index.fingerprints(0, count).tolist() == fingerprints[order].tolist()
    for row, place in enumerate(order.tolist()):
        assert index.fingerprint(row) == fingerprints[place]
        assert index.rows.page_id(row) == ids[place]
        assert index.rows.url(row) == (urls[place].decode() or None)
        assert row in index.rows_of(int(fingerprints[place]))
        equal = np.flatnonzero(ids[order] == ids[place]).tolist()
        assert index.rows.find_id(int(ids[place])) == equal
    for start in range(0, count, 17):
        for stop in range(start, count + 1, 23):
            expected = fingerprints[order][start:stop].tolist()
            assert index.fingerprints(start, stop).tolist() == expected
    assert index.rows.find_id(3) == []
    assert list(index.rows_of(12345)) == []
    for row in (-1, count):
        with pytest.raises(IndexError):
            index.fingerprint(row)


def test_an_index_without_ids_says_so():
    index = opened(uniform(np.random.default_rng(0), 10))
    assert not index.rows.has_ids
    assert not index.rows.has_urls
    assert index.rows.url(0) is None
    for ask in (index.rows.page_id, index.rows.find_id):
        with pytest.raises(LookupError, match="without page ids"):
            ask(0)


def test_a_greater_distance_than_it_was_packed_for_is_refused():
    index = opened(uniform(np.random.default_rng(0), 10))
    for distance in (4, 9, -1):
        with pytest.raises(ConfigurationError, match="MAX_DISTANCE"):
            index.near(5, distance)


def test_what_was_recorded():
    index = opened(uniform(np.random.default_rng(0), 10), schema={"hash": "x", "shingle_size": 3})
    assert index.schema == {"hash": "x", "shingle_size": 3}
    assert index.design == TEN
    assert opened(uniform(np.random.default_rng(0), 10)).schema is None


def test_designs_that_cannot_be_packed():
    fingerprints = uniform(np.random.default_rng(0), 10)
    probing = TableDesign.probing(5, blocks=4)
    turned = TableDesign("turned", TEN.tables[::-1], 3)
    for design in (probing, turned):
        with pytest.raises(ConfigurationError):
            opened(fingerprints, design=design)


def test_the_design_follows_the_number():
    assert len(packed_design(0, 3).tables) == 4
    assert len(packed_design(10_000_000, 3).tables) == 4
    assert len(packed_design(1_000_000_000, 3).tables) == 10
    assert len(packed_design(10**12, 8).tables) >= 9
    assert len(packed_design(1000, 0).tables) == 1
    assert len(packed_design(1000, 3, tables=10).tables) == 10
    with pytest.raises(ConfigurationError, match="one of 4, 10, 16"):
        packed_design(1000, 3, tables=5)
