"""Batch search: queries in memory, files of fingerprints scanned past them.

Three measurements, all of `scrapy_neardup.offline.jobs.pairjob.PairJob` on raw files, k = 3:

scan   a million queries against 8, 16 and 32 million fingerprints, in this process. One
       fingerprint in a thousand is planted within 3 bits of a query. 'recall' is the share of
       these that are found; 'wrong' counts the disagreements with brute force, which compares
       a few of the queries with every fingerprint. The rate is in fingerprints a second of
       processor time; the tables, built once, are timed by themselves. With compiled code, if
       there is some, and in numpy, in turns; times are the best of --rounds.
jobs   128 million fingerprints with one process and with two, by the clock, with start
       and tables.
self   a million fingerprints against themselves, written as JSON lines by the command.

All of it takes some three minutes; --quick takes seconds.

    python benchmarks/batch.py
    python benchmarks/batch.py --part scan --queries 1e5
    python benchmarks/batch.py --quick
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from itertools import product
from pathlib import Path
from typing import NamedTuple

import numpy as np

from scrapy_neardup.offline.files.fingerprintfiles import RawFile
from scrapy_neardup.offline.jobs.pairjob import PairJob
from scrapy_neardup.tables import batch
from scrapy_neardup.tables.batch import BatchSearch
from scrapy_neardup.tables.querytable import PureQueryTable, QueryTable

MAX_DISTANCE = 3
SEED = 20070508
PLANTED = 1000
"""One fingerprint in so many is near a query."""
SAMPLED = 20
"""Queries that are compared with everything."""
TARGETS = (
    "Targets: 12 M fingerprints a second and core at a million queries, 5 M in numpy, recall 1;"
    " two processes 1.7 times one; a million against itself in 3 s."
)


def near(random: np.random.Generator, fingerprints: np.ndarray) -> np.ndarray:
    """Return the fingerprints with up to three bits changed."""
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


def scan(folder: Path, queries: np.ndarray, sizes: list[int], rounds: int) -> bool:
    print(f"{'scanned':>12} {'way':>9} {'M/s a core':>11} {'seconds':>8} {'pairs':>9}"
          f" {'recall':>7} wrong")  # fmt: skip
    right = True
    ways = dict.fromkeys([QueryTable, PureQueryTable])
    for size in sizes:
        planted = write(folder / "scanned.u64", queries, size)
        everything = RawFile(str(folder / "scanned.u64")).fingerprints(0, size)
        runs: dict[type, list[Run]] = {table: [] for table in ways}
        for _, batch.QueryTable in product(range(rounds), ways):
            runs[batch.QueryTable].append(run(folder, queries, size))
        for table, done in runs.items():
            way = "numpy" if table is PureQueryTable else "compiled"
            building, processor, seconds = (min(run[k] for run in done) for k in range(3))
            tables, a, b = done[-1][3:]
            recall, wrong = judge(a, b, queries, everything, planted)
            rate = size / (processor - building) / 1e6
            print(f"{size:>12,} {way:>9} {rate:>11.2f} {seconds:>8.1f} {len(a):>9,} {recall:>7.3f}"
                  f" {wrong:>5}  {tables} tables in {building:.2f} s")  # fmt: skip
            right &= recall == 1 and not wrong
    batch.QueryTable = QueryTable
    return right


class Run(NamedTuple):
    """Seconds of processor time for tables alone and for everything, and by the clock; pairs."""

    building: float
    processor: float
    seconds: float
    tables: int
    a: np.ndarray
    b: np.ndarray


def run(folder: Path, queries: np.ndarray, size: int) -> Run:
    building = time.process_time()
    design = BatchSearch(queries, MAX_DISTANCE, scanned=size).design
    building = time.process_time() - building
    job = PairJob(
        collection=RawFile(str(folder / "queries.u64")),
        existing=RawFile(str(folder / "scanned.u64")),
    )
    began, processor = time.perf_counter(), time.process_time()
    parts = list(job.run())
    processor, seconds = time.process_time() - processor, time.perf_counter() - began
    a, b = (np.concatenate([part[side] for part in parts]) for side in (0, 1))
    return Run(building, processor, seconds, len(design.tables), a, b)


def judge(
    a: np.ndarray, b: np.ndarray, queries: np.ndarray, everything: np.ndarray, planted: np.ndarray
) -> tuple[float, int]:
    """Return the share of planted pairs that were found, and disagreements with brute force."""
    found = set(zip(a.tolist(), b.tolist(), strict=True))
    recall = np.mean([pair in found for pair in enumerate(planted.tolist())])
    sample = np.random.default_rng(SEED).choice(len(queries), SAMPLED, replace=False)
    wrong = 0
    for query in [*range(min(5, len(planted))), *sample.tolist()]:
        expected = np.flatnonzero(np.bitwise_count(everything ^ queries[query]) <= MAX_DISTANCE)
        wrong += len(set(expected.tolist()) ^ set(b[a == query].tolist()))
    return float(recall), wrong


def jobs(folder: Path, queries: np.ndarray, size: int) -> bool:
    write(folder / "scanned.u64", queries, size)
    seconds, counts = [], []
    for processes in (1, 2):
        job = PairJob(
            collection=RawFile(str(folder / "queries.u64")),
            existing=RawFile(str(folder / "scanned.u64")),
            jobs=processes,
        )
        began, processor = time.perf_counter(), processor_time()
        counts.append(sum(len(part.a) for part in job.run()))
        seconds.append(time.perf_counter() - began)
        print(
            f"{processes} process(es): {size:,} in {seconds[-1]:.1f} s"
            f" ({processor_time() - processor:.1f} s of processors), {counts[-1]:,} pairs"
        )
    print(f"two are {seconds[0] / seconds[1]:.2f} times as fast as one")
    return counts[0] == counts[1]


def processor_time() -> float:
    """Return the processor time of this process and of those that have ended."""
    return sum(os.times()[:4])


def itself(folder: Path, queries: np.ndarray) -> bool:
    random = np.random.default_rng(SEED)
    fingerprints = queries.copy()
    planted = len(queries) // 200
    fingerprints[-planted:] = near(random, fingerprints[:planted])
    fingerprints.astype("<u8").tofile(folder / "self.u64")
    command = Path(sys.executable).with_name("scrapy-neardup")
    began = time.perf_counter()
    lines = subprocess.run(
        [command, "pairs", folder / "self.u64", "--no-progress"], check=True, capture_output=True
    ).stdout.splitlines()
    seconds = time.perf_counter() - began
    print(f"{len(queries):,} against itself in {seconds:.1f} s, {len(lines):,} pairs")
    return len(lines) >= planted


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--part", action="append", choices=("scan", "jobs", "self"))
    parser.add_argument("--queries", type=float, default=1e6)
    parser.add_argument(
        "--size", type=float, default=8e6, help="the smallest file that is scanned"
    )
    parser.add_argument("--rounds", type=int, default=3, help="how often each way scans")
    parser.add_argument("--quick", action="store_true", help="a run of seconds, for a test")
    arguments = parser.parse_args()
    if arguments.quick:
        arguments.queries, arguments.size, arguments.rounds = 1e4, 1e5, 1
    return arguments


def main() -> int:
    arguments = parse()
    parts = arguments.part or ["scan", "jobs", "self"]
    size = int(arguments.size)
    queries = np.random.default_rng(SEED).integers(
        0, 2**64, int(arguments.queries), dtype=np.uint64
    )
    right = True
    print(TARGETS)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        queries.astype("<u8").tofile(folder / "queries.u64")
        if "scan" in parts:
            right &= scan(folder, queries, [size, 2 * size, 4 * size], arguments.rounds)
        if "jobs" in parts:
            right &= jobs(folder, queries, 16 * size)
        if "self" in parts:
            right &= itself(folder, queries)
    if not right:
        print("a wrong answer", file=sys.stderr)
    return 0 if right else 1


if __name__ == "__main__":
    sys.exit(main())
