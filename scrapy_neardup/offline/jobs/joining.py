"""Joins of sets, and clusters by features, in several processes and bounded memory.

Sets have the 64-bit hashes of pages' shingles. The result is that of comparing the shingles,
unless two different ones have the same hash: for 10^8 shingles the chance is 1 in 3,700.

If pages have something in common, they are in one *bucket*, a number. The list of (bucket, page)
is on disk in sorted runs (`sortedruns`). Memory holds 8 bytes for each page.

Sets that don't fit into memory are joined in groups. Similar sets share one of their rarest hashes
(`Measure.probing_prefix`), in any order of hashes; here a hash is rare if few have the same
leading bits. Sets that share such a hash are compared by bitmaps (Sandes, Teodoro & Melo 2020),
and connected if these don't rule them out.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import astuple, dataclass, replace
from fractions import Fraction
from functools import partial
from itertools import pairwise
from tempfile import TemporaryDirectory, TemporaryFile
from typing import IO, Any
from weakref import finalize

import numpy as np

from scrapy_neardup.fingerprints.hashing import PUBLIC, Hashes, Integers
from scrapy_neardup.fingerprints.independent import minima, mod_sketch
from scrapy_neardup.fingerprints.shingles import distinct, first_of_each, shingle_hashes
from scrapy_neardup.fingerprints.units import Unit, unit_hashes
from scrapy_neardup.offline.clusters import UnionFind, tied
from scrapy_neardup.offline.execution import ALONE, Workers, left_of
from scrapy_neardup.offline.files.sortedruns import BucketRuns, entries_of
from scrapy_neardup.offline.jobs.scanning import in_parts, texts
from scrapy_neardup.offline.joins import JoinStats, SimilarPairs, hashed, self_join
from scrapy_neardup.offline.joins.measures import Measure, MeasureName, open_measure
from scrapy_neardup.offline.joins.setjoin import Share
from scrapy_neardup.offline.readers.corpus import Corpus
from scrapy_neardup.offline.readers.files import FoundPage, using_temporary
from scrapy_neardup.settings.catalogue import View
from scrapy_neardup.settings.validation import whole_number
from scrapy_neardup.tables.arrays import ranges


@dataclass(frozen=True, slots=True, kw_only=True)
class Shingles:
    """A function from a text to the compared shingles, of `size` units each.

    With `labelled` the occurrences of a shingle are numbered (Broder 1997, option A). A sample of
    the shingles makes the similarity an estimate: those that `modulus` divides (V_m), or a number
    of `minima`, each with its place; the share that two texts have in common is the resemblance.
    """

    size: int = 4
    unit: Unit = "word"
    labelled: bool = False
    modulus: int = 1
    minima: int | None = None

    def __post_init__(self) -> None:
        mod_sketch(np.empty(0, np.uint64), self.modulus)  # raises its error before files are read

    def __call__(self, text: str) -> tuple[int, Hashes]:
        """Return the number of a text's units, and its distinct hashes, ascending."""
        units = unit_hashes(text, self.unit)
        found = shingle_hashes(units, self.size)
        found = _labelled(found) if self.labelled else distinct(found)
        if self.minima and len(found):
            places = np.arange(self.minima, dtype=np.uint64)
            found = np.sort(PUBLIC.mix(minima(found, self.minima) ^ places))
        elif self.modulus > 1:
            found = mod_sketch(found, self.modulus)
        return len(units), found


def _labelled(hashes: Hashes) -> Hashes:
    """Return a hash of each occurrence of a hash; that of the first one is the hash itself."""
    ordered = np.sort(hashes)
    places = np.arange(len(ordered))
    occurrence = places - np.maximum.accumulate(np.where(first_of_each(ordered), places, 0))
    others = PUBLIC.mix(ordered + occurrence.view(np.uint64))
    return np.sort(np.where(occurrence > 0, others, ordered))


class Pages:
    """The pages of a corpus, read by `work`; `view` and `ignore` are those of `texts`."""

    def __init__(self, corpus: Corpus, view: View, ignore: Sequence[str], work: Workers) -> None:
        self._corpus, self._work, self._how = corpus, work, (view, ignore)
        self.names: list[str] = []
        self.tokens: list[int] = []

    def read(self, of: Callable[[str], tuple[int, Any]]) -> Iterator[Any]:
        """Yield the second value of `of` for each text; note names and the first value."""
        read = in_parts(self._corpus, self._work, partial, _read, of, *self._how)
        for name, tokens, found in read:
            self.names.append(name)
            self.tokens.append(tokens)
            yield found


def _read(
    of: Callable[[str], tuple[int, Any]],
    view: View,
    ignore: Sequence[str],
    records: Iterable[FoundPage],
) -> Iterator[tuple[str, int, Any]]:
    return ((record.name, *of(text)) for record, text in texts(records, view, ignore))


class HashSets:
    """Sets of distinct hashes, ascending, numbered from 0; on disk, 8 bytes a hash."""

    def __init__(self, sets: Iterable[Hashes]) -> None:
        self._file: IO[bytes] = TemporaryFile()  # noqa: SIM115  (closed by `finalize`)
        finalize(self, self._file.close)
        sizes = []
        with using_temporary(self._file):
            for each in sets:
                self._file.write(each.tobytes())
                sizes.append(len(each))
        self.sizes = np.array(sizes, np.int64)
        """Number of hashes of every set."""
        self._starts = np.cumsum(self.sizes) - self.sizes

    def hashes(self, numbers: Integers) -> tuple[Hashes, Integers]:
        """Return the hashes of some sets, concatenated, and the sizes of these sets."""
        sizes = self.sizes[numbers]
        if not sizes.any():
            return np.empty(0, np.uint64), sizes
        data = np.memmap(self._file, np.uint64, "r")
        return data[ranges(self._starts[numbers], sizes)], sizes


_BITS = 256
"""Bits of a bitmap."""
_ROWS = 1 << 12
"""Number of sets whose bitmaps are made at once; each takes `_BITS` counters."""
_MOST = 1 << 12
"""Size of a bucket from which its sets are connected without a comparison."""
_PAIRS = 1 << 18
"""Number of pairs that are compared at once, some 150 bytes each."""


def groups_of(sets: HashSets, measure: Measure, costs: Integers, memory: int) -> list[Integers]:
    """Return the numbers of sets in groups that fit into memory, if connected sets do.

    Shared hashes are on disk, 16 bytes each; a set takes 40 bytes of memory. Sets that can be
    similar to no other are in no group. The counters of hashes take an eighth of the memory: with
    too few of them a rare hash is counted with common ones, which would connect everything.
    """
    windows = [np.arange(*run) for run in runs_of(costs, memory)]
    bits = max(1, (memory >> 6).bit_length())
    shift = np.uint64(64 - bits)
    counts = np.zeros(1 << bits, np.uint32)
    bitmaps = np.empty((len(sets.sizes), _BITS // 64), np.uint64)
    for numbers in windows:
        hashes, sizes = sets.hashes(numbers)
        np.add.at(counts, (hashes >> shift).view(np.int64), np.uint32(1))
        bitmaps[numbers] = _bitmaps(hashes, sizes)
    different, which = np.unique(sets.sizes, return_inverse=True)
    prefixes = [measure.probing_prefix(size) if size else 0 for size in different.tolist()]
    rarest = np.array(prefixes, np.int64)[which]
    partners = [measure.smallest_partner(size) if size else 0 for size in different.tolist()]
    largest = different[np.searchsorted(partners, different, side="right") - 1][which]
    with TemporaryDirectory(prefix="neardup-") as folder:
        buckets = BucketRuns(folder, memory)
        for numbers in windows:
            hashes, sizes = sets.hashes(numbers)
            ends, firsts = np.cumsum(sizes).tolist(), rarest[numbers].tolist()
            parts = [hashes[:0]]
            for start, end, first in zip([0, *ends], ends, firsts, strict=False):
                own = hashes[start:end]
                order = np.argsort(counts[(own >> shift).view(np.int64)], kind="stable")
                parts.append(own[order[:first]])
            rows = np.repeat(numbers, rarest[numbers])
            buckets.add(np.concatenate(parts)[:, None], rows)
        alike = partial(_perhaps_similar, measure, sets.sizes, largest, bitmaps)
        labels = connected(buckets, len(sets.sizes), alike)
    together = np.flatnonzero(np.bincount(labels, minlength=len(labels))[labels] > 1)
    together = together[np.argsort(labels[together], kind="stable")]
    firsts = np.flatnonzero(np.diff(labels[together], prepend=-1))
    runs = runs_of(np.add.reduceat(costs[together], firsts), memory) if len(firsts) else []
    edges = np.append(firsts, len(together))
    return [np.sort(together[edges[start] : edges[stop]]) for start, stop in runs]


def _bitmaps(hashes: Hashes, sizes: Integers) -> Hashes:
    """Return a bitmap of each set, (n, 4): whether an odd number of hashes end in each byte."""
    ends = np.cumsum(sizes)
    found = [np.empty((0, _BITS // 64), np.uint64)]
    for at in range(0, len(sizes), _ROWS):
        part = sizes[at : at + _ROWS]
        own = hashes[ends[at] - sizes[at] : ends[at + len(part) - 1]]
        bits = np.repeat(np.arange(len(part)) * _BITS, part) + (own.view(np.int64) & _BITS - 1)
        counts = np.bincount(bits, minlength=len(part) * _BITS).reshape(-1, _BITS)
        found.append(np.packbits((counts & 1).astype(np.bool_), axis=1).view(np.uint64))
    return np.concatenate(found)


def _perhaps_similar(  # noqa: PLR0917  (the last two are what `connected` passes)
    measure: Measure,
    sizes: Integers,
    largest: Integers,
    bitmaps: Hashes,
    digests: Hashes,
    pages: Integers,
) -> tuple[Integers, Integers]:
    """Return pairs of sets with a common digest that connect all possibly similar sets.

    `largest` is the size of each set's largest partner.
    """
    order = np.lexsort((sizes[pages], digests))
    digests, pages = digests[order], pages[order]
    firsts = first_of_each(digests)
    counts = np.diff(np.flatnonzero(firsts), append=len(pages))
    is_large = np.repeat(counts > _MOST, counts)
    found = [tied(digests[is_large], pages[is_large])]
    bucket = np.cumsum(firsts) * (1 + sizes.max(initial=0))
    ends = np.searchsorted(bucket + sizes[pages], bucket + largest[pages], side="right")
    behind = np.where(is_large, 0, ends - np.arange(len(pages)) - 1)
    some = np.flatnonzero(behind)
    for run in runs_of(behind[some], _PAIRS):
        places = some[slice(*run)]
        smaller = pages[np.repeat(places, behind[places])]
        larger = pages[ranges(places + 1, behind[places])]
        x, y = sizes[smaller], sizes[larger]
        odd = np.bitwise_count(bitmaps[smaller] ^ bitmaps[larger]).sum(axis=1, dtype=np.int64)
        near = (x + y - odd) // 2 >= measure.required(x, y)
        found.append((smaller[near], larger[near]))
    i, j = map(np.concatenate, zip(*found, strict=True))
    return i, j


def connected(
    buckets: BucketRuns,
    pages: int,
    pairs: Callable[[Hashes, Integers], tuple[Integers, Integers]] = tied,
) -> Integers:
    """Return the first page of each page's connected component by `pairs` of a bucket's pages."""
    sets = UnionFind(pages)
    for part in buckets.ranges():
        entries = entries_of(part)
        sets.union_many(*pairs(entries["digest"], entries["page"].astype(np.int64)))
    return sets.labels()


def runs_of(costs: Integers, most: int) -> list[tuple[int, int]]:
    """Return runs of items as (start, stop): of one item, or with a cost of at most `most`."""
    edges, held = [0], 0
    for at, cost in enumerate(costs.tolist()):
        if held and held + cost > most:
            edges.append(at)
            held = 0
        held += cost
    return [*pairwise([*edges, len(costs)])]


SHINGLE_BYTES = 100
"""Bytes of memory for each shingle while sets are made and joined."""


def join_sets(
    sets: HashSets,
    threshold: float | Fraction,
    *,
    memory: int,
    measure: MeasureName = "jaccard",
    boundary: int | None = None,
    work: Workers = ALONE,
    **how: Any,
) -> SimilarPairs:
    """Return the similar pairs of some sets, or of two collections, the second from `boundary` on.

    `how` is as in `self_join`. It takes some 100 bytes of memory a hash. If `memory`, in bytes, is
    too small for all, sets are joined in groups without similar pairs between the groups.
    """
    opened = open_measure(measure, threshold)
    if how.get("algorithm", "bitmap") != "bitmap":
        work = ALONE
    left = left_of(memory, 0)
    costs = sets.sizes * SHINGLE_BYTES
    groups = [np.arange(len(sets.sizes))]
    if costs.sum() > left and not (opened.directed or opened.disjoint):
        groups = groups_of(sets, opened, costs, left)

    nothing = np.empty(0, np.int64)
    found = [SimilarPairs(nothing, nothing, np.empty(0), JoinStats())]
    shares = [(share, work.size) for share in range(work.size)]
    for one, other in parts_of(groups, costs, left, boundary=boundary, directed=opened.directed):
        pairs = joined(sets, one, other, shares, work, threshold, measure=measure, **how)
        found += (replace(each, j=each.j - (boundary or 0)) for each in pairs)
    i, j, values = map(np.concatenate, zip(*(each.columns for each in found), strict=True))
    order = np.lexsort((j, i))
    total = JoinStats(*map(sum, zip(*(astuple(each.stats) for each in found), strict=True)))
    return SimilarPairs(i[order], j[order], values[order], total)


def joined(
    sets: HashSets,
    one: Integers,
    other: Integers | None,
    shares: Sequence[Share],
    work: Workers,
    *measured: Any,
    **how: Any,
) -> Iterator[SimilarPairs]:
    """Yield the pairs among some sets, or between these and others, for each share of the work.

    `one` and `other` are numbers of sets, as those of the pairs are. For `measured` and `how` see
    `self_join`. Each process looks for the partners of some of the sets, and indexes all of them.
    """
    both, boundary = (one, None) if other is None else (np.append(one, other), len(one))
    encoded = hashed(*sets.hashes(both))
    find = partial(self_join, encoded, *measured, boundary=boundary, **how)
    for number, pairs in enumerate(work(partial, shares, _of_share, find)):
        stats = replace(pairs.stats, sets=0) if number else pairs.stats  # the same for all shares
        j = (one if other is None else other)[pairs.j]
        yield replace(pairs, i=one[pairs.i], j=j, stats=stats)


def parts_of(
    groups: Sequence[Integers],
    costs: Integers,
    memory: int,
    *,
    boundary: int | None = None,
    directed: bool = False,
) -> Iterator[tuple[Integers, Integers | None]]:
    """Yield documents that are joined at once: some of a group, perhaps with others of the group.

    `costs` has the bytes that each document takes, `memory` the bytes to work in. A group that
    takes more is divided into runs, and each run is joined with itself and each other run; if the
    join is `directed`, both ways. If there are two collections, the second begins at `boundary`,
    and each run of the first is joined with the runs of the second.
    """
    for numbers in groups:
        own = costs[numbers]
        most = memory if own.sum() <= memory else memory // 2
        cut = len(numbers) if boundary is None else int(np.searchsorted(numbers, boundary))
        left = [numbers[:cut][slice(*run)] for run in runs_of(own[:cut], most)]
        right = [numbers[cut:][slice(*run)] for run in runs_of(own[cut:], most)]
        for place, one in enumerate(left):
            for other in right if boundary is not None else left[0 if directed else place :]:
                yield one, None if one is other else other


def _of_share(find: Callable[..., SimilarPairs], share: Share) -> SimilarPairs:
    return find(share=share)


def feature_clusters(pages: Iterable[Hashes], shared: int, *, memory: int = 1 << 28) -> Integers:
    """Return the first page, int64, of each page's connected component by `shared` features.

    Pages are near-duplicates if at least r of their k features are equal (Broder 2000); shared
    ones aren't counted (`mega_shingles`). `pages` are arrays of features (any number, k), uint64,
    read once. `memory` is the bytes sorted at a time. On disk a page takes 16 * C(k, r) bytes.
    """
    memory = whole_number("memory", memory, least=1 << 20)
    with TemporaryDirectory(prefix="neardup-") as folder:
        buckets = BucketRuns(folder, memory, shared)
        count = 0
        for features in pages:
            buckets.add(features, np.arange(count, count + len(features)))
            count += len(features)
        return connected(buckets, count)
