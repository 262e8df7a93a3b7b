from functools import partial

import numpy as np
import pytest
from fingerprint_sets import KINDS, clustered, pairs, self_pairs, uniform
from pool_tasks import add

from scrapy_neardup.errors import ConfigurationError, NeardupError, StoreMismatchError
from scrapy_neardup.offline.clusters import cluster
from scrapy_neardup.offline.execution import Processes
from scrapy_neardup.offline.files.fingerprintfiles import ArraySource, open_source
from scrapy_neardup.offline.files.sources import Source
from scrapy_neardup.offline.jobs.pairjob import PairJob


def run(collection, existing=None, **options):
    """The pairs of a job, in its order."""
    job = PairJob(
        collection=collection if isinstance(collection, Source) else ArraySource(collection),
        existing=None if existing is None else ArraySource(existing),
        **options,
    )
    parts = list(job.run())
    assert sum(part.scanned for part in parts) == job.to_scan
    found = [
        triple
        for part in parts
        for triple in zip(part.a.tolist(), part.b.tolist(), part.distances.tolist(), strict=True)
    ]
    assert len(found) == len(set(found)), "a pair was found twice"
    return found


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("max_distance", [0, 1, 3, 6])
@pytest.mark.parametrize(("block_rows", "part_rows"), [(1 << 20, 1 << 20), (150, 40), (1, 500)])
def test_one_collection_against_itself(kind, max_distance, block_rows, part_rows):
    random = np.random.default_rng(max_distance)
    fingerprints = KINDS[kind](random, 400 if block_rows > 1 else 60)
    fingerprints[-20:] = fingerprints[:20]
    found = run(
        fingerprints, max_distance=max_distance, block_rows=block_rows, part_rows=part_rows
    )
    assert set(found) == self_pairs(fingerprints, max_distance)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(("block_rows", "part_rows"), [(1 << 20, 1 << 20), (70, 90)])
def test_a_new_collection_against_an_existing_one(kind, block_rows, part_rows):
    new, existing = (KINDS[kind](np.random.default_rng(1), size) for size in (200, 500))
    existing[:30] = new[:30]
    found = run(new, existing, block_rows=block_rows, part_rows=part_rows)
    assert {(b, a, distance) for a, b, distance in found} == pairs(new, existing, 3)


def test_the_order_is_that_of_the_rows_in_several_processes_too(tmp_path):
    fingerprints = clustered(np.random.default_rng(3), 3000, clusters=200)
    path = tmp_path / "file.u64"
    fingerprints.tofile(path)
    every = run(fingerprints)
    assert every == sorted(every, key=lambda pair: (pair[1], pair[0]))
    alone = run(fingerprints, part_rows=300, block_rows=2000)
    with Processes(2) as work:
        assert run(open_source(str(path)), part_rows=300, block_rows=2000, work=work) == alone


def test_places_times_rows_are_more_than_32_bits():
    fingerprints = uniform(np.random.default_rng(7), 100_000)
    fingerprints[-500:] = fingerprints[:500] ^ np.uint64(1 << 50 | 1)
    fingerprints[70_000:70_300] = fingerprints[-300:]
    expected = {(row, 99_500 + row, 2) for row in range(500)}
    expected |= {(200 + row, 70_000 + row, 2) for row in range(300)}
    expected |= {(70_000 + row, 99_700 + row, 0) for row in range(300)}
    assert set(run(fingerprints)) == expected


@pytest.mark.parametrize(("block_rows", "part_rows"), [(1 << 20, 1 << 20), (100, 30)])
def test_grouped_pairs_connect_what_all_pairs_connect(block_rows, part_rows):
    random = np.random.default_rng(4)
    fingerprints = clustered(random, 400, clusters=10, flips=3)
    fingerprints[random.integers(0, 400, 150)] = fingerprints[0]
    options = {"block_rows": block_rows, "part_rows": part_rows}
    every, grouped = run(fingerprints, **options), run(fingerprints, group_equal=True, **options)
    assert set(grouped) < set(every)
    connected = [cluster(*np.array(found).T[:2], 400).tolist() for found in (every, grouped)]
    assert connected[0] == connected[1]


def test_very_many_equal_pages_make_an_error_or_a_star():
    fingerprints = np.full(30_000, 12345, np.uint64)
    with pytest.raises(ConfigurationError, match=r"MAX_PAIRS 5,000,000 .*GROUP_EQUAL"):
        run(fingerprints, max_pairs=5_000_000)
    job = PairJob(collection=ArraySource(fingerprints), group_equal=True)
    assert sum(len(part.a) for part in job.run()) == 29_999


def test_the_limit_on_pairs_is_exact():
    fingerprints = np.full(100, 7, np.uint64)
    count = 100 * 99 // 2
    assert len(run(fingerprints, max_pairs=count)) == count
    assert len(run(fingerprints, max_pairs=0)) == count
    with pytest.raises(ConfigurationError, match="MAX_PAIRS"):
        run(fingerprints, max_pairs=count - 1)
    with pytest.raises(ConfigurationError, match="MAX_PAIRS"):
        run(fingerprints, max_pairs=count - 1, part_rows=10)


def test_empty_collections():
    nothing, some = np.empty(0, np.uint64), uniform(np.random.default_rng(5), 10)
    assert run(nothing) == []
    assert run(nothing, some) == []
    assert run(some, nothing) == []


def test_collections_that_cannot_be_compared():
    three = ArraySource(uniform(np.random.default_rng(6), 3), schema={"shingle_size": 3})
    four = ArraySource(np.empty(0, np.uint64), schema={"shingle_size": 4})
    with pytest.raises(StoreMismatchError, match="shingle_size"):
        PairJob(collection=three, existing=four)
    with pytest.raises(ConfigurationError, match="GROUP_EQUAL"):
        PairJob(collection=three, existing=three, group_equal=True)


@pytest.mark.parametrize("jobs", [1, 2])
def test_a_pool_keeps_the_order_and_passes_errors_on(jobs):
    with Processes(jobs) as work:
        assert list(work(partial, iter(range(30)), add, 100)) == list(range(100, 130))
        results = work(partial, [1, "fail", 2], add, 100)
        assert next(results) == 101
        with pytest.raises(ConfigurationError, match="it failed"):
            next(results)


def test_a_pool_notices_a_death():
    with pytest.raises(NeardupError, match=r"killed.* use fewer --jobs"), Processes(2) as work:
        list(work(partial, [1, "die", 2], add, 0))


def test_a_pool_runs_only_a_few_tasks_ahead():
    taken = []
    tasks = (taken.append(task) or task for task in range(100))
    with Processes(2) as work:
        results = work(partial, tasks, add, 0)
        assert next(results) == 0
        assert len(taken) < 10
        results.close()
