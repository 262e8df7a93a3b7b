"""Real sites with a known truth, for the benchmarks that ask how good a verdict is.

A site is a folder of HTML pages. Its truth is a pair of files (`listed`) or computed here: the
exact Jaccard resemblance of word 4-shingles of the main text. What was read is kept in a folder,
by the code that read it.
"""

from __future__ import annotations

import csv
import gzip
import hashlib
import inspect
import os
import pickle
import random
import sys
from argparse import Namespace
from collections import defaultdict
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import lru_cache, partial
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
from harness import html_files, scratch

from scrapy_neardup import text
from scrapy_neardup.errors import InputError
from scrapy_neardup.fingerprints import features, token_hashes
from scrapy_neardup.judge.analysis import MIN_JUDGED_TOKENS
from scrapy_neardup.offline.joins import self_join
from scrapy_neardup.text import Content, Extractor, View, parse_html

of_text = Content.of_text

DUPLICATE = 0.9
"""A page is a true duplicate if an earlier page resembles it at least so much."""
EQUAL = 0.9995
"""Minimum resemblance, as the files have it, of pages of equal main text."""
LOST = 0.8
"""A dropped page is lost content if no earlier page resembles it at least so much."""
WORKERS = 2

Alike = dict[int, list[tuple[int, float]]]
"""Page -> [(other page, resemblance >= `LOST`)]."""
T = TypeVar("T")


@dataclass(frozen=True)
class Source:
    """Where a site is, and how it is read."""

    folder: Path
    """Of HTML pages; its name is the site's."""
    truth: Path | None
    """A folder of ``NAME.pages.tsv.gz`` and ``NAME.pairs.tsv.gz``, or None."""
    cache: Path
    """Where to keep what was read."""
    view: View = "main"


KINDS = ("titled", "equal", "other")
"""Kinds of true duplicates: some earlier page with `DUPLICATE` has the same title and first
heading; else one has equal main text; or neither."""


@dataclass
class Score:
    """Counts over one run; add them up to pool sites."""

    pages: int = 0
    dropped: int = 0
    duplicates: int = 0
    found: int = 0
    lost: int = 0
    titled: int = 0
    """Number of duplicates of a kind, and of those that were found; see `KINDS`."""
    equal: int = 0
    other: int = 0
    titled_found: int = 0
    equal_found: int = 0
    other_found: int = 0

    @property
    def precision(self) -> float:
        return self.found / self.dropped if self.dropped else 1.0

    @property
    def recall(self) -> float:
        return self.found / self.duplicates if self.duplicates else 1.0

    def __add__(self, other: Score) -> Score:
        return Score(*map(sum, zip(vars(self).values(), vars(other).values(), strict=True)))


@dataclass
class Site:
    """Pages in the order in which they are to be judged, and which of them are alike."""

    name: str
    pages: list[str]
    """Paths within the site."""
    contents: list[Content]
    alike: Alike = field(repr=False)

    def url(self, page: int) -> str:
        return f"http://{self.name}.test/{self.pages[page]}"

    def orders(self, shuffles: int) -> list[list[int]]:
        own = list(range(len(self.pages)))
        return [own, *(random.Random(seed).sample(own, len(own)) for seed in range(shuffles))]

    def nearest(self, page: int, rank: list[int]) -> tuple[float, int]:
        alike = self.alike.get(page, ())
        earlier = ((value, other) for other, value in alike if rank[other] < rank[page])
        return max(earlier, default=(0.0, -1))

    def judge(self, order: list[int], dropped: set[int]) -> Score:
        """Compare the set of `dropped` pages, met in this `order`, with the truth."""
        rank, score = ranks(order), Score()
        for page in order:
            best, is_dropped = self.nearest(page, rank)[0], page in dropped
            is_duplicate, is_lost = best >= DUPLICATE, best < LOST
            found = is_dropped and is_duplicate
            kind = self.kind(page, rank) if is_duplicate else ""
            by_kind = {kind: 1, f"{kind}_found": found} if kind else {}
            score += Score(1, is_dropped, is_duplicate, found, is_dropped and is_lost, **by_kind)
        return score

    def kind(self, page: int, rank: list[int]) -> str:
        """Return the kind of a true duplicate, one of `KINDS`."""
        alike = [
            (value, other)
            for other, value in self.alike[page]
            if rank[other] < rank[page] and value >= DUPLICATE
        ]
        if any(self._named(other) == self._named(page) for _, other in alike):
            return "titled"
        return "equal" if any(value >= EQUAL for value, _ in alike) else "other"

    def _named(self, page: int) -> tuple[str, ...]:
        content = self.contents[page]
        return content.title, *content.headings[:1]


def ranks(order: list[int]) -> list[int]:
    return np.argsort(np.array(order, np.int64)).tolist()


@lru_cache(maxsize=16)
def load(source: Source) -> Site:
    """Read a site; see `Source`. A process reads it once."""
    folder, truth = source.folder, source.truth
    if truth is not None and (truth / f"{folder.name}.pages.tsv.gz").exists():
        pages, alike = listed(folder.name, truth)
    else:
        pages = [str(path.relative_to(folder)) for path in html_files(folder)]
        # Of a page that says nothing, such as a spinner, no truth can know anything.
        plain = [
            content if len(token_hashes(content.text)) >= MIN_JUDGED_TOKENS else of_text("")
            for content in read_contents(replace(source, view="main"), pages)
        ]
        key = f"truth-{_digest(folder, pages)}"
        alike = _kept(source.cache, key, lambda: exact_truth(plain))
    return Site(folder.name, pages, read_contents(source, pages), alike)


def listed(name: str, truth: Path) -> tuple[list[str], Alike]:
    """Read a site's truth: ``NAME.pages.tsv.gz`` lists the pages as ``VERSION:path`` in judging
    order, ``NAME.pairs.tsv.gz`` the pairs (columns a, b, J4_full, J4_main)."""
    with gzip.open(truth / f"{name}.pages.tsv.gz", "rt") as lines:
        names = lines.read().splitlines()
    number = {name: position for position, name in enumerate(names)}
    alike: Alike = defaultdict(list)
    with gzip.open(truth / f"{name}.pairs.tsv.gz", "rt") as lines:
        for row in csv.DictReader(lines, delimiter="\t"):
            resemblance = 0.0 if row["J4_main"].startswith("<") else float(row["J4_main"])
            if resemblance >= LOST:
                a, b = number[row["a"]], number[row["b"]]
                alike[a].append((b, resemblance))
                alike[b].append((a, resemblance))
    return [name.replace(":", "/", 1) for name in names], alike


def read_contents(source: Source, pages: list[str]) -> list[Content]:
    key = f"{source.view}-{_digest(source.folder, pages)}"

    def read() -> list[Content]:
        paths = [source.folder / page for page in pages]
        with ProcessPoolExecutor(WORKERS) as workers:
            return list(workers.map(partial(_read, view=source.view), paths, chunksize=64))

    return _kept(source.cache, key, read)


def _read(page: Path, view: View) -> Content:
    return read_page(page.read_bytes(), view)


def read_page(body: bytes, view: View = "main") -> Content:
    try:
        return Extractor(mode=view).extract(parse_html(body))
    except InputError:
        return of_text("")


def _kept(cache: Path, key: str, make: Callable[[], T]) -> T:
    file = cache / f"{key}.pickle"
    if file.exists():
        return pickle.loads(file.read_bytes())
    made = make()
    cache.mkdir(parents=True, exist_ok=True)
    unfinished = file.with_suffix(f".{os.getpid()}")
    unfinished.write_bytes(pickle.dumps(made))
    unfinished.replace(file)
    return made


def _digest(folder: Path, pages: list[str]) -> str:
    code = sorted([*Path(inspect.getfile(text)).parent.glob("*.py"), Path(__file__)])
    names = "\n".join([str(folder.resolve()), *pages]).encode()
    read = names + b"".join(map(Path.read_bytes, code))
    return hashlib.blake2b(read, digest_size=12).hexdigest()


def _shingles(page: str) -> np.ndarray:
    tokens = token_hashes(page)
    return features(tokens, shingle_size=4)[0] if len(tokens) else tokens


def exact(a: str, b: str) -> float:
    x, y = _shingles(a), _shingles(b)
    shared = len(np.intersect1d(x, y, assume_unique=True))
    return shared / max(1, len(x) + len(y) - shared)


def exact_truth(contents: list[Content]) -> Alike:
    alike: Alike = defaultdict(list)
    pairs = self_join([_shingles(content.text) for content in contents], LOST)
    columns = (each.tolist() for each in (pairs.i, pairs.j, pairs.values))
    for a, b, resemblance in zip(*columns, strict=True):
        alike[a].append((b, resemblance))
        alike[b].append((a, resemblance))
    return alike


def toy_site(folder: Path) -> Path:
    """Write a small site with known near-duplicates, for `--quick`."""
    chance = random.Random(7)
    words = [f"word{number}" for number in range(2000)]
    root = folder / "toy"
    root.mkdir()
    for number in range(60):
        body = chance.choices(words, k=chance.randint(100, 400))
        for variant in range(1 + number % 3):
            written = " ".join([*body, "variant", str(variant)])
            (root / f"{number:03}-{variant}.html").write_text(
                f"<title>Page {number}</title><nav>{' '.join(words[:30])}</nav><p>{written}</p>"
            )
    return root


SITE_OPTIONS: dict[str, Any] = {
    "truth": (Path, "folder of NAME.{pages,pairs}.tsv.gz; without it the truth is computed"),
    "cache": (Path(".cache/quality"), "folder for what was read"),
}
"""Options of the benchmarks that read sites."""


def no_site(options: Namespace) -> str | None:
    if not (options.site or options.quick or getattr(options, "traps", None)):
        return "name at least one folder of pages, or --quick"
    return next((f"{each} is no folder" for each in options.site if not each.is_dir()), None)


@contextmanager
def named(options: Namespace) -> Iterator[list[Source]]:
    with scratch() as work:
        if options.quick:
            options.site, options.truth, options.cache = [toy_site(work)], None, work
        sources = [
            Source(folder, options.truth, options.cache, getattr(options, "text", "main"))
            for folder in options.site
        ]
        for source in sources:
            if sys.stderr.isatty():
                print(f"reading {source.folder.name} ...", file=sys.stderr)
            load(source)
        yield sources
