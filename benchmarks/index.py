"""Probe and insert, one fingerprint at a time: our index and its peers.

As a crawl does it: each page's fingerprint is looked up (k = 3) and then stored. Every index is
filled with the same random fingerprints in a process of its own; 'bytes' is what that grew by. One
operation in ten is a planted near-duplicate, 0 to 3 bits away; 'recall' is the share of these that
are found, 'wrong' what a comparison with all stored fingerprints contradicts, for a sample. 'pure'
is ours without compiled code. Peers, whose answers are only reported: faiss `IndexBinaryMultiHash`
on the same four blocks, on one thread; PyPI `simhash`'s `SimhashIndex`, filled up to --memory. It
takes five minutes and 5 GB.
"""

import gc
import time
from collections.abc import Iterator
from importlib.util import find_spec

import numpy as np
from harness import Table, arguments, in_own_process, resident

from scrapy_neardup.tables import HammingIndex

MAX_DISTANCE = 3
CHUNK = 100_000
SEED = 64
PLANTED = 10
"""One operation in so many looks for a near-duplicate of what is stored."""


class Ours:
    operand = int

    def __init__(self, expected: int) -> None:
        self.index = HammingIndex(MAX_DISTANCE, expected)
        self.insert, self.probe = self.index.add, self.index.query

    def fill(self, fingerprints: np.ndarray) -> None:
        for fingerprint in fingerprints.tolist():
            self.index.add(fingerprint)

    def nearest(self, answer: list[tuple[int, int]], _fingerprint: int) -> int | None:
        return answer[0][1] if answer else None


class OursLoaded(Ours):
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

        self.operand = simhash.Simhash
        self.index = simhash.SimhashIndex([], f=64, k=MAX_DISTANCE)
        self.probe = self.index.get_near_dups

    def insert(self, value: object) -> None:
        self.index.add(f"{value.value:x}", value)

    def fill(self, fingerprints: np.ndarray) -> None:
        for fingerprint in fingerprints.tolist():
            self.insert(self.operand(fingerprint))

    def nearest(self, answer: list[str], value: object) -> int | None:
        return min(((int(found, 16) ^ value.value).bit_count() for found in answer), default=None)


OURS = {"scrapy-neardup": Ours, "add_many": OursLoaded, "pure": Ours}
PEERS = {"faiss": Faiss, "simhash": PypiSimhash}


def chunks(size: int) -> Iterator[np.ndarray]:
    for number, start in enumerate(range(0, size, CHUNK)):
        count = min(CHUNK, size - start)
        yield np.random.default_rng((number, SEED)).integers(0, 2**64, count, dtype=np.uint64)


def workload(size: int, operations: int) -> tuple[list[int], np.ndarray]:
    rng = np.random.default_rng((SEED, size, operations))
    wanted = rng.integers(0, 2**64, operations, dtype=np.uint64)
    planted = np.arange(operations) % PLANTED == 0
    rows = np.sort(rng.integers(0, size, int(planted.sum())))
    originals = np.concatenate(
        [chunk[rows[rows // CHUNK == n] % CHUNK] for n, chunk in enumerate(chunks(size))]
    )
    for flips in range(MAX_DISTANCE):  # the same bit twice is a smaller distance
        flipped = np.uint64(1) << rng.integers(0, 64, len(originals), dtype=np.uint64)
        originals ^= np.where(rng.integers(0, 4, len(originals)) > flips, flipped, np.uint64(0))
    wanted[planted] = rng.permutation(originals)
    return wanted.tolist(), planted


def measure(name: str, size: int, operations: int, sample: int, memory: float) -> dict:
    contender = (OURS | PEERS)[name](size)
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
    stored = np.concatenate([*chunks(filled), np.array(fingerprints, np.uint64)])
    rng = np.random.default_rng((SEED, filled))
    for row in rng.choice(operations, min(sample, operations), replace=False):
        others = stored[: filled + row]  # an operation sees what was stored before it
        distance = int(np.bitwise_count(others ^ np.uint64(fingerprints[row])).min())
        wrong += nearest[row] != (distance if distance <= MAX_DISTANCE else None)
    median, p99 = np.percentile(nanoseconds, [50, 99]) / 1000
    recall = float(found[planted].mean())
    return {"index": name, "size": filled, "fill": seconds, "median": median, "p99": p99,
            "bytes": grown / filled, "recall": recall, "wrong": wrong}  # fmt: skip


def main() -> None:
    options = arguments(
        __doc__, size=([1_000_000, 10_000_000], "fingerprints to store first"),
        operations=(20_000, "how many to time"), sample=(200, "answers to check with all"),
        memory=(4e9, "bytes an index may take"), peer=(list(PEERS), "compare with these", PEERS),
        quick={"size": [20_000], "operations": 500, "sample": 50},
    )  # fmt: skip
    peers = [peer for peer in options.peer if find_spec(peer)]
    for missing in set(options.peer) - set(peers):
        print(f'{missing} is not installed: pip install ".[bench]"')
    print(f"probe + insert, k = {MAX_DISTANCE}, µs; fill in seconds; bytes a fingerprint")
    table = Table(index="<14", size="12,", fill="8.1f", median="9.1f", p99="8.1f", bytes="7.1f",
                  recall="7.3f", wrong="6")  # fmt: skip
    given = (options.operations, options.sample, options.memory)
    for size in options.size:
        rows = {}
        for name in (*OURS, *peers):
            row = in_own_process(measure, name, size, *given, pure=name == "pure")
            rows[name] = row
            table.row(*row.values())
            if name in OURS:
                assert row["recall"] == 1, row
                assert not row["wrong"], row
                continue
            if row["size"] < size:
                peers.remove(name)  # it has no room for a larger size
            ours = rows["scrapy-neardup"]
            print(f"  {row['median'] / ours['median']:.1f} times as fast as {name},"
                  f" {ours['bytes'] / row['bytes']:.2f} of its memory a fingerprint")  # fmt: skip


if __name__ == "__main__":
    main()
