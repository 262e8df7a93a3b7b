"""On a real scheduler and two worker processes: the same results as on one machine."""

import json
import os
import random
import signal
import sys
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import dask
import numpy as np
import pytest
from fingerprint_sets import clustered

from scrapy_neardup.analysis import Analyser
from scrapy_neardup.clusters import cluster
from scrapy_neardup.errors import ConfigurationError, InputError, NeardupError
from scrapy_neardup.offline import dask as neardup_dask
from scrapy_neardup.offline.corpora import Corpus
from scrapy_neardup.offline.dask import (
    Cluster,
    by_query,
    clusters_on,
    connected,
    fingerprint_on,
    on_cluster,
)
from scrapy_neardup.offline.daskfeatures import feature_clusters_on
from scrapy_neardup.offline.featurefiles import FeatureFiles
from scrapy_neardup.offline.fpfiles import open_source
from scrapy_neardup.offline.pairs import PairJob
from scrapy_neardup.offline.scan import analysed
from scrapy_neardup.offline.sources import Chain
from scrapy_neardup.settings.catalogue import PRESETS
from scrapy_neardup.settings.parameters import Parameters
from scrapy_neardup.verdict import Page

# Dask's own, of sockets and loops of processes that were killed.
pytestmark = pytest.mark.filterwarnings("ignore::ResourceWarning", "ignore::DeprecationWarning")


@contextmanager
def running(folder, *, workers=2):
    # Each process that collects the tests has this module, and one of them uses Dask.
    from distributed import Client, LocalCluster

    with (
        dask.config.set(
            {
                # A task that kills two workers is given up: each starts anew.
                "distributed.scheduler.allowed-failures": 1,
                # Workers are forked from a process that has imported what they need.
                "distributed.worker.multiprocessing-method": "forkserver",
            }
        ),
        LocalCluster(
            n_workers=workers,
            threads_per_worker=1,
            processes=True,
            dashboard_address="127.0.0.1:0",  # not 8787, which another may have
            local_directory=folder,
            host="127.0.0.1",
        ) as cluster,
        Client(cluster) as client,
    ):
        yield client


@pytest.fixture(scope="module")
def client(tmp_path_factory):
    with running(tmp_path_factory.mktemp("dask")) as client:
        yield client


@pytest.fixture(scope="module")
def wounded(tmp_path_factory):
    with running(tmp_path_factory.mktemp("dask")) as client:
        yield client


@pytest.fixture
def mortal(wounded):
    """A scheduler whose workers a test kills; both are there."""
    wounded.wait_for_workers(2, timeout=60)
    return wounded


@pytest.fixture
def files(tmp_path):
    """Two files of fingerprints, and one of those with near-duplicates in both."""
    source = np.random.default_rng(5)
    values = clustered(source, 6000, clusters=500, flips=2)
    for name, part in ("a", values[:1500]), ("b", values[1500:]):
        part.astype("<u8").tofile(tmp_path / f"{name}.u64")
    return tmp_path


def source(folder, *names):
    return Chain([open_source(str(folder / f"{name}.u64")) for name in names])


def in_small_tasks(client, job):
    """The sizes of a cluster are those of collections that no test has."""
    return replace(on_cluster(client, job), block_rows=1000, part_rows=500)


def pairs(job):
    return sorted(
        row
        for found in job.run()
        for row in zip(*(column.tolist() for column in found[:3]), strict=True)
    )


def test_one_collection(client, files):
    job = PairJob(collection=source(files, "a", "b"))
    expected = pairs(job)
    assert len(expected) > 1000
    assert pairs(on_cluster(client, job)) == expected
    assert pairs(in_small_tasks(client, job)) == expected


@pytest.mark.parametrize(("new", "existing"), [("a", "b"), ("b", "a")])
def test_two_collections_whichever_is_larger(client, files, new, existing):
    job = PairJob(collection=source(files, new), existing=source(files, existing))
    expected = pairs(job)
    assert expected
    placed = in_small_tasks(client, job)
    assert len(placed.collection) == 1500  # the smaller one is held in tables
    assert pairs(placed) == expected
    merged = by_query([*placed.run(), *placed.run()])
    assert sorted((a, b, d) for a, near in merged.items() for b, d in near.items()) == expected


def die_once(state, task):
    """Take the worker along, the first time."""
    flag, number = task
    if number == 3 and not Path(flag).exists():
        Path(flag).touch()
        os.kill(os.getpid(), signal.SIGKILL)
    return state, number


def test_a_worker_that_is_killed_costs_nothing_but_time(mortal, tmp_path):
    flag = str(tmp_path / "flag")
    tasks = [(flag, number) for number in range(40)]
    results = list(Cluster(mortal)(die_once, tasks, jobs=1, start=list, arguments=("ab",)))
    assert results == [(["a", "b"], number) for number in range(40)]
    assert Path(flag).exists()


def test_pairs_with_a_worker_killed_in_the_middle(mortal, files):
    job = PairJob(collection=source(files, "a", "b"))
    expected = pairs(job)
    processes = mortal.run(os.getpid)
    found = []
    for number, part in enumerate(in_small_tasks(mortal, job).run()):
        if number == 5:
            os.kill(next(iter(processes.values())), signal.SIGKILL)
        found += zip(*(column.tolist() for column in part[:3]), strict=True)
    assert sorted(found) == expected
    mortal.wait_for_workers(2, timeout=60)
    assert mortal.run(os.getpid) != processes


def always_die(state, task):
    os.kill(os.getpid(), signal.SIGKILL)


def test_a_task_that_kills_its_workers_is_an_error(mortal):
    with pytest.raises(NeardupError, match="took several workers with it"):
        list(Cluster(mortal)(always_die, [1], jobs=1, start=list, arguments=()))


def test_workers_that_are_all_gone_are_an_error(monkeypatch, tmp_path):
    monkeypatch.setattr(neardup_dask, "LONGEST_ALONE", 0.5)
    with running(tmp_path, workers=1) as client:
        client.cluster.scale(0)
        work = Cluster(client)(echo, [1, 2], jobs=1, start=dict, arguments=())
        with pytest.raises(NeardupError, match="has had no workers for"):
            next(work)


def echo(_state, task):
    return task


def test_errors_of_tasks_come_back(client, files):
    job = in_small_tasks(client, PairJob(collection=source(files, "a", "b"), max_pairs=10))
    with pytest.raises(ConfigurationError, match="NEARDUP_MAX_PAIRS 10"):
        pairs(job)
    job = in_small_tasks(client, PairJob(collection=source(files, "a", "b")))
    (files / "b.u64").write_bytes(bytes(8))
    with pytest.raises(InputError, match=r"b\.u64: (was changed|became shorter)"):
        pairs(job)


def html(number, variant):
    words = random.Random(number)
    text = " ".join(f"word{words.randrange(5000)}" for _ in range(800))
    return f"<!doctype html><title>{number}</title><p>{text} variant{variant}</p>"


def test_from_pages_to_clusters(client, tmp_path):
    import pyarrow as pa
    from pyarrow import parquet

    pages = [
        {"url": f"http://a.test/{number}/{variant}", "html": html(number, variant)}
        for variant in range(3)
        for number in range(5)
    ]
    lines, table = tmp_path / "1.jsonl", tmp_path / "2.parquet"
    lines.write_text("".join(json.dumps(page) + "\n" for page in pages[:7]))
    parquet.write_table(pa.Table.from_pylist(pages[7:]), table)
    inputs = [str(lines), str(table)]
    made = fingerprint_on(client, inputs, str(tmp_path / "made"), Parameters())
    collection = Chain([open_source(path) for path in made])
    expected = [
        page
        for _, page in analysed(Corpus(inputs), Analyser(Parameters()))
        if isinstance(page, Page)
    ]
    rows = range(len(expected))
    assert collection.names(0, len(collection)) == [page["url"] for page in pages]
    assert collection.fingerprints(0, 15).tolist() == [page.fingerprint for page in expected]
    assert collection.ids(0, 15).tolist() == [page.id for page in expected]
    assert collection.schema == Parameters().schema()
    job = PairJob(collection=collection)
    assert clusters_on(client, job).tolist() == [row % 5 for row in rows]
    labels = feature_clusters_on(client, made, str(tmp_path / "runs"), memory=1 << 20)
    assert labels.tolist() == [row % 5 for row in rows]
    assert len(list((tmp_path / "runs").iterdir())) == 2
    features = np.concatenate(list(FeatureFiles(made)))
    assert features.tolist() == [list(page.features[:8]) for page in expected]
    paper = Parameters(**PRESETS["paper"])
    plain = fingerprint_on(client, inputs, str(tmp_path / "plain"), paper)
    with pytest.raises(InputError, match="says nothing of features"):
        feature_clusters_on(client, plain, str(tmp_path / "none"))


def test_pages_without_features_are_clusters_of_their_own(client, tmp_path):
    texts = ["short", "one two three four five six", *[" ".join(map(str, range(50)))] * 2]
    pages = [{"url": f"http://a.test/{n}", "text": texts[n % 4]} for n in range(12)]
    lines = tmp_path / "pages.jsonl"
    lines.write_text("".join(json.dumps(page) + "\n" for page in pages))
    made = fingerprint_on(client, [str(lines)], str(tmp_path / "made"), Parameters())
    collection = open_source(made[0])
    labels = feature_clusters_on(client, made, str(tmp_path / "runs")).tolist()
    names = collection.names(0, len(collection))
    together = [names[row] for row, label in enumerate(labels) if label != row or row == 1]
    assert together == [f"http://a.test/{n}" for n in (2, 3, 6, 7, 10, 11)]


def test_clusters_are_those_of_all_pairs(client, files):
    job = PairJob(collection=source(files, "a", "b"))
    a, b, _ = np.array(pairs(job), np.int64).T
    small = replace(job, block_rows=1000)
    assert np.array_equal(clusters_on(client, small), cluster(a, b, 6000))


def test_files_elsewhere(files):
    import fsspec

    memory = fsspec.filesystem("memory")
    try:
        for name in "ab":
            memory.pipe(f"/neardup/{name}.u64", (files / f"{name}.u64").read_bytes())
        there = Chain([open_source(f"memory://neardup/{name}.u64") for name in "ab"])
        here = source(files, "a", "b")
        assert np.array_equal(there.fingerprints(700, 3000), here.fingerprints(700, 3000))
        with pytest.raises(InputError, match=r"memory://neardup/c\.u64: can't be read"):
            open_source("memory://neardup/c.u64")
        with pytest.raises(InputError, match=r"xyz://a\.u64: can't be opened"):
            open_source("xyz://a.u64")
    finally:
        memory.rm("/neardup", recursive=True)


def test_the_command(client, files, monkeypatch):
    from click.testing import CliRunner

    from scrapy_neardup.cli import main

    monkeypatch.chdir(files)

    def call(*args, status=0):
        result = CliRunner().invoke(main, ["pairs", *args])
        assert result.exit_code == status, result.output
        return result

    a, b = str(files / "a.u64"), str(files / "b.u64")
    address = client.scheduler.address
    assert sorted(call(a, b, "--scheduler", address).stdout.splitlines()) == sorted(
        call(a, b).stdout.splitlines()
    )
    assert "--scheduler" in call(a, "--scheduler", "no address://", status=2).stderr


def test_nobody_there():
    with (
        dask.config.set({"distributed.comm.timeouts.connect": "200ms"}),
        pytest.raises(NeardupError, match="no Dask scheduler answers"),
        connected("tcp://127.0.0.1:1"),
    ):
        pass


def test_without_dask_the_extra_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "distributed", None)
    with (
        pytest.raises(ConfigurationError, match=r"pip install 'scrapy-neardup\[dask\]'"),
        connected("tcp://127.0.0.1:1"),
    ):
        pass
