"""Packed tables: size, packing and probing of both codes, and of plain sorted arrays.

Ten tables for k = 3 (five blocks, two of them leading), in a file that is mapped into memory.
Bits are those of one table, a fingerprint: its code, its directory (the paper's block keys),
and checksums. Packing is the rate of encoding one table that is sorted already. Probes are
queries of all ten tables; one in ten is planted within 3 bits of a packed fingerprint. 'cold'
is the median of the first round, in which the pages that are touched are verified for the
first time; 'warm' that of the best of the later rounds. Every answer is compared with what
comparing all fingerprints says. 'pure' is Elias-Fano without compiled code, if there is some.

10 million fingerprints take two or three minutes and 2 GB; --quick takes seconds.

    python benchmarks/packed.py
    python benchmarks/packed.py --size 1e6
    python benchmarks/packed.py --quick
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

from scrapy_neardup.stores.packfile import open_packed, write_pieces
from scrapy_neardup.tables import TableDesign
from scrapy_neardup.tables.packed import CODECS, checksums, elias_fano, encode_index

MAX_DISTANCE = 3
SEED = 5
ROUNDS = 5
PLANTED = 10
CHECKED = 100
"""Queries whose answers are compared with brute force."""
CODES = {"elias-fano": ("low", "high"), "huffman": ("blocks",)}
DIRECTORIES = {"elias-fano": "ranks", "huffman": "keys"}
TARGETS = (
    "Targets at 10 million (entropy 42.19 bits): huffman 44.5 bits and 0.4 of keys, 400 µs;"
    " elias-fano 42.9 bits in all, 10 µs, 60 pure, packing 20 M/s."
)

Answer = set[int]


class SortedArrays:
    """What is to be beaten: ten sorted arrays, 64 bits a fingerprint and table."""

    def __init__(self, fingerprints: np.ndarray, design: TableDesign) -> None:
        self.tables = [
            (
                table.permutation,
                64 - table.prefix_bits,
                np.sort(table.permutation.apply_many(fingerprints)),
            )
            for table in design.tables
        ]

    def query(self, fingerprint: int) -> Answer:
        found = set()
        for permutation, spare, values in self.tables:
            key = permutation.apply(fingerprint)
            low = key >> spare << spare
            start, stop = np.searchsorted(
                values, np.array([low, low | (1 << spare) - 1], np.uint64)
            )
            for value in values[start : stop + 1].tolist():
                if (value ^ key).bit_count() <= MAX_DISTANCE:
                    found.add(permutation.invert(value))
        return found


def bits_of(codec: str, values: np.ndarray) -> tuple[list[float], float]:
    """Return bits of code, directory and checksums, and millions encoded a second."""
    began = time.process_time()
    parts = CODECS[codec].encode(values, ranked=False).parts
    rate = len(values) / (time.process_time() - began) / 1e6
    code = sum(parts[name].data.nbytes for name in CODES[codec])
    directory = parts[DIRECTORIES[codec]].data.nbytes
    sums = sum(checksums(part.data.data.cast("B"), part.page).nbytes for part in parts.values())
    return [size * 8 / len(values) for size in (code, directory, sums)], rate


def probe(query: Callable[[int], Answer], keys: list[int]) -> tuple[float, float]:
    """Return the median of the first round, and the best of the others, in microseconds."""
    medians = []
    for _ in range(ROUNDS):
        times = []
        for key in keys:
            began = time.perf_counter()
            query(key)
            times.append(time.perf_counter() - began)
        medians.append(float(np.median(times)) * 1e6)
    return medians[0], min(medians[1:])


def entropy(count: int) -> float:
    """Return the bits that each of so many uniform fingerprints carries as part of a set."""
    return 64 - np.log2(count / np.e)


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--size", type=float, default=1e7)
    parser.add_argument("--probes", type=int, default=2000)
    parser.add_argument("--quick", action="store_true", help="a run of seconds, for a test")
    arguments = parser.parse_args()
    if arguments.quick:
        arguments.size, arguments.probes = 2e4, 200
    return arguments


def main() -> int:
    arguments = parse()
    count = int(arguments.size)
    random = np.random.default_rng(SEED)
    fingerprints = random.integers(0, 2**64, count, dtype=np.uint64)
    queries = random.integers(0, 2**64, arguments.probes, dtype=np.uint64)
    planted = fingerprints[: len(queries[::PLANTED])]
    queries[::PLANTED] = planted ^ np.uint64(1 << 60 | 1 << 31 | 1)
    keys = queries.tolist()
    expected = [
        set(fingerprints[np.bitwise_count(fingerprints ^ query) <= MAX_DISTANCE].tolist())
        for query in queries[:CHECKED]
    ]
    design = TableDesign.blocks(MAX_DISTANCE, blocks=5)
    print(TARGETS)
    print(f"{count:,} fingerprints, entropy {entropy(count):.2f} bits")
    print(
        f"{'table':<12} {'code':>6} {'directory':>9} {'checksums':>9} {'all':>6}"
        f" {'pack M/s':>9} {'cold µs':>8} {'warm µs':>8} {'wrong':>6}"
    )
    wrong = 0
    with tempfile.TemporaryDirectory() as folder:
        for name in ("sorted", "elias-fano", "pure", "huffman"):
            codec = "elias-fano" if name == "pure" else name
            if name == "sorted":
                query, sizes, rate = (
                    SortedArrays(fingerprints, design).query,
                    [64.0, 0.0, 0.0],
                    0.0,
                )
            else:
                sizes, rate = bits_of(codec, np.unique(fingerprints))
                path = Path(folder, name)
                with path.open("wb") as file:
                    write_pieces(file, encode_index(fingerprints, design=design, codec=codec))
                compiled = elias_fano._compiled  # noqa: SLF001
                elias_fano._compiled = None if name == "pure" else compiled  # noqa: SLF001
                index = open_packed(path)
                elias_fano._compiled = compiled  # noqa: SLF001
                query = index.query
            cold, warm = probe(query, keys)
            answers = [query(key) for key in keys[:CHECKED]]
            values = [
                {hit if name == "sorted" else hit[0] for hit in answer} for answer in answers
            ]
            failed = sum(found != right for found, right in zip(values, expected, strict=True))
            wrong += failed
            print(
                f"{name:<12} {sizes[0]:>6.2f} {sizes[1]:>9.2f} {sizes[2]:>9.2f} {sum(sizes):>6.2f}"
                f" {rate:>9.1f} {cold:>8.1f} {warm:>8.1f} {failed:>6}"
            )
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
