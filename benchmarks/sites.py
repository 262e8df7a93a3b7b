"""Real sites with a known truth, for the benchmarks that ask how good a verdict is.

A site is a folder of HTML pages. Its truth is either a pair of files as described in
`Site.load`, or computed here: the exact Jaccard resemblance of word 4-shingles of the
main text, by `scrapy_neardup.joins`.
"""

from __future__ import annotations

import csv
import gzip
import hashlib
import inspect
import pickle
from collections import defaultdict
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path

from scrapy_neardup import text
from scrapy_neardup.errors import InputError
from scrapy_neardup.text import Content, Extractor, parse_html

DUPLICATE = 0.9
"""A page is a true duplicate if an earlier page resembles it at least so much."""
LOST = 0.8
"""A dropped page is lost content if no earlier page resembles it at least so much."""


@dataclass
class Site:
    """Pages in the order in which they are to be judged, and which of them are alike."""

    name: str
    pages: list[Path]
    contents: list[Content]
    alike: dict[int, list[tuple[int, float]]] = field(repr=False)
    """Page -> [(other page, resemblance >= `LOST`)]."""

    @classmethod
    def load(cls, folder: Path, truth: Path | None, *, cache: Path, mode: str = "main") -> Site:
        """Read a site.

        With `truth`, ``NAME.pages.tsv.gz`` there lists the pages as ``VERSION:path`` in
        judging order, and ``NAME.pairs.tsv.gz`` the pairs (columns a, b, J4_full, J4_main).
        """
        listing = truth / f"{folder.name}.pages.tsv.gz" if truth else None
        if listing is None or not listing.exists():
            pages = sorted(path for path in folder.rglob("*") if path.suffix in {".html", ".htm"})
            contents = read_contents(pages, cache, mode)
            return cls(
                folder.name, pages, contents, exact_truth(read_contents(pages, cache, "main"))
            )
        with gzip.open(listing, "rt") as lines:
            names = lines.read().splitlines()
        number = {name: position for position, name in enumerate(names)}
        alike: dict[int, list[tuple[int, float]]] = defaultdict(list)
        with gzip.open(truth / f"{folder.name}.pairs.tsv.gz", "rt") as lines:
            for row in csv.DictReader(lines, delimiter="\t"):
                resemblance = 0.0 if row["J4_main"].startswith("<") else float(row["J4_main"])
                if resemblance >= LOST:
                    a, b = number[row["a"]], number[row["b"]]
                    alike[a].append((b, resemblance))
                    alike[b].append((a, resemblance))
        pages = [folder / name.replace(":", "/", 1) for name in names]
        return cls(folder.name, pages, read_contents(pages, cache, mode), alike)

    def judge(self, order: list[int], dropped: set[int]) -> Score:
        """Hold the set of `dropped` pages, met in this `order`, against the truth."""
        place = {page: position for position, page in enumerate(order)}
        score = Score(pages=len(order), dropped=len(dropped))
        for page in order:
            best = max(
                (value for other, value in self.alike.get(page, ()) if place[other] < place[page]),
                default=0.0,
            )
            score.duplicates += best >= DUPLICATE
            if page in dropped:
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


def read_contents(pages: list[Path], cache: Path, mode: str) -> list[Content]:
    """Return the `Content` of each page; kept in `cache` until the text room changes."""
    room = Path(inspect.getfile(text)).parent
    code = b"".join(path.read_bytes() for path in sorted(room.rglob("*")) if path.is_file())
    key = hashlib.blake2b("\n".join(map(str, pages)).encode() + code, digest_size=12).hexdigest()
    kept = cache / f"{mode}-{key}.pickle"
    if kept.exists():
        return pickle.loads(kept.read_bytes())
    with ProcessPoolExecutor() as workers:
        contents = list(workers.map(_read, pages, [mode] * len(pages), chunksize=64))
    cache.mkdir(parents=True, exist_ok=True)
    kept.write_bytes(pickle.dumps(contents))
    return contents


def _read(page: Path, mode: str) -> Content:
    try:
        return Extractor(mode=mode).extract(parse_html(page.read_bytes()))
    except InputError:
        return Content(text="")


def exact_truth(contents: list[Content]) -> dict[int, list[tuple[int, float]]]:
    """Return which pages resemble each other at least `LOST`, by an exact join."""
    from scrapy_neardup.fingerprints import features, token_hashes
    from scrapy_neardup.joins import self_join

    shingles = [
        features(tokens, shingle_size=4)[0] if len(tokens) else tokens
        for tokens in (token_hashes(content.text) for content in contents)
    ]
    alike: dict[int, list[tuple[int, float]]] = defaultdict(list)
    pairs = self_join(shingles, LOST)
    for a, b, resemblance in zip(pairs.i, pairs.j, pairs.similarity, strict=True):
        alike[int(a)].append((int(b), float(resemblance)))
        alike[int(b)].append((int(a), float(resemblance)))
    return alike
