"""From labels of clusters: their canonical pages, and groups of pages that repeat each other.

Groups are hosts or folders: Broder, Glassman, Manasse & Zweig, "Syntactic clustering of the Web",
1997, section 5, found whole hosts to be mirrors of others among their clusters.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence
from itertools import combinations
from typing import Literal, NamedTuple, TypeVar, get_args

import numpy as np
from numpy.typing import NDArray

from scrapy_neardup.errors import ConfigurationError

Integers = NDArray[np.int64]
T = TypeVar("T")
CanonicalRule = Literal["first", "shortest-url", "longest-text"]


def canonical(
    labels: Integers,
    rule: CanonicalRule = "first",
    *,
    urls: Sequence[str] | None = None,
    lengths: Sequence[int] | Integers | None = None,
) -> Integers:
    """Return for every page the canonical one of its cluster; int64, of the shape of `labels`.

    ``"first"`` is the page seen first, ``"shortest-url"`` the one with the fewest characters in
    `urls`, ``"longest-text"`` the one with the most tokens in `lengths`, one a page; a tie goes to
    the first. An unknown rule, or one without what it needs, is a `ConfigurationError`.
    """
    if rule not in get_args(CanonicalRule):
        known = ", ".join(map(repr, get_args(CanonicalRule)))
        raise ConfigurationError(f"the canonical rule must be one of {known}, not {rule!r}")
    preference = np.zeros(len(labels), dtype=np.int64)
    if rule == "shortest-url":
        preference = np.fromiter(map(len, _known(rule, "urls", urls)), dtype=np.int64)
    elif rule == "longest-text":
        preference = -np.asarray(_known(rule, "lengths", lengths), dtype=np.int64)
    order = np.lexsort((preference, labels))  # stable: ties stay in the order seen
    _, first, which = np.unique(labels[order], return_index=True, return_inverse=True)
    chosen = np.empty_like(labels)
    chosen[order] = order[first][which]
    return chosen


def _known(rule: str, name: str, values: T | None) -> T:
    if values is None:
        raise ConfigurationError(f"the canonical rule {rule!r} needs {name}, one a page")
    return values


MAX_GROUPS = 1_000
"""Maximum number of groups of one cluster; a page that more have, as errors are, is left out."""


class Mirror(NamedTuple):
    """Two groups with clusters in common; `a` is the one whose first page comes first.

    The pages of each in these clusters, and the share that they are of all its pages.
    """

    a: str
    b: str
    pages_a: int
    pages_b: int
    share_a: float
    share_b: float


def mirrors(labels: NDArray[np.int64], groups: Sequence[str]) -> list[Mirror]:
    """Return the pairs of groups, one a page, that have clusters in common, the most alike first.

    O(pages) and, for each cluster, the square of the number of its groups, up to `MAX_GROUPS`.
    """
    order = {group: number for number, group in enumerate(dict.fromkeys(groups))}
    total = Counter(groups)
    clusters: defaultdict[int, Counter[str]] = defaultdict(Counter)
    for label, group in zip(labels.tolist(), groups, strict=True):
        clusters[label][group] += 1
    shared: defaultdict[tuple[str, str], list[int]] = defaultdict(lambda: [0, 0])
    for counts in clusters.values():
        if 1 < len(counts) <= MAX_GROUPS:
            for a, b in combinations(sorted(counts, key=order.__getitem__), 2):
                pages = shared[a, b]
                pages[0] += counts[a]
                pages[1] += counts[b]
    found = [
        Mirror(a, b, pages_a, pages_b, pages_a / total[a], pages_b / total[b])
        for (a, b), (pages_a, pages_b) in shared.items()
    ]
    return sorted(
        found, key=lambda each: (-max(each.share_a, each.share_b), order[each.a], order[each.b])
    )
