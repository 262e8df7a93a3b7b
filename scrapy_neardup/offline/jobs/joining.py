"""Pages read, and their sets joined, in several processes and bounded memory."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import astuple, replace
from functools import partial
from itertools import chain, count
from tempfile import TemporaryFile
from typing import IO, Any, NamedTuple
from weakref import finalize

import numpy as np
from numpy.typing import NDArray

from scrapy_neardup.fingerprints import features, token_hashes
from scrapy_neardup.fingerprints.independent import minima
from scrapy_neardup.fingerprints.shingles import distinct, shingle_hashes
from scrapy_neardup.fingerprints.signatures import mod_sketch
from scrapy_neardup.fingerprints.units import Units
from scrapy_neardup.offline.execution import ALONE, Workers, left_of
from scrapy_neardup.offline.jobs.scanning import in_parts, texts
from scrapy_neardup.offline.joins import JoinStats, edit_join, self_join, words
from scrapy_neardup.offline.joins.setjoin import Share
from scrapy_neardup.offline.joins.tokensets import TokenSets, shingles_of
from scrapy_neardup.offline.readers.files import FoundPage, batches
from scrapy_neardup.settings.catalogue import View

Integers = NDArray[np.int64]


class Joined(NamedTuple):
    """Sorted pairs: int64 numbers of two pages, and the value of the measure; and the work."""

    i: Integers
    j: Integers
    values: NDArray[Any]
    stats: JoinStats


class Documents:
    """Documents as numbers of their tokens, on disk; the distinct tokens are in memory."""

    def __init__(self) -> None:
        self.sizes: list[int] = []
        self._numbers: defaultdict[bytes, int] = defaultdict(count().__next__)
        self._file: IO[bytes] = TemporaryFile()  # noqa: SIM115  (closed by `finalize`)
        finalize(self, self._file.close)

    def add(self, tokens: Sequence[bytes], ids: NDArray[np.int32], sizes: Sequence[int]) -> None:
        """Add documents: distinct tokens, the indexes of all tokens, and their number for each."""
        numbers = np.fromiter(map(self._numbers.__getitem__, tokens), np.int32, len(tokens))
        self._file.write(numbers[ids].tobytes())
        self.sizes += sizes

    def shingles(
        self, runs: Sequence[tuple[int, int]], size: int, *, multiset: bool = False
    ) -> TokenSets:
        """Return the shingles of some runs of documents, numbered together."""
        ends = np.concatenate([[0], np.cumsum(self.sizes, dtype=np.int64)])
        parts = []
        for start, stop in runs:
            self._file.seek(int(ends[start]) * 4)
            parts.append(self._file.read(int(ends[stop] - ends[start]) * 4))
        ids = np.frombuffer(b"".join(parts), np.int32).astype(np.int64)
        sizes = [each for start, stop in runs for each in self.sizes[start:stop]]
        return shingles_of(ids, sizes, len(self._numbers), size, multiset=multiset)


class Sampled:
    """Some of a text's shingles: sets whose similarity is an estimate (Broder 1997).

    Those that `modulus` divides, V_m; or given `minima`, so many minima, each with its place, of
    which two texts have a share of resemblance in common.
    """

    def __init__(self, units: Units, size: int, modulus: int, minima: int | None) -> None:
        self._units, self._size, self._modulus, self._minima = units, size, modulus, minima

    def __call__(self, text: str) -> list[bytes]:
        """Return the sample of a text; that of a text without units is empty."""
        hashes = self._units.hashes(text)
        if not len(hashes):
            return []
        shingles = distinct(shingle_hashes(hashes, self._size))
        if self._minima:
            found = minima(shingles, self._minima)
            return [b"%d %d" % each for each in enumerate(found.tolist())]
        return [b"%d" % each for each in mod_sketch(shingles, self._modulus).tolist()]


class Pages:
    """The pages of a corpus as sets of units or of shingles; parameters are as in `texts`."""

    def __init__(
        self, corpus: Iterable[FoundPage], view: View, ignore: Sequence[str], work: Workers
    ) -> None:
        self._corpus, self._how, self.work = corpus, (view, ignore), work
        self.names: list[str] = []
        self.tokens: list[int] = []

    def strings(self, units: Callable[[str], list[bytes]] = words) -> Iterator[str]:
        """Yield the words or other units of each page, with spaces between them."""
        return self._read(partial(_string, units))

    def number(
        self, documents: Documents, units: Callable[[str], list[bytes]] = words
    ) -> Iterator[int]:
        """Add the pages to `documents`, as words or other units; yield the number of each."""
        start, how = len(documents.sizes), (units, *self._how)
        for names, *found in in_parts(self._corpus, self.work, partial, _numbered, *how):
            documents.add(*found)
            self.names += names
            self.tokens += found[-1]
            yield from range(start, start := len(documents.sizes))

    def shingle_hashes(self, size: int) -> Iterator[NDArray[np.uint64]]:
        """Yield the hashes of each page's shingles of `size` words; distinct, increasing."""
        return self._read(partial(_shingle_hashes, size))

    def _read(self, of: Callable[[str], tuple[int, Any]]) -> Iterator[Any]:
        how = (of, *self._how)
        for name, tokens, found in in_parts(self._corpus, self.work, partial, _read, *how):
            self.names.append(name)
            self.tokens.append(tokens)
            yield found


def _string(units: Callable[[str], list[bytes]], text: str) -> tuple[int, str]:
    return len(found := units(text)), b" ".join(found).decode()


def _shingle_hashes(size: int, text: str) -> tuple[int, NDArray[np.uint64]]:
    hashes = token_hashes(text)
    return len(hashes), features(hashes, shingle_size=size)[0]


def _read(
    of: Callable[[str], tuple[int, Any]],
    view: View,
    ignore: Sequence[str],
    records: Iterable[FoundPage],
) -> Iterator[tuple[str, int, Any]]:
    """Yield the name, the number of tokens, and the set of each of some pages."""
    return ((record.name, *of(text)) for record, text in texts(records, view, ignore))


def _numbered(
    units: Callable[[str], list[bytes]],
    view: View,
    ignore: Sequence[str],
    records: Iterable[FoundPage],
) -> Iterator[tuple[list[str], list[bytes], NDArray[np.int32], list[int]]]:
    """Yield the names of some pages, and what `Documents.add` takes."""
    pages = texts(records, view, ignore)
    for batch in batches(pages, _NUMBERED, lambda each: len(each[1]), _CHARACTERS):
        numbers: defaultdict[bytes, int] = defaultdict(count().__next__)
        found = [units(text) for _, text in batch]
        ids = np.fromiter(map(numbers.__getitem__, chain.from_iterable(found)), np.int32)
        yield [record.name for record, _ in batch], [*numbers], ids, [*map(len, found)]


Run = tuple[int, int]
"""Documents from one number to another."""


def runs_of(costs: Sequence[int], start: int, stop: int, most: int) -> list[Run]:
    """Return runs of the items between two places: of one item, or of at most `most` cost."""
    found, first, held = [], start, 0
    for at in range(start, stop):
        if held and held + costs[at] > most:
            found.append((first, at))
            first, held = at, 0
        held += costs[at]
    return [*found, (first, stop)]


def join_runs(
    within: Callable[[Run], Joined],
    between: Callable[[Run, Run], Joined],
    costs: Sequence[int],
    memory: int,
    *,
    boundary: int | None = None,
    directed: bool = False,
) -> Joined:
    """Join runs of a collection, or of two, so that the runs in memory fit into it.

    `costs` is the bytes that each document takes, `memory` those to work in; the second collection
    begins at `boundary`. A join that is `directed` is done both ways. The time grows by the square
    of the number of runs; the pairs are in memory.
    """
    most = memory if sum(costs) <= memory else memory // 2
    left = runs_of(costs, 0, len(costs) if boundary is None else boundary, most)
    right = left if boundary is None else runs_of(costs, boundary, len(costs), most)
    parts = [
        (one, other, within(one) if one is other else between(one, other))
        for one in left
        for other in right
        if directed or one <= other
    ]
    i = np.concatenate([found.i + first[0] for first, _, found in parts])
    j = np.concatenate([found.j + second[0] - (boundary or 0) for _, second, found in parts])
    values = np.concatenate([found.values for *_, found in parts])
    order = np.lexsort((j, i))
    stats = _sum([found.stats for *_, found in parts])
    return Joined(i[order], j[order], values[order], stats)


def join_sets(
    documents: Documents,
    threshold: float,
    *,
    size: int,
    memory: int,
    boundary: int | None = None,
    multiset: bool = False,
    work: Workers = ALONE,
    **how: Any,
) -> Joined:
    """Return the similar pairs of documents, or of two collections, by their shingles.

    `how` is as in `self_join`. It takes some 100 bytes of memory a shingle, for as many documents
    as fit into `memory`.
    """
    run = partial(
        joined, self_join, work=work if how.get("algorithm", "bitmap") == "bitmap" else ALONE
    )

    def within(part: Run) -> Joined:
        return run(documents.shingles([part], size, multiset=multiset), threshold, **how)

    def between(one: Run, other: Run) -> Joined:
        sets = documents.shingles([one, other], size, multiset=multiset)
        return run(sets, threshold, boundary=one[1] - one[0], **how)

    costs = [_SHINGLE_BYTES * each for each in documents.sizes]
    directed = how.get("measure") == "containment"
    left = left_of(memory, 0)
    return join_runs(within, between, costs, left, boundary=boundary, directed=directed)


def join_strings(
    strings: Sequence[str],
    distance: int,
    *,
    q: int,
    memory: int,
    boundary: int | None = None,
    work: Workers = ALONE,
) -> Joined:
    """Return the pairs of strings (in memory) within an edit distance; see `join_sets`."""

    def within(part: Run) -> Joined:
        return joined(edit_join, strings[slice(*part)], distance, q=q, work=work)

    def between(one: Run, other: Run) -> Joined:
        others = strings[slice(*other)]
        return joined(edit_join, strings[slice(*one)], distance, q=q, others=others, work=work)

    costs = [_SHINGLE_BYTES * (len(each) + q) for each in strings]
    return join_runs(within, between, costs, left_of(memory, 0), boundary=boundary)


_NUMBERED, _CHARACTERS = 1 << 10, 1 << 23
"""Maximum pages, and maximum characters of them, whose tokens are numbered together."""
_SHINGLE_BYTES = 100
"""Bytes of memory for each shingle while sets are made and joined."""


def joined(
    search: Callable[..., Any], *collections: object, work: Workers = ALONE, **options: object
) -> Joined:
    """Return the result of `search`, one of the joins, for its collections and options.

    Each process looks for the partners of some of the sets, and holds and indexes all of them.
    """
    shares = work.size
    tasks = [(share, shares) for share in range(shares)]
    found = [*work(partial, tasks, _joined, partial(search, *collections, **options))]
    columns = zip(*(part[:3] for part in found), strict=True)
    i, j, values = map(np.concatenate, columns)
    order = np.lexsort((j, i))
    stats = replace(_sum([part.stats for part in found]), sets=found[0].stats.sets)
    return Joined(i[order], j[order], values[order], stats)


def _sum(stats: Sequence[JoinStats]) -> JoinStats:
    return JoinStats(*(sum(column) for column in zip(*map(astuple, stats), strict=True)))


def _joined(find: Callable[..., Any], share: Share) -> Joined:
    found = find(share=share)
    values = found.distance if hasattr(found, "distance") else found.similarity
    return Joined(found.i, found.j, values, found.stats)
