"""Clusters of collections larger than memory: by resemblance, or by shared features.

`cluster_on_disk` is Broder's algorithm. DuckDB (extra ``offline``) holds and sorts all data that
grows with the number of shingles or pairs, within its memory limit and in a temporary directory;
Python holds some 30 bytes a page. The phases are those of Broder, Glassman, Manasse, Zweig,
"Syntactic clustering of the Web" (WWW 1997, section 4):

1. *Sketch* every page (the caller does this, with `fingerprints.signatures.mod_sketch`). From here
   on, pages with equal sketches are one page.
2. *List* all (shingle, page), sorted. Shingles of more than `common` pages (templates, licences)
   are left out, because their pairs grow with the square of their number. Pages that have some
   are compared by their other shingles.
3. *Count* the shingles that pairs of pages share, by joining the list with itself. Broder et al.
   counted every pair that shares one. Here prefix and positional filters (`joins`) first select
   the few pairs that can reach the threshold, which gives the same clusters faster.
4. *Merge* the pairs that share enough into clusters, with union-find.

`feature_clusters_on_disk` connects pages with equal features, which `sortedruns` finds (Broder
2000). It needs no counting (`mega_shingles`).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from fractions import Fraction
from hashlib import blake2b
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from scrapy_neardup.errors import ConfigurationError, NeardupError
from scrapy_neardup.offline.clusters import COMMON, UnionFind
from scrapy_neardup.offline.clusters.components import tied
from scrapy_neardup.offline.files.sortedruns import BucketRuns, Hashes, Integers, entries_of
from scrapy_neardup.offline.joins.measures import comparable, exact_share
from scrapy_neardup.offline.readers.files import batches, required, temporary_folder
from scrapy_neardup.settings.arguments import whole_number

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

_BUFFERED = 1 << 20
"""Number of shingles passed to DuckDB at once."""
_FETCHED = 1 << 20
"""Number of pairs fetched from DuckDB at once."""


class Clustering(NamedTuple):
    """The result of `cluster_on_disk`."""

    labels: Integers
    """First page of each page's cluster, shape (pages,), int64."""
    pairs: int
    """Number of pairs of pages that resemble each other, without pairs of equal sketches."""
    common: int
    """Number of shingles left out, because too many pages have them."""


def cluster_on_disk(
    sketches: Iterable[Hashes],
    threshold: float | Fraction,
    *,
    common: int = COMMON,
    memory: str = "1GB",
    directory: str | Path | None = None,
) -> Clustering:
    """Return the connected components of the pages whose sketches resemble each other.

    `sketches` are distinct uint64, an array a page, in the order of the pages; read once; an empty
    one resembles none. Shingles of more than `common` pages are left out. `memory`, DuckDB's, has
    its unit (``"500MB"``); `directory` is where a temporary one is made, None the system's. Sorts
    all shingles and joins prefixes: one of n pages makes n * (n - 1) / 2 pairs.
    """
    share = comparable(exact_share("resemblance", threshold))
    common = whole_number("common", common, least=1)
    with _database(memory, directory) as database:
        database.execute(_TABLES)
        pages = _insert(database, sketches)
        database.execute(_LIST.format(common=common))
        left_out = database.execute(_LEFT_OUT, [common]).fetchall()[0][0]
        database.execute(_COUNT.format(p=share.numerator, q=share.denominator))
        clusters = UnionFind(pages)
        pairs = 0
        for i, j in _edges(database, "SELECT page, original FROM copies"):
            clusters.union_many(i, j)
        for i, j in _edges(database, "SELECT first, second FROM pairs"):
            clusters.union_many(i, j)
            pairs += len(i)
    return Clustering(clusters.labels(), pairs, left_out)


_TABLES = """
    CREATE TABLE sketches (page UINTEGER, high UBIGINT, low UBIGINT);
    CREATE TABLE shingles (page UINTEGER, shingle UBIGINT);
"""

_LIST = """
    CREATE TABLE copies AS
        SELECT page, original FROM (
            SELECT page, min(page) OVER (PARTITION BY high, low) AS original FROM sketches
        ) WHERE page <> original;
    CREATE TABLE frequencies AS
        SELECT shingle, count(*) AS pages FROM shingles ANTI JOIN copies USING (page)
        GROUP BY shingle HAVING pages > 1;
    CREATE TABLE list AS
        SELECT
            shingle, page, pages,
            row_number() OVER (PARTITION BY page ORDER BY pages, shingle) AS position,
            count(*) OVER (PARTITION BY page) AS size
        FROM (
            SELECT shingle, page, coalesce(pages, 1) AS pages
            FROM shingles ANTI JOIN copies USING (page) LEFT JOIN frequencies USING (shingle)
        ) WHERE pages <= {common};
    DROP TABLE shingles;
"""

_LEFT_OUT = "SELECT count(*) FROM frequencies WHERE pages > ?"

_COUNT = """
    CREATE TABLE prefixes AS
        SELECT * FROM list WHERE pages > 1 AND (position - 1) * {q} <= size * ({q} - {p})
        ORDER BY shingle;
    CREATE TABLE candidates AS
        SELECT DISTINCT a.page AS first, b.page AS second
        FROM prefixes a JOIN prefixes b ON a.shingle = b.shingle AND a.page < b.page
        WHERE (least(a.size - a.position, b.size - b.position) + 1) * ({p} + {q})
            >= (a.size + b.size) * {p};
    CREATE TABLE pairs AS
        SELECT first, second FROM (
            SELECT first, second, count(*) AS shared,
                any_value(a.size) + any_value(b.size) AS sizes
            FROM candidates JOIN list a ON a.page = first
            JOIN list b ON b.page = second AND b.shingle = a.shingle
            WHERE a.pages > 1 AND b.pages > 1
            GROUP BY first, second
        )
        WHERE shared * ({p} + {q}) >= sizes * {p};
"""


@contextmanager
def _database(memory: str, directory: str | Path | None) -> Iterator[DuckDBPyConnection]:
    """Yield a database in its own temporary directory."""
    what = "clustering on disk needs DuckDB"
    duckdb = required(what, "duckdb", "offline", ConfigurationError)  # 50 ms
    with temporary_folder(directory) as path:
        try:
            database = duckdb.connect(
                Path(path, "clustering.duckdb"),
                config={
                    "memory_limit": memory,
                    "temp_directory": path,
                    "preserve_insertion_order": False,
                },
            )
        except duckdb.Error as error:
            raise ConfigurationError(f"memory {memory!r}: {error}") from error
        try:
            with database:
                yield database
        except duckdb.OutOfMemoryException as error:
            raise NeardupError(
                f"clustering needs more than {memory} of memory, or more disk than there is in"
                f" {path}; give it more, or raise the modulus of the sketches: {error}"
            ) from error
        except duckdb.Error as error:
            raise NeardupError(f"clustering in {path} failed: {error}") from error


def _insert(database: DuckDBPyConnection, sketches: Iterable[Hashes]) -> int:
    """Fill the first two tables and return the number of pages."""
    pages = 0
    for batch in batches(enumerate(sketches), _BUFFERED, lambda each: len(each[1]), _BUFFERED):
        if filled := [(page, sketch) for page, sketch in batch if len(sketch)]:
            _flush(database, *zip(*filled, strict=True))
        pages += len(batch)
    return pages


def _flush(database: DuckDBPyConnection, pages: Sequence[int], sketches: Sequence[Hashes]) -> None:
    digests = b"".join(blake2b(sketch.tobytes(), digest_size=16).digest() for sketch in sketches)
    high, low = np.frombuffer(digests, dtype=np.uint64).reshape(-1, 2).T.copy()
    page = np.array(pages, dtype=np.uint32)
    repeated = np.repeat(page, [len(sketch) for sketch in sketches])
    shingles = {"page": repeated, "shingle": np.concatenate(sketches)}
    for insert, batch in (
        ("INSERT INTO sketches FROM batch", {"page": page, "high": high, "low": low}),
        ("INSERT INTO shingles FROM batch", shingles),
    ):
        database.register("batch", batch)
        database.execute(insert)
        database.unregister("batch")


def _edges(database: DuckDBPyConnection, table: str) -> Iterator[tuple[Integers, Integers]]:
    """Yield the rows of a table of two pages, some at a time."""
    for start in count(0, _FETCHED):
        part = database.execute(
            f"{table} WHERE rowid >= ? AND rowid < ?", [start, start + _FETCHED]
        ).fetchnumpy()
        i, j = (np.asarray(pages, dtype=np.int64) for pages in part.values())
        if not len(i):
            return
        yield i, j


def feature_clusters_on_disk(
    pages: Iterable[Hashes],
    shared: int,
    *,
    memory: int = 1 << 28,
    directory: str | Path | None = None,
) -> Integers:
    """Return the first page, int64, of each page's connected component by `shared` features.

    `pages` are arrays of features (any number, k), uint64, read once. `memory` is the bytes sorted
    at a time; the clusters take 8 a page on top. Runs, 16 * C(k, r) bytes a page, are in a
    temporary folder in `directory`, or in the system's.
    """
    memory = whole_number("memory", memory, least=1 << 20)
    with temporary_folder(directory) as folder:
        buckets = BucketRuns(folder, memory)
        count = 0
        for features in pages:
            buckets.add(features, np.arange(count, count + len(features)), shared)
            count += len(features)
        buckets.flush(shared)
        sets = UnionFind(count)
        for part in buckets.ranges():
            entries = entries_of(part)
            sets.union_many(*tied(entries["digest"], entries["page"].astype(np.int64)))
    return sets.labels()
