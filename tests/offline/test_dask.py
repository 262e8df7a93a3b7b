"""On a real scheduler and two worker processes: the same results as on one machine."""

import json
import os
import signal
import sys
from contextlib import contextmanager
from dataclasses import replace
from functools import partial

import dask
import numpy as np
import pytest
from datasets import tree, write_data_set
from fingerprint_sets import clustered

from scrapy_neardup.errors import ConfigurationError, InputError, NeardupError
from scrapy_neardup.judge.analysis import Analyser
from scrapy_neardup.judge.parameters import Parameters
from scrapy_neardup.offline import execution
from scrapy_neardup.offline.dedupe import dedupe
from scrapy_neardup.offline.execution import Cluster, Processes, workers
from scrapy_neardup.offline.files.fingerprintfiles import open_source
from scrapy_neardup.offline.files.sources import Chain
from scrapy_neardup.offline.jobs.joining import HashSets, Pages, Shingles, join_sets
from scrapy_neardup.offline.jobs.pairjob import PairJob, on_cluster
from scrapy_neardup.offline.jobs.scanning import analysed
from scrapy_neardup.offline.readers.corpus import Corpus

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


@pytest.fixture
def mortal(tmp_path_factory):
    """A scheduler of its own: on a busy machine a killed worker may not come back in time."""
    with running(tmp_path_factory.mktemp("dask")) as client:
        yield client


def kill_one_of(client):
    client.wait_for_workers(2, timeout=120)
    os.kill(next(iter(client.run(os.getpid).values())), signal.SIGKILL)


@pytest.fixture
def files(tmp_path):
    """Two files of fingerprints, and one of those with near-duplicates in both."""
    values = clustered(np.random.default_rng(5), 6000, clusters=500, flips=2)
    for name, part in ("a", values[:1500]), ("b", values[1500:]):
        part.astype("<u8").tofile(tmp_path / f"{name}.u64")
    return tmp_path


def source(folder, *names):
    return Chain([open_source(str(folder / f"{name}.u64")) for name in names])


def in_small_tasks(client, job):
    """The sizes of a cluster are those of collections that no test has."""
    return replace(on_cluster(Cluster(client), job), block_rows=1000, part_rows=500)


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
    assert pairs(on_cluster(Cluster(client), job)) == expected
    assert pairs(in_small_tasks(client, job)) == expected


@pytest.mark.parametrize(("new", "existing"), [("a", "b"), ("b", "a")])
def test_two_collections_whichever_is_larger(client, files, new, existing):
    job = PairJob(collection=source(files, new), existing=source(files, existing))
    expected = pairs(job)
    assert expected
    placed = in_small_tasks(client, job)
    assert len(placed.collection) == 1500  # the smaller one is held in tables
    assert pairs(placed) == expected


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
    mortal.wait_for_workers(2, timeout=120)
    assert mortal.run(os.getpid) != processes


def test_each_step_with_a_worker_killed(mortal, tmp_path):
    def work(*arguments):
        for number, result in enumerate(Cluster(mortal)(*arguments)):
            if not number:
                kill_one_of(mortal)
            yield result

    work.size = 4
    rows = write_data_set(tmp_path / "in", files=4)
    for name, where in ("one", {}), ("two", {"work": work}):
        dedupe([str(tmp_path / "in")], str(tmp_path / name), **where)
    assert tree(tmp_path / "one") == tree(tmp_path / "two")
    sets = HashSets(Shingles()(row["text"])[1] for row in rows)
    found = join_sets(sets, 0.5, memory=1 << 30, work=work)
    assert len(found.i) > 50
    alone = join_sets(sets, 0.5, memory=1 << 30)
    assert all(map(np.array_equal, found.columns, alone.columns))


def test_pages_with_a_worker_killed_in_the_middle(mortal, tmp_path):
    """Workers read them: a task has the names of files, and no page."""
    write_data_set(tmp_path / "in", files=9, per_file=20)
    corpus = Corpus([str(tmp_path / "in")])
    parts = [*corpus.parts(sent=False)]
    assert len(parts) == 9
    assert not any(part.records for part in parts)
    analyser = Analyser(Parameters())
    found = []
    for number, (name, page) in enumerate(analysed(corpus, analyser, Cluster(mortal))):
        if number == 25:
            kill_one_of(mortal)
        found.append((name, page))
    assert found == [*analysed(corpus, analyser)]
    sets = [
        HashSets(Pages(corpus, "main", (), work).read(Shingles(size=4)))
        for work in (Cluster(mortal), Processes())
    ]
    assert [len(each.sizes) for each in sets] == [180, 180]
    there, here = (join_sets(each, 0.5, memory=1 << 30) for each in sets)
    assert len(there.i) > 50
    assert all(map(np.array_equal, there.columns, here.columns))


def always_die(state, task):
    os.kill(os.getpid(), signal.SIGKILL)


def test_a_task_that_kills_its_workers_is_an_error(mortal):
    with pytest.raises(NeardupError, match="took several workers with it"):
        list(Cluster(mortal)(partial, [1], always_die, None))


def test_workers_that_are_all_gone_are_an_error(monkeypatch, tmp_path):
    monkeypatch.setattr(execution, "LONGEST_ALONE", 0.5)
    with running(tmp_path, workers=1) as client:
        client.cluster.scale(0)
        work = Cluster(client)(partial, [1, 2], echo, None)
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

    def call(*args, verb="pairs", status=0):
        result = CliRunner().invoke(main, [verb, *args])
        assert result.exit_code == status, result.output
        return result

    a, b = str(files / "a.u64"), str(files / "b.u64")
    address = client.scheduler.address
    assert sorted(call(a, b, "--scheduler", address).stdout.splitlines()) == sorted(
        call(a, b).stdout.splitlines()
    )
    assert "--scheduler" in call(a, "--scheduler", "no address://", status=2).stderr
    said = call(a, "--scheduler", "here", status=2).stderr
    assert "not of the form tcp://HOST:8786" in said
    texts = [" ".join(map(str, range(100 * n, 100 * n + 40))) for n in range(60)]
    lines = "".join(json.dumps({"url": f"http://a.test/{n}", "text": text}) + "\n"
                    for n, text in enumerate(texts + texts))  # fmt: skip
    (files / "pages.jsonl").write_text(lines)
    for verb, *options in (
        ["scan"], ["join"], ["join", "--measure", "hamming", "--distance", "2"], ["clusters"],
        ["clusters", "--method", "features"],
    ):  # fmt: skip
        there = call("pages.jsonl", *options, "--scheduler", address, verb=verb).stdout
        assert there == call("pages.jsonl", *options, verb=verb).stdout
        assert there.count("\n") == (120 if verb == "scan" else 60)
    pages = str(files / "pages.jsonl")
    call(pages, "--output", str(files / "one"), verb="dedupe")
    call(pages, "--output", str(files / "two"), "--scheduler", address, verb="dedupe")
    assert tree(files / "one") == tree(files / "two")


def test_nobody_there():
    # What is set before Dask's own defaults are there takes them along when it is reset.
    import distributed  # noqa: F401

    with (
        dask.config.set({"distributed.comm.timeouts.connect": "200ms"}),
        pytest.raises(NeardupError, match="no Dask scheduler answers"),
        workers("tcp://127.0.0.1:1"),
    ):
        pass


def test_without_dask_the_extra_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "distributed", None)
    with (
        pytest.raises(ConfigurationError, match=r"pip install '\.\[dask\]'"),
        workers("tcp://127.0.0.1:1"),
    ):
        pass
