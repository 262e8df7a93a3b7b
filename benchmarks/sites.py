"""Real sites with a known truth, for the benchmarks that ask how good a verdict is.

A site is a folder of HTML pages. Its truth is either a pair of files as described in
`listed`, or computed here: the exact Jaccard resemblance of word 4-shingles, by
`scrapy_neardup.joins`, of the main text; or, apart from all that the plugin does to find it, of
the full text without the lines that are on a tenth of the site's pages or half of those of a
folder, which can be known only when all of the site is.

What was read is kept in a folder, by the code that read it.
"""

from __future__ import annotations

import csv
import gzip
import hashlib
import inspect
import os
import pickle
import random
from collections import Counter, defaultdict
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field, replace
from functools import lru_cache, partial
from pathlib import Path
from typing import TypeVar

import numpy as np
import stress
from stress import SECTION, Stress, added

from scrapy_neardup import text
from scrapy_neardup.analysis import MIN_JUDGED_TOKENS
from scrapy_neardup.errors import InputError
from scrapy_neardup.fingerprints import features, token_hashes
from scrapy_neardup.joins import self_join
from scrapy_neardup.text import Content, Extractor, View, parse_html

DUPLICATE = 0.9
"""A page is a true duplicate if an earlier page resembles it at least so much."""
LOST = 0.8
"""A dropped page is lost content if no earlier page resembles it at least so much."""

OF_SITE, OF_FOLDER = (0.1, 10), (0.5, 5)
"""A line is a template's if it is on such a share of the pages, and on so many."""

WORKERS = 2
Alike = dict[int, list[tuple[int, float]]]
T = TypeVar("T")


@dataclass(frozen=True)
class Source:
    """Where a site is, and how it is read.

    Parameters
    ----------
    folder
        Of HTML pages; its name is the site's.
    truth
        A folder of ``NAME.pages.tsv.gz`` and ``NAME.pairs.tsv.gz``, or None.
    cache
        Where to keep what was read.
    view
        As in `scrapy_neardup.text.Extractor`.
    stress
        What is added to pages before they are read; see `stress.py`. The truth stays.
    templates
        Whether a truth that is computed here is that of the plugin's main text, or that of the
        full text without the lines that many pages share.
    """

    folder: Path
    truth: Path | None
    cache: Path
    view: View = "main"
    stress: Stress | None = None
    templates: bool = True


@dataclass
class Site:
    """Pages in the order in which they are to be judged, and which of them are alike."""

    name: str
    pages: list[str]
    """Paths within the site."""
    contents: list[Content]
    alike: Alike = field(repr=False)
    """Page -> [(other page, resemblance >= `LOST`)]."""
    section: frozenset[int] = frozenset()
    """The pages to which something was added, if not to all."""

    def url(self, page: int) -> str:
        """Return the address of a page."""
        return f"http://{self.name}.test/{self.pages[page]}"

    def orders(self, shuffles: int) -> list[list[int]]:
        """Return the site's own order and so many random ones, always the same."""
        own = list(range(len(self.pages)))
        return [own, *(random.Random(seed).sample(own, len(own)) for seed in range(shuffles))]

    def nearest(self, page: int, place: list[int]) -> tuple[float, int]:
        """Return how alike the most alike of the pages in an earlier place is, and which."""
        earlier = (
            (value, other)
            for other, value in self.alike.get(page, ())
            if place[other] < place[page]
        )
        return max(earlier, default=(0.0, -1))

    def judge(
        self, order: list[int], dropped: set[int], among: frozenset[int] | None = None
    ) -> Score:
        """Hold the set of `dropped` pages, met in this `order`, against the truth.

        With `among` only those pages count.
        """
        place = places(order)
        score = Score()
        for page in order if among is None else among:
            best, _ = self.nearest(page, place)
            score.pages += 1
            score.duplicates += best >= DUPLICATE
            if page in dropped:
                score.dropped += 1
                score.found += best >= DUPLICATE
                score.lost += best < LOST
        return score


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
        """True duplicates among the dropped."""
        return self.found / self.dropped if self.dropped else 1.0

    @property
    def recall(self) -> float:
        """Dropped among the true duplicates."""
        return self.found / self.duplicates if self.duplicates else 1.0

    def __add__(self, other: Score) -> Score:
        return Score(*(getattr(self, name) + getattr(other, name) for name in vars(self)))


def places(order: list[int]) -> list[int]:
    """Return the place of each page in an order."""
    found = [0] * len(order)
    for place, page in enumerate(order):
        found[page] = place
    return found


@lru_cache(maxsize=16)
def load(source: Source) -> Site:
    """Read a site; see `Source`. A process reads it once."""
    folder = source.folder
    truth = source.truth
    if truth is not None and (truth / f"{folder.name}.pages.tsv.gz").exists():
        pages, alike = listed(folder.name, truth)
    else:
        found = (
            path
            for path in folder.rglob("*")
            if path.suffix in {".html", ".htm"} and path.is_file() and not path.is_symlink()
        )
        pages = sorted(str(path.relative_to(folder)) for path in found)
        view, make = ("main", exact_truth)
        if not source.templates:
            folders = [str(Path(page).parent) for page in pages]
            view, make = "full", partial(truth_of_lines, folders=folders)
        plain = read_contents(replace(source, view=view, stress=None), pages)
        plain = [content if _says(content) else Content(text="") for content in plain]
        key = f"truth-{view}-{_digest(folder, pages)}"
        alike = _kept(source.cache, key, lambda: make(plain))
    section = frozenset(stress.section(len(pages))) if source.stress == SECTION else frozenset()
    return Site(folder.name, pages, read_contents(source, pages), alike, section)


def listed(name: str, truth: Path) -> tuple[list[str], Alike]:
    """Read a site's truth.

    ``NAME.pages.tsv.gz`` lists the pages as ``VERSION:path`` in judging order, and
    ``NAME.pairs.tsv.gz`` the pairs (columns a, b, J4_full, J4_main).
    """
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
    """Return the `Content` of each page."""
    key = f"{source.view}-{source.stress or 'plain'}-{_digest(source.folder, pages)}"

    def read() -> list[Content]:
        elements = added(source.stress, len(pages))
        paths = [source.folder / page for page in pages]
        with ProcessPoolExecutor(WORKERS) as workers:
            return list(
                workers.map(_read, paths, elements, [source.view] * len(pages), chunksize=64)
            )

    return _kept(source.cache, key, read)


def _read(page: Path, element: bytes, view: View) -> Content:
    return read_page(stress.insert(page.read_bytes(), element), view)


def read_page(body: bytes, view: View = "main") -> Content:
    """Return what a page says; nothing if it can't be parsed."""
    try:
        return Extractor(mode=view).extract(parse_html(body))
    except InputError:
        return Content(text="")


def _says(content: Content) -> bool:
    """Whether a page says anything that a truth could know: a spinner doesn't."""
    return len(token_hashes(content.text)) >= MIN_JUDGED_TOKENS


def _kept(cache: Path, key: str, make: Callable[[], T]) -> T:
    """Return what was made under this key before, or make it."""
    place = cache / f"{key}.pickle"
    if place.exists():
        return pickle.loads(place.read_bytes())
    made = make()
    cache.mkdir(parents=True, exist_ok=True)
    unfinished = place.with_suffix(f".{os.getpid()}")
    unfinished.write_bytes(pickle.dumps(made))
    unfinished.replace(place)
    return made


def _digest(folder: Path, pages: list[str]) -> str:
    room = Path(inspect.getfile(text)).parent
    code = sorted([*room.glob("*.py"), Path(__file__), Path(stress.__file__)])
    said = "\n".join([str(folder.resolve()), *pages]).encode()
    return hashlib.blake2b(said + b"".join(map(Path.read_bytes, code)), digest_size=12).hexdigest()


def exact_truth(contents: list[Content]) -> Alike:
    """Return which pages resemble each other at least `LOST`, by an exact join."""
    shingles = [
        features(tokens, shingle_size=4)[0] if len(tokens) else tokens
        for tokens in (token_hashes(content.text) for content in contents)
    ]
    alike: Alike = defaultdict(list)
    pairs = self_join(shingles, LOST)
    for a, b, resemblance in zip(pairs.i, pairs.j, pairs.similarity, strict=True):
        alike[int(a)].append((int(b), float(resemblance)))
        alike[int(b)].append((int(a), float(resemblance)))
    return alike


def exact(a: str, b: str) -> float:
    """Return the Jaccard resemblance of the word 4-shingles of two texts."""
    x, y = (features(token_hashes(text), shingle_size=4)[0] for text in (a, b))
    shared = len(np.intersect1d(x, y, assume_unique=True))
    return shared / max(1, len(x) + len(y) - shared)


def truth_of_lines(contents: list[Content], folders: list[str]) -> Alike:
    """Return the same of the texts without the lines that many pages share.

    A page that says nothing else keeps its text.
    """
    lines = [
        [" ".join(line.split()) for line in content.text.splitlines() if line.strip()]
        for content in contents
    ]
    templates: dict[str, set[str]] = {}
    for (share, least), groups in (
        (OF_SITE, [""] * len(lines)),
        (OF_FOLDER, folders),
    ):
        sizes = Counter(groups)
        pages_with: dict[str, Counter[str]] = defaultdict(Counter)
        for page, group in zip(lines, groups, strict=True):
            pages_with[group].update(set(page))
        for group, counted in pages_with.items():
            most = max(least, share * sizes[group])
            found = {line for line, pages in counted.items() if pages >= most}
            templates[group] = templates.get(group, set()) | found
    own = [
        "\n".join(
            line for line in page if not (line in templates[""] or line in templates[folder])
        )
        for page, folder in zip(lines, folders, strict=True)
    ]
    return exact_truth(
        [
            Content(text=rest) if len(token_hashes(rest)) else content
            for rest, content in zip(own, contents, strict=True)
        ]
    )
