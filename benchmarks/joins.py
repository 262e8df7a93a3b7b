"""Exact joins: ours, the papers', SetSimilaritySearch and DuckDB, on one machine at one time.

Two collections: word 4-shingles of pages (--pages, a folder of HTML; otherwise generated
ones) and short records, 14 tokens on average, Zipf-distributed. For every threshold all that
are timed must return the same pairs, or the benchmark stops:

- `self_join`, as anybody calls it;
- `self_join(algorithm=...)`: All-Pairs, PPJoin, PPJoin+ as in the papers, for the table of
  candidates;
- PyPI SetSimilaritySearch, `all_pairs` (All-Pairs with a positional filter, in Python and
  numpy);
- DuckDB, the prefix filter written in SQL: the oracle, which shares no code with ours.

'join' is the join alone, the sets being ordered by token frequency already (for
SetSimilaritySearch its own ordering step, made once and timed apart); 'in all' begins with
Python lists: of words for ours, which makes shingles of them, of shingles for
SetSimilaritySearch. All of them work on one core; times are those that they kept it busy, the
best of three for ours.

Before them, clusters of generated sketches in Broder's four phases on disk; DuckDB uses all
cores there, and memory counts more than time.

Then the experiment of Xiao et al. 2008, table 2: how many of the pairs that an exact join of
4-grams finds does Broder's shingling find, and how many of its pairs are right; and the
edit-distance join.

    python benchmarks/joins.py
    python benchmarks/joins.py --pages boost/
    python benchmarks/joins.py --quick
"""

from __future__ import annotations

import argparse
import resource
import time
from collections.abc import Callable, Iterator
from fractions import Fraction
from importlib import import_module
from pathlib import Path

import numpy as np

from scrapy_neardup.fingerprints import features, token_hashes
from scrapy_neardup.joins import (
    TokenSets,
    edit_distance,
    edit_join,
    encode,
    qgrams,
    self_join,
    shingles,
    words,
)
from scrapy_neardup.offline.clustering import cluster_on_disk

SHINGLE_SIZE = 4
PAGE_THRESHOLDS = (0.95, 0.9, 0.85, 0.8)
RECORD_THRESHOLDS = (0.9, 0.8)
RECORDS, VOCABULARY, MEAN_DRAWS = 100_000, 50_000, 15.1
"""15.1 tokens drawn are 14 different ones, on average."""
COPIES = 0.06
"""Share of records that are an earlier one with up to three tokens replaced."""
PAGES = 5_000
MINIMA = 84
"""Min-wise hashes a page (Broder 2000: 6 features of 14)."""
SKETCHES, DISK_MEMORY = 300_000, "300MB"
STRINGS, MAX_DISTANCES = 20_000, (1, 2, 3)
SEED = 2008
TARGET = 5
"""How many times as fast as SetSimilaritySearch the join is to be."""

Result = list[tuple[int, int]]


def main() -> None:
    options = arguments(__doc__)
    scale = 50 if options.quick else 1
    clusters_on_disk(SKETCHES // scale)  # first, as it is the one whose memory is measured
    texts = read_pages(options.pages) if options.pages else made_pages(PAGES // scale)
    documents = [words(text) for text in texts]
    what = str(options.pages) if options.pages else "generated pages"
    compare(
        f"{len(texts):,} pages ({what}), word {SHINGLE_SIZE}-shingles",
        [list(zip(*(w[k:] for k in range(SHINGLE_SIZE)), strict=False)) for w in documents],
        lambda: shingles(documents, SHINGLE_SIZE),
        PAGE_THRESHOLDS,
    )
    records = made_records(RECORDS // scale)
    compare(
        f"{len(records):,} short records",
        records,
        lambda: encode(records),
        RECORD_THRESHOLDS,
    )
    sketches_against_grams(texts)
    edit_distances(made_strings(STRINGS // scale))


def arguments(description: str | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=description, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--pages", type=Path, help="a folder of HTML files to join")
    parser.add_argument("--quick", action="store_true", help="everything at a fiftieth")
    return parser.parse_args()


def read_pages(folder: Path) -> list[str]:
    """All visible text of the HTML files of a folder, in the order of their paths."""
    from scrapy_neardup.offline.corpora import Corpus
    from scrapy_neardup.text import Extractor, parse_html

    extract = Extractor(mode="full").extract
    return [
        extract(parse_html(page.html, encoding=page.encoding)).text
        for page in Corpus([str(folder)])
    ]


def made_pages(count: int) -> list[str]:
    """Pages of one site in two versions: a template, and text that is edited here and there."""
    draw = np.random.default_rng(SEED)
    weights = 1 / np.arange(1, 20_001)
    weights /= weights.sum()
    template = "home contents index previous next copyright licence search about"
    pages: list[list[str]] = []
    for number in range(count):
        if number >= count // 2:
            page = list(pages[number - count // 2])
            for place in draw.integers(0, len(page), draw.geometric(0.4) - 1):
                page[place] = "edited"
        else:
            length = int(draw.lognormal(4.6, 0.9)) + 20
            page = [f"w{token}" for token in draw.choice(20_000, length, p=weights)]
        pages.append(page)
    return [f"{template} {' '.join(page)} {template}" for page in pages]


def made_records(count: int) -> list[list[int]]:
    draw = np.random.default_rng(SEED)
    weights = 1 / np.arange(1, VOCABULARY + 1)
    cumulated = np.cumsum(weights / weights.sum())
    records: list[list[int]] = []
    for length in np.maximum(3, draw.poisson(MEAN_DRAWS, count)):
        if records and draw.random() < COPIES:
            record = list(records[draw.integers(len(records))])
            for _ in range(draw.integers(4)):
                record[draw.integers(len(record))] = int(cumulated.searchsorted(draw.random()))
        else:
            record = cumulated.searchsorted(draw.random(length)).tolist()
        records.append(list(dict.fromkeys(record)))
    return records


def made_strings(count: int) -> list[str]:
    """Names of two words; every tenth is another one with one to three edits."""
    draw = np.random.default_rng(SEED)
    letters = "etaoinshrdlucmfw"
    strings: list[str] = []
    for number in range(count):
        if number % 10 == 9:
            name = strings[draw.integers(number)]
            for _ in range(draw.integers(1, 4)):
                place = draw.integers(len(name))
                name = name[:place] + letters[draw.integers(16)] + name[place + draw.integers(2) :]
        else:
            lengths = draw.integers(4, 10, 2)
            name = " ".join(
                "".join(letters[k] for k in draw.integers(0, 16, length)) for length in lengths
            )
        strings.append(name)
    return strings


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


def clusters_on_disk(count: int) -> None:
    """Broder's four phases; the answer is known from how the sketches are made."""
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    seconds, found = timed(
        lambda: cluster_on_disk(made_sketches(count), 0.85, memory=DISK_MEMORY), repeat=1
    )
    numbers = np.arange(count)
    if (found.labels != numbers - (numbers % 3 == 2)).any():
        raise SystemExit("cluster_on_disk is wrong")
    grown = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024
    print(f"four phases on disk, {count:,} sketches of 100 hashes, {DISK_MEMORY} for DuckDB: "
          f"{found.pairs:,} pairs, {found.common:,} common hashes left out, in {seconds:.1f} s; "
          f"the process grew by {grown:,.0f} MB")  # fmt: skip


def compare(
    title: str,
    tokens: list[list],
    encoded: Callable[[], TokenSets],
    thresholds: tuple[float, ...],
) -> None:
    peer = import_module("SetSimilaritySearch.all_pairs")
    order = import_module("SetSimilaritySearch.utils")._frequency_order_transform  # noqa: SLF001
    tokens = [list(dict.fromkeys(record)) for record in tokens]
    ordering, sets = timed(encoded)
    print(f"\n{title}: {len(sets.tokens):,} tokens, {len(sets.frequency):,} distinct")
    print(f"ours: ordered by frequency in {ordering:.2f} s")
    their_ordering, ordered = timed(lambda: order(tokens), repeat=1)
    peer._frequency_order_transform = lambda _: ordered  # noqa: SLF001  (only the join)
    print(f"SetSimilaritySearch: ordered by frequency in {their_ordering:.2f} s")
    oracle = DuckDB(sets)
    print(f"{'':>5} {'pairs':>7} | {'ours':>8} {'All-Pairs':>9} {'PPJoin':>8} {'PPJoin+':>8} "
          f"{'DuckDB':>8} {'SetSimS.':>8}   ratio: join, in all")  # fmt: skip
    candidates = []
    for threshold in thresholds:
        seconds, pairs = timed(lambda t=threshold: self_join(sets, t))
        expected = found(pairs)
        times, counts = [], [pairs.stats.candidates]
        for algorithm, depth in (("all-pairs", 0), ("ppjoin", 0), ("ppjoin+", 2), ("ppjoin+", 4)):
            taken, others = timed(
                lambda t=threshold, a=algorithm, d=depth: self_join(
                    sets, t, algorithm=a, max_depth=d
                ),
                repeat=1,
            )
            same(algorithm, found(others), expected)
            times.append(taken)
            counts.append(others.stats.candidates)
        in_sql, answer = timed(lambda t=threshold: oracle.join(t), repeat=1)
        same("DuckDB", answer, expected)
        theirs, answer = timed(
            lambda t=threshold: sorted(
                tuple(sorted(map(int, pair[:2])))
                for pair in peer.all_pairs(tokens, similarity_threshold=t)
            ),
            repeat=1,
        )
        same("SetSimilaritySearch", answer, expected)
        join_ratio = theirs / seconds
        print(f"{threshold:5} {len(pairs):7,} | {seconds:7.3f}s {times[0]:8.3f}s "
              f"{times[1]:7.3f}s {times[2]:7.3f}s {in_sql:7.3f}s {theirs:7.3f}s "
              f"  {join_ratio:.1f} {(theirs + their_ordering) / (seconds + ordering):.1f}"
              + ("" if join_ratio >= TARGET else f"  (under {TARGET}!)"))  # fmt: skip
        candidates.append((threshold, *counts, len(pairs)))
    print("candidates   ours  All-Pairs   PPJoin  PPJoin+  depth 4   pairs")
    for threshold, ours, all_pairs_, ppjoin, plus, deep, pairs in candidates:
        print(f"{threshold:6} {ours:10,} {all_pairs_:10,} {ppjoin:8,} {plus:8,} {deep:8,} "
              f"{pairs:7,}")  # fmt: skip


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
            ) USING (token)
        """)
        self.database.execute("""
            CREATE TABLE sets AS
            SELECT number, list(token) AS tokens FROM given GROUP BY number
        """)

    def join(self, threshold: float) -> Result:
        p, q = Fraction(str(threshold)).as_integer_ratio()
        answer = self.database.execute(f"""
            WITH prefix AS (
                SELECT * FROM listed WHERE place <= size - (size * {p} + {q} - 1) // {q} + 1
            ), candidates AS (
                SELECT DISTINCT a.number AS i, b.number AS j, a.size + b.size AS sizes
                FROM prefix a JOIN prefix b ON a.token = b.token AND a.number < b.number
                WHERE a.size * {p} <= b.size * {q} AND b.size * {p} <= a.size * {q}
            )
            SELECT i, j FROM candidates
            JOIN sets a ON a.number = i JOIN sets b ON b.number = j
            WHERE len(list_intersect(a.tokens, b.tokens)) * ({p} + {q}) >= sizes * {p}
        """)
        return sorted(answer.fetchall())


def sketches_against_grams(texts: list[str]) -> None:
    """Xiao et al. 2008, table 2: Broder's shingling judged by exact joins of 4-grams."""
    sketching, sketches = timed(lambda: minima(texts), repeat=1)
    seconds, grams = timed(lambda: qgrams(texts, 4), repeat=1)
    print(f"\nshingling ({MINIMA} min-wise hashes of word {SHINGLE_SIZE}-shingles, in "
          f"{sketching:.2f} s) against exact joins of numbered 4-grams of characters "
          f"({len(grams.tokens):,}, in {seconds:.2f} s) and of all the same shingles")  # fmt: skip
    print("       shingling        4-grams                            all shingles")
    print("       pairs    join    pairs    join PPJoin+  prec. recall   pairs  prec. recall")
    exact = shingles(map(words, texts), SHINGLE_SIZE)
    for threshold in PAGE_THRESHOLDS:
        enough = -(-Fraction(str(threshold)) * MINIMA // 1)
        estimating, estimated = timed(lambda n=enough: self_join(sketches, n, measure="overlap"))
        joining, wanted = timed(lambda t=threshold: self_join(grams, t))
        as_published, others = timed(
            lambda t=threshold: self_join(grams, t, algorithm="ppjoin+"), repeat=1
        )
        same("ppjoin+", found(others), found(wanted))
        whole = self_join(exact, threshold)
        print(f"{threshold:5} {len(estimated):7,} {estimating:6.3f}s {len(wanted):7,} "
              f"{joining:6.3f}s {as_published:6.2f}s {quality(estimated, wanted)} "
              f"{len(whole):7,} {quality(estimated, whole)}")  # fmt: skip


def minima(texts: list[str]) -> TokenSets:
    """Sets of `MINIMA` (function, minimum) pairs: the overlap of two estimates resemblance."""
    draw = np.random.default_rng(SEED)
    flips = draw.integers(0, 2**64, MINIMA, dtype=np.uint64)
    factors = draw.integers(0, 2**64, MINIMA, dtype=np.uint64) | np.uint64(1)
    rows = []
    for text in texts:
        hashes, _ = features(token_hashes(text), shingle_size=SHINGLE_SIZE)
        if not len(hashes):
            rows.append([])
            continue
        least = np.empty(MINIMA, dtype=np.uint64)
        for k in range(MINIMA):
            least[k] = ((hashes ^ flips[k]) * factors[k]).min()
        rows.append(list(enumerate(least.tolist())))
    return encode(rows)


def quality(estimated, wanted) -> str:
    ours, right = set(found(estimated)), set(found(wanted))
    hits = len(ours & right)
    return f"{hits / max(1, len(ours)):6.3f} {hits / max(1, len(right)):6.3f}"


def edit_distances(strings: list[str]) -> None:
    """The edit-distance join; a sample is compared with all strings."""
    every = len(strings) * (len(strings) - 1) // 2
    sample = range(0, len(strings), max(1, len(strings) // 20))
    started = time.process_time()
    measured = {
        (min(i, j), max(i, j)): edit_distance(strings[i], strings[j])
        for i in sample
        for j in range(len(strings))
        if i != j
    }
    each = (time.process_time() - started) / len(measured)
    print(f"\nedit distance, {len(strings):,} strings: comparing all {every:,} pairs would take "
          f"{every * each:,.0f} s")  # fmt: skip
    for limit in MAX_DISTANCES:
        for q in (2, 3):
            seconds, pairs = timed(lambda d=limit, q=q: edit_join(strings, d, q=q), repeat=1)
            answer = dict(zip(found(pairs), pairs.distance.tolist(), strict=True))
            for pair, distance in measured.items():
                if answer.get(pair) != (distance if distance <= limit else None):
                    raise SystemExit(f"edit_join is wrong about {pair}: {distance}")
            print(f"  within {limit}, {q}-grams: {len(pairs.i):,} pairs of "
                  f"{pairs.stats.candidates:,} candidates in {seconds:.2f} s")  # fmt: skip


def found(pairs) -> Result:
    return list(zip(pairs.i.tolist(), pairs.j.tolist(), strict=True))


def same(name: str, answer: Result, expected: Result) -> None:
    if answer != expected:
        missing, extra = len(set(expected) - set(answer)), len(set(answer) - set(expected))
        raise SystemExit(f"{name} and self_join differ: {missing} missing, {extra} more")


def timed(call, *, repeat: int = 3):
    """The best of some runs, in seconds of processor time, and what the last one returned."""
    best = float("inf")
    for _ in range(repeat):
        started = time.process_time()
        result = call()
        best = min(best, time.process_time() - started)
    return best, result


if __name__ == "__main__":
    main()
