"""Exact joins: ours, the papers', SetSimilaritySearch and DuckDB, on one machine at one time.

Word 4-shingles of pages (--pages, a folder of HTML; otherwise generated ones) and short records,
14 tokens on average, Zipf-distributed. All that are timed must return the same pairs. Parts:

compare      By resemblance and by cosine (Xiao et al. 2008, Figure 3 a-f and g-j): `self_join` as
             anybody calls it and without compiled code ('Python'), its `algorithm` of the papers,
             PyPI SetSimilaritySearch where it is installed (by resemblance alone; by cosine it
             takes minutes for 2,000 records), and DuckDB, the prefix filter in SQL: the oracle,
             which shares no code with ours. 'join' is the join alone, its sets ordered by token
             frequency already; 'in all' begins with Python lists. Times are those of one core, the
             best of three for ours.
clusters     Clusters of generated sketches that need five times the memory that there is.
growth       Figures 1 and 3 k-l: fifths of each collection, joined at one threshold: pairs,
             candidates, seconds of All-Pairs, PPJoin, PPJoin+ and ours, and the root of the
             seconds, which grows as a line where time grows as the square.
quality      Table 2: which of the pairs that exact joins find (of numbered 4-grams of characters,
             `qa` by All-Pairs and `qp` by PPJoin+, and of word 4-shingles) does Broder's shingling
             find, with 32 minima as in the paper and 84 as in Broder 2000?
containment  (Broder 1997, section 2) How long the join takes beside that of resemblance at the
             same threshold (required: at most `TARGET_RATIO` times as long), and in how many pages
             others are held that no resemblance would find. Then how far estimates from sketches
             are off, for pairs that the join has found: V_m, of one shingle in m, the M_s of 256
             hashes, and the one-permutation sketch of 1,024 bins with the numbers of shingles.
             (Pairs of one template share their errors: the mean of V_m is no bias.)

    python benchmarks/joins.py --pages boost/ --part growth quality
"""

import resource
from collections import defaultdict
from collections.abc import Callable, Iterator
from fractions import Fraction
from functools import partial
from importlib import import_module
from importlib.util import find_spec
from math import sqrt

import numpy as np
from harness import Table, timed
from join_data import (
    RECORDS,
    SEED,
    Result,
    found,
    made_records,
    options_and_texts,
    same,
)

from scrapy_neardup.fingerprints import features, one_permutation_sketch, token_hashes
from scrapy_neardup.fingerprints.hashing import PUBLIC
from scrapy_neardup.fingerprints.independent import mod_sketch
from scrapy_neardup.offline.clusters import cluster
from scrapy_neardup.offline.jobs.joining import HashSets, join_sets
from scrapy_neardup.offline.joins import (
    SimilarPairs,
    TokenSets,
    encode,
    self_join,
    setjoin,
    shingles,
    words,
)
from scrapy_neardup.offline.joins.measures import MeasureName

SHINGLE_SIZE, GRAM_SIZE = 4, 4
PAGE_THRESHOLDS = (0.95, 0.9, 0.85, 0.8)
RECORD_THRESHOLDS = (0.9, 0.8)
SKETCHES, DISK_MEMORY = 300_000, 300_000_000
TARGET = 30
"""How many times as fast as SetSimilaritySearch the join by resemblance is to be."""
PUBLISHED = {"All-Pairs": ("all-pairs", 0), "PPJoin": ("ppjoin", 0), "PPJoin+": ("ppjoin+", 2),
             "depth 4": ("ppjoin+", 4)}  # fmt: skip
"""Name -> algorithm and depth of the suffix filter."""
MINIMA = (32, 84)
"""Min-wise hashes a page."""
FIFTHS = 5
ALGORITHMS = {"all-pairs": 1, "ppjoin": 1, "ppjoin+": 1, "bitmap": 3}
"""Algorithm -> how often it is timed; the last is ours."""
CONTAINED, TARGET_RATIO, SAMPLED = (0.95, 0.9, 0.8), 4, 1_000
SIZE, MODULUS, BINS = 256, 8, 1024


def main() -> None:
    options, what, texts = options_and_texts(__doc__)
    # The one whose memory is measured comes before all that takes more.
    if "clusters" in options.part:
        clusters_on_disk(SKETCHES // options.scale)
    documents = [words(text) for text in texts]
    records = made_records(RECORDS // options.scale)
    if "compare" in options.part:
        compare(
            f"{len(texts):,} pages ({what}), word {SHINGLE_SIZE}-shingles",
            [list(zip(*(w[k:] for k in range(SHINGLE_SIZE)), strict=False)) for w in documents],
            lambda: shingles(documents, SHINGLE_SIZE),
            PAGE_THRESHOLDS,
        )
        title = f"{len(records):,} short records"
        compare(title, records, lambda: encode(records), RECORD_THRESHOLDS)
    if "growth" in options.part:
        of_pages = lambda count: shingles(documents[:count], SHINGLE_SIZE)  # noqa: E731
        growth(f"pages ({what})", len(texts), of_pages, 0.9)
        growth("records", len(records), lambda count: encode(records[:count]), 0.8)
    if "quality" in options.part:
        quality(texts)
    if "containment" in options.part:
        contained(texts, what, is_checked=options.scale == 1)


def clusters_on_disk(count: int) -> None:
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    sets = HashSets(made_sketches(count))
    seconds, found = timed(lambda: join_sets(sets, 0.85, memory=DISK_MEMORY))
    numbers = np.arange(count)
    labels = cluster(found.i, found.j, count)
    assert (labels == numbers - (numbers % 3 == 2)).all(), "join_sets is wrong"
    grown = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024
    print(
        f"clusters of {count:,} sketches of 100 hashes in {DISK_MEMORY >> 20} MiB: "
        f"{len(found.i):,} pairs in {seconds:.1f} s; the process grew by {grown:,.0f} MB"
    )


def made_sketches(count: int) -> Iterator[np.ndarray]:
    """Every third one is the one before it with 5 of 100 hashes replaced; sections share 20."""
    draw = np.random.default_rng(SEED)
    sketch = np.empty(0, dtype=np.uint64)
    for number in range(count):
        changed = 5 if number % 3 == 2 else 100
        sketch = sketch.copy() if changed == 5 else np.empty(100, dtype=np.uint64)
        sketch[100 - changed :] = draw.integers(2**32, 2**63, changed, dtype=np.uint64)
        if changed == 100:
            sketch[:20] = PUBLIC.mix(
                np.arange(20, dtype=np.uint64) + np.uint64(20 * (number % 50))
            )
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
        columns = dict.fromkeys(("ours", "Python", *list(PUBLISHED)[:3], "DuckDB"), "9.3f")
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
    in_python, pure = timed(join)
    setjoin._compiled = used  # noqa: SLF001
    same("Python", found(pure), expected)
    times, counts = [seconds, in_python], [pairs.stats.candidates]
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


def growth(what: str, count: int, encoded: Callable[[int], TokenSets], threshold: float) -> None:
    print(f"\nGrowth: {what} at {threshold}; candidates, seconds (root of the seconds)")
    table = Table(sets="8,", pairs="7,", **dict.fromkeys([*list(ALGORITHMS)[:3], "ours"], "27"))
    for part in range(1, FIFTHS + 1):
        sets = encoded(count * part // FIFTHS)
        cells, expected = [], None
        for name, repeat in ALGORITHMS.items():
            seconds, pairs = timed(partial(self_join, sets, threshold, algorithm=name), repeat)
            same(name, found(pairs), expected := expected or found(pairs))
            cells.append(f"{pairs.stats.candidates:,} {seconds:7.3f} ({sqrt(seconds):4.2f})")
        table.row(len(sets), len(expected or ()), *cells)


def quality(texts: list[str]) -> None:
    making, grams = timed(lambda: shingles(map(padded, texts), GRAM_SIZE, multiset=True))
    sketching, sketches = timed(lambda: {n: sketched(texts, n) for n in MINIMA})
    exact = shingles(map(words, texts), SHINGLE_SIZE)
    print(f"\nShingling ({' and '.join(map(str, MINIMA))} minima of word {SHINGLE_SIZE}-shingles, "
          f"in {sketching:.2f} s) against exact joins of numbered {GRAM_SIZE}-grams of characters "
          f"({len(grams.tokens):,}, in {making:.2f} s) and of all the same shingles;\n"
          "precision and recall by the one and by the other")  # fmt: skip
    table = Table(at="4", pairs="9,", ours="8.3f", qa="8.2f", qp="8.2f",
                  minima="6", found="7,", join="7.3f", grams="13", shingles="13")  # fmt: skip
    for threshold in PAGE_THRESHOLDS:
        joining, wanted = timed(partial(self_join, grams, threshold), 3)
        exactly = []
        for name in ("all-pairs", "ppjoin+"):
            taken, others = timed(partial(self_join, grams, threshold, algorithm=name))
            same(name, found(others), found(wanted))
            exactly.append(taken)
        whole = self_join(exact, threshold)
        for number, minima in sketches.items():
            enough = -(-Fraction(str(threshold)) * number // 1)
            taken, pairs = timed(partial(self_join, minima, enough, measure="overlap"), 3)
            table.row(str(threshold), len(wanted), joining, *exactly, number, len(pairs), taken,
                      right(pairs, wanted), right(pairs, whole))  # fmt: skip


def padded(text: str) -> list[str]:
    """Return the characters of a text, with marks before and behind it."""
    return ["first"] * (GRAM_SIZE - 1) + [*text] + ["last"] * (GRAM_SIZE - 1)


def sketched(texts: list[str], count: int) -> TokenSets:
    """Return sets of `count` (function, minimum): the overlap of two estimates resemblance."""
    draw = np.random.default_rng(SEED)
    flips = draw.integers(0, 2**64, count, dtype=np.uint64)
    factors = draw.integers(0, 2**64, count, dtype=np.uint64) | np.uint64(1)
    rows = []
    for text in texts:
        hashes, _ = features(token_hashes(text), shingle_size=SHINGLE_SIZE)
        both = zip(flips, factors, strict=True) if len(hashes) else ()
        rows.append(list(enumerate(int(((hashes ^ f) * a).min()) for f, a in both)))
    return encode(rows)


def right(estimated: SimilarPairs, wanted: SimilarPairs) -> str:
    ours, theirs = set(found(estimated)), set(found(wanted))
    hits = len(ours & theirs)
    return f"{hits / max(1, len(ours)):6.3f} {hits / max(1, len(theirs)):6.3f}"


def share_held(a: np.ndarray, b: np.ndarray) -> float:
    return len(np.intersect1d(a, b)) / len(a)


def contained(texts: list[str], what: str, *, is_checked: bool) -> None:
    # Articles of five pages each, which hold what they were made of.
    texts += [" ".join(texts[start : start + 5]) for start in range(0, len(texts) // 10, 5)]
    sets = shingles(map(words, texts), SHINGLE_SIZE)
    print(f"{len(texts):,} pages ({what}), {len(sets.tokens):,} word {SHINGLE_SIZE}-shingles")
    table = Table(threshold="9", resembling="10,", join="8.3f", contained="10,", candidates="10,",
                  **{"their join": "10.3f"}, ratio="5.1f", new="7,")  # fmt: skip
    for threshold in CONTAINED:
        usual, alike = timed(partial(self_join, sets, threshold), 3)
        taken, held = timed(partial(self_join, sets, threshold, measure="containment"), 3)
        resembling = set(found(alike))
        new = sum((min(pair), max(pair)) not in resembling for pair in found(held))
        table.row(str(threshold), len(alike), usual, len(held), held.stats.candidates, taken,
                  taken / usual, new)  # fmt: skip
        assert not is_checked or taken <= TARGET_RATIO * usual
    estimates(texts, held)


def estimates(texts: list[str], held: SimilarPairs) -> None:
    chosen = np.random.default_rng(1).permutation(len(held))[:SAMPLED]
    errors: dict[str, list[float]] = defaultdict(list)
    for i, j, truth in zip(held.i[chosen], held.j[chosen], held.values[chosen], strict=True):
        a, b = (features(token_hashes(texts[k]), shingle_size=SHINGLE_SIZE)[0] for k in (i, j))
        sampled = [mod_sketch(each, MODULUS) for each in (a, b)]
        least = [np.sort(each)[:SIZE] for each in (a, b)]
        reach = min((each[-1] for each in least if len(each) == SIZE), default=2**64 - 1)
        ours, theirs = (one_permutation_sketch(each, BINS) for each in (a, b))
        resemblance = np.mean(ours == theirs)
        shared = resemblance / (1 + resemblance) * (len(a) + len(b))
        if len(sampled[0]):
            errors[f"V_{MODULUS}"].append(share_held(*sampled) - truth)
        errors[f"M_{SIZE}"].append(share_held(*(each[each <= reach] for each in least)) - truth)
        errors[f"{BINS:,} bins and sizes"].append(min(shared / len(a), 1) - truth)
    print(f"\nEstimates for {len(chosen):,} pairs of containment {CONTAINED[-1]} or more")
    for name, off in errors.items():
        error = np.sqrt(np.mean(np.square(off)))
        print(f"{name:22} mean error {np.mean(off):+.4f}, root mean square {error:.4f}")


if __name__ == "__main__":
    main()
