"""Packed tables: size, packing and probing of both codes, and of plain sorted arrays.

Ten tables for k = 3 in a file that is mapped into memory. Bits are those of one table, a
fingerprint: its code, its directory (the paper's block keys), and checksums. Packing is the rate
of encoding one sorted table. Probes are queries of all tables, one in ten planted within 3 bits;
'cold' is the median of the first round, in which checksums are verified, 'warm' that of the best
later one. Every answer is compared with brute force. 'pure' is Elias-Fano without compiled code.
10 million take two or three minutes and 2 GB.
"""

import numpy as np
from harness import Table, arguments, round_medians, scratch, timed

from scrapy_neardup.stores.packfile import open_packed, write_pieces
from scrapy_neardup.tables import TableDesign, cuts
from scrapy_neardup.tables.packed import CODECS, checksums, elias_fano, encode_index

MAX_DISTANCE = 3
SEED = 5
ROUNDS = 5
PLANTED = 10
CHECKED = 100
"""Queries whose answers are compared with brute force."""
PARTS = {"elias-fano": (("low", "high"), "ranks"), "huffman": (("blocks",), "keys")}
"""The parts that are the code, and that which is its directory."""
TARGETS = (
    "Targets at 10 million (entropy 42.19 bits): huffman 44.5 bits and 0.4 of keys, 400 µs;"
    " elias-fano 42.9 bits in all, 10 µs, 60 pure, packing 20 M/s."
)


class SortedArrays:
    """What is to be beaten: ten sorted arrays, 64 bits a fingerprint and table."""

    def __init__(self, fingerprints: np.ndarray, design: TableDesign) -> None:
        self.tables = [
            (table.permutation, 64 - table.prefix_bits,
             np.sort(table.permutation.apply_many(fingerprints)))
            for table in design.tables
        ]  # fmt: skip

    def query(self, fingerprint: int) -> list[tuple[int, int]]:
        found = set()
        for permutation, spare, values in self.tables:
            key = permutation.apply(fingerprint)
            low = key >> spare << spare
            ends = np.array([low, low | (1 << spare) - 1], np.uint64)
            start, stop = np.searchsorted(values, ends)
            for value in values[start : stop + 1].tolist():
                if (distance := (value ^ key).bit_count()) <= MAX_DISTANCE:
                    found.add((permutation.invert(value), distance))
        return list(found)


def bits_of(codec: str, values: np.ndarray) -> tuple[list[float], float]:
    seconds, encoded = timed(lambda: CODECS[codec].encode(values, ranked=False))
    codes, directory = PARTS[codec]
    parts = encoded.parts
    sizes = (
        sum(parts[name].data.nbytes for name in codes),
        parts[directory].data.nbytes,
        sum(checksums(part.data.data.cast("B"), part.page).nbytes for part in parts.values()),
    )
    return [size * 8 / len(values) for size in sizes], len(values) / seconds / 1e6


def main() -> None:
    options = arguments(
        __doc__, size=10_000_000, probes=2000, quick={"size": 20_000, "probes": 200}
    )
    random = np.random.default_rng(SEED)
    fingerprints = random.integers(0, 2**64, options.size, dtype=np.uint64)
    queries = random.integers(0, 2**64, options.probes, dtype=np.uint64)
    planted = fingerprints[: len(queries[::PLANTED])]
    queries[::PLANTED] = planted ^ np.uint64(1 << 60 | 1 << 31 | 1)
    keys = queries.tolist()
    expected = [
        set(fingerprints[np.bitwise_count(fingerprints ^ query) <= MAX_DISTANCE].tolist())
        for query in queries[:CHECKED]
    ]
    design = cuts.nested(MAX_DISTANCE, levels=(5,))
    print(TARGETS)
    print(f"{options.size:,} fingerprints, entropy {64 - np.log2(options.size / np.e):.2f} bits")
    table = Table(
        table="<12", code="6.2f", directory="9.2f", checksums="9.2f", all="6.2f",
        **{"pack M/s": "9.1f", "cold µs": "8.1f", "warm µs": "8.1f"}, wrong="6",
    )  # fmt: skip
    compiled = elias_fano._compiled  # noqa: SLF001
    with scratch() as folder:
        for name in ("sorted", "elias-fano", "pure", "huffman"):
            codec = "elias-fano" if name == "pure" else name
            if name == "sorted":
                sizes, rate = [64.0, 0.0, 0.0], 0.0
                query = SortedArrays(fingerprints, design).query
            else:
                sizes, rate = bits_of(codec, np.unique(fingerprints))
                path = folder / name
                with path.open("wb") as file:
                    write_pieces(file, encode_index(fingerprints, design=design, codec=codec))
                elias_fano._compiled = None if name == "pure" else compiled  # noqa: SLF001
                query = open_packed(path).query
                elias_fano._compiled = compiled  # noqa: SLF001
            cold, *later = round_medians(query, keys, ROUNDS)
            answers = [{hit[0] for hit in query(key)} for key in keys[:CHECKED]]
            wrong = sum(found != right for found, right in zip(answers, expected, strict=True))
            table.row(name, *sizes, sum(sizes), rate, cold, min(later), wrong)
            assert not wrong


if __name__ == "__main__":
    main()
