"""Batch search: queries in memory, files of fingerprints scanned past them.

Three measurements of `scrapy_neardup.offline.jobs.pairjob.PairJob` on raw files, k = 3:

scan   a million queries against 8, 16 and 32 million fingerprints, of which one in a thousand is
       planted within 3 bits of a query: 'recall'. 'wrong' counts the disagreements with brute
       force over a few queries. Millions a second of processor time, compiled and in numpy.
jobs   128 million fingerprints with one process and with two, by the clock.
self   a million fingerprints against themselves, written as JSON lines by the command.
"""

import subprocess
import sys
import time
from functools import partial
from pathlib import Path

import numpy as np
from harness import Table, arguments, in_turns, scratch

from scrapy_neardup.offline.execution import ALONE, Processes
from scrapy_neardup.offline.files.fingerprintfiles import open_source
from scrapy_neardup.offline.jobs.pairjob import PairJob
from scrapy_neardup.tables import batchsearch as batch
from scrapy_neardup.tables.batchsearch import BatchSearch, PureQueryTable, QueryTable

MAX_DISTANCE = 3
SEED = 20070508
PLANTED = 1000
"""One fingerprint in so many is near a query."""
SAMPLED = 20
"""Queries that are compared with everything."""
PARTS = ["scan", "jobs", "self"]


def near(random: np.random.Generator, fingerprints: np.ndarray) -> np.ndarray:
    changed = fingerprints.copy()
    for _ in range(MAX_DISTANCE):
        changed ^= np.uint64(1) << random.integers(0, 64, len(changed), dtype=np.uint64)
    return changed


def write(path: Path, queries: np.ndarray, count: int) -> np.ndarray:
    """Write `count` fingerprints; return the rows of those planted near queries 0, 1, 2, ..."""
    random = np.random.default_rng(count)
    fingerprints = random.integers(0, 2**64, count, dtype=np.uint64)
    rows = np.sort(random.choice(count, min(count // PLANTED, len(queries)), replace=False))
    fingerprints[rows] = near(random, queries[: len(rows)])
    fingerprints.astype("<u8").tofile(path)
    return rows


def job(folder: Path, work: Processes = ALONE) -> PairJob:
    queries, scanned = (
        open_source(str(folder / f"{name}.u64")) for name in ("queries", "scanned")
    )
    return PairJob(collection=queries, existing=scanned, work=work)


def scan(folder: Path, queries: np.ndarray, size: int, rounds: int) -> None:
    table = Table(scanned="12,", way="9", **{"M/s a core": "11.2f"}, seconds="8.1f", pairs="9,",
                  recall="7.3f", wrong="5", tables="6,", built="6.2f")  # fmt: skip
    kinds = {"compiled": QueryTable} if QueryTable is not PureQueryTable else {}
    kinds |= {"numpy": PureQueryTable}

    def with_table(kind: type, call: partial) -> object:
        batch.QueryTable = kind
        return call()

    for scanned in (size, 2 * size, 4 * size):
        planted = write(folder / "scanned.u64", queries, scanned)
        everything = open_source(str(folder / "scanned.u64")).fingerprints(0, scanned)
        build = partial(BatchSearch, queries, MAX_DISTANCE, scanned=scanned)
        calls = {
            (way, name): partial(with_table, kind, call)
            for way, kind in kinds.items()
            for name, call in (("build", build), ("run", lambda: list(job(folder).run())))
        }
        found = in_turns(calls, rounds)
        for way in kinds:
            (building, search), (seconds, parts) = found[way, "build"], found[way, "run"]
            a, b = (np.concatenate([part[side] for part in parts]) for side in (0, 1))
            recall, wrong = judge(a, b, queries, everything, planted)
            rate = scanned / (seconds - building) / 1e6
            table.row(scanned, way, rate, seconds, len(a), recall, wrong,
                      len(search.design.tables), building)  # fmt: skip
            assert recall == 1
            assert not wrong
    batch.QueryTable = QueryTable


def judge(
    a: np.ndarray, b: np.ndarray, queries: np.ndarray, everything: np.ndarray, planted: np.ndarray
) -> tuple[float, int]:
    found = set(zip(a.tolist(), b.tolist(), strict=True))
    recall = np.mean([pair in found for pair in enumerate(planted.tolist())])
    sample = np.random.default_rng(SEED).choice(len(queries), SAMPLED, replace=False)
    wrong = 0
    for query in [*range(min(5, len(planted))), *sample.tolist()]:
        expected = np.flatnonzero(np.bitwise_count(everything ^ queries[query]) <= MAX_DISTANCE)
        wrong += len(set(expected.tolist()) ^ set(b[a == query].tolist()))
    return float(recall), wrong


def jobs(folder: Path, queries: np.ndarray, size: int) -> None:
    write(folder / "scanned.u64", queries, 16 * size)
    seconds, counts = [], []
    for processes in (1, 2):
        began = time.perf_counter()
        with Processes(processes) as work:
            counts.append(sum(len(part.a) for part in job(folder, work).run()))
        seconds.append(time.perf_counter() - began)
        print(
            f"{processes} process(es): {16 * size:,} in {seconds[-1]:.1f} s, {counts[-1]:,} pairs"
        )
    print(f"two are {seconds[0] / seconds[1]:.2f} times as fast as one")
    assert counts[0] == counts[1]


def itself(folder: Path, queries: np.ndarray) -> None:
    fingerprints, planted = queries.copy(), len(queries) // 200
    fingerprints[-planted:] = near(np.random.default_rng(SEED), fingerprints[:planted])
    fingerprints.astype("<u8").tofile(folder / "self.u64")
    command = Path(sys.executable).with_name("scrapy-neardup")
    began = time.perf_counter()
    lines = subprocess.run(
        [command, "pairs", folder / "self.u64", "--no-progress"], check=True, capture_output=True
    ).stdout.splitlines()
    seconds = time.perf_counter() - began
    print(f"{len(queries):,} against itself in {seconds:.1f} s, {len(lines):,} pairs")
    assert len(lines) >= planted


def main() -> None:
    options = arguments(
        __doc__, part=(PARTS, None, PARTS), queries=1_000_000,
        size=(8_000_000, "the smallest file that is scanned"),
        rounds=(3, "how often each way scans"),
        quick={"queries": 10_000, "size": 100_000, "rounds": 1},
    )  # fmt: skip
    random = np.random.default_rng(SEED)
    queries = random.integers(0, 2**64, options.queries, dtype=np.uint64)
    with scratch() as folder:
        queries.astype("<u8").tofile(folder / "queries.u64")
        if "scan" in options.part:
            scan(folder, queries, options.size, options.rounds)
        if "jobs" in options.part:
            jobs(folder, queries, options.size)
        if "self" in options.part:
            itself(folder, queries)


if __name__ == "__main__":
    main()
