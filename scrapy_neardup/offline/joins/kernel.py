"""The fast joins: prefix, size, positional and bitmap filters over whole arrays.

The filters of PPJoin (Xiao et al. 2008, sections 3 and 4), in the order that suits arrays:

1. *Index.* The prefixes of all sets are sorted by (token, set): an inverted index whose lists are
   ordered by set size. A token's earlier sets are the partners of a later one, so that for each
   entry of a prefix the partners are one run of its list.
2. *Probe.* The runs of some sets at a time are written out as hits, (set, position) against
   (set, position), in blocks of bounded size.
3. *Positional filter.* A hit at positions i and j allows an overlap of at most ``1 + min(|x| - i,
   |y| - j)`` (counted from 1) if it is the pair's first. Every hit is judged alone: the first of a
   pair has the largest bound, so the pair survives just when its first hit does.
4. *Bitmap filter* (Sandes, Teodoro, Melo, "Bitmap filter: speeding up exact set similarity joins
   with bitwise operations", Information Systems 88, 2020). Each token of a set flips one of 64
   bits, so two sets differ in at least as many tokens as their bitmaps do in bits: what PPJoin+'s
   suffix filter bounds, with a popcount instead of a search.
5. *Verify.* The overlaps of the distinct pairs left are counted exactly: the two sorted sets are
   merged, pairs of like length at a time, and equal neighbours are counted.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from scrapy_neardup.offline.joins.measures import Measure
from scrapy_neardup.offline.joins.tokensets import TokenSets
from scrapy_neardup.tables.ranges import ranges

Integers = NDArray[np.int64]
Sides = NDArray[np.bool_] | None
"""A bool for each set; None where sets aren't told apart."""
Pairs = tuple[Integers, Integers, Integers]
"""Numbers of two sets, and their overlap; of one shape."""

_HITS = 1 << 20
"""Maximum hits of a block, some 60 bytes each. The hits of one set are never split."""
_MERGED = 1 << 16
"""Number of tokens merged at once: they stay in the processor's cache."""
_SPREAD = np.uint64(0x9E3779B97F4A7C15)
"""2**64 / golden ratio: the top bits of a token's multiple pick its bit in a bitmap."""


@dataclass(slots=True)
class JoinStats:
    """The work of a join."""

    sets: int = 0
    """Number of sets with at least one token."""
    hits: int = 0
    """Number of times that a token of both prefixes matched two sets of fitting sizes."""
    candidates: int = 0
    """Number of pairs that passed all filters, and whose overlap was counted."""
    pairs: int = 0
    """Number of pairs that are similar."""


def similar(
    sets: TokenSets, measure: Measure, side: Sides, stats: JoinStats, *, mine: NDArray[np.bool_]
) -> Pairs:
    """Find all similar pairs: numbers of sets, in increasing size, with x > y; and their overlaps.

    With `side`, a bool for each set, only pairs of a False and a True one count; with `mine`, a
    bool for each set, only those look for smaller partners; `stats` is added to. O(p log p + h
    log h + v) for p tokens in all prefixes, h hits, and v tokens in all candidates; some 60 bytes
    a prefix token, a block, and the results.
    """
    sizes = sets.sizes
    blocks = [np.empty((3, 0), dtype=np.int64)]
    for x, y in _candidates(sets, measure, side, stats, mine):
        overlap = overlaps(sets, x, y)
        enough = overlap >= measure.required(sizes[x], sizes[y])
        blocks.append(np.stack([x[enough], y[enough], overlap[enough]]))
    x, y, overlap = np.concatenate(blocks, axis=1)
    return x, y, overlap


def overlaps(sets: TokenSets, x: Integers, y: Integers) -> Integers:
    """Return the number of common tokens of each pair of sets, by number; O(their tokens)."""
    sizes = sets.sizes
    width = sizes[x] + sizes[y]
    order = np.argsort(width, kind="stable")
    result = np.empty(len(x), dtype=np.int64)
    start = 0
    while start < len(order):
        # The widest pair of as many as fit if they are no wider than twice the first.
        fitting = max(1, _MERGED // max(1, 2 * int(width[order[start]])))
        stop = min(start + fitting, len(order))
        while stop - start > 1 and (stop - start) * width[order[stop - 1]] > _MERGED:
            stop = start + (stop - start) // 2
        batch = order[start:stop]
        result[batch] = _merged(sets, sizes, x[batch], y[batch], int(width[batch[-1]]))
        start = stop
    return result


def _merged(sets: TokenSets, sizes: Integers, x: Integers, y: Integers, width: int) -> Integers:
    column = np.arange(width)
    first = sizes[x, None]
    position = column + np.where(
        column < first, sets.indptr[x, None], sets.indptr[y, None] - first
    )
    both = sets.tokens.take(position, mode="clip")
    beyond = column >= first + sizes[y, None]
    np.copyto(both, len(sets.frequency) + column, where=beyond, casting="unsafe")
    both.sort(axis=1, kind="stable")  # timsort merges the two runs
    equal: Integers = np.count_nonzero(both[:, 1:] == both[:, :-1], axis=1)
    return equal


def _candidates(
    sets: TokenSets, measure: Measure, side: Sides, stats: JoinStats, mine: NDArray[np.bool_]
) -> Iterator[tuple[Integers, Integers]]:
    """Yield the pairs that pass the filters, block by block, each pair once.

    With a direction, of a set x and one that contains it, y, either may be the larger one; of two
    sides x is on the False one. If a share t of the tokens of x is in y, at least ``o = ceil(t *
    |x|)`` tokens are in both, so one of the ``|x| - o + 1`` rarest of x is in y (Xiao et al. 2008,
    lemma 1, for one side). Any token of y may be the common one: prefixes probe the lists of all
    tokens that are in any prefix. Sizes bound y from below only: ``|y| >= o``.
    """
    sizes = sets.sizes
    probing = of_sizes(sizes, measure.probing_prefix)
    wanted = sets.frequency > 1  # a token of one set leads nowhere
    if measure.directed:
        probing, tokens = asked(sets, probing, side)
        entries = PrefixEntries(sets, measure, sizes, wanted & tokens)
        indexed = np.ones(len(entries.rows), np.bool_)
        looking = entries.positions < probing[entries.rows]
    else:
        entries = PrefixEntries(sets, measure, probing, wanted)
        indexed = entries.positions < of_sizes(sizes, measure.indexing_prefix)[entries.rows]
        looking = np.ones_like(indexed)
    rows = entries.rows
    looking &= mine[rows]
    if side is None:
        yield from _filtered(entries, _runs(entries, indexed, looking), stats)
        return
    is_second = side[rows]
    for asks in (~is_second,) if measure.directed else (is_second, ~is_second):
        yield from _filtered(entries, _runs(entries, indexed & ~asks, asks & looking), stats)


class PrefixEntries:
    """The first ``lengths[k]`` tokens of each set k that are `wanted`, as they may be common.

    An entry is a token of a set; entries are ordered by set and then by position.
    """

    def __init__(
        self, sets: TokenSets, measure: Measure, lengths: Integers, wanted: NDArray[np.bool_]
    ) -> None:
        rows = np.repeat(np.arange(len(sets)), lengths)
        places = ranges(sets.indptr[:-1], lengths)
        kept = wanted[sets.tokens[places]]
        rows, places = rows[kept], places[kept]
        self.measure = measure
        self.sizes = sets.sizes
        """Number of tokens of each set."""
        self.bitmaps = _bitmaps(sets)
        self.first: Integers = np.searchsorted(rows, np.arange(len(sets) + 1))
        """First entry of each set; the last element is the number of entries."""
        self.rows = rows
        """Set of each entry."""
        self.positions = places - sets.indptr[rows]
        """Position of each entry in its set."""
        self.rest = sets.indptr[rows + 1] - places
        """Number of tokens from each entry to the end of its set: the maximum overlap of two sets
        if it is the first token that they share."""
        smallest = of_sizes(self.sizes, measure.smallest_partner)
        self.smallest = self.first[np.searchsorted(self.sizes, smallest)][rows]
        """For each entry, the first entry of the smallest set that can match its own set."""
        self.bits = len(rows).bit_length()
        self.keys = (sets.tokens[places].astype(np.int64) << self.bits) | np.arange(len(rows))
        """``token << bits | entry`` of every entry, sorted: the inverted lists."""
        self.keys.sort(kind="stable")


def of_sizes(sizes: Integers, bound: Callable[[int], int]) -> Integers:
    """Return ``bound(size)`` of every one of the increasing sizes; few of them differ."""
    firsts = np.flatnonzero(np.diff(sizes, prepend=-1))
    bounds = np.array([bound(size) for size in sizes[firsts].tolist()], dtype=np.int64)
    return np.repeat(bounds, np.diff(firsts, append=len(sizes)))


def _bitmaps(sets: TokenSets) -> NDArray[np.uint64]:
    """Return 64 bits of every set: each token flips one of them."""
    flips = np.uint64(1) << (sets.tokens.astype(np.uint64) * _SPREAD >> np.uint64(58))
    return np.bitwise_xor.reduceat(flips, sets.indptr[:-1])


def _filtered(
    entries: PrefixEntries, runs: tuple[Integers, Integers, Integers], stats: JoinStats
) -> Iterator[tuple[Integers, Integers]]:
    """Yield the pairs of entries and their partners, as of `_runs`, that pass the filters."""
    sizes, first, rows, rest = entries.sizes, entries.first, entries.rows, entries.rest
    members, start, count = runs
    hits = np.append(0, np.cumsum(count))[first]
    stats.hits += int(hits[-1])
    begin = 0
    while begin < len(sizes):
        end = max(begin + 1, int(np.searchsorted(hits, hits[begin] + _HITS, "right")) - 1)
        block = np.arange(first[begin], first[end])
        begin = end
        asking = np.repeat(block, count[block])
        found = members[ranges(start[block], count[block])]
        x, y = rows[asking], rows[found]
        both = sizes[x] + sizes[y]
        required = entries.measure.required(sizes[x], sizes[y])
        left = (np.minimum(rest[asking], rest[found]) >= required) & (x != y)
        left &= np.bitwise_count(entries.bitmaps[x] ^ entries.bitmaps[y]) <= both - 2 * required
        pairs = x[left] * len(sizes) + y[left]
        pairs.sort(kind="stable")
        pairs = pairs[np.diff(pairs, prepend=-1) > 0]
        stats.candidates += len(pairs)
        if len(pairs):
            yield np.divmod(pairs, len(sizes))


def _runs(
    entries: PrefixEntries, indexed: NDArray[np.bool_], probing: NDArray[np.bool_]
) -> tuple[Integers, Integers, Integers]:
    """Return the indexed entries, and where in them the partners of each entry begin; how many.

    The partners of an entry have the same token, and come from sets that are large enough; unless
    the measure has a direction, from earlier ones.
    """
    keys, bits = entries.keys, entries.bits
    listed = keys & ((1 << bits) - 1)
    is_member, asks = indexed[listed], probing[listed]
    member_keys, tokens = keys[is_member], keys >> bits
    stop = np.cumsum(is_member) - is_member
    if not entries.measure.directed:  # few entries have a partner before them
        asks &= np.append(member_keys, -1)[stop - 1] >> bits == tokens
    asking, token = listed[asks], tokens[asks]
    if entries.measure.directed:
        stop = np.searchsorted(member_keys, (token + 1) << bits)
    else:
        stop = stop[asks]
    start, count = np.zeros((2, len(keys)), dtype=np.int64)
    start[asking] = np.searchsorted(member_keys, token << bits | entries.smallest[asking])
    count[asking] = stop - start[asking]
    return listed[is_member], start, count


def asked(sets: TokenSets, prefix: Integers, side: Sides) -> tuple[Integers, NDArray[np.bool_]]:
    """Return the numbers of probing tokens, those of False sets if there are sides; and which."""
    asking = prefix if side is None else np.where(side, 0, prefix)
    tokens = np.zeros(len(sets.frequency), np.bool_)
    tokens[sets.tokens[ranges(sets.indptr[:-1], asking)]] = True
    return asking, tokens
