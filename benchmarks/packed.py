"""Packed files: the codes of their tables, and what a page costs that is looked up in one.

codes  Ten tables for k = 3: as they are packed, in the code of Manku et al. 2007 (3.2,
       `huffman_blocks`), and as plain sorted arrays. Bits are those of one table,
       a fingerprint: its code, its directory (the paper's block keys), and checksums. Packing is
       the rate of encoding one sorted table. Probes are queries of all tables, one in ten planted
       within 3 bits; 'cold' is the median of the first round, in which checksums are verified,
       'warm' that of the best later one. Every answer is compared with brute force. 'pure' is
       Elias-Fano without compiled code. 10 million take two or three minutes and 2 GB.
pages  The pages of a packed base, of the default preset, with drawn features and the evidence of
       a few made-up pages. A page is judged as a crawl asks a base: *new* is like nothing;
       *repeated* is up to 3 bits away, with three features in common and the same evidence; *the
       same* is a page of the base. *tables* is the look-up within 3 bits alone. 10 million pages
       take some 10 minutes and 6 GB of disk, in the folder of temporary files.

Times are medians of the best round, in microseconds.
"""

import time
from argparse import Namespace
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

import numpy as np
from harness import Table, arguments, round_medians, scratch, timed
from huffman_blocks import HuffmanBlocks
from redis_store import TEXTS, evidence_of

from scrapy_neardup.judge.comparison import deciding
from scrapy_neardup.judge.parameters import Parameters
from scrapy_neardup.stores.entryformat import PACKED
from scrapy_neardup.stores.packed import SHAPE, PackedPages
from scrapy_neardup.stores.packfile import open_packed, write_pieces
from scrapy_neardup.tables import TableDesign, cuts
from scrapy_neardup.tables.design import Permutation
from scrapy_neardup.tables.packed import elias_fano
from scrapy_neardup.tables.packed.checked import Checked, checksums
from scrapy_neardup.tables.packed.elias_fano import EliasFano
from scrapy_neardup.tables.packed.packedindex import (
    RETRIEVED_FAST,
    PackedIndex,
    encode_index,
    packed_design,
)
from scrapy_neardup.tables.packed.rows import Unpacked
from scrapy_neardup.verdict import Decision, Page, Verdict

MAX_DISTANCE = 3
SEED = 5
ROUNDS = 5
PLANTED = 10
CHECKED = 100
"""Queries whose answers are compared with brute force."""
CODES = {EliasFano: (("low", "high"), "ranks"), HuffmanBlocks: (("blocks",), "keys")}
"""The parts that are the code, and that which is its directory."""
PARAMETERS = Parameters()
MATCHING = PARAMETERS.matching
BITS_AWAY = 1 << 60 | 1 << 31 | 1
KINDS = {"new": None, "repeated": Decision.DUPLICATE, "the same": Decision.SEEN}


@contextmanager
def elias_fano_in_python(*, pure: bool) -> Iterator[None]:
    compiled = elias_fano._compiled  # noqa: SLF001
    elias_fano._compiled = None if pure else compiled  # noqa: SLF001
    yield
    elias_fano._compiled = compiled  # noqa: SLF001


class SortedArrays:
    """What is to be beaten: ten sorted arrays, 64 bits a fingerprint and table."""

    def __init__(self, fingerprints: np.ndarray, design: TableDesign) -> None:
        self.tables = [
            (Permutation.leading(table.blocks), 64 - table.prefix_bits,
             np.sort(Permutation.leading(table.blocks).apply_many(fingerprints)))
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


class HuffmanTables:
    """Ten tables in the paper's code."""

    def __init__(self, fingerprints: np.ndarray, design: TableDesign) -> None:
        self.tables = []
        for table in design.tables:
            permutation = Permutation.leading(table.blocks)
            permuted = np.unique(permutation.apply_many(fingerprints))
            self.tables.append((permutation, table.prefix_bits, _opened(permuted)))

    def query(self, fingerprint: int) -> list[tuple[int]]:
        found = set()
        for permutation, prefix_bits, table in self.tables:
            near = table.near(permutation.apply(fingerprint), prefix_bits, MAX_DISTANCE)
            found.update(map(permutation.invert, near))
        return [(value,) for value in found]


def _opened(values: np.ndarray) -> HuffmanBlocks:
    encoded, parts = HuffmanBlocks.encode(values), {}
    for name, part in encoded.parts.items():
        data = b"".join(part.chunks())
        sums = checksums(data, part.page)
        parts[name] = Checked(data, 0, len(data), sums, page=part.page, name=name)
    return HuffmanBlocks(encoded.parameters, parts)


def bits_of(code: type, values: np.ndarray) -> tuple[list[float], float]:
    seconds, encoded = timed(lambda: code.encode(values))
    codes, directory = CODES[code]
    parts = encoded.parts
    sizes = (
        sum(parts[name].data.nbytes for name in codes),
        parts[directory].data.nbytes,
        sum(checksums(part.data.data.cast("B"), part.page).nbytes for part in parts.values()),
    )
    return [size * 8 / len(values) for size in sizes], len(values) / seconds / 1e6


def codes(options: Namespace) -> None:
    random = np.random.default_rng(SEED)
    fingerprints = random.integers(0, 2**64, options.size, dtype=np.uint64)
    queries = random.integers(0, 2**64, options.probes, dtype=np.uint64)
    planted = fingerprints[: len(queries[::PLANTED])]
    queries[::PLANTED] = planted ^ np.uint64(BITS_AWAY)
    keys = queries.tolist()
    expected = [
        set(fingerprints[np.bitwise_count(fingerprints ^ query) <= MAX_DISTANCE].tolist())
        for query in queries[:CHECKED]
    ]
    design = cuts.nested(MAX_DISTANCE, levels=(5,))
    print(f"{options.size:,} fingerprints, entropy {64 - np.log2(options.size / np.e):.2f} bits")
    table = Table(
        table="<12", code="6.2f", directory="9.2f", checksums="9.2f", all="6.2f",
        **{"pack M/s": "9.1f", "cold µs": "8.1f", "warm µs": "8.1f"}, wrong="6",
    )  # fmt: skip
    with scratch() as folder:
        for name in ("sorted", "elias-fano", "pure", "huffman"):
            if name == "sorted":
                sizes, rate = [64.0, 0.0, 0.0], 0.0
                query = SortedArrays(fingerprints, design).query
            elif name == "huffman":
                sizes, rate = bits_of(HuffmanBlocks, np.unique(fingerprints))
                query = HuffmanTables(fingerprints, design).query
            else:
                sizes, rate = bits_of(EliasFano, np.unique(fingerprints))
                path = folder / name
                with path.open("wb") as file:
                    write_pieces(file, encode_index(fingerprints, design=design))
                with elias_fano_in_python(pure=name == "pure"):
                    query = values_near(open_packed(path))
            cold, *later = round_medians(query, keys, ROUNDS)
            answers = [{hit[0] for hit in query(key)} for key in keys[:CHECKED]]
            wrong = sum(found != right for found, right in zip(answers, expected, strict=True))
            table.row(name, *sizes, sum(sizes), rate, cold, min(later), wrong)
            assert not wrong


def values_near(index: PackedIndex) -> Callable[[int], list[tuple[int]]]:
    """Return the function that finds the fingerprints within the distance of an index."""
    most = index.max_distance
    return lambda key: [(value,) for _, value, _ in index.near(key, most)]


class MadeUp:
    """Pages by number: whatever is asked for is computed from the number."""

    def __init__(self, count: int) -> None:
        self.count = count
        random = np.random.default_rng(SEED)
        self.fingerprints = random.integers(0, 2**64, count, dtype=np.uint64)
        self.ids = random.permutation(count).astype(np.uint64) * np.uint64(0x9E3779B97F4A7C15)

    def features(self, column: int) -> np.ndarray:
        random = np.random.default_rng(SEED + 1 + column)
        return random.integers(1, 2**64, self.count, dtype=np.uint64)

    def record(self, number: int) -> bytes:
        evidence = evidence_of(PARAMETERS)[number % TEXTS]
        return PACKED.pack(int(self.fingerprints[number])) + evidence

    def page(self, kind: str, number: int, features: Sequence[int]) -> Page:
        others = tuple((feature + 1) % 2**64 for feature in features)
        fingerprint = int(self.fingerprints[number])
        drawn = (number * 0xD1B54A32D192ED03 + 7) % 2**64
        page_id, fingerprint, kept, text = {
            "the same": (int(self.ids[number]), fingerprint, tuple(features), number),
            "repeated": (number, fingerprint ^ BITS_AWAY, (*features[:3], *others[3:]), number),
            "new": (number, drawn, others, number + 1),
        }[kind]
        evidence = evidence_of(PARAMETERS)[text % TEXTS]
        return Page(id=page_id, fingerprint=fingerprint, features=kept, evidence=evidence)


def judged(index: PackedIndex, made_up: MadeUp, numbers: np.ndarray, features: list) -> int:
    schema, wrong = PARAMETERS.schema(), 0
    base = PackedPages(index, "base", max_distance=3, schema=schema, matching=MATCHING)

    def judge(page: Page) -> Verdict | None:
        return base.check(page, deciding(page, MATCHING))

    for kind, expected in KINDS.items():
        given = zip(numbers.tolist(), features, strict=True)
        pages = [made_up.page(kind, number, own) for number, own in given]
        verdicts = list(map(judge, pages))
        wrong += [verdict and verdict.decision for verdict in verdicts] != [expected] * len(pages)
        found = [verdict.match.page_id for verdict in verdicts if verdict is not None]
        wrong += expected is not None and found != made_up.ids[numbers].tolist()
        calls = ((values_near(index), [page.fingerprint for page in pages]), (judge, pages))
        tables, whole = (min(round_medians(*each, ROUNDS, time.process_time_ns)) for each in calls)
        print(f"{kind:<9} {whole:>7.1f} µs in all, of which tables {tables:>7.1f} µs")
    return wrong


def pages(options: Namespace) -> None:
    made_up = MadeUp(options.size)
    numbers = np.random.default_rng(1).integers(0, made_up.count, options.pages)
    of_these = [made_up.features(column)[numbers] for column in range(MATCHING.features)]
    features = np.stack(of_these, axis=1).tolist()
    shape = {key: getattr(MATCHING, key) for key in SHAPE}
    records = Unpacked(shape, made_up.record, made_up.features, columns=MATCHING.features)
    design = packed_design(made_up.count, 3, tables=options.tables, retrieved=RETRIEVED_FAST)
    with scratch() as folder:
        path = folder / "base.pack"
        began = time.perf_counter()
        with path.open("wb") as file:
            write_pieces(file, encode_index(made_up.fingerprints, design=design, ids=made_up.ids,
                         schema=PARAMETERS.schema(), records=records))  # fmt: skip
        packed = time.perf_counter()
        index = open_packed(path)
        opened = time.perf_counter()
        print(f"{made_up.count:,} pages in {len(design.tables)} tables, packed in"
              f" {packed - began:.0f} s, {path.stat().st_size / made_up.count:.0f} bytes a page;"
              f" opened in {(opened - packed) * 1000:.0f} ms")  # fmt: skip
        wrong = judged(index, made_up, numbers, features)
        if elias_fano._compiled is not None:  # noqa: SLF001
            print("pure")
            with elias_fano_in_python(pure=True):
                wrong += judged(open_packed(path), made_up, numbers, features)
    print(f"wrong: {wrong}")
    assert not wrong


def main() -> None:
    options = arguments(
        __doc__, part=(["codes", "pages"], None, ["codes", "pages"]), size=10_000_000,
        probes=2000, pages=(1000, "judged, of each kind"), tables=(int, "of the pages"),
        quick={"size": 5000, "probes": 200, "pages": 100},
    )  # fmt: skip
    if "codes" in options.part:
        codes(options)
    if "pages" in options.part:
        pages(options)


if __name__ == "__main__":
    main()
