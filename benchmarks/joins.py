"""Exact joins: ours, the papers', SetSimilaritySearch and DuckDB, on one machine at one time.

Word 4-shingles of pages (--pages, a folder of HTML; otherwise generated ones) and short records,
14 tokens on average, Zipf-distributed, by resemblance and by cosine (Xiao et al. 2008, Figure 3
a-f and g-j). All that are timed must return the same pairs: `self_join` as anybody calls it and
without compiled code ('numpy'), its `algorithm` of the papers, PyPI SetSimilaritySearch where it
is installed (by resemblance alone; by cosine it takes minutes for 2,000 records), and DuckDB, the
prefix filter in SQL: the oracle, which shares no code with ours.

'join' is the join alone, its sets ordered by token frequency already; 'in all' begins with Python
lists: of words for ours, of shingles for SetSimilaritySearch. Times are those of one core, the
best of three for ours. Before them, clusters of generated sketches in Broder's four phases on disk
(DuckDB uses all cores there); after them, the edit-distance join. `xiao.py` has the other
experiments.
"""

import resource
from collections.abc import Callable, Iterator
from fractions import Fraction
from functools import partial
from importlib import import_module
from importlib.util import find_spec

import numpy as np
from harness import Table, timed
from join_data import (
    RECORDS,
    SEED,
    Result,
    found,
    made_records,
    made_strings,
    options_and_texts,
    same,
)

from scrapy_neardup.joins import (
    TokenSets,
    edit_distance,
    edit_join,
    encode,
    self_join,
    setjoin,
    shingles,
    words,
)
from scrapy_neardup.joins.measures import MeasureName
from scrapy_neardup.offline.clustering.disk import cluster_on_disk

SHINGLE_SIZE = 4
PAGE_THRESHOLDS = (0.95, 0.9, 0.85, 0.8)
RECORD_THRESHOLDS = (0.9, 0.8)
SKETCHES, DISK_MEMORY = 300_000, "300MB"
STRINGS, MAX_DISTANCES = 20_000, (1, 2, 3)
TARGET = 30
"""How many times as fast as SetSimilaritySearch the join by resemblance is to be."""
PUBLISHED = {"All-Pairs": ("all-pairs", 0), "PPJoin": ("ppjoin", 0), "PPJoin+": ("ppjoin+", 2),
             "depth 4": ("ppjoin+", 4)}  # fmt: skip
"""Name -> algorithm and depth of the suffix filter."""


def main() -> None:
    options, what, texts = options_and_texts(__doc__)
    # The one whose memory is measured comes before all that takes more.
    clusters_on_disk(SKETCHES // options.scale)
    documents = [words(text) for text in texts]
    compare(
        f"{len(texts):,} pages ({what}), word {SHINGLE_SIZE}-shingles",
        [list(zip(*(w[k:] for k in range(SHINGLE_SIZE)), strict=False)) for w in documents],
        lambda: shingles(documents, SHINGLE_SIZE),
        PAGE_THRESHOLDS,
    )
    records = made_records(RECORDS // options.scale)
    title = f"{len(records):,} short records"
    compare(title, records, lambda: encode(records), RECORD_THRESHOLDS)
    edit_distances(made_strings(STRINGS // options.scale))


def clusters_on_disk(count: int) -> None:
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    seconds, found = timed(lambda: cluster_on_disk(made_sketches(count), 0.85, memory=DISK_MEMORY))
    numbers = np.arange(count)
    assert (found.labels == numbers - (numbers % 3 == 2)).all(), "cluster_on_disk is wrong"
    grown = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024
    print(f"four phases on disk, {count:,} sketches of 100 hashes, {DISK_MEMORY} for DuckDB: "
          f"{found.pairs:,} pairs, {found.common:,} common hashes left out, in {seconds:.1f} s; "
          f"the process grew by {grown:,.0f} MB")  # fmt: skip


def made_sketches(count: int) -> Iterator[np.ndarray]:
    """Every third one is the one before it with 5 of 100 hashes replaced; sections share 20."""
    draw = np.random.default_rng(SEED)
    sketch = np.empty(0, dtype=np.uint64)
    for number in range(count):
        changed = 5 if number % 3 == 2 else 100
        sketch = sketch.copy() if changed == 5 else np.empty(100, dtype=np.uint64)
        sketch[100 - changed :] = draw.integers(2**32, 2**63, changed, dtype=np.uint64)
        if changed == 100:
            sketch[:20] = np.arange(20) + 20 * (number % 50)
        yield sketch


def compare(
    title: str, tokens: list[list], encoded: Callable[[], TokenSets], thresholds: tuple[float, ...]
) -> None:
    ordering, sets = timed(encoded, 3)
    print(f"\n{title}: {len(sets.tokens):,} tokens, {len(sets.frequency):,} distinct")
    print(f"ours: ordered by frequency in {ordering:.2f} s")
    peer = Peer(tokens) if find_spec("SetSimilaritySearch") else None
    oracle = DuckDB(sets)
    for measure in ("jaccard", "cosine"):
        columns = dict.fromkeys(("ours", "numpy", *list(PUBLISHED)[:3], "DuckDB"), "9.3f")
        table = Table(**{measure: "9"}, pairs="7,", **columns, **{"SetSimS.": "9.3f"},
                      **{"join, in all": "<20"})  # fmt: skip
        candidates = []
        for threshold in thresholds:
            times, counts, expected = ours(sets, threshold, measure)
            in_sql, answer = timed(lambda t=threshold, m=measure: oracle.join(t, m))
            same("DuckDB", answer, expected)
            theirs, ratio = "-", ""
            if peer and measure == "jaccard":
                theirs, answer = timed(lambda t=threshold: peer.join(t))
                same("SetSimilaritySearch", answer, expected)
                in_all = (theirs + peer.ordering) / (times[0] + ordering)
                mark = "" if theirs >= TARGET * times[0] else f" (under {TARGET}!)"
                ratio = f"{theirs / times[0]:.1f} {in_all:.1f}{mark}"
            table.row(str(threshold), len(expected), *times, in_sql, theirs, ratio)
            candidates.append((str(threshold), *counts, len(expected)))
        table = Table(candidates="10", ours="9,", **dict.fromkeys(PUBLISHED, "9,"), pairs="9,")
        for row in candidates:
            table.row(*row)


def ours(
    sets: TokenSets, threshold: float, measure: MeasureName
) -> tuple[list[float], list[int], Result]:
    join = partial(self_join, sets, threshold, measure=measure)
    seconds, pairs = timed(join, 3)
    expected = found(pairs)
    used, setjoin._compiled = setjoin._compiled, None  # noqa: SLF001
    in_numpy, pure = timed(join, 3)
    setjoin._compiled = used  # noqa: SLF001
    same("numpy", found(pure), expected)
    times, counts = [seconds, in_numpy], [pairs.stats.candidates]
    for name, (algorithm, depth) in PUBLISHED.items():
        taken, others = timed(partial(join, algorithm=algorithm, max_depth=depth))
        same(name, found(others), expected)
        times.append(taken)
        counts.append(others.stats.candidates)
    return times[:-1], counts, expected


class Peer:
    """SetSimilaritySearch, its sets ordered beforehand."""

    def __init__(self, tokens: list[list]) -> None:
        order = import_module("SetSimilaritySearch.utils")._frequency_order_transform  # noqa: SLF001
        self._tokens = [list(dict.fromkeys(record)) for record in tokens]
        self.ordering, ordered = timed(lambda: order(self._tokens))
        print(f"SetSimilaritySearch: ordered by frequency in {self.ordering:.2f} s")
        self._module = import_module("SetSimilaritySearch.all_pairs")
        self._module._frequency_order_transform = lambda _: ordered  # noqa: SLF001  (only the join)

    def join(self, threshold: float) -> Result:
        pairs = self._module.all_pairs(self._tokens, similarity_threshold=threshold)
        return sorted(tuple(sorted(map(int, pair[:2]))) for pair in pairs)


class DuckDB:
    """The prefix filter in SQL, with an order of tokens of its own."""

    def __init__(self, sets: TokenSets) -> None:
        import duckdb

        self.database = duckdb.connect(config={"threads": 1, "temp_directory": ""})
        # Shuffled numbers: nothing of our order is of use to it.
        names = np.random.default_rng(SEED).permutation(len(sets.frequency))
        rows = np.repeat(np.arange(len(sets)), sets.sizes)
        self.database.register("given", {"number": rows, "token": names[sets.tokens]})
        self.database.execute("""
            CREATE TABLE listed AS
            SELECT number, token, count(*) OVER (PARTITION BY number) AS size,
                row_number() OVER (PARTITION BY number ORDER BY frequency, token) AS place
            FROM given JOIN (
                SELECT token, count(*) AS frequency FROM given GROUP BY token
            ) USING (token);
            CREATE TABLE sets AS
            SELECT number, list(token) AS tokens FROM given GROUP BY number;
        """)

    def join(self, threshold: float, measure: MeasureName) -> Result:
        p, q = Fraction(str(threshold)).as_integer_ratio()
        enough = f"overlap * ({p} + {q}) >= (a_size + b_size) * {p}"
        if measure == "cosine":
            p, q = p * p, q * q  # of the sizes; and of the squares
            enough = f"overlap * overlap * {q} >= a_size * b_size * {p}"
        answer = self.database.execute(f"""
            WITH prefix AS (
                SELECT * FROM listed WHERE place <= size - (size * {p} + {q} - 1) // {q} + 1
            ), candidates AS (
                SELECT DISTINCT a.number AS i, b.number AS j, a.size AS a_size, b.size AS b_size
                FROM prefix a JOIN prefix b ON a.token = b.token AND a.number < b.number
                WHERE a.size * {p} <= b.size * {q} AND b.size * {p} <= a.size * {q}
            )
            SELECT i, j FROM (
                SELECT *, len(list_intersect(a.tokens, b.tokens)) AS overlap FROM candidates
                JOIN sets a ON a.number = i JOIN sets b ON b.number = j
            ) WHERE {enough}
        """)
        return sorted(answer.fetchall())


def edit_distances(strings: list[str]) -> None:
    every = len(strings) * (len(strings) - 1) // 2
    sample = range(0, len(strings), max(1, len(strings) // 20))
    compared = [(min(i, j), max(i, j)) for i in sample for j in range(len(strings)) if i != j]
    seconds, measured = timed(
        lambda: {pair: edit_distance(*(strings[n] for n in pair)) for pair in compared}
    )
    print(f"\nedit distance, {len(strings):,} strings: comparing all {every:,} pairs would take "
          f"{every * seconds / len(compared):,.0f} s")  # fmt: skip
    for limit in MAX_DISTANCES:
        for q in (2, 3):
            seconds, pairs = timed(partial(edit_join, strings, limit, q=q))
            answer = dict(zip(found(pairs), pairs.distance.tolist(), strict=True))
            for pair, distance in measured.items():
                right = distance if distance <= limit else None
                assert answer.get(pair) == right, f"edit_join is wrong about {pair}: {distance}"
            print(f"  within {limit}, {q}-grams: {len(pairs.i):,} pairs of "
                  f"{pairs.stats.candidates:,} candidates in {seconds:.2f} s")  # fmt: skip


if __name__ == "__main__":
    main()
