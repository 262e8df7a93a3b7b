"""Pages read, and their sets joined, in several processes; and the pages that contain others."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from scrapy_neardup.fingerprints import features, token_hashes
from scrapy_neardup.fingerprints.signatures import mod_sketch
from scrapy_neardup.joins import JoinStats, hashed, self_join, words
from scrapy_neardup.joins.measures import open_measure
from scrapy_neardup.joins.setjoin import Share
from scrapy_neardup.offline.execution import ALONE, Workers
from scrapy_neardup.offline.jobs.scanning import in_parts, texts
from scrapy_neardup.offline.readers.corpus import Corpus
from scrapy_neardup.offline.readers.files import Record
from scrapy_neardup.settings.catalogue import View

Integers = NDArray[np.int64]

MIN_SAMPLE = 16
"""Minimum number of sampled shingles of a page that is said to be contained in another."""


class Joined(NamedTuple):
    """Pairs, sorted: int64 numbers of two pages, the value of the measure; and the work."""

    i: Integers
    j: Integers
    values: NDArray[Any]
    stats: JoinStats


class Pages:
    """The pages of a corpus as sets of units or of shingles; parameters are as in `texts`."""

    def __init__(
        self, corpus: Corpus, view: View, ignore: Sequence[str], work: Workers
    ) -> None:
        self._corpus, self._how, self.work = corpus, (view, ignore), work
        self.names: list[str] = []
        self.tokens: list[int] = []

    def units(self, units: Callable[[str], list[bytes]] = words) -> Iterator[list[bytes]]:
        """Yield the words of each page, or other units of its text."""
        return self._read(partial(_units, units))

    def shingle_hashes(self, size: int) -> Iterator[NDArray[np.uint64]]:
        """Yield the hashes of each page's shingles of `size` words; distinct, increasing."""
        return self._read(partial(_shingle_hashes, size))

    def _read(self, of: Callable[[str], tuple[int, Any]]) -> Iterator[Any]:
        for name, tokens, found in in_parts(self._corpus, self.work, partial, _read, *self._how, of):
            self.names.append(name)
            self.tokens.append(tokens)
            yield found


def _units(units: Callable[[str], list[bytes]], text: str) -> tuple[int, list[bytes]]:
    return len(found := units(text)), found


def _shingle_hashes(size: int, text: str) -> tuple[int, NDArray[np.uint64]]:
    hashes = token_hashes(text)
    return len(hashes), features(hashes, shingle_size=size)[0]


def _read(
    view: View,
    ignore: Sequence[str],
    of: Callable[[str], tuple[int, Any]],
    records: Iterable[Record],
) -> Iterator[tuple[str, int, Any]]:
    """Yield the name, the number of tokens, and the set of each of some pages."""
    return ((record.name, *of(text)) for record, text in texts(records, view, ignore))


def joined(
    join: Callable[..., Any], *collections: object, work: Workers = ALONE, **options: object
) -> Joined:
    """Return what `join`, `self_join` or `edit_join` finds, given its collections and options.

    Each process looks for the partners of some of the sets, and holds and indexes all of them.
    """
    shares = work.size
    tasks = [(share, shares) for share in range(shares)]
    found = [*work(partial, tasks, _joined, partial(join, *collections, **options))]
    columns = zip(*(part[:3] for part in found), strict=True)
    i, j, values = map(np.concatenate, columns)
    order = np.lexsort((j, i))
    stats = replace(
        found[0].stats,
        hits=sum(part.stats.hits for part in found),
        candidates=sum(part.stats.candidates for part in found),
        pairs=len(i),
    )
    return Joined(i[order], j[order], values[order], stats)


def _joined(find: Callable[..., Any], share: Share) -> Joined:
    found = find(share=share)
    values = found.distance if hasattr(found, "distance") else found.similarity
    return Joined(found.i, found.j, values, found.stats)


class Holding:
    """Pages as sets of shingle hashes, and which contain which (Broder 1997).

    `threshold`, above 0 and up to 1, is the least share of a page's shingles that the page
    containing it has. With a `modulus` m of 1 shares are exact; else only shingles that m divides
    count, Broder's V_m, and shares have a standard error of sqrt(C * (1 - C) * m / n) for n
    shingles. Holds 8 bytes of every shingle that counts, and some 100 while it compares them.
    """

    def __init__(self, threshold: float, modulus: int = 1) -> None:
        open_measure("containment", threshold)
        self._threshold = threshold
        self._modulus = modulus
        self._pages: list[int] = []
        self._sketches: list[NDArray[np.uint64]] = []

    def add(self, page: int, shingles: NDArray[np.uint64]) -> None:
        """Add a page by its number; `shingles` has shape (n,), distinct."""
        sketch = shingles if self._modulus == 1 else mod_sketch(shingles, self._modulus)
        if len(sketch):
            self._pages.append(page)
            self._sketches.append(sketch)

    def held(self) -> dict[int, list[tuple[int, float]]]:
        """Return, by page, the pages that it contains and the share of each, as numbers."""
        pairs = self_join(hashed(self._sketches), self._threshold, measure="containment")
        least = 1 if self._modulus == 1 else MIN_SAMPLE
        found: defaultdict[int, list[tuple[int, float]]] = defaultdict(list)
        for inner, outer, share in zip(
            pairs.i.tolist(), pairs.j.tolist(), pairs.similarity.tolist(), strict=True
        ):
            if len(self._sketches[inner]) >= least:
                found[self._pages[outer]].append((self._pages[inner], share))
        return dict(found)
