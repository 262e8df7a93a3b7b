"""Joins, set by set: like the compiled code, and All-Pairs, PPJoin, PPJoin+ as published.

Bayardo, Ma & Srikant, "Scaling up all pairs similarity search", WWW 2007; Xiao, Wang, Lin & Yu,
"Efficient similarity joins for near duplicate detection", WWW 2008: algorithm 1 (`similar`), 2
(`_overlap`), 3 (`symmetric_difference_bound`).
"""

from __future__ import annotations

from bisect import bisect_left
from collections import defaultdict, deque
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from scrapy_neardup.fingerprints.hashing import Integers
from scrapy_neardup.offline.joins.measures import Measure
from scrapy_neardup.offline.joins.tokensets import TokenSets

Filters = Literal["bitmap", "all-pairs", "ppjoin", "ppjoin+"]
Sides = NDArray[np.bool_] | None
"""A bool for each set; None for a join of one collection."""
Pairs = tuple[Integers, Integers, Integers]
"""Numbers of two sets, and their overlap; of one shape."""
InvertedLists = defaultdict[int, deque[tuple[int, int]]]

_SPREAD = 0x9E3779B97F4A7C15
"""2**64 / golden ratio: the top bits of a token's multiple pick its bit in a bitmap."""
_PRUNED = -1
"""Overlap of a rejected candidate."""


@dataclass(slots=True)
class JoinStats:
    """The work of a join."""

    sets: int = 0
    """Number of sets with at least one token."""
    hits: int = 0
    """Number of common tokens found in the prefixes of two sets whose sizes permit similarity."""
    candidates: int = 0
    """Number of pairs that passed all filters, and whose overlap was counted."""
    pairs: int = 0
    """Number of pairs that are similar."""


def similar(
    sets: TokenSets,
    measure: Measure,
    side: Sides,
    stats: JoinStats,
    *,
    mine: NDArray[np.bool_] | None = None,
    filters: Filters = "bitmap",
    max_depth: int = 0,
) -> Pairs:
    """Find all similar pairs: numbers of sets, in increasing size, with x > y; and their overlaps.

    With `side`, a bool for each set, only pairs of a False and a True one count. Only the sets
    that are `mine`, (sets,) bool, look for partners. `stats` is added to. ``"all-pairs"`` filters
    by sizes and prefixes, ``"ppjoin"`` also by positions, ``"ppjoin+"`` also by suffixes, which
    are halved `max_depth` times.

    ``"bitmap"`` checks a pair once, when its first common token is found: by positions (PPJoin),
    and by bitmaps (Sandes, Teodoro, Melo, "Bitmap filter: speeding up exact set similarity joins
    with bitwise operations", Information Systems 88, 2020). Each token of a set flips one of 64
    bits, so two sets differ in at least as many tokens as their bitmaps do in bits: what PPJoin+'s
    suffix filter bounds, with a popcount instead of a search.

    If the measure has a direction, y contains x, and either may be larger; with two sides, x is on
    the False one. If a share t of the tokens of x is in y, at least ``o = ceil(t * |x|)`` are in
    both, so one of the ``|x| - o + 1`` rarest tokens of x is anywhere in y (Xiao et al. 2008,
    lemma 1, for one side). Sizes only give a lower bound: ``|y| >= o``.
    """
    rows = [sets.row(number).tolist() for number in range(len(sets))]
    sides = [0] * len(rows) if side is None else side.astype(int).tolist()
    bitmaps = [*map(_bitmap, rows)] if filters == "bitmap" else [0] * len(rows)
    bound = partial(_difference_bound, max_depth=max_depth) if filters == "ppjoin+" else None
    # A pair is checked while it has shared fewer tokens than this: never, once, or each time.
    checked = {"all-pairs": 0, "bitmap": 1}.get(filters, sets.sizes.max(initial=0))
    lists: list[InvertedLists] = [defaultdict(deque), defaultdict(deque)]
    results: list[tuple[int, int, int]] = []
    for x in range(len(rows) if measure.directed else 0):
        _index(lists[sides[x]], x, rows[x])
    for x, tokens in enumerate(rows):
        size = len(tokens)
        smallest, prefix = measure.smallest_partner(size), measure.probing_prefix(size)
        if not (mine is None or mine[x]) or (measure.directed and sides[x]):
            prefix = 0
        partners = lists[0 if side is None else 1 - sides[x]]
        shared = {x: _PRUNED}
        for i, token in enumerate(tokens[:prefix]):
            postings = _large_enough(partners[token], rows, smallest)
            stats.hits += len(postings) if postings and sets.frequency[token] > 1 else 0
            for y, j in postings:
                before = shared.get(y, 0)
                if before == _PRUNED:
                    continue
                if before < checked:
                    other = rows[y]
                    required = measure.required(size, len(other))
                    most = size + len(other) - 2 * required  # tokens that only one of them has
                    if (
                        before + min(size - i, len(other) - j) < required
                        or (bitmaps[x] ^ bitmaps[y]).bit_count() > most
                        or (bound and not before and bound(tokens, i, other, j, most) > most)
                    ):
                        shared[y] = _PRUNED
                        continue
                shared[y] = before + 1
        if not measure.directed:
            _index(lists[sides[x]], x, tokens[: measure.indexing_prefix(size)])
        results += (
            (x, y, _overlap(tokens, rows[y], common, prefix, measure))
            for y, common in shared.items()
            if common != _PRUNED
        )
    stats.candidates += len(results)
    x_, y_, overlap = np.array(results, dtype=np.int64).reshape(-1, 3).T
    sizes = sets.sizes
    are_similar = overlap >= measure.required(sizes[x_], sizes[y_])
    return x_[are_similar], y_[are_similar], overlap[are_similar]


def _index(lists: InvertedLists, x: int, tokens: Sequence[int]) -> None:
    for i, token in enumerate(tokens):
        lists[token].append((x, i))


def _large_enough(
    postings: deque[tuple[int, int]], rows: list[list[int]], smallest: int
) -> deque[tuple[int, int]]:
    """Drop sets that are too small for this one, and so for all that follow."""
    while postings and len(rows[postings[0][0]]) < smallest:
        postings.popleft()
    return postings


def _bitmap(tokens: list[int]) -> int:
    bits = 0
    for token in tokens:
        bits ^= 1 << ((token * _SPREAD & (1 << 64) - 1) >> 58)
    return bits


def _difference_bound(
    x: list[int], i: int, y: list[int], j: int, most: int, *, max_depth: int
) -> int:
    """Return a lower bound of the tokens in only one of two sets that first share ``x[i]``."""
    return i + j + symmetric_difference_bound(x[i + 1 :], y[j + 1 :], most - i - j, max_depth)


def _overlap(x: list[int], y: list[int], common: int, prefix: int, measure: Measure) -> int:
    """Return the overlap of two sets that share `common` tokens of their prefixes.

    Counting continues after the prefix that ends first; if the required overlap is out of reach,
    the result is some smaller number.
    """
    if measure.directed:
        return len(set(x).intersection(y))
    required = measure.required(len(x), len(y))
    indexed = measure.indexing_prefix(len(y))
    if x[prefix - 1] < y[indexed - 1]:
        x, y = x[prefix:], y[common:]
    else:
        x, y = y[indexed:], x[common:]
    if common + len(x) < required:
        return common
    return common + len(set(x).intersection(y))


def symmetric_difference_bound(
    x: Sequence[int], y: Sequence[int], most: int, max_depth: int, depth: int = 1
) -> int:
    """Return a lower bound, exact up to `most`, of the tokens in only one of `x` and `y`.

    Both are increasing, and halved ``max_depth - depth + 1`` times. The middle token of `y` splits
    both sequences, and each part of one differs from that of the other by at least the difference
    of their lengths. The token is searched for in a window of `x`; outside of it the bound would
    exceed `most`. If the window extends beyond an end of `x`, so may the token's place.
    """
    gap = abs(len(x) - len(y))
    if depth > max_depth or gap > most or not x or not y:
        return gap
    middle = (len(y) - 1) // 2
    token = y[middle]
    slack = (most - gap) // 2
    first = middle - slack - (gap if len(x) < len(y) else 0)
    last = middle + slack + (gap if len(x) >= len(y) else 0)
    if (first > 0 and x[first] > token) or (last < len(x) and x[last] < token):
        return most + 1
    index = bisect_left(x, token, max(first, 0), min(last + 1, len(x)))
    found = index < len(x) and x[index] == token
    missing = 0 if found else 1
    x_left, x_right = x[:index], x[index + (1 - missing) :]
    y_left, y_right = y[:middle], y[middle + 1 :]
    right = abs(len(x_right) - len(y_right))
    bound = abs(len(x_left) - len(y_left)) + right + missing
    if bound > most:
        return bound
    left = symmetric_difference_bound(x_left, y_left, most - right - missing, max_depth, depth + 1)
    if left + right + missing > most:
        return left + right + missing
    right = symmetric_difference_bound(
        x_right, y_right, most - left - missing, max_depth, depth + 1
    )
    return left + right + missing
