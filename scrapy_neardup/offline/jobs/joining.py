"""Pages read, and their sets joined, in several processes; and the pages that contain others."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from scrapy_neardup.fingerprints.shingles import mod_sketch
from scrapy_neardup.joins import hashed, self_join, words
from scrapy_neardup.joins.measures import open_measure
from scrapy_neardup.joins.setjoin import JoinStats, Share
from scrapy_neardup.offline.execution.daskcluster import Cluster
from scrapy_neardup.offline.execution.pool import Parallel
from scrapy_neardup.offline.readers.pagetexts import Texts
from scrapy_neardup.offline.readers.record import Record, batches_of_records
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
    """The pages of records as sets of units or of shingles, read once.

    Parameters
    ----------
    records, view, ignore
        See `Texts`.
    work, jobs
        What runs the tasks, and the number of processes.

    Attributes
    ----------
    names, tokens
        Names, and numbers of tokens, of the pages read so far.
    """

    def __init__(
        self,
        records: Iterable[Record],
        view: View,
        ignore: Sequence[str],
        *,
        work: Parallel,
        jobs: int,
    ) -> None:
        self._records, self._text = records, (view, ignore)
        self._work, self._jobs = work, jobs
        self.names: list[str] = []
        self.tokens: list[int] = []

    def units(self, units: Callable[[str], list[bytes]] = words) -> Iterator[list[bytes]]:
        """Yield the units of each page; see `Texts.units`."""
        return self._read("units", units)

    def shingle_hashes(self, size: int) -> Iterator[NDArray[np.uint64]]:
        """Yield the hashes of each page's shingles; see `Texts.shingle_hashes`."""
        return self._read("shingle_hashes", size)

    def joined(self, join: Callable[..., Any], *collections: object, **options: object) -> Joined:
        """Return the pairs of sets of these pages; see `joined`."""
        return joined(join, *collections, work=self._work, jobs=self._jobs, **options)

    def _read(self, method: str, argument: object) -> Iterator[Any]:
        tasks = batches_of_records(self._records)
        arguments = *self._text, method, argument
        for names, tokens, found in self._work(
            _Reader.read, tasks, jobs=self._jobs, start=_Reader, arguments=arguments
        ):
            self.names += names
            self.tokens += tokens
            yield from found


class _Reader:
    """Reads pages; one per process."""

    def __init__(self, view: View, ignore: Sequence[str], method: str, argument: object) -> None:
        self._text, self._method, self._argument = (view, ignore), method, argument

    def read(self, records: list[Record]) -> tuple[list[str], list[int], list[Any]]:
        """Return the names, the numbers of tokens, and the sets of some pages."""
        texts = Texts(records, *self._text)
        found = [*getattr(texts, self._method)(self._argument)]
        return texts.names, texts.tokens, found


def joined(
    join: Callable[..., Any], *collections: object, work: Parallel, jobs: int, **options: object
) -> Joined:
    """Run `join` in several processes, each of which looks for partners of some of the sets.

    Parameters
    ----------
    join
        `self_join`, `join` or `edit_join`.
    collections, options
        Its arguments.
    work, jobs
        What runs the tasks, and the number of processes; of a cluster all workers take part.

    Notes
    -----
    All processes hold all sets, and index them.
    """
    shares = work.size if isinstance(work, Cluster) else jobs
    tasks = [(share, shares) for share in range(shares)]
    arguments = join, collections, options
    found = [*work(_Joiner.join, tasks, jobs=jobs, start=_Joiner, arguments=arguments)]
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


class _Joiner:
    """Joins collections; one per process."""

    def __init__(
        self, join: Callable[..., Any], collections: tuple[object, ...], options: dict[str, object]
    ) -> None:
        self._join = partial(join, *collections, **options)

    def join(self, share: Share) -> Joined:
        """Return the pairs of a share of the sets."""
        found = self._join(share=share)
        values = found.distance if hasattr(found, "distance") else found.similarity
        return Joined(found.i, found.j, values, found.stats)


class Holding:
    """The pages of a collection, as sets of shingle hashes, and which contain which (Broder 1997).

    Parameters
    ----------
    threshold
        Minimum share of a page's shingles that the page containing it has; above 0, up to 1.
    modulus
        1: all shingles count, and shares are exact. m: those that m divides count, Broder's V_m,
        and shares are estimates with a standard error of sqrt(C * (1 - C) * m / n) for n shingles.

    Notes
    -----
    Holds 8 bytes of every shingle that counts, and some 100 while it compares them.
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
