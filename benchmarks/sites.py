"""Real sites with a known truth, for the benchmarks that ask how good a verdict is.

A site is a folder of HTML pages. Its truth is a pair of files (`listed`) or computed here: the
exact Jaccard resemblance of word 4-shingles of the main text; or of the full text without the
lines that are on a tenth of the site's pages or half of those of a folder, which nothing knows
before it has seen the whole site. Pages may be stressed: the same 200 made-up words in a plain
``div`` at the end of each page (``words``), or of 80 that follow one another (``section``). What
was read is kept in a folder, by the code that read it.
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
from collections import Counter, defaultdict
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
from scrapy_neardup.joins import self_join
from scrapy_neardup.pipeline.analysis import MIN_JUDGED_TOKENS
from scrapy_neardup.text import Content, Extractor, View, parse_html

DUPLICATE = 0.9
"""A page is a true duplicate if an earlier page resembles it at least so much."""
LOST = 0.8
"""A dropped page is lost content if no earlier page resembles it at least so much."""
OF_SITE, OF_FOLDER = (0.1, 10), (0.5, 5)
"""A line is a template's if it is on such a share of the pages, and on so many."""
WORDS, SECTION = "words", "section"
ADDED_WORDS, SECTION_PAGES = 200, 80
WORKERS = 2
_SYLLABLES = ("ba", "ce", "di", "fo", "gu", "ha", "je", "ki", "lo", "mu", "na", "pe", "ro", "su")

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
    stress: str | None = None
    """What is added to pages before they are read, if anything. The truth stays."""
    templates: bool = True
    """Whether a truth that is computed here is that of the plugin's main text, or that of the full
    text without the lines that many pages share."""


@dataclass
class Score:
    """Counts over one run; add them up to pool sites."""

    pages: int = 0
    dropped: int = 0
    duplicates: int = 0
    found: int = 0
    lost: int = 0

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
    section: frozenset[int] = frozenset()
    """The pages to which something was added, if not to all."""

    def url(self, page: int) -> str:
        return f"http://{self.name}.test/{self.pages[page]}"

    def orders(self, shuffles: int) -> list[list[int]]:
        own = list(range(len(self.pages)))
        return [own, *(random.Random(seed).sample(own, len(own)) for seed in range(shuffles))]

    def nearest(self, page: int, rank: list[int]) -> tuple[float, int]:
        alike = self.alike.get(page, ())
        earlier = ((value, other) for other, value in alike if rank[other] < rank[page])
        return max(earlier, default=(0.0, -1))

    def judge(
        self, order: list[int], dropped: set[int], among: frozenset[int] | None = None
    ) -> Score:
        """Compare the set of `dropped` pages, met in this `order`, with the truth; with `among`,
        only those pages count."""
        rank, score = ranks(order), Score()
        for page in order if among is None else among:
            best, is_dropped = self.nearest(page, rank)[0], page in dropped
            is_duplicate, is_lost = best >= DUPLICATE, best < LOST
            score += Score(1, is_dropped, is_duplicate, is_dropped and is_duplicate,
                           is_dropped and is_lost)  # fmt: skip
        return score


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
        folders = [str(Path(page).parent) for page in pages]
        view, make = ("main", exact_truth) if source.templates else (
            "full", partial(truth_of_lines, folders=folders))  # fmt: skip
        # Of a page that says nothing, such as a spinner, no truth can know anything.
        plain = [
            content if len(token_hashes(content.text)) >= MIN_JUDGED_TOKENS else Content(text="")
            for content in read_contents(replace(source, view=view, stress=None), pages)
        ]
        alike = _kept(source.cache, f"truth-{view}-{_digest(folder, pages)}", lambda: make(plain))
    section = _section(len(pages)) if source.stress == SECTION else ()
    return Site(folder.name, pages, read_contents(source, pages), alike, frozenset(section))


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
    key = f"{source.view}-{source.stress or 'plain'}-{_digest(source.folder, pages)}"

    def read() -> list[Content]:
        paths = [source.folder / page for page in pages]
        with ProcessPoolExecutor(WORKERS) as workers:
            given = (paths, _added(source.stress, len(pages)), [source.view] * len(pages))
            return list(workers.map(_read, *given, chunksize=64))

    return _kept(source.cache, key, read)


def _section(pages: int) -> range:
    start = max(0, (pages - SECTION_PAGES) // 2)
    return range(start, min(pages, start + SECTION_PAGES))


def _added(stress: str | None, pages: int) -> list[bytes]:
    chance = random.Random(stress)
    words = (
        "".join(chance.choices(_SYLLABLES, k=chance.randint(2, 4))) for _ in range(ADDED_WORDS)
    )
    element = f"<div>{' '.join(words)}.</div>".encode()
    affected = {None: (), WORDS: range(pages), SECTION: _section(pages)}[stress]
    return [element if page in affected else b"" for page in range(pages)]


def _read(page: Path, element: bytes, view: View) -> Content:
    html = page.read_bytes()
    end = html.lower().rfind(b"</body")
    return read_page(html + element if end < 0 else html[:end] + element + html[end:], view)


def read_page(body: bytes, view: View = "main") -> Content:
    try:
        return Extractor(mode=view).extract(parse_html(body))
    except InputError:
        return Content(text="")


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
    columns = (each.tolist() for each in (pairs.i, pairs.j, pairs.similarity))
    for a, b, resemblance in zip(*columns, strict=True):
        alike[a].append((b, resemblance))
        alike[b].append((a, resemblance))
    return alike


def truth_of_lines(contents: list[Content], folders: list[str]) -> Alike:
    """Return the same of the texts without the lines that many pages share; a page that says
    nothing else keeps its text."""
    lines = [
        [" ".join(line.split()) for line in content.text.splitlines() if line.strip()]
        for content in contents
    ]
    templates: dict[str, set[str]] = defaultdict(set)
    for (share, least), groups in ((OF_SITE, [""] * len(lines)), (OF_FOLDER, folders)):
        sizes = Counter(groups)
        pages_with: dict[str, Counter[str]] = defaultdict(Counter)
        for page, group in zip(lines, groups, strict=True):
            pages_with[group].update(set(page))
        for group, counted in pages_with.items():
            most = max(least, share * sizes[group])
            templates[group] |= {line for line, pages in counted.items() if pages >= most}
    own = [
        "\n".join(line for line in page if line not in templates[""] | templates[folder])
        for page, folder in zip(lines, folders, strict=True)
    ]
    texts = zip(own, contents, strict=True)
    return exact_truth(
        [Content(rest) if len(token_hashes(rest)) else all_ for rest, all_ in texts]
    )


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
    "no_templates": (False, "compute it from the full text, less the lines of templates"),
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
            Source(folder, options.truth, options.cache, getattr(options, "text", "main"),
                   getattr(options, "stress", None), templates=not options.no_templates)
            for folder in options.site
        ]  # fmt: skip
        for source in sources:
            if sys.stderr.isatty():
                print(f"reading {source.folder.name} ...", file=sys.stderr)
            load(source)
        yield sources
