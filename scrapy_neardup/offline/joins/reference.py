"""All-Pairs, PPJoin and PPJoin+ as published, one set at a time: to read, and to count candidates.

The joins use `scrapy_neardup.offline.joins.kernel`, ten to thirty times as fast. Bayardo, Ma &
Srikant, "Scaling up all pairs similarity search", WWW 2007; Xiao, Wang, Lin & Yu, "Efficient
similarity joins for near duplicate detection", WWW 2008: algorithm 1 (`similar`), 2 (`_overlap`),
3 (`symmetric_difference_bound`).
"""

from __future__ import annotations

from bisect import bisect_left
from collections import defaultdict, deque
from collections.abc import Sequence
from functools import partial
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from scrapy_neardup.offline.joins.kernel import JoinStats, Pairs, Sides
from scrapy_neardup.offline.joins.measures import Measure
from scrapy_neardup.offline.joins.tokensets import TokenSets

Integers = NDArray[np.int64]
Filters = Literal["all-pairs", "ppjoin", "ppjoin+"]
InvertedLists = defaultdict[int, deque[tuple[int, int]]]

_PRUNED = -1
"""Overlap of a candidate that was ruled out."""


def similar(
    sets: TokenSets,
    measure: Measure,
    side: Sides,
    stats: JoinStats,
    *,
    filters: Filters,
    max_depth: int,
) -> Pairs:
    """Find all similar pairs, as the kernel's `similar` does.

    ``"all-pairs"`` filters by sizes and prefixes, ``"ppjoin"`` by positions, too, ``"ppjoin+"``
    also by suffixes, which are halved `max_depth` times.
    """
    rows = [sets.row(number).tolist() for number in range(len(sets))]
    sides = [0] * len(rows) if side is None else side.astype(int).tolist()
    lists: list[InvertedLists] = [defaultdict(deque), defaultdict(deque)]
    results: list[tuple[int, int, int]] = []
    may_reach = partial(_may_reach, filters=filters, max_depth=max_depth)
    for x, tokens in enumerate(rows):
        size = len(tokens)
        smallest = measure.smallest_partner(size)
        prefix = measure.probing_prefix(size)
        partners = lists[0 if side is None else 1 - sides[x]]
        shared: dict[int, int] = {}
        for i, token in enumerate(tokens[:prefix]):
            postings = partners[token]
            while postings and len(rows[postings[0][0]]) < smallest:
                postings.popleft()  # too small for this set, and so for all that follow
            stats.hits += len(postings)
            for y, j in postings:
                before = shared.get(y, 0)
                if before != _PRUNED:
                    required = measure.required(size, len(rows[y]))
                    goes_on = may_reach(required, tokens, i, rows[y], j, before=before)
                    shared[y] = before + 1 if goes_on else _PRUNED
        for i, token in enumerate(tokens[: measure.indexing_prefix(size)]):
            lists[sides[x]][token].append((x, i))
        for y, common in shared.items():
            if common != _PRUNED:
                stats.candidates += 1
                overlap = _overlap(tokens, rows[y], common, prefix, measure)
                if overlap >= measure.required(size, len(rows[y])):
                    results.append((x, y, overlap))
    found = np.array(results, dtype=np.int64).reshape(-1, 3)
    return found[:, 0], found[:, 1], found[:, 2]


def _may_reach(
    required: int,
    x: list[int],
    i: int,
    y: list[int],
    j: int,
    *,
    before: int,
    filters: Filters,
    max_depth: int,
) -> bool:
    """Whether sets that share `before` tokens, and ``x[i]``, ``y[j]``, can share `required`."""
    if filters == "all-pairs":
        return True
    if before + min(len(x) - i, len(y) - j) < required:
        return False
    if filters == "ppjoin" or before:
        return True
    most = len(x) + len(y) - 2 * required - (i + j)
    return symmetric_difference_bound(x[i + 1 :], y[j + 1 :], most, max_depth) <= most


def _overlap(x: list[int], y: list[int], common: int, prefix: int, measure: Measure) -> int:
    """Return the overlap of two sets that share `common` tokens of their prefixes.

    Counting continues after the prefix that ends first; if the required overlap is out of reach,
    the result is some smaller number.
    """
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
    """Return a lower bound, exact up to `most`, of how many tokens are in only one of `x` and `y`.

    Both are increasing, and halved ``max_depth - depth + 1`` times. The middle token of `y` splits
    both sequences, and each part of one differs from that of the other by at least the difference
    of their lengths. It is searched for in a window of `x`, outside of which the bound would
    exceed `most`. Where the window reaches over an end of `x`, that end says nothing: the token
    may well fall beyond it.
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
