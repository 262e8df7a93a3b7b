"""Probe and insert, one fingerprint at a time: our index and its peers.

As a crawl does it: each page's fingerprint is looked up (k = 3) and then stored. Every index
runs in a process of its own, one after the other, and is filled with the same random
fingerprints; 'bytes' is what that process grew by. Of the operations that are timed, one in
ten is a planted near-duplicate of a stored fingerprint, 0 to 3 bits away. 'recall' is the
share of these that are found; for a sample of operations the distance of the nearest match
is compared with what comparing all stored fingerprints says ('wrong', which also counts every
match that was reported for a fingerprint that wasn't planted).

'pure' is ours with NEARDUP_PURE=1: without compiled code, if there is some.

Peers: faiss `IndexBinaryMultiHash` on the same four blocks of 16 bits, asked for the nearest
only, on one thread; PyPI `simhash`'s `SimhashIndex`, filled until it takes the memory that
--memory allows. A peer's answers are reported, ours must be right.

All of it takes some five minutes, and 5 GB of memory; --quick takes seconds.

    python benchmarks/index.py
    python benchmarks/index.py --size 1e6 --peer faiss
    python benchmarks/index.py --quick
"""

from __future__ import annotations

import argparse
import gc
import importlib.util
import json
import os
import resource
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from scrapy_neardup.tables import HammingIndex

MAX_DISTANCE = 3
CHUNK = 100_000
SEED = 64
PLANTED = 10
"""One operation in so many looks for a near-duplicate of what is stored."""

TARGETS = "Targets at 10 million: 3 µs, 10 pure; 5 times as fast as each peer, 45 bytes each."


class Ours:
    """`HammingIndex`, filled one by one."""

    def __init__(self, expected: int) -> None:
        self.index = HammingIndex(MAX_DISTANCE, expected)
        self.insert = self.index.add

    def fill(self, fingerprints: np.ndarray) -> None:
        for fingerprint in fingerprints.tolist():
            self.index.add(fingerprint)

    def operand(self, fingerprint: int) -> int:
        return fingerprint

    def probe(self, fingerprint: int) -> list[tuple[int, int]]:
        return self.index.query(fingerprint)

    def nearest(self, answer: list[tuple[int, int]], _fingerprint: int) -> int | None:
        return answer[0][1] if answer else None


class OursLoaded(Ours):
    """`HammingIndex`, filled with `add_many`."""

    def fill(self, fingerprints: np.ndarray) -> None:
        self.index.add_many(fingerprints)


class Faiss:
    """faiss: the same tables in C++; an operand is a row of eight bytes."""

    def __init__(self, _expected: int) -> None:
        import faiss

        faiss.omp_set_num_threads(1)  # a single query gains nothing from more
        self.index = faiss.IndexBinaryMultiHash(64, MAX_DISTANCE + 1, 64 // (MAX_DISTANCE + 1))
        self.insert = self.index.add

    def fill(self, fingerprints: np.ndarray) -> None:
        self.index.add(fingerprints.view(np.uint8).reshape(-1, 8))

    def operand(self, fingerprint: int) -> np.ndarray:
        return np.array([[fingerprint]], np.uint64).view(np.uint8)

    def probe(self, row: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        return self.index.search(row, 1)

    def nearest(self, answer: tuple[np.ndarray, np.ndarray], _row: np.ndarray) -> int | None:
        distances, ids = answer
        found = ids[0, 0] >= 0 and distances[0, 0] <= MAX_DISTANCE
        return int(distances[0, 0]) if found else None


class PypiSimhash:
    """The `simhash` package; an operand is its `Simhash`, an object's id the fingerprint."""

    def __init__(self, _expected: int) -> None:
        import simhash

        self.value = simhash.Simhash
        self.index = simhash.SimhashIndex([], f=64, k=MAX_DISTANCE)

    def insert(self, value: object) -> None:
        self.index.add(f"{value.value:x}", value)

    def fill(self, fingerprints: np.ndarray) -> None:
        for fingerprint in fingerprints.tolist():
            self.insert(self.value(fingerprint))

    def operand(self, fingerprint: int) -> object:
        return self.value(fingerprint)

    def probe(self, value: object) -> list[str]:
        return self.index.get_near_dups(value)

    def nearest(self, answer: list[str], value: object) -> int | None:
        return min(((int(found, 16) ^ value.value).bit_count() for found in answer), default=None)


CONTENDERS = {
    "scrapy-neardup": Ours,
    "add_many": OursLoaded,
    "pure": Ours,
    "faiss": Faiss,
    "simhash": PypiSimhash,
}


def chunks(size: int) -> Iterator[np.ndarray]:
    """Yield the same `size` random fingerprints every time, without holding them all."""
    for number, start in enumerate(range(0, size, CHUNK)):
        count = min(CHUNK, size - start)
        yield np.random.default_rng((number, SEED)).integers(0, 2**64, count, dtype=np.uint64)


def workload(size: int, operations: int) -> tuple[list[int], np.ndarray]:
    """Return the fingerprints to look up and store, and which of them are planted."""
    rng = np.random.default_rng((SEED, size, operations))
    wanted = rng.integers(0, 2**64, operations, dtype=np.uint64)
    planted = np.arange(operations) % PLANTED == 0
    places = np.sort(rng.integers(0, size, int(planted.sum())))
    originals = np.concatenate(
        [
            chunk[places[places // CHUNK == number] % CHUNK]
            for number, chunk in enumerate(chunks(size))
        ]
    )
    for flips in range(MAX_DISTANCE):  # the same bit twice is a smaller distance
        flipped = np.uint64(1) << rng.integers(0, 64, len(originals), dtype=np.uint64)
        originals ^= np.where(rng.integers(0, 4, len(originals)) > flips, flipped, np.uint64(0))
    wanted[planted] = rng.permutation(originals)
    return wanted.tolist(), planted


def resident() -> int:
    """Return the bytes of memory that this process holds."""
    try:
        pages = int(Path("/proc/self/statm").read_text().split()[1])
    except OSError:  # not Linux: the peak is the next best
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    return pages * resource.getpagesize()


def measure(name: str, size: int, operations: int, sample: int, memory: float) -> dict:
    """Fill one index, time the operations and check the answers."""
    contender = CONTENDERS[name](size)
    for chunk in chunks(min(size, CHUNK)):
        chunk.tolist()  # what it takes to make the data is not the index's
    before, started, filled = resident(), time.perf_counter(), 0
    for chunk in chunks(size):
        contender.fill(chunk)
        filled += len(chunk)
        if resident() - before > memory:
            break
    seconds = time.perf_counter() - started
    gc.collect()
    grown = resident() - before

    fingerprints, planted = workload(filled, operations)
    operands = [contender.operand(fingerprint) for fingerprint in fingerprints]
    probe, insert, clock = contender.probe, contender.insert, time.perf_counter_ns
    nanoseconds, answers = [], []
    for operand in operands:
        start = clock()
        answer = probe(operand)
        insert(operand)
        nanoseconds.append(clock() - start)
        answers.append(answer)

    nearest = [contender.nearest(*both) for both in zip(answers, operands, strict=True)]
    found = np.array([distance is not None for distance in nearest])
    wrong = int(found[~planted].sum())  # uniform ones are never so near by chance
    wrong += wrongly_answered(filled, fingerprints, nearest, sample)
    median, p99 = np.percentile(nanoseconds, [50, 99]) / 1000
    return {
        "index": name,
        "size": filled,
        "fill": seconds,
        "median": median,
        "p99": p99,
        "bytes": grown / filled,
        "recall": float(found[planted].mean()),
        "wrong": wrong,
    }


def wrongly_answered(
    size: int, fingerprints: list[int], nearest: list[int | None], sample: int
) -> int:
    """Count the sampled operations whose nearest match isn't that of comparing with all."""
    rng = np.random.default_rng((SEED, size))
    stored = np.concatenate([*chunks(size), np.array(fingerprints, np.uint64)])
    wrong = 0
    for place in rng.choice(len(fingerprints), min(sample, len(fingerprints)), replace=False):
        # An operation sees what was stored before it.
        others = stored[: size + place]
        distance = int(np.bitwise_count(others ^ np.uint64(fingerprints[place])).min())
        wrong += nearest[place] != (distance if distance <= MAX_DISTANCE else None)
    return wrong


def in_own_process(arguments: argparse.Namespace, name: str, size: int) -> dict:
    """Run `measure` where nothing else has grown the process."""
    command = [sys.executable, __file__, "--contender", name, "--size", str(size)]
    for option in ("operations", "sample", "memory"):
        command += [f"--{option}", str(getattr(arguments, option))]
    environment = {**os.environ, "NEARDUP_PURE": "1"} if name == "pure" else None
    done = subprocess.run(command, check=True, capture_output=True, text=True, env=environment)
    return json.loads(done.stdout)


def report(row: dict) -> None:
    print(
        f"{row['index']:<15}{row['size']:>12,}{row['fill']:>9.1f}{row['median']:>10.1f}"
        f"{row['p99']:>9.1f}{row['bytes']:>8.1f}{row['recall']:>8.3f}{row['wrong']:>7}",
        flush=True,
    )


def compare(arguments: argparse.Namespace) -> bool:
    """Measure ours and each peer at each size; return whether our answers are right."""
    peers = [peer for peer in arguments.peer if importlib.util.find_spec(peer)]
    for missing in set(arguments.peer) - set(peers):
        print(f'{missing} is not installed: pip install "scrapy-neardup[bench]"')
    print(f"probe + insert, k = {MAX_DISTANCE}, µs; fill in seconds; bytes a fingerprint")
    print(f"{'index':<15}{'size':>12}{'fill':>9}{'median':>10}{'p99':>9}{'bytes':>8}"
          f"{'recall':>8}{'wrong':>7}")  # fmt: skip
    exact, full = True, set()
    for size in arguments.size:
        ours = in_own_process(arguments, "scrapy-neardup", size)
        loaded = in_own_process(arguments, "add_many", size)
        pure = in_own_process(arguments, "pure", size)
        for row in (ours, loaded, pure):
            report(row)
            exact &= row["recall"] == 1 and row["wrong"] == 0
        for peer in peers:
            if peer in full:
                continue  # it had no room for a smaller size
            theirs = in_own_process(arguments, peer, size)
            report(theirs)
            if theirs["size"] < size:
                full.add(peer)
            at = "" if theirs["size"] == size else f" with only {theirs['size']:,}"
            print(
                f"  at {size:,}: {theirs['median'] / ours['median']:.1f} times as fast as {peer}"
                f"{at}, {ours['bytes'] / theirs['bytes']:.2f} of its memory a fingerprint"
            )
    if max(arguments.size) >= 10_000_000:
        print(TARGETS)
    return exact


def parse(arguments: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    whole = lambda text: int(float(text))  # noqa: E731  (so that 1e6 is a number)
    parser.add_argument("--size", type=whole, nargs="+", default=[1_000_000, 10_000_000],
                        help="fingerprints to store first (default: 1e6 1e7)")  # fmt: skip
    parser.add_argument("--operations", type=whole, default=20_000, help="how many to time")
    parser.add_argument("--sample", type=whole, default=200, help="answers to check with all")
    parser.add_argument("--memory", type=float, default=4e9, help="bytes an index may take")
    parser.add_argument("--peer", action="append", choices=["faiss", "simhash"],
                        help="compare with this one (default: both)")  # fmt: skip
    parser.add_argument("--quick", action="store_true", help="on little data, in seconds")
    parser.add_argument("--contender", choices=CONTENDERS, help=argparse.SUPPRESS)
    parsed = parser.parse_args(arguments)
    parsed.peer = parsed.peer or ["faiss", "simhash"]
    if parsed.quick:
        parsed.size, parsed.operations, parsed.sample = [20_000], 500, 50
    return parsed


def main() -> int:
    arguments = parse(None)
    if arguments.contender:
        row = measure(arguments.contender, arguments.size[0], arguments.operations,
                      arguments.sample, arguments.memory)  # fmt: skip
        print(json.dumps(row))
        return 0
    if not compare(arguments):
        print("our index gave a wrong answer", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
