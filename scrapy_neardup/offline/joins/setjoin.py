"""`self_join` and `join`: all pairs of sets that reach a threshold."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from itertools import chain
from typing import Any, get_args

import numpy as np
from numpy.typing import NDArray

from scrapy_neardup._speed import agreeing
from scrapy_neardup.errors import ConfigurationError
from scrapy_neardup.fingerprints.hashing import Integers
from scrapy_neardup.offline.joins import reference
from scrapy_neardup.offline.joins.measures import Measure, MeasureName, jaccard, open_measure
from scrapy_neardup.offline.joins.reference import Filters, JoinStats, Pairs, Sides
from scrapy_neardup.offline.joins.tokensets import TokenSets, encode, gathered
from scrapy_neardup.settings.validation import whole_number
from scrapy_neardup.tables.arrays import ranges

Sets = TokenSets | Iterable[Iterable[Hashable]]
Search = Callable[..., Pairs]
"""As `scrapy_neardup.offline.joins.reference.similar`."""

Share = tuple[int, int]
"""(k, n): every nth set from the kth on, sorted by size, looks for partners. The shares (0, n) to
(n - 1, n) find each pair once."""
ALL: Share = (0, 1)

MAX_DEPTH = 2
"""Number of times that PPJoin+ halves suffixes (Xiao et al. 2008, section 5)."""


def similar(
    sets: TokenSets, measure: Measure, side: Sides, stats: JoinStats, share: Share = ALL
) -> Pairs:
    """Find all similar pairs; see `reference.similar`.

    If `_speed/joins.pyx` was compiled, it finds the same pairs in another order, with the same
    filters and counts of hits and candidates, a hundred times as fast.
    """
    first, step = share
    mine = np.arange(len(sets)) % step == first
    if _compiled is None or measure.rule is None or len(sets.tokens) >= 1 << 32:
        return reference.similar(sets, measure, side, stats, mine=mine)
    return _run(_compiled, sets, measure, side, stats, mine=mine)


def _run(
    compiled: Any,
    sets: TokenSets,
    measure: Measure,
    side: Sides,
    stats: JoinStats,
    *,
    mine: NDArray[np.bool_],
) -> Pairs:
    sizes = sets.sizes
    probing, asked = _of_sizes(sizes, measure.probing_prefix), None
    if measure.directed:
        probing = probing if side is None else np.where(side, 0, probing)
        asked = np.zeros(len(sets.frequency), np.bool_)
        asked[sets.tokens[ranges(sets.indptr[:-1], probing)]] = True
        indexing = sizes
    else:
        indexing = _of_sizes(sizes, measure.indexing_prefix)
    probing = np.where(mine, probing, 0)
    least = _of_sizes(sizes, measure.smallest_partner)
    join = compiled.Join(sets, side, measure.rule, probing, indexing, least, asked)
    x, y, overlap = join.run()
    stats.hits += join.hits
    stats.candidates += join.candidates
    return x, y, overlap


def _of_sizes(sizes: Integers, bound: Callable[[int], int]) -> Integers:
    """Return ``bound(size)`` of every one of the increasing sizes; few of them differ."""
    firsts = np.flatnonzero(np.diff(sizes, prepend=-1))
    bounds = np.array([bound(size) for size in sizes[firsts].tolist()], dtype=np.int64)
    return np.repeat(bounds, np.diff(firsts, append=len(sizes)))


def _example(compiled: Any) -> object:
    """Return the result for a few sets."""
    sets = encode([range(start, 9 + start // 2) for start in range(9)])
    sets = sets.take(np.argsort(sets.sizes, kind="stable"))
    search = partial(_run, compiled) if compiled else reference.similar
    stats, every = JoinStats(), np.ones(len(sets), np.bool_)
    found = np.stack(search(sets, jaccard(0.6), None, stats, mine=every))
    return sorted(found.T.tolist()), stats


_compiled = agreeing("joins", _example, "joins.Join")


@dataclass(frozen=True, slots=True, eq=False)
class SimilarPairs:
    """Similar pairs, sorted by `i`, then `j`: numbers of sets, int64; in a self-join ``i < j``.

    `values` are those of the measure, float64. For containment, set i is contained in set j; two
    equal sets contain each other.
    """

    i: Integers
    j: Integers
    values: NDArray[np.float64]
    stats: JoinStats

    def __len__(self) -> int:
        return len(self.i)

    @property
    def columns(self) -> tuple[Integers, Integers, NDArray[np.float64]]:
        """The numbers of both sets, and the values."""
        return self.i, self.j, self.values


def self_join(
    sets: Sets,
    threshold: float | Fraction,
    *,
    measure: MeasureName = "jaccard",
    algorithm: Filters = "bitmap",
    max_depth: int = MAX_DEPTH,
    share: Share = ALL,
    boundary: int | None = None,
) -> SimilarPairs:
    """Find all similar pairs within a collection.

    `sets` are what `encode` or `shingles` returned, or iterables of hashable tokens; an empty one
    is similar to none. `threshold` is above 0 and at most 1, for ``overlap`` a number of tokens,
    for ``hamming`` the largest number of tokens that only one of two sets has; a pair with exactly
    the threshold counts: 0.8 is read as four fifths. `measure` is one of `MEASURES`;
    ``"containment"`` is the share of the tokens of one set that is in another (Broder 1997,
    section 2). All algorithms find the same pairs. ``"bitmap"`` is fast; the others are those of
    the papers, to compare candidates, and don't find containment; ``"ppjoin+"`` halves suffixes
    `max_depth` times. `share` is the part of the work to be done by ``"bitmap"`` (`Share`). With a
    `boundary` only pairs of a set before it and a set from it on count, and `j` starts there. An
    argument out of range, or a set that is a string, is a `ConfigurationError`.

    >>> pairs = self_join([{"a", "b", "c", "d"}, {"b", "c", "d"}, {"x"}], 0.75)
    >>> pairs.i, pairs.j, pairs.values
    (array([0]), array([1]), array([0.75]))
    """
    opened = open_measure(measure, threshold)
    search = _algorithm(algorithm, max_depth, opened, share)
    encoded = sets if isinstance(sets, TokenSets) else encode(sets)
    sizes = encoded.sizes
    few = sizes.max(initial=0) < 1 << 16  # numpy sorts 16 bits by radix, ten times as fast
    order = np.argsort(sizes.astype(np.uint16) if few else sizes, kind="stable")
    order = order[np.count_nonzero(sizes == 0) :]
    stats = JoinStats(len(order))
    side = None if boundary is None else order >= boundary
    x, y, overlap = search(encoded.take(order), opened, side, stats)
    pairs = np.stack([order[x], order[y]])
    first, second = pairs if opened.directed else np.sort(pairs, axis=0)
    if opened.disjoint:
        large = sizes[first] + sizes[second] > opened.disjoint
        more = _small(encoded, opened.disjoint, boundary, share)
        columns = zip((first[large], second[large], overlap[large]), more, strict=True)
        first, second, overlap = map(np.concatenate, columns)
    order = np.lexsort((second, first))
    first, second, overlap = first[order], second[order], overlap[order]
    values = opened.value_many(overlap, sizes[first], sizes[second])
    stats.pairs = len(first)
    return SimilarPairs(first, second - (boundary or 0), values, stats)


def join(
    left: Iterable[Iterable[Hashable]],
    right: Iterable[Iterable[Hashable]],
    threshold: float | Fraction,
    **how: Any,
) -> SimilarPairs:
    """Find all similar pairs of a set `i` of one collection and a set `j` of another.

    For other arguments see `self_join`, which with a `boundary` also takes sets that are encoded.
    By containment, set j contains set i.
    """
    first = list(left)
    return self_join(encode(chain(first, right)), threshold, boundary=len(first), **how)


def _small(
    sets: TokenSets, most: int, boundary: int | None, share: Share
) -> tuple[Integers, Integers, Integers]:
    """Return a share of the pairs of sets with sizes of at most `most` in all, and overlaps.

    They may have no common token, by which other pairs are found. O(pairs * `most`).
    """
    sizes = sets.sizes
    few = np.flatnonzero((sizes > 0) & (sizes < most))
    few = few[np.argsort(sizes[few], kind="stable")]
    stops = np.searchsorted(sizes[few], most - sizes[few], side="right")
    starts = np.arange(len(few)) + 1
    counts = np.maximum(stops - starts, 0)
    one, other = np.repeat(few, counts), few[ranges(starts, counts)]
    i, j = np.minimum(one, other), np.maximum(one, other)
    if boundary is not None:
        across = (i < boundary) & (boundary <= j)
        i, j = i[across], j[across]
    i, j = i[share[0] :: share[1]], j[share[0] :: share[1]]
    pairs = np.arange(len(i)) * len(sets.frequency)
    ours, theirs = (
        np.repeat(pairs, sizes[side]) + gathered(sets.tokens, sets.indptr[side], sizes[side])
        for side in (i, j)
    )
    common = np.intersect1d(ours, theirs, assume_unique=True) // max(1, len(sets.frequency))
    return i, j, np.bincount(common, minlength=len(i))


def _algorithm(name: Filters, max_depth: int, measure: Measure, share: Share) -> Search:
    """Return a search for the pairs of a share of the sets."""
    if name not in get_args(Filters):
        known = ", ".join(map(repr, get_args(Filters)))
        raise ConfigurationError(f"algorithm must be one of {known}, not {name!r}")
    depth = whole_number("max_depth", max_depth, least=0)
    if name == "bitmap":
        return partial(similar, share=share)
    if measure.directed:
        raise ConfigurationError(f"algorithm {name!r} doesn't find containment: use 'bitmap'")
    if share != ALL:
        raise ConfigurationError("only the algorithm 'bitmap' can do a share of the work")
    return partial(reference.similar, filters=name, max_depth=depth)
