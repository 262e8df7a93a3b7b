"""A packed base with features and sketches: its size, opening, and what a page costs.

Pages are those of the default preset: nine features and a sketch of 370 bytes each, made up. A
page is judged as a crawl asks a base (`scrapy_neardup.stores.packed`): its own entry, the tables
within 3 bits, the nine features, and whatever is found compared with it. *new*: pages that
nothing is like; *repeated*: fingerprints up to 3 bits away, three features in common, sketches of
which 10 bins differ; *the same*: pages of the base. *tables* is the look-up within 3 bits alone,
in the same rounds: what `packed.py` measures, and a yardstick for a machine that others use.
'pure' is the same file without compiled look-ups, if there are some. Times are medians of the best
round, in microseconds of processor time.

10 million pages take some 10 minutes and 6 GB of disk, in the folder of temporary files.

    python benchmarks/packed_pages.py
    python benchmarks/packed_pages.py --quick
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np

from scrapy_neardup.evidence.decision import deciding
from scrapy_neardup.evidence.layout import Head, stored_size
from scrapy_neardup.parameters import Parameters
from scrapy_neardup.stores.entryformat import PACKED
from scrapy_neardup.stores.packed import SHAPE, PackedPages
from scrapy_neardup.stores.packfile import open_packed, write_pieces
from scrapy_neardup.tables.packed import (
    RETRIEVED_FAST,
    PackedIndex,
    Unpacked,
    elias_fano,
    encode_index,
    packed_design,
)
from scrapy_neardup.verdict import Decision, Page, Verdict

PARAMETERS = Parameters()
MATCHING = PARAMETERS.matching
SIZE = stored_size(MATCHING.bins, MATCHING.bits)
SEED = 5
ROUNDS = 5
BITS_AWAY = np.uint64(1 << 60 | 1 << 31 | 1)


class MadeUp:
    """Pages by number: whatever is asked for is computed from the number."""

    def __init__(self, count: int) -> None:
        self.count = count
        random = np.random.default_rng(SEED)
        self.fingerprints = random.integers(0, 2**64, count, dtype=np.uint64)
        self.ids = random.permutation(count).astype(np.uint64) * np.uint64(0x9E3779B97F4A7C15)
        self._noise = random.bytes(1 << 24)

    def features(self, column: int) -> np.ndarray:
        return np.random.default_rng(SEED + 1 + column).integers(
            1, 2**64, self.count, dtype=np.uint64
        )

    def evidence(self, number: int) -> bytes:
        head = Head(
            steps=number % 2**32, path=1 + number % 65521, title=frozenset({1 + number % 997})
        )
        begin = number * 2654435761 % (len(self._noise) - SIZE)
        size = MATCHING.bins // 8
        values = self._noise[begin : begin + MATCHING.bits * size]
        return head.pack() + values + bytes(SIZE - len(head.pack()) - len(values))

    def record(self, number: int) -> bytes:
        return PACKED.pack(int(self.fingerprints[number]), 1, 2) + self.evidence(number)


def new_page(number: int, features: Sequence[int], made_up: MadeUp) -> Page:
    """Return a page that no other is like."""
    return Page(
        id=number,
        fingerprint=(number * 0xD1B54A32D192ED03 + 7) % 2**64,
        title=1,
        content=2,
        features=tuple((feature + 1) % 2**64 for feature in features),
        evidence=made_up.evidence(made_up.count + number),
    )


def repeated_page(number: int, features: Sequence[int], made_up: MadeUp) -> Page:
    """Return a page that repeats page `number`."""
    evidence = bytearray(made_up.evidence(number))
    evidence[-SIZE + 45] ^= 0xFF
    evidence[-SIZE + 60] ^= 0x03
    return Page(
        id=number,
        fingerprint=int(made_up.fingerprints[number] ^ BITS_AWAY),
        title=1,
        content=2,
        features=(*features[:3], *((feature + 1) % 2**64 for feature in features[3:])),
        evidence=bytes(evidence),
    )


def same_page(number: int, features: Sequence[int], made_up: MadeUp) -> Page:
    """Return page `number` as it was."""
    return Page(
        id=int(made_up.ids[number]),
        fingerprint=int(made_up.fingerprints[number]),
        title=1,
        content=2,
        features=tuple(features),
        evidence=made_up.evidence(number),
    )


KINDS: dict[str, tuple[Callable[..., Page], Decision | None]] = {
    "new": (new_page, None),
    "repeated": (repeated_page, Decision.DUPLICATE),
    "the same": (same_page, Decision.SEEN),
}


def median(call: Callable[[object], object], arguments: Sequence[object]) -> float:
    """Return the median time of a call in the best of the rounds, in microseconds."""
    medians = []
    for _ in range(ROUNDS):
        times = []
        for argument in arguments:
            began = time.process_time_ns()
            call(argument)
            times.append(time.process_time_ns() - began)
        medians.append(float(np.median(times)) / 1000)
    return min(medians)


def judged(
    index: PackedIndex, made_up: MadeUp, numbers: np.ndarray, features: Sequence[list[int]]
) -> int:
    """Print what pages of each kind cost; return how many were judged wrongly."""
    base = PackedPages(
        index, "base", max_distance=3, schema=PARAMETERS.schema(), matching=MATCHING
    )
    wrong = 0
    for name, (make, expected) in KINDS.items():
        pages = [
            make(number, own, made_up)
            for number, own in zip(numbers.tolist(), features, strict=True)
        ]

        def judge(page: Page) -> Verdict | None:
            return base.check(page, deciding(page, MATCHING))

        verdicts = list(map(judge, pages))
        decisions = [verdict and verdict.decision for verdict in verdicts]
        wrong += len(pages) - decisions.count(expected)
        if expected is not None:
            found = [verdict.match.page_id for verdict in verdicts if verdict is not None]
            wrong += found != made_up.ids[numbers].tolist()
        tables = median(index.query, [page.fingerprint for page in pages])
        whole = median(judge, pages)
        print(f"{name:<9} {whole:>7.1f} µs in all, of which tables {tables:>7.1f} µs")
    return wrong


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--size", type=float, default=1e7)
    parser.add_argument("--pages", type=int, default=1000, help="judged, of each kind")
    parser.add_argument("--tables", type=int, default=None)
    parser.add_argument("--quick", action="store_true", help="a run of seconds, for a test")
    arguments = parser.parse_args()
    if arguments.quick:
        arguments.size, arguments.pages = 5000, 100
    return arguments


def main() -> int:
    arguments = parse()
    made_up = MadeUp(int(arguments.size))
    numbers = np.random.default_rng(1).integers(0, made_up.count, arguments.pages)
    of_these = [made_up.features(column)[numbers] for column in range(MATCHING.features)]
    features = np.stack(of_these, axis=1).tolist()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "base.pack")
        records = Unpacked(
            {key: getattr(MATCHING, key) for key in SHAPE},
            made_up.record,
            made_up.features,
            columns=MATCHING.features,
        )
        design = packed_design(made_up.count, 3, tables=arguments.tables, retrieved=RETRIEVED_FAST)
        began = time.perf_counter()
        with path.open("wb") as file:
            write_pieces(
                file,
                encode_index(
                    made_up.fingerprints,
                    design=design,
                    schema=PARAMETERS.schema(),
                    ids=made_up.ids,
                    records=records,
                ),
            )
        packed = time.perf_counter()
        index = open_packed(path)
        opened = time.perf_counter()
        print(
            f"{made_up.count:,} pages in {len(design.tables)} tables, packed in"
            f" {packed - began:.0f} s, {path.stat().st_size / made_up.count:.0f} bytes a page;"
            f" opened in {(opened - packed) * 1000:.0f} ms"
        )
        wrong = judged(index, made_up, numbers, features)
        if elias_fano._compiled is not None:  # noqa: SLF001
            elias_fano._compiled = None  # noqa: SLF001
            print("pure")
            wrong += judged(open_packed(path), made_up, numbers, features)
    print(f"wrong: {wrong}")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
