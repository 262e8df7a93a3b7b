"""A packed base with features and sketches: its size, opening, and what a page costs.

Pages are those of the default preset, with drawn features and the evidence of a few made-up pages.
A page is judged as a crawl asks a base (`scrapy_neardup.stores.packed`): *new* is like nothing;
*repeated* is up to 3 bits away, with three features in common and the same evidence; *the same* is
a page of the base. *tables* is the look-up within 3 bits alone, in the same rounds. 'pure' is the
same without compiled look-ups. Times are medians of the best round, in microseconds of processor
time. 10 million pages take some 10 minutes and 6 GB of disk, in the folder of temporary files.
"""

import time
from collections.abc import Sequence

import numpy as np
from harness import arguments, round_medians, scratch
from redis_store import TEXTS, evidence_of

from scrapy_neardup.decision.comparison import deciding
from scrapy_neardup.settings.parameters import Parameters
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
SEED = 5
ROUNDS = 5
BITS_AWAY = 1 << 60 | 1 << 31 | 1
KINDS = {"new": None, "repeated": Decision.DUPLICATE, "the same": Decision.SEEN}


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
        calls = ((index.query, [page.fingerprint for page in pages]), (judge, pages))
        tables, whole = (min(round_medians(*each, ROUNDS, time.process_time_ns)) for each in calls)
        print(f"{kind:<9} {whole:>7.1f} µs in all, of which tables {tables:>7.1f} µs")
    return wrong


def main() -> None:
    options = arguments(__doc__, size=10_000_000, pages=(1000, "judged, of each kind"),
                        tables=int, quick={"size": 5000, "pages": 100})  # fmt: skip
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
            elias_fano._compiled = None  # noqa: SLF001
            print("pure")
            wrong += judged(open_packed(path), made_up, numbers, features)
    print(f"wrong: {wrong}")
    assert not wrong


if __name__ == "__main__":
    main()
