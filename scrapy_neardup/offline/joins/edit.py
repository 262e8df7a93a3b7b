"""The edit-distance join: strings within some edits of each other, by their q-grams.

Numbered q-grams are joined with an overlap constraint, and pairs that satisfy it are measured
(Gravano et al., "Approximate string joins in a database (almost) for free", VLDB 2001; Xiao et al.
2008, section 6).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial
from itertools import chain, islice

import numpy as np

from scrapy_neardup.offline.joins.measures import Integers, qgram_count
from scrapy_neardup.offline.joins.setjoin import ALL, Share, SimilarPairs, find, similar
from scrapy_neardup.offline.joins.tokensets import qgrams
from scrapy_neardup.settings.arguments import whole_number


def edit_join(
    strings: Sequence[str],
    max_distance: int,
    *,
    others: Sequence[str] | None = None,
    q: int = 2,
    share: Share = ALL,
) -> SimilarPairs:
    """Find all pairs of strings within an edit distance (Levenshtein), 0 or more.

    `values` are distances. `j` numbers the strings `others`; with None, the same ones, ``i < j``.
    Longer q-grams (`q`, 1 or more) match fewer strings by chance, but fewer of them need be
    common: 2 suits words and names, 3 to 5 texts of hundreds of characters. Strings with at most
    ``q * max_distance - q + 1`` characters can be that close without a common q-gram, so they are
    all compared with each other. `share` is the part of the work to do; see `Share`.
    """
    rows = [*strings, *(others or ())]
    boundary = None if others is None else len(strings)
    longest = max(map(len, rows), default=0)  # no two strings are further apart
    limit = min(whole_number("max_distance", max_distance, least=0), longest)
    grams = qgrams(rows, q)
    search = partial(similar, share=share)
    first, second, _, stats = find(grams, qgram_count(q, limit), search, boundary)
    sizes = grams.sizes
    filterable = np.maximum(sizes[first], sizes[second]) > q * limit
    candidates = chain(
        zip(first[filterable].tolist(), second[filterable].tolist(), strict=True),
        islice(_short_pairs(sizes, q * limit, limit, boundary), share[0], None, share[1]),
    )
    found = []
    measured = 0
    for i, j in candidates:
        measured += 1
        distance = edit_distance(rows[i], rows[j])
        if distance <= limit:
            found.append((i, j - (boundary or 0), distance))
    i_, j_, distances = np.array(sorted(found), dtype=np.int64).reshape(-1, 3).T
    return SimilarPairs(
        i_, j_, distances, replace(stats, sets=len(grams), candidates=measured, pairs=len(found))
    )


def edit_distance(a: str, b: str) -> int:
    """Return the Levenshtein distance; O(len(a) * len(b) / 64).

    Myers, "A fast bit-vector algorithm for approximate string matching based on dynamic
    programming", JACM 1999, in Hyyro's formulation (2003): two bit vectors say where a column of
    the table rises and falls. Python's integers hold a column of any length.
    """
    if a == b or not a or not b:
        return 0 if a == b else len(a) + len(b)
    where: dict[str, int] = {}
    for index, character in enumerate(a):
        where[character] = where.get(character, 0) | 1 << index
    every, last = (1 << len(a)) - 1, 1 << (len(a) - 1)
    rises, falls, distance = every, 0, len(a)
    for character in b:
        equal = where.get(character, 0)
        diagonal = (((equal & rises) + rises) ^ rises) | equal | falls
        right_rises = falls | ~(diagonal | rises)
        right_falls = rises & diagonal
        if right_rises & last:
            distance += 1
        elif right_falls & last:
            distance -= 1
        right_rises = right_rises << 1 | 1
        right_falls <<= 1
        vertical = equal | falls
        rises = (right_falls | ~(vertical | right_rises)) & every
        falls = right_rises & vertical & every
    return distance


def _short_pairs(
    sizes: Integers, longest: int, limit: int, boundary: int | None
) -> Iterator[tuple[int, int]]:
    """Yield the pairs of strings of at most `longest` q-grams that differ little in length.

    With a `boundary`, only pairs of a string before it and one from it on.
    """
    short = np.flatnonzero(sizes <= longest)
    short = short[np.argsort(sizes[short], kind="stable")]
    stops = np.searchsorted(sizes[short], sizes[short] + limit, side="right").tolist()
    numbers = short.tolist()
    for index, stop in enumerate(stops):
        for other in numbers[index + 1 : stop]:
            i, j = sorted((numbers[index], other))
            if boundary is None or i < boundary <= j:
                yield i, j
